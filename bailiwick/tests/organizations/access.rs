//! Who may do what: everyone, with everything.

use http::Method;
use serde_json::{Value, json};

use crate::client::{JSON, MERGE_PATCH};
use crate::site::{API, Person, Site, group, org_group, organization};

/// A request, and whether the administrator of the server, an administrator of Acme, a member, an outsider and a nobody may
/// make it.
struct Row {
    method: Method,
    path: &'static str,
    body: Option<Value>,
    allowed: [bool; 5],
}

const ROOT: [bool; 5] = [true, false, false, false, false];
const ADMINISTRATORS: [bool; 5] = [true, true, false, false, false];

fn row(method: Method, path: &'static str, body: Option<Value>, allowed: [bool; 5]) -> Row {
    Row { method, path, body, allowed }
}

fn rows() -> Vec<Row> {
    let (get, post, put, patch, delete) = (Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE);
    let users = Some(json!({ "users": ["bob"] }));
    let people = Some(json!({ "memberUsers": ["bob", "mallory"] }));
    vec![
        row(get.clone(), "organizations", None, ROOT),
        row(get.clone(), "organizations?watch=true&timeoutSeconds=1", None, ROOT),
        row(get.clone(), "organizations/Acme", None, ROOT),
        row(post.clone(), "organizations", Some(organization("Gamma", json!({}))), ROOT),
        row(patch.clone(), "organizations/Acme", people, ROOT),
        row(delete.clone(), "organizations/Nope", None, ROOT),
        row(get.clone(), "organizations/Acme/groups", None, ADMINISTRATORS),
        row(get.clone(), "organizations/Acme/members", None, ADMINISTRATORS),
        row(get.clone(), "organizations/Acme/projects", None, ADMINISTRATORS),
        row(post.clone(), "organizations/Acme/groups", Some(org_group("Acme:new", &["bob"])), ADMINISTRATORS),
        row(put.clone(), "organizations/Acme/groups", Some(org_group("Acme:dev", &["bob"])), ADMINISTRATORS),
        row(delete.clone(), "organizations/Acme/groups/dev", None, ADMINISTRATORS),
        row(get.clone(), "orggroups", None, ROOT),
        row(get.clone(), "orggroups?watch=true&timeoutSeconds=1", None, ROOT),
        row(get.clone(), "orggroups?fieldSelector=metadata.name%3DAcme:dev", None, ROOT),
        row(get.clone(), "orggroups?fieldSelector=metadata.name%3DAcme:dev&watch=true&timeoutSeconds=1", None, ROOT),
        row(delete.clone(), "orggroups?dryRun=All", None, ROOT),
        row(get.clone(), "orggroups/Acme:dev", None, ADMINISTRATORS),
        row(post.clone(), "orggroups", Some(org_group("Acme:other", &["bob"])), ADMINISTRATORS),
        row(patch.clone(), "orggroups/Acme:dev", users.clone(), ADMINISTRATORS),
        row(delete.clone(), "orggroups/Acme:dev", None, ADMINISTRATORS),
        row(get.clone(), "groups", None, ROOT),
        row(get, "groups/engineers", None, ROOT),
        row(post, "groups", Some(group("more", &["bob"])), ROOT),
        row(put, "groups/engineers", Some(group("engineers", &["bob"])), ROOT),
        row(patch, "groups/engineers", users, ROOT),
        row(delete, "groups/engineers", None, ROOT),
    ]
}

/// ORG-1, ORG-5, ORG-9, ORG-21, ORG-25, ORG-33, ORG-34: the default rule, and nothing beyond it. What is allowed may fail for
/// other reasons; what is not allowed is a 403 and changes nothing.
#[tokio::test]
async fn everyone_may_what_the_matrix_says() {
    let site = Site::with_organizations().await;
    let root = site.root();
    let seeded = org_group("Acme:dev", &["bob"]);
    for row in rows() {
        let people: [(&str, Person); 5] = [
            ("root", root.clone()),
            ("alice", site.user("alice")),
            ("bob", site.user("bob")),
            ("ben", site.user("ben")),
            ("nobody", site.user_in("system:anonymous", &["system:unauthenticated"])),
        ];
        // Those who may not go first: what they ask for is there.
        for ((name, person), allowed) in people.into_iter().zip(row.allowed).rev() {
            root.post(&format!("{API}/orggroups"), &seeded).await;
            let content_type = match row.method {
                Method::PATCH => MERGE_PATCH,
                _ => JSON,
            };
            let path = format!("{API}/{}", row.path);
            let answer = person.send(row.method.clone(), &path, content_type, row.body.as_ref()).await;
            assert_eq!(
                answer.code != 403,
                allowed,
                "{name}: {} {}: {} {}",
                row.method,
                row.path,
                answer.code,
                answer.text()
            );
        }
    }
}

/// ORG-26: nothing is created for each organization.
#[tokio::test]
async fn organizations_need_no_roles_of_their_own() {
    let site = Site::with_organizations().await;
    let root = site.root();
    let count = async || {
        let mut count = 0;
        for plural in ["roles", "rolebindings", "clusterroles", "clusterrolebindings"] {
            let list = root.get(&format!("{}/{plural}", crate::site::RBAC)).await.expect(200);
            count += list["items"].as_array().unwrap().len();
        }
        count
    };
    let before = count().await;
    for number in 0..200 {
        let name = format!("Org{number}");
        let object = organization(&name, json!({ "adminUsers": [format!("admin{number}")] }));
        root.post(&format!("{API}/organizations"), &object).await.expect(201);
        let path = format!("{API}/organizations/{name}/groups");
        let made = site.user(&format!("admin{number}")).post(&path, &org_group(&format!("{name}:dev"), &[])).await;
        made.expect(201);
    }
    assert_eq!(count().await, before);
}

/// Whoever is told no learns nothing of what exists.
#[tokio::test]
async fn refusals_do_not_tell_what_exists() {
    let site = Site::with_organizations().await;
    let outsider = site.user("ben");
    for (there, absent) in [("Acme", "Nope"), ("Acme", "acme")] {
        for path in ["organizations/ORG/groups", "organizations/ORG/members", "orggroups/ORG:dev"] {
            let ask = async |organization: &str| {
                let answer = outsider.get(&format!("{API}/{}", path.replace("ORG", organization))).await;
                answer.expect(403)["message"].to_string().replace(organization, "ORG")
            };
            assert_eq!(ask(there).await, ask(absent).await, "{path}");
        }
        let make = async |organization: &str| {
            let object = org_group(&format!("{organization}:dev"), &[]);
            let answer = outsider.post(&format!("{API}/orggroups"), &object).await;
            answer.expect(403)["message"].to_string().replace(organization, "ORG")
        };
        assert_eq!(make(there).await, make(absent).await);
    }
}
