//! Rules that hold for all that was recorded, and limits that upstream does not have.

use super::*;
use crate::Renamed;
use crate::apply::managed::{Managed, entries};

fn widgets() -> FieldManager {
    let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let text = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let schema = schema(&json!({"type": "object", "properties": {"spec": spec, "data": text}}));
    FieldManager::new(GroupVersion::new("example.dev", "v1").kind("Widget"), &schema)
}

fn widget(fields: Value) -> Object {
    let mut widget = object(&json!({"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "w"}}));
    widget.fields_mut().extend(fields.as_object().unwrap().clone());
    widget
}

fn by(manager: &str) -> Writer<'_> {
    Writer { manager, subresource: "", time: START }
}

fn apply(live: Option<&Object>, applied: Value, manager: &str) -> Result<Object, ApplyError> {
    widgets().apply(live, &widget(applied), ApplyOptions { writer: by(manager), force: false })
}

fn conflicts(result: Result<Object, ApplyError>) -> Conflicts {
    match result {
        Err(ApplyError::Conflicts(conflicts)) => conflicts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_conflict_says_who_owns_what() {
    let mut live = widget(json!({"data": {"a": "1"}}));
    widgets().track_update(None, &mut live, by("someone")).unwrap();
    let found = conflicts(apply(Some(&live), json!({"data": {"a": "2"}}), "other"));
    let conflict = Conflict {
        manager: "someone".to_owned(),
        operation: Operation::Update,
        api_version: "example.dev/v1".to_owned(),
        subresource: String::new(),
        field: ".data.a".to_owned(),
    };
    assert_eq!(found.as_slice(), [conflict]);
    let message = r#"Apply failed with 1 conflict: conflict with "someone" using example.dev/v1: .data.a"#;
    assert_eq!(found.to_string(), message);
}

/// Whether something in a value is null or empty.
pub(super) fn has_blanks(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty() || items.iter().any(has_blanks),
        Value::Object(fields) => fields.is_empty() || fields.values().any(has_blanks),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A later time must not make a write of it. Upstream this is not so either where something is null or empty, or where
/// nobody owns anything.
#[test]
fn applying_again_changes_nothing() {
    let mut count = 0;
    for script in recorded::<Script>("scripts") {
        let kind = script.kind();
        for step in script.steps.iter().filter(|step| step.operation == "apply") {
            let Some(result) = &step.result else { continue };
            let mut result = object(result);
            result.set_metadata_text("uid", "u");
            let content = result.fields().iter().filter(|(name, _)| *name != "metadata");
            let blank = content.chain(object(&step.object).fields()).any(|(_, value)| has_blanks(value));
            if blank || entries(&result).is_none() {
                continue;
            }
            let manager = kind.field_manager(&step.version);
            let writer = Writer { manager: &step.manager, subresource: &step.subresource, time: START + 3600 };
            let options = ApplyOptions { writer, force: step.force };
            let again = manager.apply(Some(&result), &object(&step.object), options).unwrap();
            assert_eq!(again, result, "{} {}", script.name, step.object);
            count += 1;
        }
    }
    assert!(count > 150, "{count}");
}

#[test]
fn entries_are_written_as_they_were_read() {
    let mut count = 0;
    for script in recorded::<Script>("scripts") {
        for result in script.steps.iter().filter_map(|step| step.result.as_ref()) {
            let result = object(result);
            let Some(entries) = entries(&result) else { continue };
            let mut again = result.clone();
            Managed::decode(&entries).unwrap().encode(&mut again);
            assert_eq!(again, result);
            count += 1;
        }
    }
    assert!(count > 900, "{count}");
}

#[test]
fn what_cannot_be_tracked_is_written_without_owners() {
    let mut new = widget(json!({"data": {"a": 1}}));
    new.metadata_mut().insert("managedFields".to_owned(), json!([{"manager": "x"}]));
    let error = widgets().track_update(None, &mut new, by("a")).unwrap_err();
    let message = "failed to convert new object (/w; example.dev/v1, Kind=Widget) to smd typed: \
                   .data.a: expected string, got &value.valueUnstructured{Value:1}";
    assert_eq!(error.to_string(), message);
    assert_eq!(new, widget(json!({"data": {"a": 1}})));
}

/// Rust's clients, and others that know zones, read no time of the last day of the year 9999, and nothing of an object that has one.
#[test]
fn a_time_that_others_cannot_read_is_forgotten() {
    let sent = |time: &str| {
        let mut sent = widget(json!({"spec": {"a": 1}}));
        let entry = json!({
            "manager": "x", "operation": "Update", "apiVersion": "example.dev/v1", "time": time, "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:a": {}}},
        });
        sent.metadata_mut().insert("managedFields".to_owned(), json!([entry]));
        sent
    };
    let live = sent("2026-01-01T00:00:00Z");
    for (time, kept) in [
        ("9999-12-30T22:00:00Z", Value::from("9999-12-30T22:00:00Z")),
        ("9999-12-30T22:00:01Z", Value::Null),
        ("9999-12-31T23:59:59Z", Value::Null),
        ("9999-12-31T23:59:59-23:59", Value::Null),
    ] {
        let mut updated = sent(time);
        widgets().track_update(Some(&live), &mut updated, by("x")).unwrap();
        let options = ApplyOptions { writer: by("y"), force: true };
        let applied = widgets().apply(Some(&sent(time)), &widget(json!({"spec": {"b": 1}})), options).unwrap();
        for object in [updated, applied] {
            let found = object.as_value().pointer("/metadata/managedFields").unwrap().as_array().unwrap();
            let found = found.iter().find(|entry| entry["manager"] == "x").unwrap();
            assert_eq!(found["time"], kept, "{time}");
            assert_eq!(found["fieldsV1"], json!({"f:spec": {"f:a": {}}}));
        }
    }
}

#[test]
fn of_very_many_errors_the_first_are_told() {
    let wrong: Map<String, Value> = (0..2000).map(|i| (format!("k{i}"), json!(i))).collect();
    let Err(ApplyError::Applied { errors, .. }) = apply(None, json!({"data": wrong}), "a") else {
        panic!("numbers are no texts")
    };
    assert_eq!(errors.as_slice().len(), 1000);
    let wrong: Map<String, Value> = (0..200).map(|i| (format!("{i:010000}"), json!(i))).collect();
    let Err(ApplyError::Applied { errors, .. }) = apply(None, json!({"data": wrong}), "a") else {
        panic!("numbers are no texts")
    };
    assert!((1 << 20..(1 << 20) + 20_000).contains(&errors.to_string().len()));
}

#[test]
fn of_very_many_conflicts_the_first_are_told() {
    let fields = |count: usize, value: &str| -> Map<String, Value> {
        (0..count).map(|i| (format!("k{i:04}"), value.into())).collect()
    };
    let live = apply(None, json!({"data": fields(2000, "x")}), "a").unwrap();
    let found = conflicts(apply(Some(&live), json!({"data": fields(2000, "y")}), "b"));
    assert_eq!((found.as_slice().len(), found.causes().len()), (1000, 1000));
    assert!(found.to_string().starts_with("Apply failed with 2000 conflicts: conflicts with \"a\":\n- .data.k0000\n"));

    // The path of each is as long as the names above it.
    let below_a_long_name = |value: &str| {
        let mut spec = Map::new();
        spec.insert("n".repeat(100_000), Value::Object(fields(500, value)));
        json!({"spec": spec})
    };
    let live = apply(None, below_a_long_name("x"), "a").unwrap();
    let found = conflicts(apply(Some(&live), below_a_long_name("y"), "b"));
    assert_eq!(found.as_slice().len(), 11);
    assert!(found.to_string().starts_with("Apply failed with 500 conflicts: "));
}

/// Fails by taking too long if it costs the square of their number.
#[test]
fn many_owners_of_many_fields() {
    const OWNERS: usize = 3000;
    let data: Map<String, Value> = (0..OWNERS).map(|i| (format!("k{i}"), "x".into())).collect();
    let entry = |i: usize| {
        json!({
            "manager": format!("m{i}"), "operation": "Apply", "apiVersion": "example.dev/v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {format!("f:k{i}"): {}}},
        })
    };
    let mut live = widget(json!({"data": data}));
    live.metadata_mut().insert("managedFields".to_owned(), (0..OWNERS).map(entry).collect());
    live.set_metadata_text("uid", "u");
    let result = apply(Some(&live), json!({"data": {"k1": "x"}}), "m2").unwrap();
    assert_eq!(result.fields()["data"].as_object().unwrap().len(), OWNERS - 1);
    assert_eq!(entries(&result).unwrap().len(), OWNERS);
    let mut emptied = widget(json!({"data": {}}));
    widgets().track_update(Some(&live), &mut emptied, by("last")).unwrap();
    assert_eq!(entries(&emptied).unwrap_or_default().len(), 0);
}

#[test]
fn a_manager_is_called_as_its_client_if_it_has_no_name() {
    for (field_manager, user_agent, name) in [
        ("a", "kubectl/v1", "a"),
        ("", "kubectl/v1.36 (linux)", "kubectl"),
        ("", "no slash", "no slash"),
        ("", "a\u{200b}b\nc/", "abc"),
        ("", "", ""),
        ("", "/x", ""),
    ] {
        assert_eq!(manager_name(field_manager, user_agent), name);
    }
    assert_eq!(manager_name("", &"a".repeat(129)).len(), 128);
    assert_eq!(manager_name("", &format!("{}éa", "a".repeat(127))).len(), 127);
}

/// Fields that another version calls otherwise are the same ones: whoever owns one there owns it here.
#[test]
fn a_field_may_have_two_names() {
    let of = |field: &str| {
        let text = json!({"type": "string"});
        schema(&json!({"type": "object", "properties": {field: text}}))
    };
    let [older, newer] = ["example.dev", "newer.example.dev"].map(|group| GroupVersion::new(group, "v1"));
    let manager = |own: (&GroupVersion, &str), other: (&GroupVersion, &str)| {
        let manager = FieldManager::new(own.0.clone().kind("Widget"), &of(own.1));
        manager.with_version(other.0.clone(), &of(other.1)).with_renamed(newer.clone(), Renamed(&[("note", "message")]))
    };
    let by_older = manager((&older, "message"), (&newer, "note"));
    let by_newer = manager((&newer, "note"), (&older, "message"));
    let mut made = widget(json!({"message": "a"}));
    by_older.track_update(None, &mut made, by("someone")).unwrap();
    let in_newer = |object: &Object| {
        let mut object = object.clone();
        let value = object.fields_mut().remove("message").unwrap();
        object.fields_mut().extend([("note".to_owned(), value), ("apiVersion".to_owned(), newer.to_string().into())]);
        object
    };
    let live = in_newer(&made);
    let applied = |note: &str| in_newer(&widget(json!({"message": note})));
    let options = ApplyOptions { writer: by("other"), force: false };
    let found = conflicts(by_newer.apply(Some(&live), &applied("b"), options));
    assert_eq!(found.as_slice().iter().map(|conflict| &*conflict.field).collect::<Vec<_>>(), [".message"]);

    let shared = by_newer.apply(Some(&live), &applied("a"), options).unwrap();
    assert_eq!(shared.fields()["note"], "a");
}
