//! More than the server can do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::join_all;
use http::{HeaderValue, Method};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{metrics, sum};
use crate::claims::{claim, collection, make_namespaces, object};
use crate::client::{Answer, Client, Endpoint, MERGE_PATCH, request};
use crate::cores::Cores;
use crate::process::{Server, folder};
use crate::turn::turn;

/// Writes under way that the server allows. Administrators need no seat, so the clients here are somebody else.
const SEATS: usize = 12;
pub(super) const USER: &str = "load";
/// How many more clients ask at once.
const MULTIPLE: usize = 10;
/// With and without overload, in turns: whatever else the machine does meets both.
const ROUNDS: usize = 4;
const PHASE: Duration = Duration::from_secs(1);
/// One that whatever else the machine does leaves alone is enough.
const ATTEMPTS: usize = 5;
/// Of what is done without overload. Without optimization a refusal costs five times as much, and a write, which waits for the
/// disk, does not.
const LEAST_GOODPUT: f64 = if cfg!(debug_assertions) { 0.75 } else { 0.9 };
const LIVEZ_WITHIN: Duration = Duration::from_secs(1);

/// What came of the requests of a phase.
#[derive(Default)]
pub(super) struct Outcome {
    good: AtomicUsize,
    refused: AtomicUsize,
    took: Mutex<Vec<Duration>>,
}

/// R-22, in short: writes, which take their time, from ten times as many clients as there are seats. The server has a core
/// and the clients have another, so that what is measured is what the server does, with and without overload.
#[test]
fn too_much_is_refused_and_the_rest_is_done() {
    let cores = Cores::available();
    cores.of_clients(push_too_much(&cores));
}

async fn push_too_much(cores: &Cores) {
    let _turn = turn().await;
    let folder = folder();
    let seats = format!("--max-mutating-requests-inflight={SEATS}");
    let server = Server::start(folder.path(), &[&seats]).await;
    cores.give_server(server.pid());
    let endpoint = Endpoint::of(&server);
    let client = endpoint.connect().await.unwrap();
    make_namespaces(&client, ["load"]).await;
    for number in 0..SEATS * MULTIPLE {
        let name = format!("claim-{number}");
        client.post(&collection("load"), &claim(&name, "tools", "gold", "0")).await.unwrap().expect(201);
    }
    let_in(&client).await;
    // Connecting costs far more than asking, and is no part of what is measured.
    let connecting = (0..SEATS * MULTIPLE).map(|_| endpoint.connect());
    let clients: Vec<Client> = join_all(connecting).await.into_iter().map(Result::unwrap).collect();
    let (mut refused, mut goodputs) = (0, Vec::new());
    while goodputs.iter().all(|goodput| *goodput < LEAST_GOODPUT) {
        assert!(goodputs.len() < ATTEMPTS, "of what is done without overload, in every attempt: {goodputs:?}");
        let (alone, pushed) = (Arc::new(Outcome::default()), Arc::new(Outcome::default()));
        for _ in 0..ROUNDS {
            // One user has three quarters of the seats.
            offer(&clients[..SEATS * 3 / 4], &client, &alone).await;
            offer(&clients, &client, &pushed).await;
        }
        let (alone_good, good) = (alone.good(), pushed.good());
        let goodput = good as f64 / alone_good as f64;
        println!(
            "alone {alone_good}, p99 {:?}, pushed {good}, p99 {:?}: {goodput:.2}, refused {}",
            alone.p99(),
            pushed.p99(),
            pushed.refused(),
        );
        assert_eq!(alone.refused(), 0, "what has a seat is not refused");
        assert!(pushed.refused() > 0);
        refused += pushed.refused();
        goodputs.push(goodput);
    }

    let samples = metrics(&client).await;
    let counted = sum(&samples, "apiserver_request_total", &["verb=\"PATCH\"", "code=\"429\""]);
    assert_eq!(counted as usize, refused);
    assert_eq!(sum(&samples, "apiserver_request_terminations_total", &["code=\"429\""]) as usize, refused);
    let most = sum(&samples, "apiserver_current_inflight_requests", &["mutating"]);
    assert!(most >= 1.0 && most <= SEATS as f64, "{most}");
    assert_eq!(sum(&samples, "apiserver_current_inqueue_requests", &[]), 0.0);
    server.stop().await;
}

// === impl Outcome ===

impl Outcome {
    /// Counts an answer, which came after so long.
    pub(super) fn count(&self, code: u16, took: Duration) {
        match code {
            200 => {
                self.took.lock().unwrap().push(took);
                self.good.fetch_add(1, Ordering::Relaxed)
            }
            429 => self.refused.fetch_add(1, Ordering::Relaxed),
            code => panic!("{code} after {took:?}"),
        };
    }

    pub(super) fn good(&self) -> usize {
        self.good.load(Ordering::Relaxed)
    }

    pub(super) fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    /// How long what was done took, but for one in a hundred.
    pub(super) fn p99(&self) -> Duration {
        let mut took = self.took.lock().unwrap().clone();
        took.sort_unstable();
        took.get(took.len() * 99 / 100).copied().unwrap_or_default()
    }
}

/// Lets those in who push.
pub(super) async fn let_in(administrator: &Client) {
    let binding = serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": USER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    administrator.post(bindings, &binding).await.unwrap().expect(201);
}

/// Clients that ask again as soon as they are answered. Meanwhile the server says that it lives, and its administrator is
/// served.
async fn offer(clients: &[Client], administrator: &Client, outcome: &Arc<Outcome>) {
    let until = Instant::now() + PHASE;
    let mut tasks = JoinSet::new();
    for (number, client) in clients.iter().enumerate() {
        tasks.spawn(push(client.clone(), number, until, outcome.clone()));
    }
    while Instant::now() < until {
        let began = Instant::now();
        assert_eq!(administrator.get("/livez").await.unwrap().code, 200);
        assert!(began.elapsed() < LIVEZ_WITHIN, "{:?}", began.elapsed());
        let turn = serde_json::json!({"metadata": {"annotations": {"repaired": format!("{began:?}")}}});
        administrator.merge(&object("load", "claim-0"), &turn).await.unwrap().expect(200);
        sleep(Duration::from_millis(50)).await;
    }
    tasks.join_all().await;
}

async fn push(client: Client, number: usize, until: Instant, outcome: Arc<Outcome>) {
    let path = object("load", &format!("claim-{number}"));
    let mut turn = 0;
    while Instant::now() < until {
        turn += 1;
        let patch = format!(r#"{{"metadata": {{"annotations": {{"turn": "{turn}"}}}}}}"#);
        let mut patch = request(Method::PATCH, &path, MERGE_PATCH, Bytes::from(patch));
        patch.headers_mut().insert("impersonate-user", HeaderValue::from_static(USER));
        let began = Instant::now();
        let response = client.open(patch).await.unwrap();
        let retry_after = response.headers().get("retry-after").cloned();
        let answer = Answer::read(response).await.unwrap();
        outcome.count(answer.code, began.elapsed());
        if answer.code == 429 {
            assert_eq!(retry_after.unwrap(), "1");
            assert_eq!(answer.text(), "Too many requests, please try again later.\n");
            // Sooner than it was told to, as clients that overload a server do.
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Now and then a client is asked to come back over another connection, and loses nothing by it.
#[tokio::test(flavor = "multi_thread")]
async fn clients_are_sent_elsewhere_now_and_then() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &["--goaway-chance=0.02"]).await;
    let endpoint = Endpoint::of(&server);
    let (mut client, mut connections) = (endpoint.connect().await.unwrap(), 1);
    for _ in 0..500 {
        // Between two requests, a connection may have been said good-bye to.
        if !client.is_open().await {
            (client, connections) = (endpoint.connect().await.unwrap(), connections + 1);
        }
        match client.get("/livez").await {
            Ok(answer) => assert_eq!(answer.code, 200),
            // Good-bye came while the request was on its way: it was not looked at, and is sent again.
            Err(_) => {
                (client, connections) = (endpoint.connect().await.unwrap(), connections + 1);
                assert_eq!(client.get("/livez").await.unwrap().code, 200);
            }
        }
    }
    assert!((4..=25).contains(&connections), "{connections}");
    server.stop().await;
}
