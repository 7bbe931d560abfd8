//! What each of the five kinds of people may do by the roles that are there.

use serde_json::json;

use crate::market::Market;
use crate::objects::API;
use crate::site::eventually;

in_both_modes!(each_may_what_the_role_is_for);

/// CAT-65: cluster administrators, those who administer, edit and view a project, and those who are merely known.
async fn each_may_what_the_role_is_for(site: &mut Market) {
    site.bind("a", "vera", "ClusterRole/view", "User/vera").await;
    let review = async |user: &str, verb: &str, resource: &str, namespace: &str| {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let attributes = json!({
            "group": "catalog.bailiwick.dev", "resource": resource, "subresource": subresource, "verb": verb,
            "namespace": namespace, "name": "gold",
        });
        let object = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": attributes },
        });
        let who = if user == "root" { site.root() } else { site.user(user) };
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        who.post(path, &object).await.expect(201)["status"]["allowed"].as_bool().unwrap()
    };
    const READ: [&str; 3] = ["get", "list", "watch"];
    const WRITE: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];
    // Of admin, edit, view and someone who is merely known: who may read, and who may write.
    for (resource, read, write) in [
        ("resourcecatalogentries", [true, true, false, false], [true, true, false, false]),
        ("resourcecatalogclaims", [true, true, true, false], [true, true, false, false]),
        ("resourcecatalogclaims/status", [true, true, true, false], [false; 4]),
        ("resourcecatalogentries/status", [true, true, false, false], [false; 4]),
    ] {
        for (person, (read, write)) in ["ada", "eddie", "vera", "nora"].into_iter().zip(read.into_iter().zip(write)) {
            let of_status = resource.contains('/');
            for verb in READ.into_iter().filter(|verb| !of_status || *verb == "get") {
                assert_eq!(review(person, verb, resource, "a").await, read, "{person} {verb} {resource}");
            }
            for verb in WRITE {
                assert_eq!(review(person, verb, resource, "a").await, write, "{person} {verb} {resource}");
            }
            assert!(!review(person, "get", resource, "b").await, "{person} {resource}");
        }
    }
    for person in ["ada", "eddie", "vera", "nora"] {
        for verb in WRITE {
            assert!(!review(person, verb, "resourcecatalogs", "").await, "{person} {verb}");
        }
        // What nobody has until it is given: eddie and ada were given it in `a`.
        assert_eq!(
            review(person, "claim", "resourcecatalogs", "a").await,
            matches!(person, "ada" | "eddie"),
            "{person}"
        );
        assert!(!review(person, "claim", "resourcecatalogs", "b").await, "{person}");
        assert!(!review(person, "publish", "resourcecatalogs", "a").await, "{person}");
    }
    for verb in READ.into_iter().chain(WRITE).chain(["claim", "publish"]) {
        assert!(review("root", verb, "resourcecatalogs", "").await, "{verb}");
    }
    let everywhere = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "vera" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "vera" }],
    });
    let bindings = format!("{}/clusterrolebindings", crate::objects::RBAC);
    site.root().post(&bindings, &everywhere).await.expect(201);
    let vera = site.user("vera");
    let sees = async || vera.get(&format!("{API}/resourcecatalogs")).await.code == 200;
    eventually("whoever views everything sees the catalogs", sees).await;
    site.user("vera").get(&format!("{API}/resourcecatalogentries")).await.expect(403);
    site.root().delete(&format!("{bindings}/vera")).await.expect(200);
}
