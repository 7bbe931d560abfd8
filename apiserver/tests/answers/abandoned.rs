//! Clients that go away before they are answered: what they asked for may have been done, so it is told and counted.

use std::io::{BufRead, BufReader};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_apiserver::{Audit, AuditLog, AuditLogOptions, AuditMode, LogTarget, Metrics, Policy};
use bailiwick_registry::SystemClock;
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_storage::{At, Key, ListOptions, Lookup, Page, Prefix, Result, Revision, Store, Txn, Watch};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::site::{CLAIMS, Site, Wiring, admin, claim};

/// Writes to claims are told whole, in one entry; nothing is told of the metrics.
const POLICY: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]
rules: [{level: None, nonResourceURLs: [/metrics]}, {level: RequestResponse}]\n";
const LONG: Duration = Duration::from_secs(30);

/// A store that makes a write of `held`, and never says so.
struct Holding {
    store: Embedded,
    written: Notify,
}

#[async_trait]
impl Store for Holding {
    async fn revision(&self) -> Result<Revision> {
        self.store.revision().await
    }

    async fn get(&self, key: &Key, at: At) -> Result<Lookup> {
        self.store.get(key, at).await
    }

    async fn list(&self, prefix: &Prefix, options: ListOptions) -> Result<Page> {
        self.store.list(prefix, options).await
    }

    async fn commit(&self, txn: Txn) -> Result<Revision> {
        let is_held = txn.written().any(|key| key.name() == "held");
        let outcome = self.store.commit(txn).await;
        if is_held {
            self.written.notify_one();
            std::future::pending::<()>().await;
        }
        outcome
    }

    async fn watch(&self, prefix: &Prefix, after: Revision) -> Result<Box<dyn Watch>> {
        self.store.watch(prefix, after).await
    }

    async fn compact(&self, oldest: Revision) -> Result<()> {
        self.store.compact(oldest).await
    }
}

/// How a server is wired that keeps an audit log.
fn audited(target: LogTarget, mode: AuditMode) -> Wiring {
    let metrics = Arc::new(Metrics::default());
    let options = AuditLogOptions { target, mode, max_bytes: None, max_backups: None, max_age: None, compress: false };
    let log = AuditLog::open(options, metrics.clone(), Arc::new(SystemClock)).unwrap();
    let audit = Some(Audit { policy: Policy::parse(POLICY.as_bytes()).unwrap(), log });
    Wiring { audit, metrics, ..Wiring::default() }
}

fn create(claim: &Value) -> Request<Full<Bytes>> {
    let request = Request::post(CLAIMS).header("content-type", "application/json");
    request.body(Full::from(claim.to_string())).unwrap()
}

/// Asks, and goes away as soon as something is so.
async fn abandon(site: &Site, request: Request<Full<Bytes>>, is_so: impl Future<Output = ()>) {
    let admin = admin();
    tokio::select! {
        answer = site.server.answer(request, Some(&admin)) => panic!("nobody answers this: {}", answer.status()),
        () = is_so => {}
        () = tokio::time::sleep(LONG) => panic!("it is not so before long"),
    }
}

#[tokio::test]
async fn a_write_whose_client_went_away_is_told_and_counted() {
    for mode in [AuditMode::Batch, AuditMode::Blocking, AuditMode::BlockingStrict] {
        let (folder, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = logs.path().join("audit.log");
        let taken = Folder::take(folder.path()).unwrap();
        let store = Embedded::open(EmbeddedOptions::new(Arc::new(taken))).await.unwrap();
        let store = Arc::new(Holding { store, written: Notify::new() });
        let site = Site::over(store.clone(), folder, audited(LogTarget::File(path.clone()), mode)).await;

        abandon(&site, create(&claim("held", json!({}))), store.written.notified()).await;
        // It was made, though nobody was told.
        assert_eq!(site.get(&format!("{CLAIMS}/held")).await.code, 200, "{mode:?}");

        let text = site.metrics("").await;
        let is_counted =
            |line: &str| line.starts_with("apiserver_request_total{verb=\"POST\"") && line.ends_with("code=\"499\"} 1");
        assert!(text.lines().any(is_counted), "{mode:?}: {text}");
        // Closes the log, which waits until all is written.
        drop(site);
        let log = std::fs::read_to_string(&path).unwrap();
        let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(events.len(), 2, "one entry for each request: {log}");
        let event = &events[0];
        assert_eq!((&event["stage"], &event["verb"]), (&json!("ResponseComplete"), &json!("create")), "{event:#}");
        assert_eq!(event["user"]["username"], "admin");
        assert_eq!(event["objectRef"]["name"], "held");
        assert_eq!(event["requestObject"]["metadata"]["name"], "held");
        let status = &event["responseStatus"];
        assert_eq!((&status["status"], &status["code"]), (&json!("Failure"), &json!(499)), "{event:#}");
        assert!(status["message"].as_str().unwrap().contains("may have been done"), "{event:#}");
        assert_eq!((&events[1]["verb"], &events[1]["responseStatus"]["code"]), (&json!("get"), &json!(200)));
    }
}

/// The answer is known, and waits for the log only: what the log has is not told again.
#[tokio::test]
async fn who_goes_away_while_the_log_is_slow_is_told_of_once() {
    let folder = tempfile::tempdir().unwrap();
    let slow = folder.path().join("audit.log");
    assert!(Command::new("mkfifo").arg(&slow).status().unwrap().success());
    // A pipe takes 64 KiB at most until someone reads: the log's thread waits in the middle of the entry.
    let reader = std::fs::File::options().read(true).write(true).open(&slow).unwrap();
    let site = Site::wired(audited(LogTarget::File(slow), AuditMode::BlockingStrict)).await;
    let mut long = claim("long", json!({}));
    long["metadata"]["annotations"] = json!({"example.dev/long": "x".repeat(100_000)});

    let is_handed_over = async {
        while !site.metrics("").await.contains("\napiserver_audit_event_total 1\n") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    abandon(&site, create(&long), is_handed_over).await;

    let reading = tokio::task::spawn_blocking(move || {
        let lines = BufReader::new(reader).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        lines.take(2).collect::<Vec<_>>()
    });
    assert_eq!(site.get(&format!("{CLAIMS}/long")).await.code, 200);
    let events = tokio::time::timeout(LONG, reading).await.unwrap().unwrap();
    let told: Vec<_> = events.iter().map(|event| (&event["verb"], &event["responseStatus"]["code"])).collect();
    assert_eq!(told, [(&json!("create"), &json!(201)), (&json!("get"), &json!(200))]);
}
