//! Texts of Secrets, folded into their bytes as the API server does it when it stores one.
//!
//! What is applied to a server owns fields. The server takes `stringData` away as it stores a Secret, so that nobody owns what came
//! of it, and a key that is applied no more would stay in `data` for ever. Applied as `data`, it goes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

const DATA: &str = "data";
const STRING_DATA: &str = "stringData";

/// Makes the texts of a core v1 Secret values of its `data`, where they win. Anything else stays as it is, and so do texts that
/// are none: the server says what is wrong with them.
pub fn fold_string_data(object: &mut Map<String, Value>) {
    let is = |field: &str, text: &str| object.get(field).and_then(Value::as_str) == Some(text);
    if !is("apiVersion", "v1") || !is("kind", "Secret") {
        return;
    }
    let texts = match object.get(STRING_DATA) {
        None => return,
        Some(Value::Null) => Map::new(),
        Some(Value::Object(texts)) if texts.values().all(Value::is_string) => texts.clone(),
        Some(_) => return,
    };
    let mut data = match object.get(DATA) {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(data)) => data.clone(),
        Some(_) => return,
    };
    object.remove(STRING_DATA);
    if texts.is_empty() {
        return;
    }
    let encoded = |(key, text): (String, Value)| (key, STANDARD.encode(text.as_str().unwrap_or_default()).into());
    data.extend(texts.into_iter().map(encoded));
    object.insert(DATA.to_owned(), Value::Object(data));
}

#[cfg(test)]
mod tests;
