//! A continue token.

use bailiwick_apiserver::{ContinueToken, Resume};
use bailiwick_storage::Resource;

/// Pieces of tokens.
pub const DICTIONARY: &[&[u8]] = &[
    b"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6",
    b"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Nywic3RhcnQiOiJucy9hXHUwMDAwIn0",
    b"e30",
    b"bnVsbA",
    b"=",
    b"-",
    b"_",
    b"+",
    b"/",
    b"\n",
    b"\r",
    b"A",
    b"ns/a",
    b"../",
    b"\0",
];

/// A token that is read is read again from what is written of it, and the key in it stays inside every prefix. A token
/// that is made for a text is refused, or means that text.
pub fn target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(token) = ContinueToken::decode(&text) {
        check(&token);
    }
    for resume in [Resume::Latest, Resume::Exact(1), Resume::Exact(u64::MAX)] {
        let token = ContinueToken::new(resume, text.as_ref());
        if let Ok(read) = ContinueToken::decode(&token.to_string()) {
            assert_eq!(read.after(), text, "another key was read");
            check(&read);
        }
    }
}

fn check(token: &ContinueToken) {
    assert_eq!(ContinueToken::decode(&token.to_string()).as_ref(), Ok(token));
    let widgets = Resource::new("example.dev", "widgets").expect("it has a name");
    for prefix in [widgets.all().clone(), widgets.namespace("ns").expect("it has a name")] {
        if let Ok(key) = prefix.key(token.after()) {
            assert!(prefix.contains(&key), "{key} is outside of {prefix}");
            assert_eq!(prefix.relative(&key), Some(token.after()));
        }
    }
}
