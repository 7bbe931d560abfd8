//! Many at once: what is promised holds whoever is faster.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::site::{API, Site, namespace, org_group, organization};

/// An organization that goes never leaves a group or a project behind.
#[tokio::test]
async fn nothing_is_left_of_an_organization_that_goes() {
    let site = Site::open().await;
    let root = site.root();
    for round in 0..30 {
        let (name, project) = (format!("Org{round}"), format!("project-{round}"));
        let path = format!("{API}/organizations");
        root.post(&path, &organization(&name, json!({}))).await.expect(201);
        let group = org_group(&format!("{name}:dev"), &[]);
        let owned = namespace(&project, Some(&format!("organizations__{name}")));
        let (groups, at) = (format!("{API}/orggroups"), format!("{path}/{name}"));
        let (gone, made, given) =
            tokio::join!(root.delete(&at), root.post(&groups, &group), root.post("/api/v1/namespaces", &owned));
        let is_gone = root.get(&at).await.code == 404;
        assert_eq!(gone.code == 200, is_gone, "{}", gone.text());
        let has_children = made.code == 201 || given.code == 201;
        assert_ne!(is_gone, has_children, "{} {} {}", gone.code, made.code, given.code);
    }
}

/// ORG-7: of many who claim a project at once, one gets it, and the others are told that it was changed.
#[tokio::test]
async fn a_project_has_one_owner() {
    let site = Site::with_organizations().await;
    let root = site.root();
    let made = root.post("/api/v1/namespaces", &namespace("wanted", None)).await.expect(201);
    let claim = |organization: &str| {
        let mut object = made.clone();
        object["metadata"]["labels"]["openshift.io/owner"] = json!(format!("organizations__{organization}"));
        object
    };
    let claims: Vec<Value> = (0..20).map(|number| claim(if number % 2 == 0 { "Acme" } else { "Beta" })).collect();
    let answers = join_all(claims.iter().map(|claim| root.put("/api/v1/namespaces/wanted", claim))).await;
    let won: Vec<Value> = answers.iter().filter(|answer| answer.code == 200).map(crate::client::Answer::json).collect();
    assert_eq!(won.len(), 1);
    assert!(answers.iter().all(|answer| matches!(answer.code, 200 | 409)));
    let owner = root.get("/api/v1/namespaces/wanted").await.expect(200)["metadata"]["labels"].clone();
    assert_eq!(owner, won[0]["metadata"]["labels"]);
}

/// Edits by many at once never bring back who was taken out.
#[tokio::test]
async fn a_removal_is_never_lost() {
    let site = Site::open().await;
    let root = site.root();
    let users: Vec<String> = (0..40).map(|number| format!("user{number}")).collect();
    let people = json!({ "adminUsers": ["alice"], "memberUsers": users });
    root.post(&format!("{API}/organizations"), &organization("Acme", people)).await.expect(201);
    let (alice, groups) = (site.user("alice"), format!("{API}/organizations/Acme/groups"));
    let half: Vec<&str> = users[..20].iter().map(String::as_str).collect();
    alice.post(&groups, &org_group("Acme:dev", &half)).await.expect(201);
    let edit = async |remove: Option<&String>, add: Option<&String>| {
        loop {
            let mut seen = alice.get(&format!("{API}/orggroups/Acme:dev")).await.expect(200);
            let members = seen["users"].as_array_mut().unwrap();
            members.retain(|user| Some(user.as_str().unwrap()) != remove.map(String::as_str));
            members.extend(add.map(|user| json!(user)));
            match alice.put(&groups, &seen).await.code {
                200 => return,
                409 => {}
                other => panic!("{other}"),
            }
        }
    };
    let removals = users[..20].iter().map(|user| edit(Some(user), None));
    let additions = users[20..].iter().map(|user| edit(None, Some(user)));
    tokio::join!(join_all(removals), join_all(additions));
    let mut left: Vec<String> = alice.get(&format!("{API}/orggroups/Acme:dev")).await.expect(200)["users"]
        .as_array()
        .unwrap()
        .iter()
        .map(|user| user.as_str().unwrap().to_owned())
        .collect();
    left.sort();
    let mut expected = users[20..].to_vec();
    expected.sort();
    assert_eq!(left, expected);
}
