use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Client;
use serde_json::{Value, json};

use super::*;
use crate::host_kinds::tests::Answers;

/// What kube-apiserver says of an object that is not there.
fn not_found(kind: &str, name: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 404, "reason": "NotFound",
        "message": format!("{kind} \"{name}\" not found"), "details": { "name": name, "kind": kind },
    })
}

/// A host that answers each request with 404 and this body.
fn host(body: &str) -> Client {
    let body = body.to_owned();
    Client::new(Answers::new(move |_| (404, body.clone())), "default")
}

/// B-SMITH-5, P-4: an object is gone only where the host says so of it; a path that is not served, its namespace, or a page say
/// nothing.
#[tokio::test]
async fn only_who_names_the_object_says_that_it_is_gone() {
    let gone = not_found("configmaps", "x");
    let its_namespace = not_found("namespaces", "x");
    let another = not_found("configmaps", "y");
    // As a server of custom resources answers, and as this one does.
    let unnamed = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound",
        "message": "the server could not find the requested resource", "details": {} });
    let no_details =
        json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound" });
    for (body, is_absent, is_path) in [
        (gone.to_string(), true, false),
        (its_namespace.to_string(), false, false),
        (another.to_string(), false, false),
        (unnamed.to_string(), false, true),
        (no_details.to_string(), false, true),
        ("404 page not found\n".to_owned(), false, true),
        ("<html><body>Not Found</body></html>".to_owned(), false, true),
        (String::new(), false, true),
    ] {
        let api: Api<ConfigMap> = Api::namespaced(host(&body), "shop");
        let found = look_up(&api, "x").await;
        let metadata = look_up_metadata(&api, "x").await;
        assert_eq!(matches!(found, Ok(None)), is_absent, "{body}");
        assert_eq!(matches!(metadata, Ok(None)), is_absent, "{body}");
        let Err(kube::Error::Api(status)) = api.get("x").await else { panic!("{body}") };
        assert_eq!(is_path_absent(&status), is_path, "{body}");
    }
    let namespaces: Api<Namespace> = Api::all(host(&its_namespace.to_string()));
    assert!(matches!(look_up(&namespaces, "x").await, Ok(None)));
    assert!(look_up(&namespaces, "y").await.is_err());
}
