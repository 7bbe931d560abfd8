use super::*;

#[test]
fn a_key_has_a_domain_and_a_path() {
    for key in ["acme.io/foo", "acme.io/a/b", "a/%2f"] {
        assert!(domain_prefixed_path(key).is_empty(), "{key}");
    }
    for key in ["", "/", "acme.io", "acme.io/", "/foo", "Acme/foo", "acme.io/a b"] {
        assert!(!domain_prefixed_path(key).is_empty(), "{key}");
    }
}
