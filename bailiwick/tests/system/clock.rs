//! A machine whose clock is wrong.

use std::path::PathBuf;

use http::Method;
use http::header::AUTHORIZATION;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::{Duration, sleep, timeout};

use crate::client::{Answer, Client, Endpoint, Events, JSON, request};
use crate::process::{PATIENCE, Server, folder, program};
use crate::turn::turn;

const SHIM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/system/clock/shim.rs");
const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const BUNDLES: &str = "/apis/bundle.bailiwick.dev/v1alpha1/namespaces/default/bundles";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// The clock of programs that are started with it.
struct WallClock {
    folder: TempDir,
    library: PathBuf,
}

// === impl WallClock ===

impl WallClock {
    async fn new() -> Self {
        let folder = folder();
        let library = folder.path().join("libclock.so");
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let built = Command::new(rustc)
            .args(["--edition=2024", "--crate-type=cdylib", "--crate-name=clock", "-o"])
            .args([library.as_os_str(), SHIM.as_ref()])
            .status();
        assert!(built.await.unwrap().success());
        Self { folder, library }
    }

    /// Puts it so many seconds ahead, or back.
    fn set(&self, seconds: i64) {
        let written = self.folder.path().join("next");
        std::fs::write(&written, seconds.to_string()).unwrap();
        // Nobody reads half of it.
        std::fs::rename(written, self.file()).unwrap();
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("offset")
    }

    async fn server(&self, data: &TempDir) -> Server {
        let mut command = program(data.path(), &["--secure-port=0"]);
        command.env("LD_PRELOAD", &self.library).env("BAILIWICK_TEST_CLOCK", self.file());
        Server::start_command(data.path(), command).await
    }
}

/// Someone with a token asks who they are.
async fn who_am_i(endpoint: &Endpoint, token: &str) -> Answer {
    let mut asked = request(Method::POST, REVIEWS, JSON, json!({}).to_string().into());
    asked.headers_mut().insert(AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
    endpoint.connect().await.unwrap().send(asked).await.unwrap()
}

/// A token that ends after an hour.
async fn token(client: &Client) -> String {
    let asked = json!({ "spec": { "expirationSeconds": HOUR } });
    let made = client.post("/api/v1/namespaces/default/serviceaccounts/default/token", &asked).await.unwrap();
    made.expect(201)["status"]["token"].as_str().unwrap().to_owned()
}

async fn until(client: &Client, path: &str, is_so: impl Fn(&Answer) -> bool) -> Answer {
    let found = async {
        loop {
            let answer = client.get(path).await.unwrap();
            if is_so(&answer) {
                return answer;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("{path} does not become what it should"))
}

/// Writes, and whoever watches is told.
async fn write_and_see(client: &Client, events: &mut Events, word: &str) {
    client.merge(&format!("{MAPS}/m"), &json!({ "data": { "word": word } })).await.unwrap().expect(200);
    while events.soon().await["object"]["data"]["word"] != word {}
}

/// A Bundle is carried out, and taken back.
async fn bundle_comes_and_goes(client: &Client, name: &str) {
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let bundle = json!({
        "apiVersion": "bundle.bailiwick.dev/v1alpha1", "kind": "Bundle", "metadata": { "name": name },
        "spec": { "resources": [{ "name": "map", "spec": map }] },
    });
    client.post(BUNDLES, &bundle).await.unwrap().expect(201);
    until(client, &format!("{BUNDLES}/{name}"), |answer| answer.json()["status"]["ready"] == "1/1").await;
    client.delete(&format!("{BUNDLES}/{name}")).await.unwrap().expect(200);
    until(client, &format!("{BUNDLES}/{name}"), |answer| answer.code == 404).await;
    until(client, &format!("{MAPS}/{name}"), |answer| answer.code == 404).await;
}

/// Of what one project gives up, another gets its share; a namespace that is deleted goes.
async fn quota_changes_hands(client: &Client, name: &str) {
    let quotas = |project: &str| format!("/api/v1/namespaces/{name}-{project}/resourcequotas");
    let quota = |cpu: &str| json!({ "metadata": { "name": "default" }, "spec": { "hard": { "cpu": cpu } } });
    for project in ["one", "two"] {
        let namespace = json!({ "metadata": { "name": format!("{name}-{project}"), "labels": { "owner": "alice" } } });
        client.post("/api/v1/namespaces", &namespace).await.unwrap().expect(201);
    }
    client.post(&quotas("one"), &quota("6")).await.unwrap().expect(201);
    client.post(&quotas("two"), &quota("5")).await.unwrap().expect(403);
    client.delete(&format!("/api/v1/namespaces/{name}-one")).await.unwrap().expect(200);
    until(client, &format!("/api/v1/namespaces/{name}-one"), |answer| answer.code == 404).await;
    let is_given = async {
        while client.post(&quotas("two"), &quota("5")).await.unwrap().code != 201 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, is_given).await.expect("what was given up is free");
    client.delete(&format!("/api/v1/namespaces/{name}-two")).await.unwrap().expect(200);
    until(client, &format!("/api/v1/namespaces/{name}-two"), |answer| answer.code == 404).await;
}

fn allocation() -> Value {
    json!({
        "apiVersion": "quota.bailiwick.dev/v1alpha1", "kind": "ResourceQuotaAllocation", "metadata": { "name": "alice" },
        "spec": { "selector": { "matchLabels": { "owner": "alice" } }, "allocation": { "hard": { "cpu": "10" } } },
    })
}

/// The default account may make config maps.
fn binding() -> Value {
    json!({
        "metadata": { "name": "makers" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit" },
        "subjects": [{ "kind": "ServiceAccount", "name": "default", "namespace": "default" }],
    })
}

/// an hour or a day ahead or back, at once and while it runs, nothing stops, and no watch ends. Tokens are judged by what time
/// it is said to be.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_clock_stops_nothing() {
    let _turn = turn().await;
    let (clock, data) = (WallClock::new().await, folder());
    // Its certificates are not valid before it began.
    clock.set(-3 * DAY);
    let server = clock.server(&data).await;
    clock.set(0);
    let (endpoint, stranger) = (Endpoint::of(&server), Endpoint::of_stranger(&server));
    let client = endpoint.connect().await.unwrap();
    until(&client, "/api/v1/namespaces/default/serviceaccounts/default", |answer| answer.code == 200).await;
    let allocations = "/apis/quota.bailiwick.dev/v1alpha1/resourcequotaallocations";
    client.post(allocations, &allocation()).await.unwrap().expect(201);
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    client.post(bindings, &binding()).await.unwrap().expect(201);
    client.post(MAPS, &json!({ "metadata": { "name": "m" } })).await.unwrap().expect(201);
    let mut events = client.watch(&format!("{MAPS}?watch=true&resourceVersion=0")).await.unwrap();
    let offsets = [0, 2 * HOUR, -2 * HOUR, 0, DAY, -DAY, DAY, 0];
    // One for each step: what was found about a token is remembered for some seconds.
    let mut of_now = Vec::new();
    for _ in offsets {
        of_now.push(token(&client).await);
    }
    for (step, (offset, of_now)) in offsets.into_iter().zip(of_now).enumerate() {
        clock.set(offset);
        let expected = if offset == 0 { 201 } else { 401 };
        assert_eq!(who_am_i(&stranger, &of_now).await.code, expected, "{offset} s");
        let of_then = token(&client).await;
        assert_eq!(who_am_i(&stranger, &of_then).await.code, 201, "{offset} s");
        write_and_see(&client, &mut events, &format!("step-{step}")).await;
        bundle_comes_and_goes(&client, &format!("bundle-{step}")).await;
        quota_changes_hands(&client, &format!("project-{step}")).await;
    }
    clock.set(DAY);
    let log = server.stop_and_tell().await;
    assert!(!log.contains("panicked"), "{log}");
    // What was written yesterday is read tomorrow, and what was written tomorrow today.
    for offset in [DAY, -DAY] {
        clock.set(offset);
        let server = clock.server(&data).await;
        let client = Endpoint::of(&server).connect().await.unwrap();
        assert_eq!(client.get(&format!("{MAPS}/m")).await.unwrap().expect(200)["data"]["word"], "step-7");
        bundle_comes_and_goes(&client, "again").await;
        quota_changes_hands(&client, "again").await;
        server.stop().await;
    }
}
