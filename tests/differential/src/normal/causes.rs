//! A Status that names several mistakes: kube-apiserver walks Go maps to find them, so their order is a matter of luck.

use std::collections::HashSet;

use serde_json::Value;

/// Sorts the causes of a Status, in its details and in its message.
pub(super) fn sort(body: &mut Value) {
    let causes = body.pointer_mut("/details/causes").and_then(Value::as_array_mut);
    let Some(causes) = causes.filter(|causes| causes.len() > 1) else { return };
    let before = list(causes);
    causes.sort_by_key(sentence);
    let after = list(causes);
    if let Some(Value::String(message)) = body.get_mut("message") {
        *message = message.replace(&before, &after);
    }
}

/// The causes as they stand in a message.
fn list(causes: &[Value]) -> String {
    let mut sentences: Vec<String> = causes.iter().map(sentence).collect();
    // Said once, however often it is found.
    let mut said = HashSet::new();
    sentences.retain(|sentence| said.insert(sentence.clone()));
    format!("[{}]", sentences.join(", "))
}

fn sentence(cause: &Value) -> String {
    format!("{}: {}", cause["field"].as_str().unwrap_or_default(), cause["message"].as_str().unwrap_or_default())
}
