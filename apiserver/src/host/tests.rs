use super::*;

fn kind(group: &str, namespaced: bool) -> HostKind {
    HostKind {
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: "Thing".to_owned(),
        plural: "things".to_owned(),
        namespaced,
        verbs: Vec::new(),
    }
}

#[test]
fn no_name_leaves_its_place() {
    let at = |name: &str| path(&kind("", true), "shop", name);
    assert_eq!(at("a").as_deref(), Some("/api/v1/namespaces/shop/things/a"));
    assert_eq!(at("a:b").as_deref(), Some("/api/v1/namespaces/shop/things/a:b"));
    assert_eq!(at("a?b#c d").as_deref(), Some("/api/v1/namespaces/shop/things/a%3Fb%23c%20d"));
    for name in ["", ".", "..", "a/b", "a%2fb"] {
        assert_eq!(at(name), None, "{name:?}");
    }
    assert_eq!(path(&kind("x.dev", false), "", "a").as_deref(), Some("/apis/x.dev/v1/things/a"));
    assert_eq!(path(&kind("", true), "../kube-system", "a"), None);
}
