use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::table::{Headers, IncludeObject, TableOptions};
use crate::{
    FieldError, FieldErrors, MetaVersion, NameRule, Object, Scope, go, validate_object_metadata,
    validate_object_metadata_update,
};

/// What upstream says: type, field and message.
type Recorded = (String, String, String);

#[derive(Deserialize)]
struct Recording {
    bases: BTreeMap<String, Value>,
    defaults: Vec<Defaulted>,
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Defaulted {
    object: Value,
    result: Value,
}

#[derive(Deserialize)]
struct Record {
    new: Changed,
    old: Option<Changed>,
    #[serde(default)]
    errors: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Changed {
    base: String,
    #[serde(default)]
    changes: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    at: String,
    #[serde(default, deserialize_with = "given")]
    value: Option<Value>,
}

/// A null is a value here.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn recording() -> Recording {
    serde_json::from_str(include_str!("../../../tests/data/go/crd.json")).unwrap()
}

impl Changed {
    fn object(&self, bases: &BTreeMap<String, Value>) -> Object {
        let mut object = bases[&self.base].clone();
        for change in &self.changes {
            let (parent, last) = change.at.rsplit_once('/').unwrap();
            let last = last.replace("~1", "/");
            place(&mut object, parent, &last, change.value.clone());
        }
        let mut object = Object::try_from(object).unwrap();
        set_defaults(&mut object);
        object
    }
}

/// Puts a value at a place, which is made if need be; without a value, removes what is there.
fn place(object: &mut Value, parent: &str, last: &str, value: Option<Value>) {
    if object.pointer(parent).is_none_or(Value::is_null) {
        let (above, name) = parent.rsplit_once('/').unwrap();
        place(object, above, name, Some(json!({})));
    }
    match (object.pointer_mut(parent).unwrap(), value) {
        (Value::Object(fields), Some(value)) => drop(fields.insert(last.to_owned(), value)),
        (Value::Object(fields), None) => drop(fields.remove(last)),
        (Value::Array(items), value) => {
            let index: usize = last.parse().unwrap();
            match value {
                Some(value) => items[index] = value,
                None => drop(items.remove(index)),
            }
        }
        (other, _) => panic!("{other} has no parts"),
    }
}

fn listed(errors: &FieldErrors) -> Vec<Recorded> {
    let one = |error: &FieldError| (error.kind.cause().to_owned(), error.field.to_string(), error.body());
    let mut listed: Vec<Recorded> = errors.as_slice().iter().map(one).collect();
    listed.sort();
    listed
}

fn judged(record: &Record, bases: &BTreeMap<String, Value>) -> Vec<Recorded> {
    let mut errors = FieldErrors::default();
    let new = record.new.object(bases);
    match &record.old {
        None => {
            validate_object_metadata(&new, Scope::Cluster, NameRule::DnsSubdomain, &mut errors);
            validate(&new, &mut errors);
        }
        Some(old) => {
            let old = old.object(bases);
            validate_object_metadata_update(&new, &old, &mut errors);
            validate_update(&new, &old, &mut errors);
        }
    }
    listed(&errors)
}

#[test]
fn what_is_left_out_is_what_upstream_makes_of_it() {
    for Defaulted { object, result } in recording().defaults {
        let mut object = Object::try_from(object).unwrap();
        set_defaults(&mut object);
        let upstream = Definition::from_object(&Object::try_from(result).unwrap()).unwrap();
        assert_eq!(Definition::from_object(&object).unwrap(), upstream);
    }
}

#[derive(Deserialize)]
struct Shown {
    object: Option<Value>,
    path: String,
    #[serde(rename = "type")]
    column_type: String,
    #[serde(default)]
    error: bool,
    cell: Value,
}

#[test]
fn columns_show_what_upstream_shows() {
    let recorded: Vec<Shown> = serde_json::from_str(include_str!("../../../tests/data/go/crd-tables.json")).unwrap();
    let object = Object::try_from(recorded[0].object.clone().unwrap()).unwrap();
    let options = TableOptions {
        now: SystemTime::UNIX_EPOCH,
        version: MetaVersion::V1,
        include: IncludeObject::None,
        headers: Headers::Omitted,
    };
    let mut differences = Vec::new();
    for shown in &recorded {
        let column = PrinterColumn {
            name: "C".to_owned(),
            column_type: shown.column_type.clone(),
            json_path: shown.path.clone(),
            ..PrinterColumn::default()
        };
        let row = columns(&[column]).row(&object, &options).cells;
        let same = match shown.error {
            true => row.len() == 1,
            false => row.get(1).is_some_and(|cell| go::json(cell) == go::json(&shown.cell)),
        };
        if !same {
            differences.push(format!("{} {}: {:?} for {}", shown.path, shown.column_type, row.get(1), shown.cell));
        }
    }
    // A processor of another make says something else than Go's conversion of what is too large.
    assert_eq!(differences, [".spec.huge integer: Some(Number(9223372036854775807)) for -9223372036854775808"]);
}

#[derive(Deserialize)]
struct Named {
    wanted: Names,
    status: DefinitionStatus,
    others: Vec<Names>,
    result: Option<Value>,
}

#[test]
fn names_go_to_whom_upstream_grants_them() {
    let recorded: Vec<Named> = serde_json::from_str(include_str!("../../../tests/data/go/crd-names.json")).unwrap();
    let mut refused = 0;
    for Named { wanted, status, others, result } in recorded {
        let definition = Definition {
            spec: DefinitionSpec { group: "example.dev".to_owned(), names: wanted, ..DefinitionSpec::default() },
            status,
            ..Definition::default()
        };
        let mut taken = TakenNames::default();
        others.iter().chain([&definition.status.accepted_names]).for_each(|names| taken.add(names));
        let Some(accepted) = accept_names(&definition, &taken) else {
            assert_eq!(result, None);
            continue;
        };
        refused += usize::from(accepted.accepted.status == "False");
        let mut conditions = definition.status.conditions.clone();
        set_condition(&mut conditions, accepted.accepted, "now");
        set_condition(&mut conditions, accepted.established, "now");
        conditions.iter_mut().for_each(|condition| condition.last_transition_time = None);
        let result = result.expect("something becomes of it");
        assert_eq!(serde_json::to_value(conditions).unwrap(), result["conditions"], "{taken:?}");
        assert_eq!(serde_json::to_value(accepted.names).unwrap(), result["acceptedNames"], "{taken:?}");
    }
    assert!(refused > 10, "only {refused} were refused");
}

#[test]
fn a_condition_is_as_old_as_its_status() {
    let mut conditions = Vec::new();
    set_condition(&mut conditions, Condition::established(), "1");
    set_condition(&mut conditions, Condition { reason: "Other".to_owned(), ..Condition::established() }, "2");
    assert_eq!(conditions[0].last_transition_time.as_deref(), Some("1"));
    assert_eq!(conditions[0].reason, "Other");
    set_condition(&mut conditions, Condition { status: "False".to_owned(), ..Condition::established() }, "3");
    assert_eq!(conditions[0].last_transition_time.as_deref(), Some("3"));
    assert_eq!(conditions.len(), 1);
}

#[test]
fn what_is_not_done_is_told() {
    let bases = recording().bases;
    let definition = |at: &str, value: Value| {
        let change = Change { at: at.to_owned(), value: Some(value) };
        let changed = Changed { base: "rich".to_owned(), changes: vec![change] };
        Definition::from_object(&changed.object(&bases)).unwrap()
    };
    let at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/x";
    let new = definition(
        at,
        json!({"type": "object", "format": "strange", "additionalProperties": {"type": "array", "items":
            {"type": "string", "x-kubernetes-validations": [{"rule": "true"}]}}}),
    );
    let scale = "spec.versions[0].subresources.scale: this subresource is kept, but not served by this server";
    let rules = "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[x].additionalProperties.items\
                 .x-kubernetes-validations: rules in CEL are kept, but not enforced by this server";
    assert_eq!(warnings(&new, None), ["unrecognized format \"strange\"", rules, scale]);
    assert_eq!(warnings(&new, Some(&new)), [rules, scale]);
    let plain = definition(at, json!({"type": "integer", "format": "int64"}));
    assert_eq!(warnings(&plain, None), [scale]);
}

/// Why an answer differs from upstream's.
struct Difference {
    reason: &'static str,
    /// Whether it is one of upstream's errors that are not ours, or of ours that are not upstream's.
    explains: fn(&Recorded, Side, &Record) -> bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Upstream,
    Ours,
}

const DIFFERENCES: [Difference; 8] = [
    Difference {
        reason: "conversion webhooks are not called, so nothing is asked of them but that there are none",
        explains: |(_, field, body), side, _| match side {
            Side::Ours => field == "spec.conversion.strategy" && body.contains("are not called by this server"),
            Side::Upstream => field.starts_with("spec.conversion."),
        },
    },
    Difference {
        reason: "rules in CEL are kept but not compiled",
        explains: |(_, field, body), side, _| {
            side == Side::Upstream && field.contains("x-kubernetes-validations") && body.contains("compilation failed")
        },
    },
    Difference {
        reason: "a default under a type that does not exist is not looked at: the type is refused",
        explains: |(_, field, body), side, _| {
            let about_default = body.contains("must be of type") || body.contains("must not have unknown fields");
            side == Side::Upstream && field.ends_with(".default") && about_default
        },
    },
    Difference {
        reason: "a default that is neither a number nor a text is refused where only these are allowed",
        explains: |(_, field, body), side, _| {
            side == Side::Ours && field.ends_with(".default") && body.contains("must be of type integer,string")
        },
    },
    Difference {
        reason: "types that do not exist were never let pass here, and cannot be served",
        explains: |(_, field, body), side, record| {
            side == Side::Ours && record.old.is_some() && field.ends_with(".type") && body.contains("\"strange\"")
        },
    },
    Difference {
        reason: "spec.preserveUnknownFields was never let pass here, and cannot be served",
        explains: |(_, field, _), side, record| {
            side == Side::Ours && record.old.is_some() && field == "spec.preserveUnknownFields"
        },
    },
    Difference {
        reason: "a version without a schema was never let pass here, served or not",
        explains: |(_, field, body), _, record| {
            record.old.is_some() && field == "spec.versions[0].schema.openAPIV3Schema" && body.starts_with("Required")
        },
    },
    Difference {
        reason: "an empty list of versions is shown as one that is absent",
        explains: |(_, field, _), _, record| {
            field == "spec.versions" && record.new.changes.iter().any(|change| change.value == Some(json!([])))
        },
    },
];

#[test]
fn definitions_are_judged_as_upstream_judges_them() {
    let recording = recording();
    let mut unexplained = Vec::new();
    let mut seen = [false; DIFFERENCES.len()];
    for record in &recording.records {
        let ours = judged(record, &recording.bases);
        let missing = record.errors.iter().filter(|error| !ours.contains(error)).map(|error| (Side::Upstream, error));
        let more = ours.iter().filter(|error| !record.errors.contains(error)).map(|error| (Side::Ours, error));
        let different: Vec<_> = missing.chain(more).collect();
        if different.is_empty() {
            assert_eq!(ours.len(), record.errors.len(), "something is told twice, or once too seldom: {ours:?}");
        }
        for (side, error) in different {
            match DIFFERENCES.iter().position(|difference| (difference.explains)(error, side, record)) {
                Some(known) => seen[known] = true,
                None => {
                    let whose = if side == Side::Ours { "ours" } else { "upstream" };
                    let changes = record.new.changes.iter().map(|c| format!("{} = {:?}", c.at, c.value));
                    unexplained.push(format!(
                        "{whose}: {error:?} for {} {:?}",
                        record.new.base,
                        Vec::from_iter(changes)
                    ));
                }
            }
        }
    }
    let count = recording.records.len();
    assert!(count > 1000, "there are only {count} records");
    assert!(unexplained.is_empty(), "{} of {count}:\n{}", unexplained.len(), unexplained.join("\n"));
    for (difference, seen) in DIFFERENCES.iter().zip(seen) {
        assert!(seen, "this is no difference any more: {}", difference.reason);
    }
}
