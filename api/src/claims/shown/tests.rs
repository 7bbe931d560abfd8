use serde_json::json;

use super::{MAX_SHOWN, Shown};

#[test]
fn what_is_long_is_cut_between_letters() {
    assert_eq!(Shown::of(&json!("5.7")).to_string(), "\"5.7\"");
    assert_eq!(Shown::text("5.7").to_string(), "5.7");
    let whole = "a".repeat(MAX_SHOWN);
    assert_eq!(Shown::text(&whole).to_string(), whole);
    let shown = Shown::text(&"ä".repeat(100_000)).to_string();
    assert!(shown.starts_with("ää") && shown.ends_with("ä… (200000 bytes)"), "{shown}");
    assert!(shown.len() <= MAX_SHOWN + 30, "{}", shown.len());
    assert!(Shown::of(&json!(vec![0; 100_000])).to_string().len() <= MAX_SHOWN + 30);
}
