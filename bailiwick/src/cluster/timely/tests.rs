use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, WatchParams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::*;
use crate::cluster::Cluster;
use crate::flags::{Cli, Command};

/// More than any limit.
const LATE: Duration = Duration::from_secs(200);

/// A cluster that begins every answer with these bytes, and says no more, and how often it was asked.
async fn silent_after(beginning: &'static str) -> (Client, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            let _ = connection.read(&mut head).await.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            connection.write_all(beginning.as_bytes()).await.unwrap();
            open.push(connection);
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
         clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}], users: [{{name: u, user: {{}}}}]}}"
    );
    std::fs::write(&kubeconfig, text).unwrap();
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    let cli = Cli::try_parse_from(["bailiwick", "serve", &kubeconfig]).unwrap();
    let Some(Command::Serve(flags)) = cli.command else { panic!("no server") };
    (Cluster::reach(&flags.mode).await.unwrap().own, asked)
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

/// a cluster that takes a connection and says nothing.
#[tokio::test(start_paused = true)]
async fn who_asks_is_told_that_there_is_no_answer() {
    let (client, _) = silent_after("").await;
    let began = Instant::now();
    let asked = tokio::time::timeout(LATE, maps(client.clone()).get("x")).await.expect("an end");
    assert!(format!("{:?}", asked.unwrap_err()).contains("NoAnswer"));
    assert_eq!(began.elapsed().as_secs(), ANSWER_LIMIT.as_secs());
    let watched = tokio::time::timeout(LATE, maps(client).watch(&WatchParams::default(), "1")).await.expect("an end");
    assert!(watched.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_stops_is_an_error_and_a_watch_ends() {
    let begun = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{";
    let (client, _) = silent_after(begun).await;
    let listed = tokio::time::timeout(LATE, maps(client).list(&ListParams::default())).await.expect("an end");
    assert!(format!("{:?}", listed.unwrap_err()).contains("Unfinished"));

    let begun = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let (client, _) = silent_after(begun).await;
    let maps = maps(client);
    let began = Instant::now();
    let mut watch = maps.watch(&WatchParams::default(), "1").await.unwrap().boxed();
    assert!(tokio::time::timeout(LATE, watch.try_next()).await.expect("an end").unwrap().is_none());
    assert_eq!(began.elapsed().as_secs(), WATCH_LIMIT.as_secs());
}

/// What only reads is asked again for a moment, and nothing else is; nobody waits for as long as the answer says.
#[tokio::test(start_paused = true)]
async fn reads_are_asked_again_for_a_moment() {
    let busy =
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 3600\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let (client, asked) = silent_after(busy).await;
    let began = Instant::now();
    assert!(maps(client.clone()).get("x").await.is_err());
    assert!(began.elapsed() < ANSWER_LIMIT);
    assert_eq!(asked.swap(0, Ordering::SeqCst), PAUSES.len() + 1);
    assert!(maps(client.clone()).delete("x", &Default::default()).await.is_err());
    assert!(maps(client).watch(&WatchParams::default(), "1").await.is_err());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}
