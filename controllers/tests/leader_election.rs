//! Two candidates for one Lease, on a server in the same process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bailiwick_apiserver::{Body, Health, InProcess, Server, ServerOptions, ServerParts};
use bailiwick_controllers::{LeaderElection, LeaderElectionOptions};
use bailiwick_registry::{AllowGroup, Registry, SystemClock, User, kinds};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use http::{Request, Response};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

const OPTIONS: LeaderElectionOptions = LeaderElectionOptions {
    lease_duration: Duration::from_secs(2),
    renew_deadline: Duration::from_secs(1),
    retry_period: Duration::from_millis(100),
};
const SOON: Duration = Duration::from_secs(20);

/// A way to the server that can be cut.
#[derive(Clone)]
struct Way {
    server: InProcess,
    is_cut: Arc<AtomicBool>,
}

/// A replica.
struct Replica {
    is_cut: Arc<AtomicBool>,
    stop: CancellationToken,
    leads: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

struct Site {
    server: InProcess,
    _folder: TempDir,
}

/// Says that the work goes on, until it is dropped.
struct Working(watch::Sender<bool>);

#[tokio::test(flavor = "multi_thread")]
async fn one_leads_and_the_next_begins_when_it_ends() {
    let site = Site::open().await;
    let first = site.replica("first");
    first.wait(true).await;
    let second = site.replica("second");
    sleep(OPTIONS.lease_duration * 2).await;
    assert!(first.is_leading() && !second.is_leading(), "who renews stays");

    // One that stops gives back what it held.
    first.stop.cancel();
    let began = Instant::now();
    second.wait(true).await;
    assert!(began.elapsed() < OPTIONS.lease_duration, "{:?}", began.elapsed());
    first.task.await.unwrap();
    let spec = site.lease().await.spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("second"), Some(1)));

    // One that dies does not: the next waits until the lease has ended.
    let third = site.replica("third");
    second.task.abort();
    let began = Instant::now();
    third.wait(true).await;
    let waited = began.elapsed();
    assert!(waited >= OPTIONS.lease_duration - OPTIONS.retry_period * 3, "{waited:?}");
    assert_eq!(site.lease().await.spec.unwrap().lease_transitions, Some(2));
    third.stop.cancel();
    third.task.await.unwrap();
}

/// One that is cut off stops before another begins, and leads again when it may.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_cut_off_stops_before_another_begins() {
    let site = Site::open().await;
    let first = site.replica("first");
    first.wait(true).await;
    let second = site.replica("second");
    for _ in 0..3 {
        let (leader, other) = if first.is_leading() { (&first, &second) } else { (&second, &first) };
        leader.is_cut.store(true, Ordering::SeqCst);
        leader.wait(false).await;
        assert!(!other.is_leading(), "two lead at once");
        other.wait(true).await;
        leader.is_cut.store(false, Ordering::SeqCst);
        sleep(OPTIONS.retry_period * 5).await;
        assert!(other.is_leading() && !leader.is_leading());
    }
    for replica in [first, second] {
        replica.stop.cancel();
        replica.task.await.unwrap();
    }
}

/// Two who come at once: one of them leads.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_at_once_one_leads() {
    let site = Site::open().await;
    let replicas: Vec<Replica> = (0..8).map(|number| site.replica(&format!("replica-{number}"))).collect();
    let began = Instant::now();
    while began.elapsed() < OPTIONS.lease_duration * 2 {
        let leading = replicas.iter().filter(|replica| replica.is_leading()).count();
        assert!(leading <= 1, "{leading} lead");
        sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(replicas.iter().filter(|replica| replica.is_leading()).count(), 1);
}

// === impl Site ===

impl Site {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let taken = Folder::take(folder.path()).unwrap();
        let store = Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(taken))).await.unwrap());
        let registry = Registry::start(store, kinds::host().unwrap(), Default::default()).await.unwrap();
        let parts = ServerParts {
            registry: Arc::new(registry),
            health: Health::new(),
            authorizer: Arc::new(AllowGroup::MASTERS),
            clock: Arc::new(SystemClock),
            shutdown: CancellationToken::new(),
            audit: None,
            metrics: Arc::default(),
        };
        let user = User { name: "replica".into(), groups: vec!["system:masters".into()], ..User::default() };
        let server = Arc::new(Server::new(parts, &ServerOptions::default()));
        Self { server: InProcess::new(server, user), _folder: folder }
    }

    fn replica(&self, identity: &str) -> Replica {
        let (is_cut, stop) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
        let way = Way { server: self.server.clone(), is_cut: is_cut.clone() };
        let election = LeaderElection::new(Client::new(way, "default"), "default", "work", identity, OPTIONS);
        let (leads_tx, leads) = watch::channel(false);
        let (stopping, working) = (stop.clone(), leads_tx);
        let task = tokio::spawn(async move {
            let work = || {
                working.send_replace(true);
                let working = Working(working.clone());
                async move {
                    std::future::pending::<()>().await;
                    drop(working);
                }
            };
            election.run(stopping, work).await;
        });
        Replica { is_cut, stop, leads, task }
    }

    async fn lease(&self) -> Lease {
        let leases: Api<Lease> = Api::namespaced(Client::new(self.server.clone(), "default"), "default");
        leases.get("work").await.unwrap()
    }
}

// === impl Replica ===

impl Replica {
    fn is_leading(&self) -> bool {
        *self.leads.borrow()
    }

    async fn wait(&self, leading: bool) {
        let mut leads = self.leads.clone();
        timeout(SOON, leads.wait_for(|leads| *leads == leading)).await.expect("in time").unwrap();
    }
}

// === impl Working ===

impl Drop for Working {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

// === impl Way ===

impl Service<Request<kube::client::Body>> for Way {
    type Response = Response<Body>;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, std::io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), std::io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let mut way = self.clone();
        Box::pin(async move {
            if way.is_cut.load(Ordering::SeqCst) {
                // Nothing comes back, as from a network that is gone.
                std::future::pending::<()>().await;
            }
            let answer = way.server.call(request).await;
            answer.map_err(|never| match never {})
        })
    }
}
