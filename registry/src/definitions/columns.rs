//! What people see of the objects of a kind that is defined by data.

use std::time::SystemTime;

use bailiwick_machinery::Object;
use bailiwick_machinery::crd::PrinterColumn;
use bailiwick_machinery::encode;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use serde_json::Value;

use super::json_path::JsonPath;

/// The name and what the definition says; where it says nothing, the age.
pub(super) fn columns(wanted: &[PrinterColumn]) -> Columns {
    if wanted.is_empty() {
        return Columns::named().with_age();
    }
    wanted.iter().fold(Columns::named(), |columns, wanted| {
        let path = JsonPath::parse(&wanted.json_path);
        let column_type = column_type(&wanted.column_type);
        let column = Column {
            name: wanted.name.clone().into(),
            column_type,
            format: wanted.format.clone().into(),
            description: description(wanted).into(),
            priority: wanted.priority,
        };
        columns.with(column, move |object, now| match &path {
            Some(path) => cell(column_type, path, object, now),
            None => Value::Null,
        })
    })
}

fn description(wanted: &PrinterColumn) -> String {
    match wanted.description.as_str() {
        "" => format!("Custom resource definition column (in JSONPath format): {}", wanted.json_path),
        description => description.to_owned(),
    }
}

fn column_type(name: &str) -> ColumnType {
    match name {
        "integer" => ColumnType::Integer,
        "number" => ColumnType::Number,
        "boolean" => ColumnType::Boolean,
        "date" => ColumnType::Date,
        _ => ColumnType::String,
    }
}

fn cell(column_type: ColumnType, path: &JsonPath, object: &Object, now: SystemTime) -> Value {
    let value = path.first(object.as_value());
    match (column_type, value) {
        // A column of texts shows whatever is there.
        (ColumnType::String, Some(value @ (Value::Bool(_) | Value::Number(_)))) => value.to_string().into(),
        (ColumnType::String, Some(value @ (Value::Array(_) | Value::Object(_)))) => {
            String::from_utf8_lossy(&encode::to_json(value)).into()
        }
        (column_type, value) => column_type.cell(value, now),
    }
}
