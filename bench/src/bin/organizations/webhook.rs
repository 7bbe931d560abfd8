//! What a kube-apiserver waits for that asks: a thousand questions a second, over one connection, as it would, about other users
//! and other projects each time, of a server that is full of organizations.

use std::path::Path;
use std::time::Duration;

use bailiwick_bench::Failure;
use bailiwick_bench::behind::Behind;
use bailiwick_bench::client::Client;
use bailiwick_bench::webhook::{self, Load};
use bailiwick_test_host::Cluster;
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{GROUPS_EACH, ORGANIZATIONS, USERS_EACH, objects_of, user};

const GOAL: Duration = Duration::from_millis(2);
const SETTLING: Duration = Duration::from_secs(20);
const API: &str = "/apis/org.bailiwick.dev/v1alpha1";

pub(crate) async fn measure(program: &Path) -> Result<(), Failure> {
    let cluster = Cluster::start().await?;
    let ours = Behind::start(program, &cluster).await?;
    cluster.register_api_service("org.bailiwick.dev", "v1alpha1", ours.port(), ours.ca()).await?;
    let (authority, ca) = (format!("127.0.0.1:{}", ours.port()), ours.ca().as_bytes());
    let root = cluster.tls().user("root", &["system:masters"])?;
    let connect = async |authority: &str, ca: &[u8]| {
        Client::connect(authority, ca, root.certificate.as_bytes(), root.key.as_bytes()).await
    };
    let host = connect(cluster.server().trim_start_matches("https://"), cluster.tls().ca.text().as_bytes()).await?;
    fill(&host, &connect(&authority, ca).await?).await?;
    let caller = cluster.tls().user("kube-apiserver", &[])?;
    let client = Client::connect(&authority, ca, caller.certificate.as_bytes(), caller.key.as_bytes()).await?;
    let answer = ask(&client, 0).await?;
    let answer = String::from_utf8_lossy(&answer);
    if !answer.contains("\"allowed\":true") {
        return Err(format!("what is given is not: {answer}").into());
    }
    // What a cluster does when it has just begun is not what is measured.
    sleep(SETTLING).await;
    let load = Load { what: "an answer to a review of access", goal: GOAL, rate: 1_000, seconds: 10 };
    let question = |client: Client, number: u32| async move { ask(&client, number as usize).await.map(drop) };
    webhook::measure(load, &ours, &[client], question).await
}

/// All organizations with their groups, and for each a project in which all its groups are bound.
async fn fill(host: &Client, ours: &Client) -> Result<(), Failure> {
    let project = |number: usize| {
        let labels = json!({"openshift.io/owner": format!("organizations__Org{number}")});
        let metadata = json!({"name": format!("p{number}"), "labels": labels});
        ("/api/v1/namespaces".to_owned(), json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))
    };
    host.create_all((0..ORGANIZATIONS).map(project)).await?;
    // An organization is there before its groups.
    let (mut organizations, mut groups) = (Vec::new(), Vec::new());
    for (plural, body) in (0..ORGANIZATIONS).flat_map(objects_of) {
        match plural {
            "organizations" => organizations.push(object(plural, "Organization", body)),
            _ => groups.push(object(plural, "OrgGroup", body)),
        }
    }
    ours.create_all(organizations.into_iter()).await?;
    ours.create_all(groups.into_iter()).await?;
    let binding = |number: usize| {
        let groups: Vec<String> = (0..GROUPS_EACH).map(|group| format!("Org{number}:group{group}")).collect();
        let body = json!({
            "metadata": {"name": "all"}, "roleRef": {"name": "system:basic-user"}, "orgGroups": groups,
        });
        object(&format!("namespaces/p{number}/orgrolebindings"), "OrgRoleBinding", body)
    };
    ours.create_all((0..ORGANIZATIONS).map(binding)).await
}

fn object(path: &str, kind: &str, mut body: Value) -> (String, Value) {
    body["apiVersion"] = json!("org.bailiwick.dev/v1alpha1");
    body["kind"] = json!(kind);
    (format!("{API}/{path}"), body)
}

/// Asks about someone, far apart from whom the question before was about.
async fn ask(client: &Client, number: usize) -> Result<Bytes, Failure> {
    let organization = (number * 7_919) % ORGANIZATIONS;
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": user(organization, number % USERS_EACH), "groups": ["system:authenticated"],
            "resourceAttributes": {
                "namespace": format!("p{organization}"), "verb": "create",
                "group": "authorization.k8s.io", "resource": "selfsubjectaccessreviews",
            },
        },
    });
    let (status, answer) = client.send(Method::POST, "/authorize", review.to_string().into()).await?;
    if status.is_success() { Ok(answer) } else { Err(format!("{status}: {}", String::from_utf8_lossy(&answer)).into()) }
}
