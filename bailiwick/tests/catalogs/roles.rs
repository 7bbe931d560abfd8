//! What each of the kinds of people who have to do with catalogs may do by the roles that are there.

use serde_json::json;

use crate::market::Market;
use crate::objects::API;
use crate::site::{Mode, eventually};

in_both_modes!(each_may_what_the_role_is_for);

/// Who is asked about, besides who realizes claims: a cluster administrator; those who administer, edit and view `a`; someone who
/// is merely known; and who publishes, in `shop`.
const PEOPLE: [&str; 6] = ["root", "ada", "eddie", "vera", "nora", "pat"];

const NOTHING: &[&str] = &[];
const GET: &[&str] = &["get"];
const GET_AND_LIST: &[&str] = &["get", "list"];
const FOLLOW: &[&str] = &["list", "watch"];
/// Also to let go of claims.
const REALIZE: &[&str] = &["list", "watch", "patch"];
const SAY: &[&str] = &["patch"];
const READ: &[&str] = &["get", "list", "watch"];
const ALL: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// CAT-65: cluster administrators, those who administer, edit and view a project, those who are merely known, who owns entries, and
/// who realizes claims.
async fn each_may_what_the_role_is_for(site: &mut Market) {
    site.bind("a", "vera", "ClusterRole/view", "User/vera").await;
    let (controller, says) = match site.site.mode {
        Mode::Alone => ("system:serviceaccount:kube-system:catalog-claim-controller", NOTHING),
        // Who realizes claims is also who says what is in catalogs.
        Mode::Behind => ("system:serviceaccount:bailiwick-system:bailiwick", SAY),
    };
    let people = PEOPLE.into_iter().chain([controller]);
    let review = async |user: &str, verb: &str, resource: &str, namespace: &str| {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let attributes = json!({
            "group": "catalog.bailiwick.dev", "resource": resource, "subresource": subresource, "verb": verb,
            "namespace": namespace, "name": "gold",
        });
        let (kind, spec) = match user {
            "root" => ("SelfSubjectAccessReview", json!({ "resourceAttributes": attributes })),
            _ => {
                let groups = ["system:authenticated"];
                ("SubjectAccessReview", json!({ "resourceAttributes": attributes, "user": user, "groups": groups }))
            }
        };
        let object = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec });
        let path = format!("/apis/authorization.k8s.io/v1/{}s", kind.to_lowercase());
        site.root().post(&path, &object).await.expect(201)["status"]["allowed"].as_bool().unwrap()
    };
    // In the order of the people.
    for (namespace, resource, rights) in [
        ("", "resourcecatalogs", [ALL, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, FOLLOW]),
        ("", "resourcecatalogs/status", [ALL, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, says]),
        ("a", "resourcecatalogentries", [ALL, ALL, ALL, NOTHING, NOTHING, NOTHING, FOLLOW]),
        ("a", "resourcecatalogentries/status", [ALL, GET, GET, NOTHING, NOTHING, NOTHING, says]),
        ("a", "resourcecatalogclaims", [ALL, ALL, ALL, READ, NOTHING, NOTHING, REALIZE]),
        ("a", "resourcecatalogclaims/status", [ALL, GET, GET, GET, NOTHING, NOTHING, SAY]),
        ("a", "localresourcecatalogs", [ALL, GET_AND_LIST, GET_AND_LIST, GET_AND_LIST, NOTHING, NOTHING, NOTHING]),
        ("a", "localresourcecatalogs/entries", [ALL, GET, GET, GET, NOTHING, NOTHING, NOTHING]),
        ("shop", "resourcecatalogentries", [ALL, NOTHING, NOTHING, NOTHING, NOTHING, ALL, FOLLOW]),
        ("shop", "resourcecatalogentries/status", [ALL, NOTHING, NOTHING, NOTHING, NOTHING, GET, says]),
        ("b", "resourcecatalogclaims", [ALL, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, REALIZE]),
    ] {
        for (person, may) in people.clone().zip(rights) {
            for &verb in ALL {
                let told = review(person, verb, resource, namespace).await;
                assert_eq!(told, may.contains(&verb), "{person} {verb} {resource} in {namespace:?}");
            }
        }
    }
    // What nobody has until it is given: ada and eddie were given the one in `a`, and pat the other in `shop`.
    for (namespace, verb, holders) in [
        ("", "claim", &["root"][..]),
        ("", "publish", &["root"]),
        ("a", "claim", &["root", "ada", "eddie"]),
        ("a", "publish", &["root"]),
        ("b", "claim", &["root"]),
        ("shop", "claim", &["root"]),
        ("shop", "publish", &["root", "pat"]),
    ] {
        for person in people.clone() {
            let told = review(person, verb, "resourcecatalogs", namespace).await;
            assert_eq!(told, holders.contains(&person), "{person} {verb} in {namespace:?}");
        }
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
