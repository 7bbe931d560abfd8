//! What keeps organizations from being taken, and their groups from being claimed.

use serde_json::{Value, json};

use crate::site::{API, Mode, RBAC, Site, causes, eventually, namespace, org_group, organization};

in_both_modes!(
    owners_are_changed_by_those_who_may,
    no_ordinary_binding_names_their_groups,
    groups_of_organizations_are_believed_of_nobody,
    organizations_are_what_they_say,
    members_are_named_by_whoever_may_update_the_organization,
    projects_are_not_taken_over_by_making_their_organization,
);

fn owner(value: Value) -> Value {
    json!({ "metadata": { "labels": { "openshift.io/owner": value } } })
}

async fn allow(site: &Site, user: &str, rules: Value) {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": user }, "rules": rules,
    });
    let bound = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": user },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    });
    site.root().post(&format!("{RBAC}/clusterroles"), &role).await.expect(201);
    site.root().post(&format!("{RBAC}/clusterrolebindings"), &bound).await.expect(201);
}

/// D-ORG-2, ORG-7, ORG-36, ORG-37: whoever changes an owner may `own` in the name of the old and of the new one.
async fn owners_are_changed_by_those_who_may(site: Site) {
    site.furnish().await;
    let namespaces = json!({ "apiGroups": [""], "resources": ["namespaces", "namespaces/status", "namespaces/finalize"], "verbs": ["*"] });
    allow(&site, "nina", json!([namespaces])).await;
    let own = json!({ "apiGroups": ["org.bailiwick.dev"], "resources": ["organizations"], "resourceNames": ["Acme"], "verbs": ["own"] });
    allow(&site, "olga", json!([namespaces, own])).await;
    let (nina, olga) = (site.user("nina"), site.user("olga"));
    let path = "/api/v1/namespaces/acme-web";
    for person in [&nina, &olga] {
        eventually("the rights are known", async || person.get(path).await.code == 200).await;
    }
    for below in ["", "/status"] {
        for value in [json!("organizations__Beta"), json!(null)] {
            let refusal = nina.merge(&format!("{path}{below}"), &owner(value)).await.expect(403);
            // A cluster says it in its own words.
            if site.mode == Mode::Alone {
                let why = "user \"nina\" may not \"own\" organizations \"Acme\"";
                assert_eq!(causes(&refusal), [("metadata.labels[openshift.io/owner]".to_owned(), why.to_owned())]);
            }
            assert!(refusal["message"].as_str().unwrap().contains("openshift.io/owner"), "{refusal}");
        }
    }
    let mut seen = nina.get(path).await.expect(200);
    seen["metadata"]["labels"]["openshift.io/owner"] = json!("organizations__Beta");
    nina.put(&format!("{path}/finalize"), &seen).await.expect(403);
    nina.post("/api/v1/namespaces", &namespace("nina", Some("organizations__Acme"))).await.expect(403);
    nina.post("/api/v1/namespaces", &namespace("nina", None)).await.expect(201);
    nina.merge("/api/v1/namespaces/nina", &owner(json!("organizations__Acme"))).await.expect(403);
    // Other labels are nobody's business here.
    nina.merge(path, &json!({ "metadata": { "labels": { "a": "b" } } })).await.expect(200);
    olga.post("/api/v1/namespaces", &namespace("olga", Some("organizations__Acme"))).await.expect(201);
    olga.merge(path, &owner(json!("organizations__Beta"))).await.expect(403);
    olga.merge("/api/v1/namespaces/beta-web", &owner(json!("organizations__Acme"))).await.expect(403);
    olga.merge(path, &owner(json!(null))).await.expect(200);
    assert_eq!(site.root().get(path).await.expect(200)["metadata"]["labels"]["openshift.io/owner"], json!(null));
    for bad in ["Acme", "teams__core", "organizations_x_Acme", "organizations__Nope", "organizations__acme"] {
        // A cluster does not know which organizations there are.
        if site.mode == Mode::Behind && bad.starts_with("organizations__") {
            continue;
        }
        let refusal = site.root().merge(path, &owner(json!(bad))).await.expect(422);
        assert!(refusal.to_string().contains("openshift.io/owner"), "{bad}: {refusal}");
    }
}

/// M-ORG-5, ORG-48: no ordinary binding names a group of an organization, whoever writes it.
async fn no_ordinary_binding_names_their_groups(site: Site) {
    site.furnish().await;
    let root = site.root();
    let subject = |name: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": name });
    for (kind, path) in [
        ("RoleBinding", format!("{RBAC}/namespaces/acme-web/rolebindings")),
        ("ClusterRoleBinding", format!("{RBAC}/clusterrolebindings")),
    ] {
        let object = |name: &str, group: &str| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": { "name": name },
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
                "subjects": [subject(group)],
            })
        };
        let refusal = root.post(&path, &object("bad", "org:Acme:dev")).await.expect(403);
        if site.mode == Mode::Alone {
            assert_eq!(causes(&refusal)[0].0, "subjects[0].name");
        }
        assert!(refusal["message"].as_str().unwrap().contains("use an OrgRoleBinding"), "{refusal}");
        root.post(&path, &object("good", "organizers")).await.expect(201);
        let patch = json!({ "subjects": [subject("organizers"), subject("org:Acme:dev")] });
        root.merge(&format!("{path}/good"), &patch).await.expect(403);
    }
}

/// Nobody is in a group of an organization because they say so.
async fn groups_of_organizations_are_believed_of_nobody(site: Site) {
    site.furnish().await;
    site.user("alice")
        .post(&format!("{API}/organizations/Acme/groups"), &org_group("Acme:dev", &["bob"]))
        .await
        .expect(201);
    let binding = crate::site::binding("dev", "edit", &["Acme:dev"]);
    site.root().post(&format!("{API}/namespaces/acme-web/orgrolebindings"), &binding).await.expect(201);
    let mallory = site.user_in("mallory", &["system:authenticated", "org:Acme:dev"]);
    assert_eq!(mallory.groups().await, ["system:authenticated"]);
    mallory.may_not("create", "configmaps", "acme-web").await;
    let bob = site.user_in("bob", &["org:Beta:dev", "system:authenticated"]);
    assert_eq!(bob.groups().await, ["system:authenticated", "org:Acme:dev"]);
}

/// D-ORG-8, D-ORG-9, D-ORG-10, M-ORG-2, ORG-4, ORG-5, ORG-12, ORG-15: what there is, names, sets, and what keeps an
/// organization from going.
async fn organizations_are_what_they_say(site: Site) {
    site.furnish().await;
    let root = site.root();
    let organizations = format!("{API}/organizations");
    let served = root.get(API).await.expect(200);
    let is_namespaced = |plural: &str| {
        let all = served["resources"].as_array().unwrap();
        all.iter().find(|resource| resource["name"] == plural).unwrap()["namespaced"].as_bool().unwrap()
    };
    assert_eq!(
        ["organizations", "organizations/groups", "orggroups", "groups", "orgrolebindings"].map(is_namespaced),
        [false, false, false, false, true]
    );
    for name in ["a:b", "-a", "", "system", "System", "a b", &"x".repeat(49)] {
        let code = root.post(&organizations, &organization(name, json!({}))).await.code;
        assert_eq!(code, 422, "{name}");
    }
    let refusal = root.post(&organizations, &organization("ACME", json!({}))).await.expect(422);
    assert!(causes(&refusal)[0].1.contains("differs from the organization \"Acme\" in capitals only"), "{refusal}");
    for (field, value) in [
        ("adminUsers", json!(["a", "a"])),
        ("adminGroups", json!(["system:authenticated"])),
        ("memberGroups", json!(["org:Beta:dev"])),
        ("memberUsers", json!([""])),
    ] {
        let refusal = root.post(&organizations, &organization("Gamma", json!({ field: value }))).await.expect(422);
        assert!(causes(&refusal)[0].0.starts_with(field), "{refusal}");
    }
    let acme = format!("{organizations}/Acme");
    site.user("alice").post(&format!("{acme}/groups"), &org_group("Acme:dev", &[])).await.expect(201);
    let refusal = root.delete(&acme).await.expect(403);
    let whys: Vec<String> = causes(&refusal).into_iter().map(|(_, why)| why).collect();
    assert_eq!(whys, ["it has 1 group: Acme:dev", "it has 1 project: acme-web"]);
    root.delete(&format!("{acme}/groups/dev")).await.expect(200);
    root.delete(&acme).await.expect(403);
    // What a project was given a moment ago counts, in every mode: whoever is called like an organization that went would have
    // its projects.
    site.give("acme-web", json!(null)).await;
    for _ in 0..10 {
        site.give("acme-web", json!("organizations__Acme")).await;
        root.delete(&acme).await.expect(403);
        site.give("acme-web", json!(null)).await;
    }
    root.delete(&acme).await.expect(200);
    // Its name is free again, in any capitals.
    root.post(&organizations, &organization("ACME", json!({}))).await.expect(201);
}

/// D-ORG-1, ORG-21, ORG-27, O-01: membership is changed by whoever may update the Organization, and by no administrator of it.
async fn members_are_named_by_whoever_may_update_the_organization(site: Site) {
    site.furnish().await;
    let rule = json!({
        "apiGroups": ["org.bailiwick.dev"], "resources": ["organizations"], "resourceNames": ["Acme"],
        "verbs": ["get", "update", "patch"],
    });
    allow(&site, "uma", json!([rule])).await;
    let (uma, alice, acme) = (site.user("uma"), site.user("alice"), format!("{API}/organizations/Acme"));
    eventually("the rights are known", async || uma.get(&acme).await.code == 200).await;
    let dave = json!({ "memberUsers": ["bob", "dave"] });
    let seen = uma.get(&acme).await.expect(200);
    for person in [&alice, &site.user("lea"), &site.user("bob")] {
        person.merge(&acme, &dave).await.expect(403);
        person.put(&acme, &seen).await.expect(403);
        person.merge(&acme, &json!({ "memberUsers": [] })).await.expect(403);
    }
    let groups = format!("{acme}/groups");
    alice.post(&groups, &org_group("Acme:dev", &["dave"])).await.expect(422);
    uma.merge(&acme, &dave).await.expect(200);
    alice.post(&groups, &org_group("Acme:dev", &["dave"])).await.expect(201);
    // Who names the members is no administrator by that.
    uma.get(&groups).await.expect(403);
}

/// D-ORG-2, ORG-37: in a cluster a project can carry the name of an organization that is not there yet. Whoever makes that takes
/// the project over, and needs what giving it away would need. Alone, no project is in that state.
async fn projects_are_not_taken_over_by_making_their_organization(site: Site) {
    let organizations = format!("{API}/organizations");
    let making =
        json!({ "apiGroups": ["org.bailiwick.dev"], "resources": ["organizations"], "verbs": ["create", "get"] });
    allow(&site, "maker", json!([making])).await;
    let own = json!({ "apiGroups": ["org.bailiwick.dev"], "resources": ["organizations"], "resourceNames": ["Late"], "verbs": ["own"] });
    allow(&site, "owner", json!([making, own])).await;
    let (maker, owner) = (site.user("maker"), site.user("owner"));
    for person in [&maker, &owner] {
        let path = format!("{organizations}/none");
        eventually("the rights are known", async || person.get(&path).await.code == 404).await;
    }
    maker.post(&organizations, &organization("Fresh", json!({ "adminUsers": ["maker"] }))).await.expect(201);
    let late = organization("Late", json!({ "adminUsers": ["maker"] }));
    let early = site.root().post("/api/v1/namespaces", &namespace("early", Some("organizations__Late"))).await;
    if site.mode == Mode::Alone {
        early.expect(422);
        return;
    }
    early.expect(201);
    let refusal = maker.post(&organizations, &late).await.expect(403);
    let (field, why) = &causes(&refusal)[0];
    assert!(field == "metadata.name" && why.contains("1 project") && why.contains("early"), "{refusal}");
    owner.post(&organizations, &late).await.expect(201);
}
