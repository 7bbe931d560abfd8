//! Tables: how old an object is depends on when one looks.

use serde_json::Value;

/// Replaces the ages in a Table, or in a watch's Tables, of which only the first names its columns.
pub(super) fn hide_ages(body: &mut Value) {
    let mut dates = Vec::new();
    match body {
        Value::Array(events) => {
            for event in events {
                hide(&mut event["object"], &mut dates);
            }
        }
        table => hide(table, &mut dates),
    }
}

fn hide(table: &mut Value, dates: &mut Vec<usize>) {
    if table["kind"] != "Table" {
        return;
    }
    if let Some(columns) = table["columnDefinitions"].as_array().filter(|columns| !columns.is_empty()) {
        *dates = columns.iter().enumerate().filter(|(_, column)| column["type"] == "date").map(|(i, _)| i).collect();
    }
    for row in table["rows"].as_array_mut().into_iter().flatten() {
        for column in &*dates {
            if let Some(cell) = row["cells"].get_mut(column).filter(|cell| is_age(cell)) {
                *cell = "<age>".into();
            }
        }
    }
}

/// `12s`; what has no age has `<unknown>`.
fn is_age(cell: &Value) -> bool {
    let Some(number) = cell.as_str().and_then(|age| age.strip_suffix('s')) else { return false };
    number.parse::<u16>().is_ok()
}
