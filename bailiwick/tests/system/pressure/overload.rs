//! More than the server can do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{metrics, sum};
use crate::claims::{claim, collection, make_namespaces, object};
use crate::client::{Answer, Client, Endpoint, MERGE_PATCH, request};
use crate::process::{Server, folder};
use crate::turn::turn;

/// Requests under way that the server allows: both kinds together, as all clients here are administrators.
const SEATS: usize = 12;
/// How many more clients ask at once.
const MULTIPLE: usize = 10;
const PHASE: Duration = Duration::from_secs(4);
/// Of what is done without overload. The goal is 0.9 where the clients that push do not take the server's own processors,
/// and neither is built without optimization.
const LEAST_GOODPUT: f64 = 0.4;
const LIVEZ_WITHIN: Duration = Duration::from_secs(1);

/// What came of the requests of a phase.
#[derive(Default)]
struct Outcome {
    good: AtomicUsize,
    refused: AtomicUsize,
}

/// R-22, in short: writes, which take their time, from ten times as many clients as there are seats.
#[tokio::test(flavor = "multi_thread")]
async fn too_much_is_refused_and_the_rest_is_done() {
    let _turn = turn().await;
    let folder = folder();
    let flags = ["--max-requests-inflight=8", "--max-mutating-requests-inflight=4"];
    let server = Server::start(folder.path(), &flags).await;
    let endpoint = Endpoint::of(&server);
    let client = endpoint.connect().await.unwrap();
    make_namespaces(&client, ["load"]).await;
    for number in 0..SEATS * MULTIPLE {
        let name = format!("claim-{number}");
        client.post(&collection("load"), &claim(&name, "tools", "gold", "0")).await.unwrap().expect(201);
    }
    // One user has three quarters of the seats.
    let alone = offer(&endpoint, SEATS * 3 / 4, &client).await;
    let pushed = offer(&endpoint, SEATS * MULTIPLE, &client).await;
    let (alone_good, good) = (alone.good.load(Ordering::Relaxed), pushed.good.load(Ordering::Relaxed));
    let refused = pushed.refused.load(Ordering::Relaxed);
    println!("alone {alone_good}, pushed {good}, refused {refused}");
    assert_eq!(alone.refused.load(Ordering::Relaxed), 0, "what has a seat is not refused");
    assert!(refused > 0);
    assert!(good as f64 >= LEAST_GOODPUT * alone_good as f64, "{good} of {alone_good}");

    let samples = metrics(&client).await;
    let counted = sum(&samples, "apiserver_request_total", &["verb=\"PATCH\"", "code=\"429\""]);
    assert_eq!(counted as usize, refused);
    assert_eq!(sum(&samples, "apiserver_request_terminations_total", &["code=\"429\""]) as usize, refused);
    let most = sum(&samples, "apiserver_current_inflight_requests", &["mutating"]);
    assert!(most >= 1.0 && most <= SEATS as f64, "{most}");
    assert_eq!(sum(&samples, "apiserver_current_inqueue_requests", &[]), 0.0);
    server.stop().await;
}

/// Clients that ask again as soon as they are answered. Meanwhile the server says that it lives.
async fn offer(endpoint: &Endpoint, clients: usize, prober: &Client) -> Arc<Outcome> {
    let (outcome, until) = (Arc::new(Outcome::default()), Instant::now() + PHASE);
    let mut tasks = JoinSet::new();
    for number in 0..clients {
        let client = endpoint.connect().await.unwrap();
        tasks.spawn(push(client, number, until, outcome.clone()));
    }
    while Instant::now() < until {
        let began = Instant::now();
        assert_eq!(prober.get("/livez").await.unwrap().code, 200);
        assert!(began.elapsed() < LIVEZ_WITHIN, "{:?}", began.elapsed());
        sleep(Duration::from_millis(50)).await;
    }
    tasks.join_all().await;
    outcome
}

async fn push(client: Client, number: usize, until: Instant, outcome: Arc<Outcome>) {
    let path = object("load", &format!("claim-{number}"));
    let mut turn = 0;
    while Instant::now() < until {
        turn += 1;
        let patch = format!(r#"{{"metadata": {{"annotations": {{"turn": "{turn}"}}}}}}"#);
        let response = client.open(request(Method::PATCH, &path, MERGE_PATCH, Bytes::from(patch))).await.unwrap();
        let retry_after = response.headers().get("retry-after").cloned();
        let answer = Answer::read(response).await.unwrap();
        match answer.code {
            200 => outcome.good.fetch_add(1, Ordering::Relaxed),
            429 => {
                assert_eq!(retry_after.unwrap(), "1");
                assert_eq!(answer.text(), "Too many requests, please try again later.\n");
                // Sooner than it was told to, as clients that overload a server do.
                sleep(Duration::from_millis(100)).await;
                outcome.refused.fetch_add(1, Ordering::Relaxed)
            }
            code => panic!("{code}: {}", answer.text()),
        };
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
