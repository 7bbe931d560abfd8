use serde_json::json;

use super::*;

/// B-SMITH-1: an object names another wherever its name stands, and not where it is the beginning or the end of another name.
#[test]
fn what_names_something() {
    let says = |text: &str| names(&json!({ "spec": { "list": [1, null, true, { "secret": text }] } }), "db-1f");
    for text in
        ["db-1f", "see db-1f.", "/secrets/db-1f/password", "db-1f.password", "x=db-1f,y", "ädb-1fä", "db-1f2 db-1f"]
    {
        assert!(says(text), "{text}");
    }
    for text in ["", "db", "db-1f2", "my-db-1f", "db-1f-2", "xdb-1f", "db-1 f"] {
        assert!(!says(text), "{text}");
    }
    assert!(names(&json!({ "data": { "db-1f": "x" } }), "db-1f"), "by a key");
    assert!(!names(&json!(null), "db-1f"));
}
