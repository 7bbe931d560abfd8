use super::*;

/// B-01: what would be another path is neither a version nor a kind.
#[test]
fn kinds() {
    for fine in ["v1", "apps/v1", "bundle.bailiwick.dev/v1alpha1"] {
        assert!(is_api_version(fine), "{fine}");
    }
    for wrong in [
        "",
        "/",
        "/v1",
        "apps/",
        "bundle.bailiwick.dev/v1alpha1/bundles",
        "bundle.bailiwick.dev/v1alpha1?watch=true",
        "v1?",
        "v1#",
        "..",
        "../v1",
        "apps/..",
        "apps/%76%31",
        "Apps/v1",
        "apps /v1",
        "v1\n",
    ] {
        assert!(!is_api_version(wrong), "{wrong}");
    }
    for fine in ["ConfigMap", "My-Kind", "V1"] {
        assert!(is_kind(fine), "{fine}");
    }
    for wrong in ["", "1x", "a/b", "a.b", "a?", "Ä", "a b"] {
        assert!(!is_kind(wrong), "{wrong}");
    }
}

/// B-01: what is more than one part of a path names no object.
#[test]
fn names() {
    for fine in ["a", "a.b", "...", "system:node", "ä", &"a".repeat(MAX_OBJECT_NAME)] {
        assert!(is_object_name(fine), "{fine}");
    }
    let long = "a".repeat(MAX_OBJECT_NAME + 1);
    for wrong in ["", ".", "..", "a/b", "a/", "?limit=1", "a?watch=true", "a#b", "a%2fb", "a\\b", "a b", "a\n", &long] {
        assert!(!is_object_name(wrong), "{wrong}");
    }
}
