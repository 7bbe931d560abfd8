//! What people see of the objects of a kind that is data.

use std::time::SystemTime;

use serde_json::Value;

use super::definition::PrinterColumn;
use super::json_path::JsonPath;
use crate::table::{Column, ColumnType, Columns};
use crate::{Object, go};

/// The name and what the definition says; where it says nothing, the age. A path that is none ends the columns.
pub fn columns(wanted: &[PrinterColumn]) -> Columns {
    if wanted.is_empty() {
        return Columns::named().with_age();
    }
    let readable = wanted.iter().map_while(|wanted| Some((wanted, JsonPath::parse(&wanted.json_path).ok()?)));
    readable.fold(Columns::named(), |columns, (wanted, path)| {
        let column_type = column_type(&wanted.column_type);
        let column = Column {
            name: wanted.name.clone().into(),
            column_type,
            format: wanted.format.clone().into(),
            description: description(wanted).into(),
            priority: wanted.priority,
        };
        columns.with(column, move |object, now| cell(column_type, &path, object, now))
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
        (ColumnType::String, Some(value)) => printed(value).into(),
        (column_type, value) => column_type.cell(value, now),
    }
}

/// A column of texts shows whatever is there.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => go::GoNumber::of(number).text(),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => go::json(value),
    }
}
