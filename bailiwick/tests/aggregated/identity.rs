//! Who someone is for our program: who they are for the cluster, by whatever way they come; and nobody else.

use std::path::{Path, PathBuf};

use bailiwick_test_host::Kubectl;
use bailiwick_test_host::pki::Authority;
use http::Method;
use serde_json::Value;

use crate::process::folder;
use crate::world::{ENTRIES, World, eventually, world};

const POLICY: &str =
    "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}], omitStages: [RequestReceived]}";
const READER: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: claim-reader, namespace: default}
rules:
- {apiGroups: [catalog.bailiwick.dev], resources: [resourcecatalogentries], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: claim-readers, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: claim-reader}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: claim-readers}
- {kind: ServiceAccount, name: robot, namespace: default}
";

/// The audit log, which says who asked.
struct Log(PathBuf);

/// SRV-3: name, UID, groups and all else are those that the cluster knows, through the aggregator and without it.
#[tokio::test]
async fn users_are_who_they_are_for_the_cluster() {
    let (_turn, world) = world().await;
    let folder = folder();
    let log = Log(folder.path().join("audit.log"));
    let policy = folder.path().join("policy.yaml");
    std::fs::write(&policy, POLICY).unwrap();
    let policy = format!("--audit-policy-file={}", policy.display());
    let path = format!("--audit-log-path={}", log.0.display());
    let server = world.serve(folder.path(), &[&policy, &path]).await;
    world.make_object(READER).await;

    // By a certificate.
    let identity = world.cluster.tls().user("rita", &["claim-readers", "devs"]).unwrap();
    let rita = world.user("rita", &["claim-readers", "devs"]).await;
    reads(world, &rita, "rita").await;
    let known = whoami(&rita).await;
    let through = log.user("marker=rita-through").await;
    assert_eq!(without_credential(&through), without_credential(&known));
    assert_eq!(
        through["extra"]["authentication.kubernetes.io/credential-id"].as_array().unwrap().len(),
        1,
        "{through}"
    );
    let direct = world.direct(&server, Some(&identity));
    direct.get(&format!("{ENTRIES}?marker=rita-direct")).await.expect(200);
    assert_eq!(without_credential(&log.user("marker=rita-direct").await), without_credential(&known));

    // By a token of a service account, which has a UID.
    world.run("create serviceaccount robot").await;
    let token = world.run("create token robot").await;
    let robot = Kubectl::new(&token_kubeconfig(world, folder.path(), token.trim())).await.unwrap();
    reads(world, &robot, "robot").await;
    let known = whoami(&robot).await;
    assert!(known["uid"].as_str().is_some_and(|uid| uid.len() == 36), "{known}");
    assert_eq!(log.user("marker=robot-through").await, known);
    let authorization = format!("Bearer {}", token.trim());
    let nobody = world.direct(&server, None);
    let bearer = [("authorization", authorization.as_str())];
    nobody.get_with(&format!("{ENTRIES}?marker=robot-direct"), &bearer).await.expect(200);
    assert_eq!(log.user("marker=robot-direct").await, known);
    let bad = format!("{authorization}x");
    assert_eq!(nobody.get_with(ENTRIES, &[("authorization", bad.as_str())]).await.code, 401);

    // A token for someone else is none here.
    let other = world.run("create token robot --audience=elsewhere").await;
    let other = format!("Bearer {}", other.trim());
    assert_eq!(nobody.get_with(ENTRIES, &[("authorization", other.as_str())]).await.code, 401);
    server.stop().await;
}

/// S-01, SRV-3: only the aggregator can say who someone is.
#[tokio::test]
async fn nobody_else_can_say_who_they_are() {
    let (_turn, world) = world().await;
    let folder = folder();
    let server = world.start(folder.path(), &[]).await;
    let tls = world.cluster.tls();
    let lies = [
        ("x-remote-user", "admin"),
        ("x-remote-group", "system:masters"),
        ("X_Remote_User", "admin"),
        ("x-remote-uid", "1"),
        ("x-remote-extra-scopes", "all"),
    ];
    let foreign = Authority::new("front proxy").unwrap();
    let ordinary = tls.user("front-proxy-client", &[]).unwrap();
    for (identity, code) in [
        (None, 401),
        // Its certificate is believed, and its headers are not: the name of a front proxy is nothing without its authority.
        (Some(&ordinary), 403),
        (Some(&foreign.client("front-proxy-client", &["system:masters"]).unwrap()), 401),
    ] {
        let answer = world.direct(&server, identity).get_with(ENTRIES, &lies).await;
        assert_eq!(answer.code, code, "{}", answer.body);
        assert!(!answer.body.contains("admin"), "{}", answer.body);
    }
    // The aggregator itself, which is believed.
    let proxy = bailiwick_test_host::pki::Identity {
        certificate: tls.front_proxy_certificate.text().to_owned(),
        key: tls.front_proxy_key.text().to_owned(),
    };
    let proxy = world.direct(&server, Some(&proxy));
    proxy.get_with(ENTRIES, &lies).await.expect(200);
    let named = proxy.get_with(ENTRIES, &[("x-remote-user", "lena")]).await;
    assert_eq!(named.code, 403);
    assert!(named.body.contains("User \\\"lena\\\" cannot list resource"), "{}", named.body);
    // Without a name it is nobody: it is no client of the cluster.
    assert_eq!(proxy.get(ENTRIES).await.code, 401);
    server.stop().await;
}

/// What the cluster does not allow is refused; what it begins to allow is, soon.
#[tokio::test]
async fn the_cluster_says_who_may() {
    let (_turn, world) = world().await;
    let folder = folder();
    let server = world.start(folder.path(), &[]).await;
    let lena = world.direct(&server, Some(&world.cluster.tls().user("lena", &["painters"]).unwrap()));
    let refused = lena.get(ENTRIES).await.expect(403);
    assert_eq!(
        refused["message"],
        "resourcecatalogentries.catalog.bailiwick.dev is forbidden: User \"lena\" cannot list resource \"resourcecatalogentries\" in API group \"catalog.bailiwick.dev\" in the namespace \"default\""
    );
    let command = "create role painter --verb=list --resource=resourcecatalogentries.catalog.bailiwick.dev";
    world.run(command).await;
    world.run("create rolebinding painters --role=painter --group=painters").await;
    eventually("a right is known", async || lena.get(ENTRIES).await.code == 200).await;
    // One verb is not another, and a way to become someone else is a right of its own.
    let made = lena.send(Method::POST, ENTRIES, &[], &crate::world::entry("x")).await.unwrap();
    assert_eq!(made.code, 403, "{}", made.body);
    let as_admin = lena.get_with(ENTRIES, &[("impersonate-user", "admin")]).await;
    assert_eq!(as_admin.code, 403, "{}", as_admin.body);
    // Discovery and documents are for all who are known, health for all.
    for path in ["/apis", "/openapi/v2", "/openapi/v3", "/version"] {
        assert_eq!(lena.get(path).await.code, 200, "{path}");
    }
    assert_eq!(lena.get("/metrics").await.code, 403);
    assert_eq!(world.direct(&server, None).get("/readyz").await.code, 200);
    world.run("delete rolebinding painters").await;
    eventually("a right ends", async || lena.get(ENTRIES).await.code == 403).await;
    server.stop().await;
}

/// Reads through the aggregator once the right to is known, and leaves a mark in the log.
async fn reads(world: &World, kubectl: &Kubectl, name: &str) {
    let path = format!("{ENTRIES}?marker={name}-through");
    let _ = world;
    eventually("a reader can read", async || kubectl.run(["get", "--raw", &path]).await.unwrap().status.success())
        .await;
}

/// Who the cluster says a user is.
async fn whoami(kubectl: &Kubectl) -> Value {
    let text = kubectl.run(["auth", "whoami", "-o", "json"]).await.unwrap().success().unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["status"]["userInfo"].clone()
}

/// Each certificate has its own fingerprint.
fn without_credential(user: &Value) -> Value {
    let mut user = user.clone();
    if let Some(extra) = user["extra"].as_object_mut() {
        extra.remove("authentication.kubernetes.io/credential-id");
    }
    user
}

fn token_kubeconfig(world: &World, folder: &Path, token: &str) -> PathBuf {
    let path = folder.join("robot.kubeconfig");
    let (server, ca) = (world.cluster.server(), world.cluster.tls().ca.path().display());
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], clusters: [{{name: c, cluster: {{server: '{server}', certificate-authority: '{ca}'}}}}], users: [{{name: u, user: {{token: '{token}'}}}}]}}"
    );
    std::fs::write(&path, text).unwrap();
    path
}

// === impl Log ===

impl Log {
    /// Who sent the request that was allowed and has this in its URI.
    async fn user(&self, mark: &str) -> Value {
        let mut found = None;
        eventually("the request is in the log", async || {
            let text = std::fs::read_to_string(&self.0).unwrap_or_default();
            let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let mut events = events.filter(|event| event["requestURI"].as_str().unwrap().contains(mark));
            found = events.find(|event| event["responseStatus"]["code"] == 200);
            found.is_some()
        })
        .await;
        found.unwrap()["user"].clone()
    }
}
