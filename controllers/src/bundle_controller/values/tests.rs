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
    check_secrets(&plan.resources()[1], &HashMap::from([("a".to_owned(), observed)]))
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
