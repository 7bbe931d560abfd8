//! What a GET costs before and after the handler: the whole chain of the server, in this process, beside what the handler
//! alone does. Times are processor times, because others use the machine too.
//!
//! ```sh
//! cargo run --release -p bailiwick-bench --bin chain
//! ```

use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{
    Audit, AuditLog, AuditLogOptions, AuditMode, Health, LimitOptions, LogTarget, Metrics, Policy, Server,
    ServerOptions, ServerParts,
};
use bailiwick_machinery::GroupVersion;
use bailiwick_registry::{AllowGroup, Clock, Registry, SystemClock, User, kinds};
use bailiwick_storage::At;
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty, Full};
use rustix::time::{ClockId, clock_gettime};
use tokio_util::sync::CancellationToken;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const CLAIMS: &str = "/apis/catalog.bailiwick.dev/v1alpha1/namespaces/default/resourcecatalogclaims";
const CLAIM: &str = r#"{"apiVersion": "catalog.bailiwick.dev/v1alpha1", "kind": "ResourceCatalogClaim", "metadata": {"name": "a"},
    "spec": {"catalogName": "gold", "resourceCatalogEntry": {"namespace": "publisher", "name": "database"}}}"#;
const NO_AUDIT: &str =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, verbs: [get]}, {level: Metadata}]\n";
const METADATA: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n";
const REQUESTS: u32 = 20_000;
const REPETITIONS: usize = 7;
/// The most that the chain may cost beyond the handler.
const GOAL: Duration = Duration::from_micros(15);

/// How much of the chain there is.
struct Setup {
    name: &'static str,
    limits: LimitOptions,
    policy: Option<&'static str>,
}

/// A server and its registry.
struct Site {
    server: Server,
    registry: Arc<Registry>,
    _folder: tempfile::TempDir,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let none = LimitOptions { reads: None, writes: None, watches: None, in_process: None, ..LimitOptions::default() };
    let setups = [
        Setup { name: "no limits, no audit log", limits: none, policy: None },
        Setup { name: "limits", limits: LimitOptions::default(), policy: None },
        Setup { name: "limits, audit policy without gets", limits: LimitOptions::default(), policy: Some(NO_AUDIT) },
        Setup { name: "limits, gets in the audit log", limits: LimitOptions::default(), policy: Some(METADATA) },
    ];
    let mut sites = Vec::new();
    for setup in &setups {
        sites.push((setup.name, Site::open(setup).await?));
    }
    let mut handler = Vec::new();
    let mut chains = vec![Vec::new(); sites.len()];
    // In turns, so that all of them meet the same disturbances.
    for _ in 0..REPETITIONS {
        handler.push(cost(&sites[0].1, Subject::Handler).await?);
        for (times, (_, site)) in chains.iter_mut().zip(&sites) {
            times.push(cost(site, Subject::Server).await?);
        }
    }
    let handler = median(&mut handler);
    println!("handler alone: {handler:?} of processor time for a GET of one object");
    for (times, (name, _)) in chains.iter_mut().zip(&sites) {
        let whole = median(times);
        let beyond = whole.saturating_sub(handler);
        let verdict = if beyond <= GOAL { "within" } else { "beyond" };
        println!("{name}: {whole:?}, {beyond:?} more than the handler, {verdict} {GOAL:?}");
    }
    Ok(())
}

/// What is measured.
#[derive(Clone, Copy)]
enum Subject {
    /// Finding the object, and nothing else.
    Handler,
    /// From the request to the last byte of the answer.
    Server,
}

async fn cost(site: &Site, subject: Subject) -> Result<Duration, Failure> {
    let user = admin();
    let kind = site.registry.find(&GroupVersion::new("catalog.bailiwick.dev", "v1alpha1"), "resourcecatalogclaims");
    let kind = kind.ok_or("the kind is not served")?;
    let target = format!("{CLAIMS}/a");
    let before = processor_time();
    for _ in 0..REQUESTS {
        match subject {
            Subject::Handler => {
                let object = site.registry.get(&kind, "default", "a", At::Latest).await?;
                let body = [kind.head().as_ref(), object.as_bytes()].concat();
                std::hint::black_box(body);
            }
            Subject::Server => {
                let request = Request::get(&target).header("user-agent", "bench").body(Empty::<Bytes>::new())?;
                let response = site.server.answer(request, Some(&user)).await;
                std::hint::black_box(response.into_body().collect().await?.to_bytes());
            }
        }
    }
    Ok((processor_time() - before) / REQUESTS)
}

/// Of the whole process: the audit log has a thread of its own, which costs too.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn admin() -> User {
    User { name: "admin".to_owned(), groups: vec!["system:masters".to_owned()], ..User::default() }
}

// === impl Site ===

impl Site {
    async fn open(setup: &Setup) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let store = Embedded::open(EmbeddedOptions::new(Arc::new(Folder::take(folder.path().join("store"))?))).await?;
        let metrics = Arc::new(Metrics::default());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let registry = Arc::new(Registry::start(Arc::new(store), kinds::all()?, metrics.storage.clone()).await?);
        let audit = match setup.policy {
            None => None,
            Some(policy) => {
                let options = AuditLogOptions {
                    target: LogTarget::File(folder.path().join("audit.log")),
                    mode: AuditMode::Batch,
                    max_bytes: None,
                    max_backups: None,
                    max_age: None,
                    compress: false,
                };
                let log = AuditLog::open(options, metrics.clone(), clock.clone())?;
                Some(Audit { policy: Policy::parse(policy.as_bytes())?, log })
            }
        };
        let parts = ServerParts {
            registry: registry.clone(),
            health: Health::new(),
            authorizer: Arc::new(AllowGroup::MASTERS),
            clock,
            shutdown: CancellationToken::new(),
            audit,
            metrics,
        };
        let server = Server::new(parts, &ServerOptions { limits: setup.limits, ..ServerOptions::default() });
        let create = Request::post(CLAIMS).header("content-type", "application/json").body(Full::from(CLAIM))?;
        let answer = server.answer(create, Some(&admin())).await;
        if answer.status() != 201 {
            return Err(format!("the object could not be made: {}", answer.status()).into());
        }
        Ok(Self { server, registry, _folder: folder })
    }
}
