//! Stopping: asked once, asked twice, and killed.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::{Server, folder};

#[tokio::test]
async fn a_signal_stops_it_soon() {
    let folder = folder();
    for signal in [Signal::TERM, Signal::INT] {
        let server = Server::start(folder.path(), &[]).await;
        let began = Instant::now();
        server.signal(signal);
        assert_eq!(server.end().await.code(), Some(0));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn it_is_unready_first_and_serves_on_for_a_while() {
    let folder = folder();
    let server = Server::start(folder.path(), &["--shutdown-delay-duration=1h"]).await;
    let kubectl = server.kubectl().await;
    assert_eq!(kubectl.run(["get", "--raw", "/readyz"]).await.unwrap().success().unwrap(), "ok");
    server.signal(Signal::TERM);
    let began = Instant::now();
    while kubectl.run(["get", "--raw", "/readyz"]).await.unwrap().status.success() {
        assert!(began.elapsed() < Duration::from_secs(20), "still ready");
    }
    assert_eq!(kubectl.run(["get", "--raw", "/livez"]).await.unwrap().success().unwrap(), "ok");
    // The second signal does not wait for an hour.
    server.signal(Signal::TERM);
    assert_eq!(server.end().await.code(), Some(128 + 15));
}

#[tokio::test]
async fn a_folder_is_free_again_after_a_kill() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    server.signal(Signal::KILL);
    assert_eq!(server.end().await.code(), None);
    Server::start(folder.path(), &[]).await.stop().await;
}
