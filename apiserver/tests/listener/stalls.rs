//! Clients that take nothing hold nothing for long, and hurt only themselves.

use std::sync::atomic::Ordering;

use http_body_util::BodyExt;
use tokio::time::Instant;

use crate::client::{get, text};
use crate::server::{SHORT, Server, eventually, impatient, patient};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_takes_nothing_is_closed() {
    let server = Server::start(impatient()).await;
    let (mut requests, _connection) = server.http1().await;
    let response = requests.send_request(get("/endless")).await.unwrap();
    let began = Instant::now();
    assert_eq!(server.counters.endless_bodies.load(Ordering::SeqCst), 1);
    eventually("the body is given up", || server.counters.endless_bodies.load(Ordering::SeqCst) == 0).await;
    assert!(began.elapsed() >= SHORT / 2);
    drop(response);
}

/// one slow watch among many on one connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_takes_nothing_is_reset_and_its_neighbours_go_on() {
    let server = Server::start(impatient()).await;
    let (mut requests, _connection) = server.http2().await;
    let neighbour = tokio::spawn(requests.send_request(get("/pauses")));
    let response = requests.send_request(get("/endless")).await.unwrap();
    let began = Instant::now();
    assert_eq!(server.counters.endless_bodies.load(Ordering::SeqCst), 1);
    eventually("the body is given up", || server.counters.endless_bodies.load(Ordering::SeqCst) == 0).await;
    assert!(began.elapsed() >= SHORT / 2);
    assert_eq!(text(neighbour.await.unwrap()).await, "before after");
    assert_eq!(text(requests.send_request(get("/")).await).await, "HTTP/2.0");
    drop(response);
}

/// A watch without events is not one that is not read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_pauses_is_not_a_stall() {
    let server = Server::start(impatient()).await;
    let (mut http1, _connection1) = server.http1().await;
    assert_eq!(text(http1.send_request(get("/pauses")).await).await, "before after");
    let (mut http2, _connection2) = server.http2().await;
    assert_eq!(text(http2.send_request(get("/pauses")).await).await, "before after");
}

/// Who takes an answer bit by bit holds it no longer than a request may last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_must_be_taken_in_time() {
    let server = Server::start(patient()).await;
    let (mut http1, _connection1) = server.http1().await;
    let (mut http2, _connection2) = server.http2().await;
    let began = Instant::now();
    let slow =
        tokio::join!(http1.send_request(get("/endless-for-a-while")), http2.send_request(get("/endless-for-a-while")));
    for response in [slow.0.unwrap(), slow.1.unwrap()] {
        let mut body = response.into_body();
        let mut pieces = 0;
        // Reading without a pause would take all it can give; a client that is slow reads now and then.
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(_) => pieces += 1,
                Err(_) => break,
            }
            tokio::time::sleep(SHORT / 50).await;
        }
        assert!(pieces > 0);
    }
    assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
    eventually("the bodies are given up", || server.counters.endless_bodies.load(Ordering::SeqCst) == 0).await;
    assert_eq!(text(http2.send_request(get("/")).await).await, "HTTP/2.0", "the connection goes on");
}
