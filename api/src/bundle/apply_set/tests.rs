use super::*;

/// M-SMITH-4: the id is the one that any tool computes of the name, the namespace, the kind and the group; kinds are told once
/// each, in order.
#[test]
fn what_others_know() {
    let id = apply_set_id("default", "shop");
    assert_eq!(id, "applyset-dZXjsON2ko8pLAhBf7Hj6M6s_n-st7MpwaXvf-puVL0-v1");
    assert_ne!(id, apply_set_id("shop", "default"));
    let object = |api_version: &str, kind: &str| BundleObject {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        ..BundleObject::default()
    };
    let objects =
        [object("v1", "Secret"), object("apps/v1", "Deployment"), object("v1", "ConfigMap"), object("v1", "Secret")];
    assert_eq!(group_kinds(&objects), "ConfigMap,Deployment.apps,Secret");
    assert_eq!(group_kinds([]), "");
}
