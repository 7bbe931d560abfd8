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

/// Whoever follows what is stored has let go of it by then: roles, organizations, definitions, quotas, controllers, watches.
#[tokio::test]
async fn nothing_is_left_over_at_the_end() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubectl = server.kubectl().await;
    kubectl.run(["create", "quota", "few", "--hard=configmaps=5"]).await.unwrap().success().unwrap();
    let token = kubectl.run(["create", "token", "default"]).await.unwrap().success().unwrap();
    let token = format!("--token={}", token.trim());
    kubectl.run([token.as_str(), "auth", "whoami"]).await.unwrap().success().unwrap();
    let log = server.stop_and_tell().await;
    assert!(log.contains("stopped"), "{log}");
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
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
