use std::time::Duration;

use serde_json::json;

use super::*;
use crate::recorded::{items, object, recorded};

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn options(include: IncludeObject, headers: Headers) -> TableOptions {
    TableOptions { version: MetaVersion::V1, include, headers, now: at(0) }
}

fn widget() -> Object {
    object(&json!({
        "apiVersion": "example.dev/v1", "kind": "Widget", "spec": {"size": 3},
        "metadata": {"name": "a", "resourceVersion": "7", "creationTimestamp": "1970-01-01T00:01:40Z"},
    }))
}

/// The descriptions are our own.
fn without_descriptions(mut table: Value) -> Value {
    for column in table["columnDefinitions"].as_array_mut().into_iter().flatten() {
        assert_ne!(column["description"], json!(""));
        column["description"] = json!("");
    }
    table
}

#[test]
fn default_columns_as_upstream() {
    let columns = Columns::default();
    for case in recorded("tables") {
        let headers = if case["table"]["columnDefinitions"].is_null() { Headers::Omitted } else { Headers::Shown };
        let options = options(IncludeObject::Object, headers);
        let ours = if case["object"].get("items").is_some() {
            let metadata = serde_json::from_value(case["object"]["metadata"].clone()).unwrap();
            json!(columns.list(metadata, &items(&case["object"]), &options))
        } else {
            json!(columns.object(&object(&case["object"]), &options))
        };
        assert_eq!(without_descriptions(ours), without_descriptions(case["table"].clone()));
    }
}

#[test]
fn durations_as_upstream() {
    for case in recorded("durations") {
        assert_eq!(human_duration(case[0].as_i64().unwrap()), case[1].as_str().unwrap(), "{case}");
    }
}

#[test]
fn ages() {
    let check = |timestamp: &str, now: SystemTime, expected: &str| assert_eq!(age(timestamp, now), expected);
    check("1970-01-01T00:01:40Z", at(145), "45s");
    check("1970-01-01T00:01:40Z", at(100), "0s");
    check("1970-01-01T00:01:40Z", at(98) + Duration::from_millis(500), "0s");
    check("1970-01-01T00:01:40Z", at(98), "<invalid>");
    check("", at(0), "<unknown>");
    check("0001-01-01T00:00:00Z", at(0), "<unknown>");
    check("0001-01-01T00:00:01Z", at(0), "292y");
    check("9999-01-01T00:00:00Z", at(0), "<invalid>");
    check("yesterday", at(0), "<invalid>");
    check("1969-12-31T00:00:00Z", UNIX_EPOCH - Duration::from_secs(86_390), "10s");
}

#[test]
fn how_much_of_the_object() {
    let columns = Columns::named();
    let widget = widget();
    let row = |object: &Object, include| json!(columns.row(object, &options(include, Headers::Shown)))["object"].take();
    let metadata = json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": widget.fields()["metadata"],
    });
    assert_eq!(row(&widget, IncludeObject::Metadata), metadata);
    assert_eq!(row(&widget, IncludeObject::Object), Value::from(widget.clone()));
    assert_eq!(row(&widget, IncludeObject::None), Value::Null);

    let end = object(&json!({"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}}));
    assert_eq!(row(&end, IncludeObject::None)["metadata"], end.fields()["metadata"]);

    let parse = IncludeObject::parse;
    assert_eq!(
        ["", "Metadata", "Object", "None", "none"].map(parse),
        [
            Some(IncludeObject::Metadata),
            Some(IncludeObject::Metadata),
            Some(IncludeObject::Object),
            Some(IncludeObject::None),
            None
        ]
    );
}

#[test]
fn own_columns() {
    let columns = Columns::named()
        .with(Column::new("Size", ColumnType::Integer, "How large it is.").wide(), |object, now| {
            ColumnType::Integer.cell(object.fields().get("spec").and_then(|spec| spec.get("size")), now)
        })
        .with_age();
    let widget = widget();
    let options = TableOptions { now: at(130), ..options(IncludeObject::None, Headers::Shown) };
    assert_eq!(
        without_descriptions(json!(columns.object(&widget, &options))),
        json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "7"},
            "columnDefinitions": [
                {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0},
                {"name": "Size", "type": "integer", "format": "", "description": "", "priority": 1},
                {"name": "Age", "type": "date", "format": "", "description": "", "priority": 0},
            ],
            "rows": [{"cells": ["a", 3, "30s"], "object": null}],
        })
    );
    // As for a bookmark, which has no such fields.
    let bare = Object::default();
    assert_eq!(columns.row(&bare, &options).cells, [json!(""), Value::Null, Value::Null]);
}

#[test]
fn only_the_first_event_has_headers() {
    let mut headers = Headers::default();
    assert_eq!([headers.take(), headers.take(), headers.take()], [Headers::Shown, Headers::Omitted, Headers::Omitted]);
    let columns = Columns::default();
    let widget = widget();
    let table = json!(columns.object(&widget, &options(IncludeObject::None, Headers::Omitted)));
    assert_eq!(table["columnDefinitions"], Value::Null);
}

#[test]
fn conditions_are_shown_if_there_are_any() {
    let widget = widget();
    let mut row = Columns::named().row(&widget, &options(IncludeObject::None, Headers::Shown));
    assert_eq!(json!(row), json!({"cells": ["a"], "object": null}));
    row.conditions.push(RowCondition {
        condition_type: "Completed".to_owned(),
        status: "True".to_owned(),
        ..RowCondition::default()
    });
    assert_eq!(json!(row)["conditions"], json!([{"type": "Completed", "status": "True"}]));
}

#[test]
fn cells() {
    let check = |column: ColumnType, value: Value, expected: Value| {
        assert_eq!(column.cell(Some(&value), at(60)), expected, "{column:?} {value}");
    };
    check(ColumnType::String, json!("a"), json!("a"));
    check(ColumnType::String, json!(1), Value::Null);
    check(ColumnType::Integer, json!(-4), json!(-4));
    check(ColumnType::Integer, json!(2.9), json!(2));
    check(ColumnType::Integer, json!(-2.9), json!(-2));
    check(ColumnType::Integer, json!(1e300), json!(i64::MAX));
    check(ColumnType::Integer, json!("4"), Value::Null);
    check(ColumnType::Number, json!(0.5), json!(0.5));
    check(ColumnType::Number, json!(null), Value::Null);
    check(ColumnType::Boolean, json!(true), json!(true));
    check(ColumnType::Boolean, json!("true"), Value::Null);
    check(ColumnType::Date, json!("1970-01-01T00:00:00Z"), json!("60s"));
    check(ColumnType::Date, json!("x"), json!("<invalid>"));
    check(ColumnType::Date, json!(0), Value::Null);
    for column in [ColumnType::String, ColumnType::Integer, ColumnType::Number, ColumnType::Boolean, ColumnType::Date] {
        assert_eq!(column.cell(None, at(0)), Value::Null);
        assert_eq!(json!(column), json!(column.as_str()));
    }
}
