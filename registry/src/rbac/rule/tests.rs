use super::*;

fn matches(pattern: &str, resource: &str, subresource: &str) -> bool {
    let (group, version, namespace, name) = ("", "v1", "shop", "a");
    let rest = Resource { resource, subresource, ..Resource::default() };
    resource_matches(pattern, &Resource { group, version, namespace, name, ..rest })
}

#[test]
fn what_lies_below_is_allowed_by_itself_or_by_its_like_everywhere() {
    for (pattern, expected) in [
        ("*", [true, true, true]),
        ("pods", [true, false, false]),
        ("pods/log", [false, true, false]),
        ("*/log", [false, true, false]),
        ("services/log", [false, false, false]),
        ("pods/*", [false, false, false]),
        ("*/exec", [false, false, true]),
        ("services", [false, false, false]),
    ] {
        let found = ["", "log", "exec"].map(|subresource| matches(pattern, "pods", subresource));
        assert_eq!(found, expected, "{pattern}");
    }
}
