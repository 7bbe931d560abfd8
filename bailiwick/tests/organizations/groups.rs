//! Groups of organizations: made, read, changed and removed by those who run the organization.

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::site::{API, Mode, Site, causes, group, namespace, org_group};
use crate::status::says;

in_both_modes!(
    administrators_form_groups,
    a_put_replaces_what_it_has_seen,
    what_is_wrong_with_a_group_is_told,
    former_members_do_not_stand_in_the_way,
    members_are_told_with_how_they_belong,
    projects_are_found_by_their_owner,
    users_are_a_set,
);

/// How many projects are made at the same time.
const AT_ONCE: usize = 16;

/// D-ORG-4, ORG-6, ORG-14, ORG-18, ORG-19, ORG-20, ORG-29, ORG-30: an administrator by name, by a Group, and by a group of
/// the identity provider forms groups, and reads those of the own organization only.
async fn administrators_form_groups(site: Site) {
    site.furnish().await;
    let groups = format!("{API}/organizations/Acme/groups");
    site.user("alice").post(&groups, &org_group("Acme:dev", &["bob"])).await.expect(201);
    site.user("lea").post(&groups, &org_group("Acme:ops", &["carol"])).await.expect(201);
    let external = site.user_in("eve@idp", &["system:authenticated", "oidc:acme-admins"]);
    external.post(&groups, &org_group("Acme:qa", &[])).await.expect(201);
    // Two organizations can have groups of the same name.
    let beta = site.user("ben");
    beta.post(&format!("{API}/organizations/Beta/groups"), &org_group("Beta:dev", &["bella"])).await.expect(201);
    let list = site.user("alice").get(&groups).await.expect(200);
    assert_eq!(list["kind"], "OrgGroupList");
    let names: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Acme:dev", "Acme:ops", "Acme:qa"]);
    // Whoever leaves the Group has lost the organization with the next request.
    site.root().merge(&format!("{API}/groups/acme-leads"), &json!({ "users": [] })).await.expect(200);
    site.user("lea").get(&groups).await.expect(403);
}

/// D-ORG-5, D-ORG-12, ORG-31, ORG-32: a PUT names the group and the state it was seen in.
async fn a_put_replaces_what_it_has_seen(site: Site) {
    site.furnish().await;
    let (alice, groups) = (site.user("alice"), format!("{API}/organizations/Acme/groups"));
    alice.post(&groups, &org_group("Acme:dev", &["bob"])).await.expect(201);
    // Nobody writes to it after its status.
    let mut made = says(&alice, "/apis/org.bailiwick.dev/v1alpha1/orggroups/Acme:dev", "True", "AllMembers").await;
    made["users"] = json!(["bob", "carol"]);
    let changed = alice.put(&groups, &made).await.expect(200);
    assert_eq!(changed["users"], json!(["bob", "carol"]));
    // The state it was made from is gone, and nothing of what is made from it is taken over.
    made["users"] = json!(["carol"]);
    alice.put(&groups, &made).await.expect(409);
    let kept = alice.get(&format!("{API}/orggroups/Acme:dev")).await.expect(200);
    assert_eq!(kept["users"], changed["users"]);
    assert_eq!(kept["metadata"]["generation"], changed["metadata"]["generation"]);
    alice.put(&groups, &org_group("Acme:nobody", &[])).await.expect(404);
    alice.put(&groups, &org_group("Acme:dev", &[])).await.expect(422);
    // There is nothing by name but a way to remove it.
    alice.get(&format!("{groups}/dev")).await.expect(404);
    alice.put(&format!("{groups}/dev"), &changed).await.expect(404);
    alice.delete(&groups).await.expect(405);
    alice.get(&format!("{groups}?watch=true")).await.expect(405);
    alice.delete(&format!("{groups}/dev/more")).await.expect(404);
    alice.delete(&format!("{groups}/dev")).await.expect(200);
    alice.delete(&format!("{groups}/dev")).await.expect(404);
    assert_eq!(alice.get(&groups).await.expect(200)["items"], json!([]));
}

/// ORG-10, ORG-13, ORG-17, ORG-22, ORG-23, ORG-24, ORG-49, O-03, O-08: bad input is refused where it is wrong, and changes
/// nothing.
async fn what_is_wrong_with_a_group_is_told(site: Site) {
    site.furnish().await;
    let (root, alice) = (site.root(), site.user("alice"));
    let groups = format!("{API}/organizations/Acme/groups");
    let refusal = alice.post(&groups, &org_group("Acme:dev", &["bob", "mallory", "carol", "bella"])).await.expect(422);
    let expected = |index: usize, user: &str| {
        let why = format!("Invalid value: \"{user}\": is not a member of the organization \"Acme\"");
        (format!("users[{index}]"), why)
    };
    assert_eq!(causes(&refusal), [expected(1, "mallory"), expected(3, "bella")]);
    // Of another organization, of none, and of one that does not exist.
    for name in ["Beta:dev", "dev", "Nope:dev", "Acme:", ":dev", "Acme:a:b", "Acme:-", "org:Acme:dev"] {
        let refusal = alice.post(&groups, &org_group(name, &[])).await.expect(422);
        assert!(causes(&refusal).iter().any(|(field, _)| field == "metadata.name"), "{name}: {refusal}");
    }
    let refusal = root.post(&format!("{API}/orggroups"), &org_group("Nope:dev", &[])).await.expect(422);
    assert!(refusal["message"].as_str().unwrap().contains("there is no organization \"Nope\""), "{refusal}");
    // A group of the cluster is never called like one of an organization, whoever asks.
    for name in ["Acme:dev", "org:Acme:dev", "system:masters"] {
        root.post(&format!("{API}/groups"), &group(name, &["mallory"])).await.expect(422);
    }
    for users in [json!([""]), json!([" bob"]), json!(["bob", "bob"]), json!("bob"), json!([7])] {
        let mut object = org_group("Acme:dev", &[]);
        object["users"] = users;
        let code = alice.post(&groups, &object).await.code;
        assert!((400..500).contains(&code), "{object}: {code}");
    }
    assert_eq!(alice.get(&groups).await.expect(200)["items"], json!([]));
}

/// D-ORG-6, ORG-24: who has left the organization may stay in the list, where it comes to nothing, and is not added again.
async fn former_members_do_not_stand_in_the_way(site: Site) {
    site.furnish().await;
    let (root, alice) = (site.root(), site.user("alice"));
    let groups = format!("{API}/organizations/Acme/groups");
    alice.post(&groups, &org_group("Acme:dev", &["bob"])).await.expect(201);
    root.merge(&format!("{API}/organizations/Acme"), &json!({ "memberUsers": [] })).await.expect(200);
    assert!(!site.user("bob").groups().await.contains(&"org:Acme:dev".to_owned()));
    let dev = format!("{API}/orggroups/Acme:dev");
    let changed = alice.merge(&dev, &json!({ "users": ["bob", "carol"] })).await.expect(200);
    assert_eq!(changed["users"], json!(["bob", "carol"]));
    alice.merge(&dev, &json!({ "users": ["carol"] })).await.expect(200);
    alice.merge(&dev, &json!({ "users": ["carol", "bob"] })).await.expect(422);
}

/// D-ORG-7, ORG-24, ORG-28: members, flattened, sorted, with how they belong. Whoever only comes with a group of that name is
/// none, and cannot be put into a group.
async fn members_are_told_with_how_they_belong(site: Site) {
    site.furnish().await;
    let people = json!({ "memberUsers": ["bob", "carol"], "memberGroups": ["engineers", "from-idp"] });
    site.root().merge(&format!("{API}/organizations/Acme"), &people).await.expect(200);
    let alice = site.user("alice");
    for group in ["engineers", "from-idp"] {
        let guest = site.user_in("mallory", &["system:authenticated", group]);
        guest.get(&format!("{API}/organizations/Acme/members")).await.expect(403);
        let refusal = alice.post(&format!("{API}/orggroups"), &org_group("Acme:dev", &["bob", "mallory"])).await;
        assert_eq!(causes(&refusal.expect(422))[0].0, "users[1]");
        assert!(guest.groups().await.iter().all(|group| !group.starts_with("org:")));
    }
    let members = alice.get(&format!("{API}/organizations/Acme/members")).await.expect(200);
    assert_eq!((&members["kind"], &members["metadata"]["name"]), (&json!("OrganizationMembers"), &json!("Acme")));
    let expected = json!([
        { "user": "bob", "via": ["memberUsers"] },
        { "user": "carol", "via": ["memberUsers", "Group/engineers"] },
    ]);
    assert_eq!(members["members"], expected);
    assert_eq!(members["unresolvedGroups"], json!(["from-idp"]));
    site.root().get(&format!("{API}/organizations/Nope/members")).await.expect(404);
}

/// ORG-3, ORG-38, ORG-40: projects by one list, or by the organization: a thousand of them, and fewer where a cluster is shared.
async fn projects_are_found_by_their_owner(site: Site) {
    site.furnish().await;
    let root = site.root();
    let most = match site.mode {
        Mode::Alone => 1_000,
        Mode::Behind => 20,
    };
    let make = async |number: usize| {
        let (name, owner) = (format!("acme-{number:03}"), "organizations__Acme");
        match number {
            // As soon as they are made, these are looked for among all there are: too dear for each of a thousand.
            0..20 => site.make_project(&name, owner).await,
            _ => drop(root.post("/api/v1/namespaces", &namespace(&name, Some(owner))).await.expect(201)),
        }
    };
    stream::iter(0..most).map(make).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    let listed =
        root.get("/api/v1/namespaces?labelSelector=openshift.io/owner%3Dorganizations__Acme").await.expect(200);
    let names: Vec<Value> =
        listed["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].clone()).collect();
    assert_eq!(names.len(), most + 1);
    let projects = site.user("alice").get(&format!("{API}/organizations/Acme/projects")).await.expect(200);
    assert_eq!(projects["projects"], json!(names));
    site.user("alice").get(&format!("{API}/organizations/Beta/projects")).await.expect(403);
}

/// M-ORG-1, ORG-15: everyone who applies a part of the users has that part, and what one takes away the others keep.
async fn users_are_a_set(site: Site) {
    site.furnish().await;
    let (alice, dev) = (site.user("alice"), format!("{API}/orggroups/Acme:dev"));
    alice.apply(&dev, "payroll", &org_group("Acme:dev", &["bob"])).await.expect(201);
    let both = alice.apply(&dev, "on-call", &org_group("Acme:dev", &["carol"])).await.expect(200);
    assert_eq!(both["users"], json!(["bob", "carol"]));
    let version = both["metadata"]["generation"].clone();
    let again = alice.apply(&dev, "payroll", &org_group("Acme:dev", &["bob"])).await.expect(200);
    assert_eq!(again["metadata"]["generation"], version, "nothing has changed");
    let left = alice.apply(&dev, "payroll", &org_group("Acme:dev", &[])).await.expect(200);
    assert_eq!(left["users"], json!(["carol"]));
    // In another order it is the same set: nobody is added by that, not even one who is no member any more.
    let put = async |users: &[&str]| {
        loop {
            let mut seen = alice.get(&dev).await.expect(200);
            seen["users"] = json!(users);
            let answer = alice.put(&format!("{API}/organizations/Acme/groups"), &seen).await;
            // What it comes to is said in its status meanwhile.
            if answer.code != 409 {
                return answer;
            }
        }
    };
    put(&["bob", "carol"]).await.expect(200);
    let acme = format!("{API}/organizations/Acme");
    site.root().merge(&acme, &json!({ "memberUsers": [] })).await.expect(200);
    assert_eq!(put(&["carol", "bob"]).await.expect(200)["users"].as_array().unwrap().len(), 2);
    // What is named twice is refused, as Kubernetes refuses it in sets.
    assert_eq!(causes(&put(&["carol", "bob", "carol"]).await.expect(422))[0].0, "users[2]");
    put(&["carol"]).await.expect(200);
    let strange = alice.apply(&dev, "payroll", &org_group("Acme:dev", &["mallory"])).await;
    assert_eq!(causes(&strange.expect(422))[0].0, "users[1]");
}
