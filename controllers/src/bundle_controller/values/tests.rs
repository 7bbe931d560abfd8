use bailiwick_api::BundleSpec;
use bailiwick_api::bundle::Plan;

use super::*;
use crate::host_kinds::HostKind;

/// What becomes of a resource that uses a Secret of this type, which the other one is, or has put out.
fn refused(kind: &str, reference: &str) -> Option<&'static str> {
    let copy = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "copy"}, "stringData": {"x": format!("$({reference})")},
    });
    let source = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
    let spec = json!({"resources": [{"name": "a", "spec": source}, {"name": "b", "dependsOn": ["a"], "spec": copy}]});
    let spec: BundleSpec = serde_json::from_value(spec).unwrap();
    let plan = Plan::of(&spec, "here").unwrap();
    let object = json!({"metadata": {"name": "a"}, "type": kind, "data": {"x": "eA=="}});
    let seen = Seen { kind: HostKind::core("Secret", "secrets"), name: "a".to_owned(), object };
    let observed = Observed { object: seen.clone(), binding: None, output: Some(seen) };
    check_secrets(&plan.resources()[1], &HashMap::from([("a".to_owned(), observed)]), &Filled::new())
        .err()
        .map(|outcome| outcome.reason)
}

/// B-03: what others have made is used if it is made for that; what the Bundle has made, unless it is an identity.
#[test]
fn which_secrets_have_values() {
    let not_allowed = Some("SecretTypeNotAllowed");
    for (kind, own, others) in [
        ("Opaque", None, None),
        ("", None, None),
        ("servicebinding.io/mysql", None, None),
        ("kubernetes.io/tls", None, not_allowed),
        ("kubernetes.io/ssh-auth", None, not_allowed),
        ("kubernetes.io/dockerconfigjson", None, not_allowed),
        ("example.dev/anything", None, not_allowed),
        ("kubernetes.io/service-account-token", not_allowed, not_allowed),
        ("bootstrap.kubernetes.io/token", not_allowed, not_allowed),
    ] {
        assert_eq!((refused(kind, "a.data.x"), refused(kind, "a:output.data.x")), (own, others), "{kind}");
    }
    assert_eq!(refused("kubernetes.io/tls", "a:output.metadata.name"), None, "its name is no secret");
}

/// B-02: a value that comes from what turns out to be a Secret is one wherever it has been put, and is not taken on from there without
/// permission. Another value beside it is.
#[test]
fn permissions_are_for_one_object() {
    let map = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
    let take = |name: &str, text: &str, allow: bool| json!({"name": name, "dependsOn": ["c"], "allowSecretValues": allow, "spec": map(name, json!({"x": text}))});
    let copied = json!({"p": "$(dep:binding.data.p)", "plain": "$(dep.metadata.name)"});
    let spec = json!({"resources": [
        {"name": "dep", "spec": map("dep", json!({}))},
        {"name": "c", "dependsOn": ["dep"], "allowSecretValues": true, "spec": map("c", copied)},
        take("taken", "$(c.data.p)", false), take("whole", "$((c.data))", false),
        take("allowed", "$(c.data.p)", true), take("plain", "$(c.data.plain)", false),
    ]});
    let spec: BundleSpec = serde_json::from_value(spec).unwrap();
    let plan = Plan::of(&spec, "here").unwrap();
    let seen = |kind: HostKind| Seen { kind, name: "x".to_owned(), object: json!({"data": {"p": "eA=="}}) };
    let maps = || HostKind::core("ConfigMap", "configmaps");
    let told = |binding: HostKind| {
        let dep = Observed { object: seen(maps()), binding: Some(seen(binding)), output: None };
        let c = Observed { object: seen(maps()), binding: None, output: None };
        let observed = HashMap::from([("dep".to_owned(), dep), ("c".to_owned(), c)]);
        let mut filled = Filled::new();
        let mut refused = Vec::new();
        for resource in plan.resources() {
            match check_secrets(resource, &observed, &filled) {
                Ok(places) => drop(filled.insert(&resource.name, places)),
                Err(outcome) => refused.push((resource.name.as_str(), outcome.reason)),
            }
        }
        refused
    };
    assert_eq!(told(HostKind::core("Secret", "secrets")), [("taken", "SecretLeak"), ("whole", "SecretLeak")]);
    assert_eq!(told(maps()), []);
}

/// Texts of a Secret become its data before they are applied: as texts they would be nobody's, and never go.
#[test]
fn texts_of_secrets_are_applied_as_data() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"x": "x"}});
    let spec: BundleSpec = serde_json::from_value(json!({"resources": [{"name": "a", "spec": secret}]})).unwrap();
    let plan = Plan::of(&spec, "here").unwrap();
    let object = rendered(&plan.resources()[0], &HashMap::new(), "set").unwrap();
    assert_eq!((&object["data"], object.get("stringData")), (&json!({"x": "eA=="}), None));
}
