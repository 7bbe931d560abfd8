use serde_json::{Value, json};

use super::*;

fn fields(selector: &str) -> Value {
    let resource = Resource { field_selector: selector, ..Resource::default() };
    serde_json::to_value(field_selector_attributes(&resource)).unwrap()
}

fn labels(selector: &str) -> Value {
    let resource = Resource { label_selector: selector, ..Resource::default() };
    serde_json::to_value(label_selector_attributes(&resource)).unwrap()
}

#[test]
fn fields_are_in_or_not_in() {
    assert_eq!(
        fields("metadata.name=a,spec.x!=b"),
        json!({ "requirements": [
            { "key": "metadata.name", "operator": "In", "values": ["a"] },
            { "key": "spec.x", "operator": "NotIn", "values": ["b"] },
        ] })
    );
    assert_eq!(fields(""), Value::Null);
    assert_eq!(fields("metadata.name"), Value::Null);
}

#[test]
fn labels_have_four_operators() {
    assert_eq!(
        labels("a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1"),
        json!({ "requirements": [
            { "key": "a", "operator": "In", "values": ["b"] },
            { "key": "c", "operator": "NotIn", "values": ["d"] },
            { "key": "e", "operator": "In", "values": ["x", "y"] },
            { "key": "f", "operator": "NotIn", "values": ["z"] },
            { "key": "g", "operator": "Exists" },
            { "key": "h", "operator": "DoesNotExist" },
        ] })
    );
    assert_eq!(labels(""), Value::Null);
    assert_eq!(labels("i>1,j<2"), Value::Null, "what is left out leaves the wider question");
    assert_eq!(labels("a b"), Value::Null);
}
