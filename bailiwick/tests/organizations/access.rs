//! Who may do what: everyone, with everything.

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::Method;
use serde_json::{Value, json};

use crate::client::{JSON, MERGE_PATCH, request};
use crate::site::{API, Mode, Person, Site, binding, group, org_group, organization};

in_both_modes!(
    everyone_may_what_the_matrix_says,
    organizations_need_no_roles_of_their_own,
    refusals_do_not_tell_what_exists,
);

/// How many organizations are made at the same time.
const AT_ONCE: usize = 16;

/// A request, and who may make it.
struct Row {
    method: Method,
    path: &'static str,
    body: Option<Value>,
    by: Allowed,
}

/// Who may make a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Allowed {
    /// The administrator of the server, or of the cluster.
    Root,
    /// And those who administer Acme.
    Administrators,
}

/// Someone, and what they are to Acme: none if they are nothing to it that counts.
struct Someone {
    name: &'static str,
    person: Person,
    is: Option<Allowed>,
}

fn row(method: &Method, path: &'static str, body: Option<Value>, by: Allowed) -> Row {
    Row { method: method.clone(), path, body, by }
}

fn rows() -> Vec<Row> {
    use Allowed::{Administrators, Root};
    let (get, post, put, patch, delete) = (&Method::GET, &Method::POST, &Method::PUT, &Method::PATCH, &Method::DELETE);
    let users = || Some(json!({ "users": ["bob"] }));
    let people = Some(json!({ "memberUsers": ["bob", "mallory"] }));
    let label = || Some(json!({ "metadata": { "labels": { "a": "b" } } }));
    let status = || Some(json!({ "status": {} }));
    let dev = |name: &str| Some(org_group(name, &["bob"]));
    let bound = |name: &str| Some(binding(name, "view", &["Acme:dev"]));
    let mut rows = vec![
        row(get, "organizations", None, Root),
        row(get, "organizations?watch=true&timeoutSeconds=1", None, Root),
        row(get, "organizations/Acme", None, Root),
        row(post, "organizations", Some(organization("Gamma", json!({}))), Root),
        row(put, "organizations/Acme", Some(organization("Acme", json!({}))), Root),
        row(patch, "organizations/Acme", people, Root),
        row(delete, "organizations/Nope", None, Root),
        row(delete, "organizations?labelSelector=nothing", None, Root),
    ];
    rows.extend([
        row(get, "organizations/Acme/groups", None, Administrators),
        row(get, "organizations/Acme/groups?watch=true", None, Administrators),
        row(post, "organizations/Acme/groups", dev("Acme:new"), Administrators),
        row(put, "organizations/Acme/groups", dev("Acme:dev"), Administrators),
        row(patch, "organizations/Acme/groups", users(), Root),
        row(delete, "organizations/Acme/groups/dev", None, Administrators),
        row(delete, "organizations/Acme/groups", None, Administrators),
        // By name they can only be removed here. Whoever may do more to all of them is told that there is no such thing.
        row(get, "organizations/Acme/groups/dev", None, Administrators),
        row(post, "organizations/Acme/groups/dev", dev("Acme:dev"), Administrators),
        row(put, "organizations/Acme/groups/dev", dev("Acme:dev"), Administrators),
        row(patch, "organizations/Acme/groups/dev", users(), Root),
    ]);
    // What is only shown takes nothing, whoever sends it.
    for (shown, followed) in [
        ("organizations/Acme/members", "organizations/Acme/members?watch=true"),
        ("organizations/Acme/projects", "organizations/Acme/projects?watch=true"),
    ] {
        rows.extend([
            row(get, shown, None, Administrators),
            row(get, followed, None, Administrators),
            row(post, shown, dev("Acme:new"), Root),
            row(put, shown, dev("Acme:new"), Root),
            row(patch, shown, users(), Root),
            row(delete, shown, None, Root),
        ]);
    }
    rows.extend([
        row(get, "orggroups", None, Root),
        row(get, "orggroups?watch=true&timeoutSeconds=1", None, Root),
        row(get, "orggroups?fieldSelector=metadata.name%3DAcme:dev", None, Root),
        row(get, "orggroups?fieldSelector=metadata.name%3DAcme:dev&watch=true&timeoutSeconds=1", None, Root),
        row(delete, "orggroups?dryRun=All", None, Root),
        row(get, "orggroups/Acme:dev", None, Administrators),
        row(get, "orggroups/Acme:dev/status", None, Root),
        row(patch, "orggroups/Acme:dev/status", status(), Root),
        row(put, "orggroups/Acme:dev/status", dev("Acme:dev"), Root),
        row(post, "orggroups/Acme:dev/status", dev("Acme:dev"), Root),
        row(delete, "orggroups/Acme:dev/status", None, Root),
        row(post, "orggroups", dev("Acme:other"), Administrators),
        row(put, "orggroups/Acme:dev", dev("Acme:dev"), Administrators),
        row(patch, "orggroups/Acme:dev", users(), Administrators),
        row(delete, "orggroups/Acme:dev", None, Administrators),
    ]);
    rows.extend([
        row(get, "groups", None, Root),
        row(get, "groups?watch=true&timeoutSeconds=1", None, Root),
        row(get, "groups/engineers", None, Root),
        row(post, "groups", Some(group("more", &["bob"])), Root),
        row(put, "groups/engineers", Some(group("engineers", &["bob"])), Root),
        row(patch, "groups/engineers", users(), Root),
        row(delete, "groups?dryRun=All", None, Root),
        row(delete, "groups/engineers", None, Root),
    ]);
    // What is in a project is for those who administer the project, whoever runs the organization.
    rows.extend([
        row(get, "orgrolebindings", None, Root),
        row(get, "orgrolebindings?watch=true&timeoutSeconds=1", None, Root),
        row(get, "namespaces/acme-web/orgrolebindings", None, Root),
        row(get, "namespaces/acme-web/orgrolebindings?watch=true&timeoutSeconds=1", None, Root),
        row(post, "namespaces/acme-web/orgrolebindings", bound("dev"), Root),
        row(get, "namespaces/acme-web/orgrolebindings/dev", None, Root),
        row(get, "namespaces/acme-web/orgrolebindings/dev/status", None, Root),
        row(put, "namespaces/acme-web/orgrolebindings/dev", bound("dev"), Root),
        row(patch, "namespaces/acme-web/orgrolebindings/dev", label(), Root),
        row(patch, "namespaces/acme-web/orgrolebindings/dev/status", status(), Root),
        row(put, "namespaces/acme-web/orgrolebindings/dev/status", bound("dev"), Root),
        row(post, "namespaces/acme-web/orgrolebindings/dev/status", bound("dev"), Root),
        row(delete, "namespaces/acme-web/orgrolebindings/dev/status", None, Root),
        row(delete, "namespaces/acme-web/orgrolebindings?dryRun=All", None, Root),
        row(delete, "namespaces/acme-web/orgrolebindings/dev", None, Root),
    ]);
    rows
}

/// D-ORG-11, M-ORG-6, ORG-1, ORG-5, ORG-9, ORG-21, ORG-25, ORG-33, ORG-34, O-09: the default rule, and nothing beyond it.
/// What is allowed may fail for other reasons; what is not allowed is a 403 and changes nothing.
async fn everyone_may_what_the_matrix_says(site: Site) {
    site.furnish().await;
    let root = site.root();
    let seeded = org_group("Acme:dev", &["bob"]);
    let someone = |name, person, is| Someone { name, person, is };
    let administrator = Some(Allowed::Administrators);
    let known = "system:authenticated";
    let people = [
        // Those who may not go first: what they ask for is there.
        someone("nobody", site.user_in("system:anonymous", &["system:unauthenticated"]), None),
        someone("an outsider, who runs another organization", site.user("ben"), None),
        someone("a member", site.user("bob"), None),
        someone("a member by a Group", site.user("carol"), None),
        someone(
            "an administrator by a group of the request",
            site.user_in("eve", &[known, "oidc:acme-admins"]),
            administrator,
        ),
        someone("an administrator by a Group", site.user("lea"), administrator),
        someone("an administrator by name", site.user("alice"), administrator),
        someone("root", root.clone(), Some(Allowed::Root)),
    ];
    for row in rows() {
        let path = format!("{API}/{}", row.path);
        for Someone { name, person, is } in &people {
            if row.path.contains("dev") && !row.path.contains("orgrolebindings") {
                root.post(&format!("{API}/orggroups"), &seeded).await;
            }
            let content_type = match row.method {
                Method::PATCH => MERGE_PATCH,
                _ => JSON,
            };
            let answer = person.send(row.method.clone(), &path, content_type, row.body.as_ref()).await;
            let allowed = is.is_some_and(|is| is <= row.by);
            let said = format!("{name}: {} {}: {} {}", row.method, row.path, answer.code, answer.text());
            assert_eq!(answer.code != 403, allowed, "{said}");
        }
        if row.method == Method::GET && !row.path.contains("watch") {
            let code = site.stranger_asks(|| request(Method::GET, &path, "", Bytes::new())).await.code;
            assert!(matches!(code, 401 | 403), "{path}: {code} to who shows no credential");
        }
    }
}

/// ORG-26: nothing is created for each organization. They are fewer where a cluster is shared.
async fn organizations_need_no_roles_of_their_own(site: Site) {
    site.furnish().await;
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
    let most = match site.mode {
        Mode::Alone => 1_000,
        Mode::Behind => 200,
    };
    let make = async |number: usize| {
        let (name, admin) = (format!("Org{number}"), format!("admin{number}"));
        let object = organization(&name, json!({ "adminUsers": [admin] }));
        root.post(&format!("{API}/organizations"), &object).await.expect(201);
        let path = format!("{API}/organizations/{name}/groups");
        site.user(&admin).post(&path, &org_group(&format!("{name}:dev"), &[])).await.expect(201);
    };
    stream::iter(0..most).map(make).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    assert_eq!(count().await, before);
}

/// O-09: whoever is told no learns nothing of what exists.
async fn refusals_do_not_tell_what_exists(site: Site) {
    site.furnish().await;
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
