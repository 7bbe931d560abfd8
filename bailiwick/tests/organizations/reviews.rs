//! What servers are told that leave it to this one to say who users are, and what they may do.

use serde_json::{Value, json};

use crate::site::{API, Site, binding, org_group};

/// ORG-47: groups of organizations are told of the owners of tokens, and count for whoever a review names; and they are
/// believed of nobody.
#[tokio::test]
async fn reviews_know_of_organizations() {
    let site = Site::alone().await;
    site.furnish().await;
    let root = site.root();
    let robot = "system:serviceaccount:default:robot";
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "robot" } });
    root.post("/api/v1/namespaces/default/serviceaccounts", &account).await.expect(201);
    root.merge(&format!("{API}/organizations/Acme"), &json!({ "memberUsers": ["bob", robot] })).await.expect(200);
    let group = org_group("Acme:dev", &["bob", robot]);
    site.user("alice").post(&format!("{API}/organizations/Acme/groups"), &group).await.expect(201);
    let bound = binding("dev", "edit", &["Acme:dev"]);
    root.post(&format!("{API}/namespaces/acme-web/orgrolebindings"), &bound).await.expect(201);

    let request = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    let token = root.post(path, &request).await.expect(201)["status"]["token"].clone();
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token },
    });
    let told = root.post("/apis/authentication.k8s.io/v1/tokenreviews", &review).await.expect(201);
    let groups = told["status"]["user"]["groups"].as_array().unwrap();
    assert!(groups.contains(&json!("org:Acme:dev")), "{told}");

    let may = async |user: &str, groups: Value, local: bool| {
        let spec = json!({
            "user": user, "groups": groups,
            "resourceAttributes": { "verb": "create", "resource": "configmaps", "namespace": "acme-web" },
        });
        let (kind, path) = match local {
            true => ("LocalSubjectAccessReview", "namespaces/acme-web/localsubjectaccessreviews"),
            false => ("SubjectAccessReview", "subjectaccessreviews"),
        };
        let review = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec });
        let told = root.post(&format!("/apis/authorization.k8s.io/v1/{path}"), &review).await.expect(201);
        told["status"]["allowed"].as_bool().unwrap()
    };
    for local in [false, true] {
        assert!(may("bob", json!([]), local).await && may(robot, json!(["x"]), local).await);
        assert!(!may("mallory", json!(["org:Acme:dev"]), local).await);
        assert!(!may("carol", json!([]), local).await);
    }
}
