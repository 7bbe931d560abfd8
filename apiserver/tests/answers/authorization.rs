//! Who may what, asked where requests are answered.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_registry::rbac::{LivePolicy, Policy, PolicyObject, Rbac};
use bailiwick_registry::{AllowGroup, Attributes, AuthorizationError, Authorizer, AuthorizerChain, Decision, User};
use serde_json::{Value, json};

use crate::site::{CLAIMS, ORGANIZATIONS, Site, claim};

const CATALOG: &str = "catalog.bailiwick.dev";
const APPLY: (&str, &str) = ("content-type", "application/apply-patch+yaml");

/// Cannot say anything.
struct Broken;

#[async_trait]
impl Authorizer for Broken {
    async fn authorize(&self, _: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        Err(AuthorizationError("secret of the operator".to_owned()))
    }
}

/// A server where a user `u` has these rights everywhere, and a user `deputy` those.
async fn site(of_user: Value, of_deputy: Value) -> Site {
    let role = |name: &str, rules: &Value| {
        let role = json!({ "metadata": { "name": name }, "rules": rules });
        PolicyObject::ClusterRole(serde_json::from_value(role).unwrap())
    };
    let binding = |name: &str| {
        let binding = json!({
            "metadata": { "name": name },
            "roleRef": { "kind": "ClusterRole", "name": name },
            "subjects": [{ "kind": "User", "name": name }],
        });
        PolicyObject::ClusterRoleBinding(serde_json::from_value(binding).unwrap())
    };
    let objects = [role("u", &of_user), binding("u"), role("deputy", &of_deputy), binding("deputy")];
    let live = LivePolicy::default();
    live.replace(objects.into_iter().collect::<Policy>());
    let authorizers: Vec<Box<dyn Authorizer>> =
        vec![Box::new(AllowGroup::MASTERS), Box::new(Rbac::new(Arc::new(live)))];
    Site::of(Arc::new(AuthorizerChain::new(authorizers))).await
}

fn user(name: &str) -> User {
    User { name: name.to_owned(), ..User::default() }
}

fn rule(verbs: &[&str], group: &str, resource: &str) -> Value {
    json!({ "verbs": verbs, "apiGroups": [group], "resources": [resource] })
}

fn applied(name: &str) -> String {
    claim(name, json!({})).to_string()
}

/// S-15. An apply that finds nothing makes an object, and needs the right to.
#[tokio::test]
async fn an_apply_that_creates_is_also_a_create() {
    let rules = json!([
        rule(&["get", "patch"], CATALOG, "resourcecatalogclaims"),
        { "verbs": ["create"], "apiGroups": [CATALOG], "resources": ["resourcecatalogclaims"], "resourceNames": ["mine"] },
    ]);
    let site = site(rules, json!([])).await;
    let path = |name: &str| format!("{CLAIMS}/{name}?fieldManager=m");
    let refused = site.ask_as(&user("u"), "PATCH", &path("theirs"), &[APPLY], &applied("theirs")).await;
    assert_eq!(refused.code, 403, "{}", refused.text());
    assert_eq!(
        refused.json()["message"],
        "resourcecatalogclaims.catalog.bailiwick.dev \"theirs\" is forbidden: User \"u\" cannot create resource \
         \"resourcecatalogclaims\" in API group \"catalog.bailiwick.dev\" in the namespace \"default\""
    );
    assert_eq!(site.ask_as(&user("u"), "GET", &format!("{CLAIMS}/theirs"), &[], "").await.code, 404);

    let made = site.ask_as(&user("u"), "PATCH", &path("mine"), &[APPLY], &applied("mine")).await;
    assert_eq!(made.code, 201, "{}", made.text());
    let changed = site.ask_as(&user("u"), "PATCH", &path("mine"), &[APPLY], &applied("mine")).await;
    assert_eq!(changed.code, 200, "{}", changed.text());
    let put = site.ask_as(&user("u"), "PUT", &format!("{CLAIMS}/theirs"), &[], &applied("theirs")).await;
    assert_eq!(put.code, 403, "{}", put.text());
}

/// Who cannot be asked has allowed nothing, and the client is not told what is wrong with it.
#[tokio::test]
async fn a_failing_authorizer_is_an_error_of_the_server() {
    let site = Site::of(Arc::new(Broken)).await;
    for (method, path) in [("GET", CLAIMS), ("GET", "/version"), ("DELETE", CLAIMS), ("PATCH", ORGANIZATIONS)] {
        let answer = site.ask_as(&user("u"), method, path, &[], "").await;
        assert_eq!(answer.code, 500, "{method} {path}: {}", answer.text());
        assert!(!answer.text().contains("secret"), "{}", answer.text());
    }
    let health = site.ask_as(&user("u"), "GET", "/livez", &[], "").await;
    assert_eq!(health.code, 200, "whoever keeps the server alive asks nobody");
}

/// A right to one thing is none to what lies below, beside or above it.
#[tokio::test]
async fn rights_end_where_they_end() {
    let rules = json!([
        { "verbs": ["get", "update"], "apiGroups": [CATALOG], "resources": ["resourcecatalogclaims"], "resourceNames": ["a"] },
        { "verbs": ["get"], "nonResourceURLs": ["/version"] },
    ]);
    let site = site(rules, json!([])).await;
    site.claim("a", json!({})).await;
    site.claim("b", json!({})).await;
    for (method, path, code) in [
        ("GET", format!("{CLAIMS}/a"), 200),
        ("HEAD", format!("{CLAIMS}/a"), 200),
        ("GET", format!("{CLAIMS}/b"), 403),
        ("HEAD", format!("{CLAIMS}/b"), 403),
        ("GET", format!("{CLAIMS}/a/status"), 403),
        ("PUT", format!("{CLAIMS}/a/status"), 403),
        ("PATCH", format!("{CLAIMS}/a"), 403),
        ("DELETE", format!("{CLAIMS}/a"), 403),
        ("GET", CLAIMS.to_owned(), 403),
        ("GET", format!("{CLAIMS}?watch=true"), 403),
        ("GET", format!("{CLAIMS}?fieldSelector=metadata.name%3Da"), 403),
        ("DELETE", format!("{CLAIMS}?fieldSelector=metadata.name%3Da"), 403),
        ("DELETE", CLAIMS.to_owned(), 403),
        ("POST", CLAIMS.to_owned(), 403),
        ("GET", CLAIMS.replace("default", "other"), 403),
        ("GET", "/version".to_owned(), 200),
        ("GET", "/version/".to_owned(), 403),
        ("GET", "/apis".to_owned(), 403),
        ("GET", "/healthz".to_owned(), 200),
        ("GET", "/healthz/etcd".to_owned(), 403),
        ("PROPFIND", format!("{CLAIMS}/a"), 403),
        ("OPTIONS", format!("{CLAIMS}/a"), 403),
    ] {
        let answer = site.ask_as(&user("u"), method, &path, &[], "").await;
        assert_eq!(answer.code, code, "{method} {path}: {}", answer.text());
    }
}

/// S-04. Whoever acts as another has the other's rights and not their own, and both can be told afterwards.
#[tokio::test]
async fn whoever_acts_as_another_has_their_rights() {
    let of_deputy = json!([
        { "verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["u"] },
        { "verbs": ["impersonate"], "apiGroups": [""], "resources": ["groups"], "resourceNames": ["g"] },
        rule(&["list"], "org.bailiwick.dev", "organizations"),
    ]);
    let site = site(json!([rule(&["list"], CATALOG, "resourcecatalogclaims")]), of_deputy).await;
    let deputy = user("deputy");
    let as_u = ("Impersonate-User", "u");

    let own = site.ask_as(&deputy, "GET", ORGANIZATIONS, &[], "").await;
    assert_eq!((own.code.as_u16(), own.impersonated), (200, None));
    assert_eq!(site.ask_as(&deputy, "GET", CLAIMS, &[], "").await.code, 403);

    let other = site.ask_as(&deputy, "GET", CLAIMS, &[as_u, ("Impersonate-Group", "g")], "").await;
    assert_eq!(other.code, 200, "{}", other.text());
    let impersonated = other.impersonated.unwrap();
    assert_eq!((impersonated.user.name.as_str(), impersonated.constraint), ("u", None));
    assert_eq!(impersonated.user.groups, ["g", "system:authenticated"]);

    let refused = site.ask_as(&deputy, "GET", ORGANIZATIONS, &[as_u], "").await;
    assert_eq!(refused.code, 403, "the deputy's own rights are not there");
    assert!(refused.text().contains("User \\\"u\\\" cannot list"), "{}", refused.text());
    assert_eq!(refused.impersonated.unwrap().user.name, "u", "what was refused was refused to someone");

    for headers in [
        &[("Impersonate-User", "v")][..],
        &[as_u, ("Impersonate-Group", "system:masters")],
        &[as_u, ("Impersonate-Group", "g"), ("Impersonate-Group", "h")],
        &[as_u, ("Impersonate-Uid", "1")],
        &[as_u, ("Impersonate-Extra-Scopes", "all")],
        &[("Impersonate-User", "system:serviceaccount:default:default")],
        &[("Impersonate-User", "deputy")],
    ] {
        let answer = site.ask_as(&deputy, "GET", CLAIMS, headers, "").await;
        assert_eq!((answer.code.as_u16(), &answer.impersonated), (403, &None), "{headers:?}: {}", answer.text());
    }
    for headers in [
        &[("Impersonate-Group", "g")][..],
        &[("Impersonate-Uid", "1")],
        &[("Impersonate-Extra-Scopes", "all")],
        &[("Impersonate-User", ""), ("Impersonate-Group", "")],
    ] {
        let answer = site.ask_as(&deputy, "GET", ORGANIZATIONS, headers, "").await;
        assert_eq!(answer.code, 400, "{headers:?}: {}", answer.text());
    }
}

/// S-04. What was refused to be acted as does nothing, not even in one's own name.
#[tokio::test]
async fn a_refused_impersonation_changes_nothing() {
    let all = json!([{ "verbs": ["create", "get"], "apiGroups": [CATALOG], "resources": ["*"] }]);
    let site = site(json!([]), all).await;
    let headers = [("Impersonate-User", "u"), ("content-type", "application/json")];
    let answer = site.ask_as(&user("deputy"), "POST", CLAIMS, &headers, &applied("x")).await;
    assert_eq!(answer.code, 403, "{}", answer.text());
    assert_eq!(site.ask_as(&user("deputy"), "GET", &format!("{CLAIMS}/x"), &[], "").await.code, 404);
}

/// S-14. What was authorized by its name is the only thing that is done: a path that names an object neither makes nor shows
/// another.
#[tokio::test]
async fn the_name_that_was_authorized_is_the_one_that_counts() {
    let rules = json!([{
        "verbs": ["create", "get", "watch"], "apiGroups": [CATALOG],
        "resources": ["resourcecatalogclaims"], "resourceNames": ["mine"],
    }]);
    let site = site(rules, json!([])).await;
    site.claim("mine", json!({})).await;
    site.claim("theirs", json!({})).await;
    let json_body = [("content-type", "application/json")];

    let path = format!("{CLAIMS}/mine");
    let mut generated = claim("x", json!({}));
    generated["metadata"] = json!({ "generateName": "x-" });
    for body in [applied("other"), generated.to_string()] {
        let made = site.ask_as(&user("u"), "POST", &path, &json_body, &body).await;
        assert_eq!(made.code, 400, "{}", made.text());
    }
    let list = site.get(CLAIMS).await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 2, "{list}");

    let watches = CLAIMS.replace("/v1alpha1/", "/v1alpha1/watch/");
    let seen = |query: &str| {
        let target = format!("{watches}/mine?timeoutSeconds=1{query}");
        let site = &site;
        async move { site.ask_as(&user("u"), "GET", &target, &[], "").await }
    };
    for query in ["", "&fieldSelector=", "&fieldSelector=metadata.name%3Dmine"] {
        let answer = seen(query).await;
        let names: Vec<String> =
            answer.events().iter().map(|event| event["object"]["metadata"]["name"].to_string()).collect();
        assert_eq!(names, ["\"mine\""], "{query}");
    }
    for query in ["&fieldSelector=metadata.name%3Dtheirs", "&fieldSelector=metadata.name!%3Dx", "&fieldSelector=a%3Db"]
    {
        let answer = seen(query).await;
        assert_eq!(answer.code, 400, "{query}: {}", answer.text());
        assert_eq!(answer.json()["message"], "fieldSelector metadata.name doesn't match requested name");
    }
    let selected = format!("{CLAIMS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D");
    assert_eq!(site.ask_as(&user("u"), "GET", &format!("{selected}mine"), &[], "").await.events().len(), 1);
    assert_eq!(site.ask_as(&user("u"), "GET", &format!("{selected}theirs"), &[], "").await.code, 403);
}
