use http::StatusCode;
use serde_json::Value;

use super::*;

#[test]
fn looks_as_kubernetes_writes_it() {
    let response = ServerVersion::new().answer("/version").unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
    let text = String::from_utf8(response.body().to_vec()).unwrap();
    assert!(text.starts_with("{\n  \"major\": \"1\",\n  \"minor\": \"36\",\n  \"emulationMajor\": \"1\","), "{text}");
    assert!(text.ends_with("\"\n}"), "{text}");
    let version: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(version["gitVersion"], GIT_VERSION);
    let own = GIT_VERSION.strip_prefix("v1.36.3+bailiwick-").unwrap();
    assert!(own.split('.').all(|part| part.parse::<u32>().is_ok()), "{own}");
}

#[test]
fn only_at_its_path() {
    let version = ServerVersion::new();
    assert!(version.answer("/version/").is_some());
    for path in ["/", "", "/versions", "/version//", "/version/x"] {
        assert!(version.answer(path).is_none(), "{path}");
    }
}

#[test]
fn platforms_in_the_words_of_go() {
    assert_eq!(platform("linux", "x86_64"), "linux/amd64");
    assert_eq!(platform("macos", "aarch64"), "darwin/arm64");
    assert_eq!(platform("linux", "riscv64"), "linux/riscv64");
}
