//! What groups of organizations may do, and where.

use serde_json::json;

use crate::site::{API, RBAC, Site, binding, causes, namespace, org_group};

const ACME: &str = "acme-web";
const BETA: &str = "beta-web";

fn bindings(namespace: &str) -> String {
    format!("{API}/namespaces/{namespace}/orgrolebindings")
}

/// With a group of Acme in which bob and carol are.
async fn with_group() -> Site {
    let site = Site::with_organizations().await;
    let groups = format!("{API}/organizations/Acme/groups");
    site.user("alice").post(&groups, &org_group("Acme:dev", &["bob", "carol"])).await.expect(201);
    site
}

/// ORG-2, ORG-16, ORG-47: a group comes to something in the organization's projects, with the next request, and nowhere else.
#[tokio::test]
async fn groups_count_in_projects_of_their_organization() {
    let site = with_group().await;
    let bob = site.user("bob");
    assert!(bob.groups().await.contains(&"org:Acme:dev".to_owned()));
    assert!(!bob.can("create", "configmaps", ACME).await);
    site.root().post(&bindings(ACME), &binding("dev", "edit", &["Acme:dev"])).await.expect(201);
    assert!(bob.can("create", "configmaps", ACME).await);
    assert!(site.user("carol").can("create", "configmaps", ACME).await, "a member by a Group");
    assert!(!bob.can("create", "configmaps", BETA).await);
    assert!(!bob.can("create", "configmaps", "default").await);
    assert!(!site.user("bella").can("create", "configmaps", ACME).await);
    // What was given so can be given on, but no more than that.
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "x" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "dave" }],
    });
    let path = format!("{RBAC}/namespaces/{ACME}/rolebindings");
    bob.post(&path, &role).await.expect(403);
    // Whoever leaves the group has left it.
    site.user("alice").merge(&format!("{API}/orggroups/Acme:dev"), &json!({ "users": ["carol"] })).await.expect(200);
    assert!(!bob.can("create", "configmaps", ACME).await);
    // And so has who leaves the organization, whatever the group says.
    site.root().merge(&format!("{API}/groups/engineers"), &json!({ "users": [] })).await.expect(200);
    assert!(!site.user("carol").can("create", "configmaps", ACME).await);
    assert!(!site.user("carol").groups().await.contains(&"org:Acme:dev".to_owned()));
}

/// ORG-8, ORG-41, ORG-42, ORG-43, ORG-46: only groups of the owner can be bound; what else is bound is bound.
#[tokio::test]
async fn bindings_name_groups_of_the_owner_only() {
    let site = with_group().await;
    let root = site.root();
    let refusal = root.post(&bindings(BETA), &binding("dev", "edit", &["Acme:dev"])).await.expect(422);
    let why =
        "Invalid value: \"Acme:dev\": is not a group of \"Beta\", the organization that owns the project \"beta-web\"";
    assert_eq!(causes(&refusal), [("orgGroups[0]".to_owned(), why.to_owned())]);
    let refusal = root.post(&bindings("default"), &binding("dev", "edit", &["Acme:dev"])).await.expect(422);
    assert!(causes(&refusal)[0].1.contains("no organization owns the project"), "{refusal}");
    // The same binding, without what does not fit, goes where it is taken to.
    let mut exported = binding("dev", "view", &[]);
    exported["groups"] = json!(["viewers"]);
    exported["users"] = json!(["dave"]);
    root.post(&bindings(BETA), &exported).await.expect(201);
    assert!(site.user("dave").can("get", "configmaps", BETA).await);
    assert!(site.user_in("erin", &["viewers"]).can("get", "configmaps", BETA).await);
    for (field, value) in [
        ("orgGroups", json!(["dev"])),
        ("groups", json!(["org:Acme:dev"])),
        ("users", json!([""])),
        ("roleRef", json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x" })),
        ("roleRef", json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "" })),
    ] {
        let mut bad = binding("bad", "view", &[]);
        bad[field] = value;
        root.post(&bindings(ACME), &bad).await.expect(422);
    }
    let other =
        json!({ "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin" } });
    root.merge(&format!("{}/dev", bindings(BETA)), &other).await.expect(422);
    root.post(&bindings("kube-system"), &binding("dev", "view", &[])).await.expect(422);
}

/// ORG-7, ORG-44: a project that changes hands, or has no owner any more, knows no groups of its former owner.
#[tokio::test]
async fn access_ends_when_a_project_changes_hands() {
    let site = with_group().await;
    let (root, bob) = (site.root(), site.user("bob"));
    root.post(&bindings(ACME), &binding("dev", "edit", &["Acme:dev"])).await.expect(201);
    let path = format!("/api/v1/namespaces/{ACME}");
    let owner = |value| json!({ "metadata": { "labels": { "openshift.io/owner": value } } });
    for other in [json!("organizations__Beta"), json!(null)] {
        assert!(bob.can("create", "configmaps", ACME).await);
        root.merge(&path, &owner(other)).await.expect(200);
        assert!(!bob.can("create", "configmaps", ACME).await);
        root.merge(&path, &owner(json!("organizations__Acme"))).await.expect(200);
    }
    assert!(bob.can("create", "configmaps", ACME).await);
}

/// ORG-11: nobody gives by it what they could not have given by a RoleBinding.
#[tokio::test]
async fn who_writes_a_binding_could_write_its_equivalent() {
    let site = with_group().await;
    let root = site.root();
    let give = async |user: &str, role: &str| {
        let mut object = binding(user, role, &[]);
        object["users"] = json!([user]);
        root.post(&bindings(ACME), &object).await.expect(201);
    };
    give("dave", "admin").await;
    give("erin", "edit").await;
    let (dave, erin) = (site.user("dave"), site.user("erin"));
    dave.post(&bindings(ACME), &binding("dev", "edit", &["Acme:dev"])).await.expect(201);
    let refusal = dave.post(&bindings(ACME), &binding("root", "cluster-admin", &["Acme:dev"])).await.expect(403);
    let message = refusal["message"].as_str().unwrap().to_owned();
    assert!(message.contains("attempting to grant RBAC permissions not currently held"), "{message}");
    erin.post(&bindings(ACME), &binding("own", "view", &["Acme:dev"])).await.expect(403);
    dave.post(&bindings(BETA), &binding("dev", "view", &[])).await.expect(403);
    // Who may write these, but no RoleBindings, writes none.
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "only-these" },
        "rules": [{ "apiGroups": ["org.bailiwick.dev"], "resources": ["orgrolebindings"], "verbs": ["*"] }],
    });
    root.post(&format!("{RBAC}/namespaces/{ACME}/roles"), &role).await.expect(201);
    let bound = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "frank" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "only-these" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "frank" }],
    });
    root.post(&format!("{RBAC}/namespaces/{ACME}/rolebindings"), &bound).await.expect(201);
    let refusal = site.user("frank").post(&bindings(ACME), &binding("x", "view", &["Acme:dev"])).await.expect(403);
    assert!(refusal["message"].as_str().unwrap().contains("may not create rolebindings"), "{refusal}");
    site.user("frank").merge(&format!("{}/dev", bindings(ACME)), &json!({ "users": ["frank"] })).await.expect(403);
    // What it does not change it may touch.
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    site.user("frank").merge(&format!("{}/dev", bindings(ACME)), &label).await.expect(200);
}

/// A namespace that is made anew, with the same owner, has what is made in it then.
#[tokio::test]
async fn bindings_go_with_their_namespace() {
    let site = with_group().await;
    let (root, bob) = (site.root(), site.user("bob"));
    root.post("/api/v1/namespaces", &namespace("short", Some("organizations__Acme"))).await.expect(201);
    root.post(&bindings("short"), &binding("dev", "edit", &["Acme:dev"])).await.expect(201);
    assert!(bob.can("create", "configmaps", "short").await);
    root.delete(&format!("{}/dev", bindings("short"))).await.expect(200);
    assert!(!bob.can("create", "configmaps", "short").await);
}
