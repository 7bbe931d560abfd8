//! Clients that come and go, in every phase of what they do.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::{metrics, open_files, sum};
use crate::claims::{claim, collection, everywhere, make_namespaces, object};
use crate::client::{Client, Endpoint, request};
use crate::memory::{mebibytes, resident};
use crate::process::{Server, folder};
use crate::turn::turn;

/// How many come and go.
const COMING_AND_GOING: &str = "BAILIWICK_TEST_LEAKS";
const DEFAULT: usize = 600;
const OBJECTS: usize = 50;
const BACK_WITHIN: Duration = Duration::from_secs(30);
const MOST_GROWTH: u64 = 16 << 20;

/// R-11, but for the clock.
#[tokio::test(flavor = "multi_thread")]
async fn who_goes_away_leaves_nothing_behind() {
    let _turn = turn().await;
    let folder = folder();
    // Whose watches stay.
    let server = Server::start(folder.path(), &["--controllers="]).await;
    let endpoint = Endpoint::of(&server);
    let client = endpoint.connect().await.unwrap();
    make_namespaces(&client, ["leaks"]).await;
    for number in 0..OBJECTS {
        client
            .post(&collection("leaks"), &claim(&format!("c-{number}"), "tools", "gold", "0"))
            .await
            .unwrap()
            .expect(201);
    }
    let count = std::env::var(COMING_AND_GOING).map_or(DEFAULT, |count| count.parse().unwrap());
    // Once to fill what is kept for reuse, once to see whether more is kept.
    come_and_go(&endpoint, &client, count).await;
    let before = settled(&client, &server, None).await;
    come_and_go(&endpoint, &client, count).await;
    let after = settled(&client, &server, Some(&before)).await;
    println!("{before:?}, then {after:?}: {} MiB more", mebibytes(after.memory.saturating_sub(before.memory)));
    assert!(after.memory <= before.memory + MOST_GROWTH, "{before:?} {after:?}");
    server.stop().await;
}

/// What a server holds.
#[derive(Clone, Debug)]
struct Held {
    files: usize,
    watches: f64,
    watchers: f64,
    memory: u64,
}

/// Waits until nothing is held that was not held before, and no watch is open.
async fn settled(client: &Client, server: &Server, before: Option<&Held>) -> Held {
    let began = Instant::now();
    loop {
        let samples = metrics(client).await;
        let held = Held {
            files: open_files(server.pid()),
            watches: sum(&samples, "apiserver_longrunning_requests", &[]),
            watchers: sum(&samples, "bailiwick_storage_cache_watchers", &[]),
            memory: resident(server.pid()),
        };
        // The server follows roles and bindings itself.
        let is_as_before = |before: &Held| held.files <= before.files && held.watchers <= before.watchers;
        if held.watches == 0.0 && before.is_none_or(is_as_before) {
            return held;
        }
        assert!(began.elapsed() < BACK_WITHIN, "{held:?}, before {before:?}");
        sleep(Duration::from_millis(200)).await;
    }
}

async fn come_and_go(endpoint: &Endpoint, writer: &Client, count: usize) {
    for number in 0..count {
        match number % 6 {
            // Before anything is said.
            0 => drop(TcpStream::connect(endpoint.address()).await.unwrap()),
            // In the middle of a request's head.
            1 => {
                let mut stream = endpoint.raw().await.unwrap();
                stream.write_all(b"GET /apis HTTP/1.1\r\nHost: local").await.unwrap();
            }
            // Before the head of the answer.
            2 => {
                let client = endpoint.connect().await.unwrap();
                let watch = request(Method::GET, &format!("{}?watch=true", everywhere()), "", Bytes::new());
                let _ = timeout(Duration::from_micros(200), client.open(watch)).await;
            }
            // Among the objects there are, with more to come.
            3 => {
                let client = endpoint.connect().await.unwrap();
                let mut events = client.watch(&format!("{}?watch=true", everywhere())).await.unwrap();
                events.soon().await;
            }
            // In the middle of what happens; every other one resets its stream and keeps its connection for a while.
            4 => {
                let client = endpoint.connect().await.unwrap();
                let path = format!("{}?watch=true&resourceVersion=0&allowWatchBookmarks=true", collection("leaks"));
                let mut events = client.watch(&path).await.unwrap();
                let patch = serde_json::json!({"metadata": {"annotations": {"turn": number.to_string()}}});
                writer.merge(&object("leaks", "c-0"), &patch).await.unwrap().expect(200);
                events.soon().await;
                drop(events);
                client.get("/livez").await.unwrap();
            }
            // After its time was up.
            _ => {
                let client = endpoint.connect().await.unwrap();
                let path = format!("{}?timeout=1ns", collection("leaks"));
                assert!([200, 504].contains(&client.get(&path).await.unwrap().code));
            }
        }
    }
}
