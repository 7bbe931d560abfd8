//! Objects that keep validation busy.

use bailiwick_machinery::decode::from_json;
use bailiwick_machinery::schema::{Schema, prune, validate};
use bailiwick_machinery::{FieldErrors, FieldPath, MAX_FIELD_ERRORS};
use bailiwick_registry::kinds;
use serde_json::{Value, json};

use super::measure::{alone, settled};

fn check(what: &str, schema: &Schema, value: &Value) -> usize {
    let mut errors = FieldErrors::default();
    let text = settled(what, || {
        validate(schema, value, &FieldPath::root(), &mut errors);
        errors.to_string()
    });
    assert!(text.len() < 4 << 20, "{what}: {} bytes of errors", text.len());
    assert!(errors.as_slice().len() <= MAX_FIELD_ERRORS);
    errors.as_slice().len()
}

#[test]
fn our_kinds() {
    let _alone = alone();
    let different: Vec<String> = (0..200_000).map(|number| number.to_string()).collect();
    for kind in kinds::all().unwrap() {
        for version in kind.versions() {
            for users in [json!(vec!["a"; 500_000]), json!(different), json!(vec![0; 500_000])] {
                let fields = ["users", "adminUsers", "adminGroups", "memberUsers", "memberGroups"];
                let value: Value = fields.iter().map(|field| (field.to_string(), users.clone())).take(1).collect();
                let _ = check("many users", &version.schema, &value);
            }
            let unknown: String = (0..250_000).map(|number| format!("\"{number}\":0,")).collect();
            let mut value = match from_json(format!("{{{unknown}\"x\":0}}").as_bytes()) {
                Ok(decoded) => decoded.value,
                Err(_) => continue,
            };
            let told = settled("many unknown fields", || prune(&version.schema, &mut value));
            assert!(told.len() <= 1000 && value == json!({}), "{} are told", told.len());
        }
    }
}

#[test]
fn patterns() {
    let _alone = alone();
    let with = |pattern: &str| {
        Schema::from_json(&json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}))
    };
    for pattern in ["(a*)*b", "(a+)+$", "(a|aa)+b", "(.*){20}b", "(a?){50}a{50}", "^(([a-z])+.)+[A-Z]([a-z])+$"] {
        let schema = settled(pattern, || with(pattern)).unwrap();
        let _ = check(pattern, &schema, &json!({"a": "a".repeat(100_000)}));
    }
    for pattern in [
        "((a{1000}){1000}){1000}",
        "((((((((((a{10}){10}){10}){10}){10}){10}){10}){10}){10}){10})",
        &"(".repeat(100_000),
        &"a|".repeat(32 << 10),
    ] {
        let _ = settled(&pattern[..pattern.len().min(20)], || with(pattern).map(drop));
    }
}
