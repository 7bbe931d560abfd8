//! What groups of organizations may do, and where.

use serde_json::json;

use crate::site::{API, Mode, RBAC, Site, binding, causes, eventually, org_group, organization};

in_both_modes!(
    groups_count_in_projects_of_their_organization,
    bindings_name_groups_of_the_owner_only,
    access_ends_when_a_project_changes_hands,
    who_writes_a_binding_could_write_its_equivalent,
    bindings_go_with_their_namespace,
    whoever_edits_what_was_derived_changes_nothing,
    same_names_do_not_mix,
    an_organization_made_anew_inherits_nothing,
);

const ACME: &str = "acme-web";
const BETA: &str = "beta-web";
/// A time that is stored, and that many clients cannot read.
const LAST: &str = "9999-12-31T23:59:59Z";

fn bindings(namespace: &str) -> String {
    format!("{API}/namespaces/{namespace}/orgrolebindings")
}

/// With a group of Acme in which bob and carol are.
async fn with_group(site: &Site) {
    site.furnish().await;
    let groups = format!("{API}/organizations/Acme/groups");
    site.user("alice").post(&groups, &org_group("Acme:dev", &["bob", "carol"])).await.expect(201);
}

/// D-ORG-6, M-ORG-3, ORG-2, ORG-16, ORG-47, S-25, O-06: a group comes to something in the organization's projects, with the
/// next request, and nowhere else. Whoever puts people into it needs no right of their own there, which overrules O-02.
async fn groups_count_in_projects_of_their_organization(site: Site) {
    with_group(&site).await;
    let bob = site.user("bob");
    assert!(bob.groups().await.contains(&"org:Acme:dev".to_owned()));
    bob.may_not("create", "configmaps", ACME).await;
    site.root().post(&bindings(ACME), &binding("dev", "edit", &["Acme:dev"])).await.expect(201);
    bob.may("create", "configmaps", ACME).await;
    site.user("carol").may("create", "configmaps", ACME).await;
    bob.may_not("create", "configmaps", BETA).await;
    bob.may_not("create", "configmaps", "default").await;
    site.user("bella").may_not("create", "configmaps", ACME).await;
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
    bob.may_not("create", "configmaps", ACME).await;
    // And so has who leaves the organization, whatever the group says.
    site.root().merge(&format!("{API}/groups/engineers"), &json!({ "users": [] })).await.expect(200);
    site.user("carol").may_not("create", "configmaps", ACME).await;
    assert!(!site.user("carol").groups().await.contains(&"org:Acme:dev".to_owned()));
}

/// D-ORG-3, M-ORG-4, ORG-8, ORG-11, ORG-41, ORG-42, ORG-43, ORG-45, ORG-46: only groups of the owner can be bound; what else
/// is bound is bound.
async fn bindings_name_groups_of_the_owner_only(site: Site) {
    with_group(&site).await;
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
    site.user("dave").may("get", "configmaps", BETA).await;
    site.user_in("erin", &["viewers"]).may("get", "configmaps", BETA).await;
    // A name that does not say whose it is is told how to.
    let refusal = root.post(&bindings(ACME), &binding("short", "view", &["dev"])).await.expect(422);
    let (field, why) = &causes(&refusal)[0];
    assert!(field == "orgGroups[0]" && why.contains("must be of the form \"<organization>:<group>\""), "{refusal}");
    for (field, value) in [
        ("groups", json!(["org:Acme:dev"])),
        ("groups", json!(["painters", "system:authenticated"])),
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

/// ORG-7, ORG-44, O-11: a project that changes hands, or has no owner any more, knows no groups of its former owner.
async fn access_ends_when_a_project_changes_hands(site: Site) {
    with_group(&site).await;
    let bob = site.user("bob");
    site.root().post(&bindings(ACME), &binding("dev", "edit", &["Acme:dev"])).await.expect(201);
    for other in [json!("organizations__Beta"), json!(null)] {
        bob.may("create", "configmaps", ACME).await;
        site.give(ACME, other).await;
        bob.may_not("create", "configmaps", ACME).await;
        site.give(ACME, json!("organizations__Acme")).await;
    }
    bob.may("create", "configmaps", ACME).await;
}

/// ORG-11, S-21: nobody gives by it what they could not have given by a RoleBinding.
async fn who_writes_a_binding_could_write_its_equivalent(site: Site) {
    with_group(&site).await;
    let root = site.root();
    let give = async |user: &str, role: &str| {
        let mut object = binding(user, role, &[]);
        object["users"] = json!([user]);
        root.post(&bindings(ACME), &object).await.expect(201);
    };
    give("dave", "admin").await;
    give("erin", "edit").await;
    let (dave, erin) = (site.user("dave"), site.user("erin"));
    dave.post_soon(&bindings(ACME), &binding("dev", "edit", &["Acme:dev"])).await;
    let more = binding("root", "cluster-admin", &["Acme:dev"]);
    dave.is_refused(&bindings(ACME), &more, "attempting to grant RBAC permissions not currently held").await;
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
    let wanted = binding("x", "view", &["Acme:dev"]);
    site.user("frank").is_refused(&bindings(ACME), &wanted, "may not create rolebindings").await;
    site.user("frank").merge(&format!("{}/dev", bindings(ACME)), &json!({ "users": ["frank"] })).await.expect(403);
    // What it does not change it may touch.
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    site.user("frank").merge(&format!("{}/dev", bindings(ACME)), &label).await.expect(200);
}

/// A namespace that is made anew, with the same owner, has what is made in it then.
async fn bindings_go_with_their_namespace(site: Site) {
    with_group(&site).await;
    let (root, bob) = (site.root(), site.user("bob"));
    site.make_project("short", "organizations__Acme").await;
    root.post(&bindings("short"), &binding("dev", "edit", &["Acme:dev"])).await.expect(201);
    bob.may("create", "configmaps", "short").await;
    let short = "/api/v1/namespaces/short";
    root.delete(short).await.expect(200);
    eventually("it is gone", async || root.get(short).await.code == 404).await;
    site.make_project("short", "organizations__Acme").await;
    assert_eq!(root.get(&bindings("short")).await.expect(200)["items"], json!([]));
    bob.may_not("create", "configmaps", "short").await;
    root.post(&bindings("short"), &binding("dev", "view", &["Acme:dev"])).await.expect(201);
    bob.may("get", "configmaps", "short").await;
    bob.may_not("create", "configmaps", "short").await;
}

/// S-22: whatever becomes of the RoleBinding by which a cluster gives the role, its label, its owner, its subjects, or a time in
/// it that clients cannot read: whoever is in the group has the role, and nobody else. Where there is none, there is nothing to
/// edit.
async fn whoever_edits_what_was_derived_changes_nothing(site: Site) {
    with_group(&site).await;
    let (root, bob, mallory) = (site.root(), site.user("bob"), site.user("mallory"));
    let group = format!("{API}/orggroups/Acme:dev");
    let derived = format!("{RBAC}/namespaces/{ACME}/rolebindings/org-role-binding:dev");
    root.post(&bindings(ACME), &binding("dev", "edit", &["Acme:dev"])).await.expect(201);
    bob.may("create", "configmaps", ACME).await;
    let added = json!([{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory" }]);
    let unlabelled = json!({ "bailiwick.dev/derived-from": null });
    let illegible = json!([{
        "manager": "x", "operation": "Update", "apiVersion": "rbac.authorization.k8s.io/v1",
        "time": LAST, "fieldsType": "FieldsV1", "fieldsV1": { "f:subjects": {} },
    }]);
    for edit in [
        json!({ "metadata": { "labels": unlabelled } }),
        json!({ "metadata": { "ownerReferences": null } }),
        json!({ "metadata": { "labels": unlabelled, "ownerReferences": null } }),
        json!({ "metadata": { "labels": unlabelled, "ownerReferences": null }, "subjects": added }),
        json!({ "subjects": added }),
        json!({ "subjects": null }),
        json!({ "metadata": { "managedFields": illegible } }),
    ] {
        match site.mode {
            Mode::Alone => drop(root.merge(&derived, &edit).await.expect(404)),
            Mode::Behind => {
                let edited = root.merge(&derived, &edit).await.expect(200);
                assert_eq!(edited.to_string().contains(LAST), edit.to_string().contains(LAST), "{edited}");
            }
        }
        site.user("alice").merge(&group, &json!({ "users": ["carol"] })).await.expect(200);
        bob.may_not("create", "configmaps", ACME).await;
        mallory.may_not("create", "configmaps", ACME).await;
        site.user("carol").may("create", "configmaps", ACME).await;
        site.user("alice").merge(&group, &json!({ "users": ["bob", "carol"] })).await.expect(200);
        bob.may("create", "configmaps", ACME).await;
    }
    if site.mode == Mode::Behind {
        root.delete(&derived).await.expect(200);
        bob.may("create", "configmaps", ACME).await;
    }
    // Nor does it stay when the binding goes, and its dependents are to be left alone.
    let dev = format!("{}/dev", bindings(ACME));
    root.delete(&format!("{dev}?propagationPolicy=Orphan")).await.expect(200);
    eventually("it is gone", async || root.get(&dev).await.code == 404).await;
    bob.may_not("create", "configmaps", ACME).await;
    eventually("nothing is left", async || root.get(&derived).await.code == 404).await;
}

/// S-24, ORG-14: two organizations that call everything the same have nothing of each other's.
async fn same_names_do_not_mix(site: Site) {
    with_group(&site).await;
    let root = site.root();
    let groups = format!("{API}/organizations/Beta/groups");
    site.user("ben").post(&groups, &org_group("Beta:dev", &["bella"])).await.expect(201);
    root.post(&bindings(ACME), &binding("dev", "edit", &["Acme:dev"])).await.expect(201);
    root.post(&bindings(BETA), &binding("dev", "view", &["Beta:dev"])).await.expect(201);
    let (bob, bella) = (site.user("bob"), site.user("bella"));
    bob.may("create", "configmaps", ACME).await;
    bella.may("get", "configmaps", BETA).await;
    bella.may_not("create", "configmaps", BETA).await;
    bob.may_not("get", "configmaps", BETA).await;
    bella.may_not("get", "configmaps", ACME).await;
    // What ends for one does not end for the other.
    root.delete(&format!("{}/dev", bindings(BETA))).await.expect(200);
    bella.may_not("get", "configmaps", BETA).await;
    bob.may("create", "configmaps", ACME).await;
}

/// O-04: an organization that is made again, under the name of one that is gone, has neither its projects nor its groups; what
/// was bound for those counts again only where the project is given to it.
async fn an_organization_made_anew_inherits_nothing(site: Site) {
    with_group(&site).await;
    let (root, acme) = (site.root(), format!("{API}/organizations/Acme"));
    root.post(&bindings(ACME), &binding("dev", "edit", &["Acme:dev"])).await.expect(201);
    site.user("bob").may("create", "configmaps", ACME).await;
    root.delete(&format!("{API}/orggroups/Acme:dev")).await.expect(200);
    site.give(ACME, json!(null)).await;
    eventually("it has no projects", async || root.delete(&acme).await.code == 200).await;
    let people = json!({ "adminUsers": ["mallory"], "memberUsers": ["mallory"] });
    root.post(&format!("{API}/organizations"), &organization("Acme", people)).await.expect(201);
    let mallory = site.user("mallory");
    mallory.post(&format!("{acme}/groups"), &org_group("Acme:dev", &["mallory"])).await.expect(201);
    assert_eq!(mallory.get(&format!("{acme}/projects")).await.expect(200)["projects"], json!([]));
    mallory.may_not("create", "configmaps", ACME).await;
    site.user("bob").may_not("create", "configmaps", ACME).await;
    site.user("alice").get(&format!("{acme}/groups")).await.expect(403);
}
