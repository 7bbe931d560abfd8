use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// What Kubernetes accepts and Bailiwick refuses: tokens that no server writes, so nobody has one but who made it up.
const REFUSED: [(&str, &str); 10] = [
    (r#"{"v":"meta.k8s.io/v1","rv":1,"start":"a"}"#, "it does not end in NUL"),
    (r#"{"v":"meta.k8s.io/v1","rv":1,"start":"a/."}"#, "the same, and there is a dot for a segment"),
    (r#"{"v":"meta.k8s.io/v1","rv":1,"start":"/"}"#, "the same"),
    (r#"{"v":"meta.k8s.io/v1","rv":1,"start":"/a\u0000"}"#, "keys are relative"),
    (r#"{"v":"meta.k8s.io/v1","rv":1,"start":"a/\u0000"}"#, "there is an empty segment"),
    (r#"{"v":"meta.k8s.io/v1","rv":1,"start":"a/.\u0000"}"#, "there is a dot for a segment"),
    (r#"{"v":"meta.k8s.io/v1","rv":1,"start":"\u0000"}"#, "there is an empty segment"),
    (r#"{"v":"meta.k8s.io/v1","rv":1,"start":"a\u0000b"}"#, "there is a NUL inside, which no key has"),
    (r#"{"v":"meta.k8s.io/v1","rv":1,"start":"a\u0000\u0000"}"#, "the same"),
    (r#"{"V":"meta.k8s.io/v1","RV":1,"Start":"a\u0000"}"#, "fields are found by their very names"),
];

#[test]
fn as_kubernetes_reads_them() {
    let rows: Vec<Value> = serde_json::from_str(include_str!("../../../tests/data/go/continuetoken.json")).unwrap();
    for row in &rows {
        let token = row["token"].as_str().unwrap();
        let read = ContinueToken::decode(token);
        if let Some(expected) = row["error"].as_str() {
            let error = read.expect_err(token).to_string();
            // What Go's JSON reader says about what is no token is Go's.
            let of_go = ["json: ", "invalid character ", "unexpected end of JSON", "this encoded version "];
            let by_go = of_go.iter().any(|text| expected.contains(text)) && error.ends_with("not a continue token");
            assert!(by_go || error == expected, "{token}: {error} instead of {expected}");
            continue;
        }
        let start = row["start"].as_str().unwrap_or_default();
        match read {
            Ok(token) => {
                let resume = u64::try_from(row["rv"].as_i64().unwrap()).map_or(Resume::Latest, Resume::Exact);
                assert_eq!((token.resume(), format!("{}\0", token.after())), (resume, start.to_owned()));
                // Of two negative revisions Kubernetes writes the one it read. What HTML could misread it writes otherwise.
                if row["rv"] != -7 && !start.contains('<') {
                    assert_eq!(token.to_string(), row["encoded"].as_str().unwrap());
                }
            }
            Err(error) => {
                let json = String::from_utf8(decode_base64(token).unwrap()).unwrap();
                // Keys have no control characters.
                let known = json.contains("\\u0001") || REFUSED.iter().any(|(text, _)| *text == json);
                assert!(known, "{json}: {error}");
            }
        }
    }
    assert!(rows.len() > 50);
}

proptest! {
    #[test]
    fn there_and_back(revision in 1..i64::MAX as u64, after in "[a-z0-9é][a-z0-9.é-]{0,8}(/[a-z0-9][a-z0-9.-]{0,8})?") {
        for resume in [Resume::Exact(revision), Resume::Latest] {
            let token = ContinueToken::new(resume, after.clone());
            prop_assert_eq!(ContinueToken::decode(&token.to_string()), Ok(token));
        }
    }

    #[test]
    fn never_panics(text in "\\PC{0,40}|[A-Za-z0-9_-]{0,60}") {
        let _ = ContinueToken::decode(&text);
    }

    /// Whatever is accepted stays below the collection.
    #[test]
    fn nothing_leads_out(start in "[a./%]{0,8}", rv in any::<i64>()) {
        let json = serde_json::json!({"v": VERSION, "rv": rv, "start": format!("{start}\0")}).to_string();
        if let Ok(token) = ContinueToken::decode(&encode_base64(json.as_bytes())) {
            prop_assert!(token.after().split('/').all(|segment| !matches!(segment, "" | "." | "..")));
            prop_assert_eq!(token.after(), start);
        }
    }

    #[test]
    fn base64_there_and_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        prop_assert_eq!(decode_base64(&encode_base64(&bytes)), Ok(bytes));
    }
}
