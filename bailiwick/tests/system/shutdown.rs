//! Stopping under load.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bailiwick_test_host::Port;
use bytes::Bytes;
use futures::StreamExt;
use futures::channel::mpsc;
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::claims::{claim, collection, everywhere, make_namespaces, object};
use crate::client::{Answer, Client, Endpoint, Events, JSON, Outgoing, Unanswered};
use crate::history::History;
use crate::process::{Server, folder};
use crate::turn::turn;
use crate::writer::{Log, NAMESPACES, Writer};

const CONNECTIONS: usize = 10;
const WATCHES: usize = 1_000;
const WRITERS: usize = 4;
/// How long requests may take, and how long the server waits for them in the end.
const GRACE: Duration = Duration::from_secs(5);
const END_AFTER_GRACE: Duration = Duration::from_secs(10);
const WATCHES_END_WITHIN: Duration = Duration::from_secs(5);

/// A body that is sent piece by piece.
struct Upload {
    pieces_tx: mpsc::UnboundedSender<Bytes>,
    rest: Bytes,
}

///
#[tokio::test(flavor = "multi_thread")]
async fn a_server_under_load_stops_in_order() {
    let _turn = turn().await;
    let (folder, port) = (folder(), Port::reserve().unwrap());
    let request_timeout = format!("--request-timeout={}s", GRACE.as_secs());
    let server = Server::start_on(folder.path(), port.number(), &[&request_timeout]).await;
    let endpoint = Endpoint::of(&server);
    let idle = endpoint.connect().await.unwrap();
    make_namespaces(&idle, NAMESPACES.into_iter().chain(["uploads"])).await;
    let beginning = idle.get(&everywhere()).await.unwrap().revision();
    let stop = CancellationToken::new();
    let mut writers = JoinSet::new();
    for number in 0..WRITERS {
        let every = Duration::from_millis(10);
        writers.spawn(Writer::new(number, endpoint.clone()).run(every, stop.clone()));
    }
    let (connections, mut watches) = open_watches(&endpoint, beginning).await;
    let ((mut late, late_answer), (blocked, blocked_answer)) =
        (upload(&endpoint, "late").await, upload(&endpoint, "blocked").await);
    sleep(Duration::from_millis(500)).await;

    let began = Instant::now();
    server.signal(Signal::TERM);
    let ends = async { while watches.join_next().await.map(Result::unwrap).is_some() {} };
    timeout(WATCHES_END_WITHIN, ends).await.expect("all watches end");
    println!("{WATCHES} watches ended after {:?}", began.elapsed());
    assert_turned_away(&endpoint, &idle).await;
    // What had begun before is finished.
    late.finish();
    let answer = timeout(GRACE, late_answer).await.expect("an answer").unwrap().unwrap();
    answer.expect(201);
    println!("the late upload ended after {:?}", began.elapsed());
    assert!(began.elapsed() < GRACE, "{:?}", began.elapsed());

    let ending = timeout(GRACE + END_AFTER_GRACE, server.end()).await.expect("an end");
    println!("the server ended after {:?}", began.elapsed());
    assert_eq!(ending.code(), Some(0));
    assert!(began.elapsed() <= GRACE + END_AFTER_GRACE);
    // It was given up, with an answer or without one.
    if let Ok(answer) = blocked_answer.await.unwrap() {
        assert!(answer.code >= 400, "{} {}", answer.code, answer.text());
    }
    drop((blocked, connections));

    let server = Server::start_on(folder.path(), port.number(), &[]).await;
    stop.cancel();
    let logs: Vec<Log> = timeout(Duration::from_secs(30), writers.join_all()).await.expect("the writers end");
    let client = endpoint.connect().await.unwrap();
    client.get(&object("uploads", "late")).await.unwrap().expect(200);
    client.get(&object("uploads", "blocked")).await.unwrap().expect(404);
    let through = client.get(&everywhere()).await.unwrap().revision();
    let history = History::read(&client, &everywhere(), beginning, through).await;
    let written: usize = logs.iter().map(|log| log.check(&history)).sum();
    assert_eq!(written + 1, history.events.len(), "the writers' and one upload");
    let acknowledged: usize = logs.iter().map(Log::acknowledged).sum();
    println!("{acknowledged} acknowledged writes are there");
    assert!(acknowledged >= 50, "only {acknowledged} writes: this run shows nothing");
    server.stop().await;
}

/// Watches that follow everything to their proper end.
async fn open_watches(endpoint: &Endpoint, beginning: u64) -> (Vec<Client>, JoinSet<()>) {
    let (mut connections, mut watches) = (Vec::new(), JoinSet::new());
    for _ in 0..CONNECTIONS {
        connections.push(endpoint.connect().await.unwrap());
    }
    for number in 0..WATCHES {
        // One in a hundred sees the writes; the others wait.
        let namespace = if number % 100 == 0 { "north" } else { "quiet" };
        let path = format!("{}?watch=true&resourceVersion={beginning}", collection(namespace));
        let events = connections[number % CONNECTIONS].watch(&path).await.unwrap();
        watches.spawn(follow_to_the_end(events));
    }
    (connections, watches)
}

async fn follow_to_the_end(mut events: Events) {
    loop {
        match events.next().await {
            Ok(None) => return,
            Ok(Some(event)) => assert_ne!(event["type"], "ERROR", "{event}"),
            Err(error) => panic!("a watch broke: {error}"),
        }
    }
}

/// Begins to create a claim, and stops in the middle.
async fn upload(endpoint: &Endpoint, name: &str) -> (Upload, tokio::task::JoinHandle<Result<Answer, Unanswered>>) {
    let mut body = Bytes::from(claim(name, "tools", "gold", name).to_string());
    let first = body.split_to(body.len() / 2);
    let (pieces_tx, pieces_rx) = mpsc::unbounded();
    pieces_tx.unbounded_send(first).unwrap();
    let sent: Outgoing = StreamBody::new(pieces_rx.map(|piece| Ok::<_, Infallible>(Frame::data(piece)))).boxed_unsync();
    let path = collection("uploads");
    let request = Request::builder().method(Method::POST).uri(path).header(CONTENT_TYPE, JSON).body(sent).unwrap();
    let client = endpoint.connect().await.unwrap();
    let answer = tokio::spawn(async move { client.send(request).await });
    (Upload { pieces_tx, rest: body }, answer)
}

/// Neither a new connection nor an old one gets anything but a refusal.
async fn assert_turned_away(endpoint: &Endpoint, idle: &Client) {
    assert!(endpoint.connect().await.is_err(), "a new connection was taken");
    if let Ok(answer) = idle.get("/livez").await {
        assert_eq!(answer.code, 429, "{}", answer.text());
    }
}

// === impl Upload ===

impl Upload {
    fn finish(&mut self) {
        self.pieces_tx.unbounded_send(std::mem::take(&mut self.rest)).unwrap();
        self.pieces_tx.close_channel();
    }
}
