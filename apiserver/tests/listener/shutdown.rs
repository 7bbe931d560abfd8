//! what is under way ends well, what is idle ends at once.

use std::sync::atomic::Ordering;

use bailiwick_apiserver::ListenerOptions;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::client::{get, text};
use crate::server::{PATIENCE, SHORT, Server, eventually, patient};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_end_and_idle_connections_close() {
    let server = Server::start(patient()).await;
    let (mut idle1, idle_connection1) = server.http1().await;
    let (mut idle2, idle_connection2) = server.http2().await;
    text(idle1.send_request(get("/")).await).await;
    text(idle2.send_request(get("/")).await).await;
    let (_unused, unused_connection) = server.http1().await;
    let half_open = TcpStream::connect(server.address).await.unwrap();
    let (mut http1, _connection1) = server.http1().await;
    let (mut http2, _connection2) = server.http2().await;
    let slow = (tokio::spawn(http1.send_request(get("/slow"))), tokio::spawn(http2.send_request(get("/pauses"))));
    eventually("a slow request", || server.counters.requests.load(Ordering::SeqCst) == 1).await;
    tokio::time::sleep(SHORT / 4).await;

    server.shutdown.cancel();
    for connection in [idle_connection1, idle_connection2, unused_connection] {
        // How it ends is the client's to judge: one that never asked anything hears of no answer.
        let _ = timeout(PATIENCE, connection).await.expect("an idle connection closes").unwrap();
    }
    assert_eq!(server.counters.requests.load(Ordering::SeqCst), 1, "before the slow request ended");
    assert!(TcpStream::connect(server.address).await.is_err(), "no new connections");
    assert_eq!(text(slow.0.await.unwrap()).await, "slow");
    assert_eq!(text(slow.1.await.unwrap()).await, "before after");
    timeout(PATIENCE, server.task).await.expect("the listener ends").unwrap();
    drop(half_open);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_do_not_end_are_given_up() {
    let server = Server::start(ListenerOptions { shutdown_grace: SHORT, ..patient() }).await;
    let (mut http1, _connection1) = server.http1().await;
    let (mut http2, _connection2) = server.http2().await;
    let never = (tokio::spawn(http1.send_request(get("/never"))), tokio::spawn(http2.send_request(get("/never"))));
    eventually("two requests", || server.counters.requests.load(Ordering::SeqCst) == 2).await;
    let began = Instant::now();
    server.shutdown.cancel();
    timeout(PATIENCE, server.task).await.expect("the listener ends").unwrap();
    assert!(began.elapsed() >= SHORT);
    assert_eq!(server.counters.requests.load(Ordering::SeqCst), 0);
    assert!(never.0.await.unwrap().is_err());
    assert!(never.1.await.unwrap().is_err());
}
