//! Tables: how old an object is depends on when one looks.

use serde_json::Value;

/// Replaces the ages in a Table, or in a watch's Tables, of which only the first names its columns.
pub(super) fn hide_ages(body: &mut Value) {
    let mut dates = Vec::new();
    match body {
        Value::Array(events) => {
            for table in events.iter_mut().filter_map(|event| event.get_mut("object")) {
                hide(table, &mut dates);
            }
        }
        table => hide(table, &mut dates),
    }
}

fn hide(table: &mut Value, dates: &mut Vec<usize>) {
    if table.get("kind").is_none_or(|kind| kind != "Table") {
        return;
    }
    if let Some(columns) =
        table.get("columnDefinitions").and_then(Value::as_array).filter(|columns| !columns.is_empty())
    {
        *dates = columns.iter().enumerate().filter(|(_, column)| is_date(column)).map(|(i, _)| i).collect();
    }
    // Indexing a value that may be changed would add what is not there.
    for row in table.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(cells) = row.get_mut("cells") else { continue };
        for column in &*dates {
            if let Some(cell) = cells.get_mut(column).filter(|cell| is_age(cell)) {
                *cell = "<age>".into();
            }
        }
    }
}

/// Kubernetes' own kinds have their ages as text.
fn is_date(column: &Value) -> bool {
    column["type"] == "date" || ["Age", "Last Seen", "First Seen"].iter().any(|name| column["name"] == *name)
}

/// `12s`; what has no age has `<unknown>`.
fn is_age(cell: &Value) -> bool {
    let Some(number) = cell.as_str().and_then(|age| age.strip_suffix('s')) else { return false };
    number.parse::<u16>().is_ok()
}
