use super::*;

/// B-02: what everyone may know of a Secret is named; all else is secret.
#[test]
fn what_is_secret() {
    let path = |text: &str| text.parse::<ObjectPath>().unwrap();
    for open in ["type", "kind", "metadata.name", "metadata.labels.app", "metadata.uid"] {
        assert!(!is_secret(&path(open)), "{open}");
    }
    for kept in ["data", "data.password", "stringData.x", "metadata", "metadata.annotations.x", "anything", "type.x"] {
        assert!(is_secret(&path(kept)), "{kept}");
    }
    assert!(is_secret(&ObjectPath::root()));
    assert!(may_hold_secrets("v1", "Secret", &path("data.x")) && may_hold_secrets("v1", "Secret", &path("stringData")));
    assert!(!may_hold_secrets("v1", "Secret", &path("metadata.labels.x")));
    assert!(!may_hold_secrets("v1", "ConfigMap", &path("data.x")));
    assert!(!may_hold_secrets("example.dev/v1", "Secret", &path("data.x")));
}
