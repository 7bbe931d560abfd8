use super::*;

/// As `distribution/reference` reads them.
#[test]
fn images_without_a_tag_or_a_hash_may_change() {
    let hash = format!("sha256:{}", "a".repeat(64));
    for image in ["a", "a:latest", "r.example.com:5000/a/b", "localhost/a", "a/b__c.d---e", "[::1]:80/a"] {
        assert!(is_latest(image), "{image}");
    }
    assert!(is_latest(&format!("a:latest@{hash}")));
    for image in ["", "a:1", "a:", "A", " a", "a/b_-c", "a..b", "a/", "r.example.com:x/a", &"a".repeat(64)] {
        assert!(!is_latest(image), "{image}");
    }
    assert!(!is_latest(&format!("a@{hash}")));
    assert!(!is_latest("a@sha256:aa"));
    assert!(!is_latest("a:latest@sha256:aa"));
    assert!(!is_latest(&"a/".repeat(200)));
}
