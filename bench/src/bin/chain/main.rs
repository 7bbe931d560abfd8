//! What a GET costs before and after the handler: the whole chain of the server, in this process, beside what the handler
//! alone does. The chain begins with the client's certificate and asks RBAC, in a cluster of many roles and bindings. Times are
//! processor times, because others use the machine too.
//!
//! ```sh
//! cargo run --release -p bailiwick-bench --bin chain
//! ```

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{
    Anonymous, Audit, AuditLog, AuditLogOptions, AuditMode, Authentication, AuthenticationParts, Health, LimitOptions,
    LogTarget, Metrics, Peer, Policy as AuditPolicy, RequestHeaderOptions, Requester, Server, ServerOptions,
    ServerParts, Tls, TlsFiles, TokenAuthenticatorChain, TokenCacheOptions,
};
use bailiwick_machinery::GroupVersion;
use bailiwick_registry::rbac::{LivePolicy, Policy, PolicyObject, Rbac};
use bailiwick_registry::{AllowGroup, AllowPaths, AuthorizerChain, Clock, Registry, SystemClock, User, kinds};
use bailiwick_storage::At;
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use bailiwick_test_host::pki::Authority;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty, Full};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_util::sync::CancellationToken;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const CLAIMS: &str = "/apis/catalog.bailiwick.dev/v1alpha1/namespaces/default/resourcecatalogclaims";
const CLAIM: &str = r#"{"apiVersion": "catalog.bailiwick.dev/v1alpha1", "kind": "ResourceCatalogClaim", "metadata": {"name": "a"},
    "spec": {"catalogName": "gold", "resourceCatalogEntry": {"namespace": "publisher", "name": "database"}}}"#;
const NO_AUDIT: &str =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, verbs: [get]}, {level: Metadata}]\n";
const METADATA: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n";
/// Roles and bindings of a cluster that is in use. The user is in a group of its own, which has one of the roles.
const NAMESPACES: usize = 100;
const BINDINGS_OF_A_NAMESPACE: usize = 20;
const CLUSTER_ROLES: usize = 100;
const RULES_OF_A_ROLE: usize = 20;
const GROUPS: [&str; 3] = ["group-7", "developers", "everyone"];
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
    authentication: Authentication,
    /// An open connection, on which a certificate was shown.
    peer: Peer,
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
    let mut known = vec![Vec::new(); sites.len()];
    let mut chains = vec![Vec::new(); sites.len()];
    // In turns, so that all of them meet the same disturbances.
    for _ in 0..REPETITIONS {
        handler.push(cost(&sites[0].1, Subject::Handler).await?);
        for ((known, chain), (_, site)) in known.iter_mut().zip(&mut chains).zip(&sites) {
            known.push(cost(site, Subject::Server).await?);
            chain.push(cost(site, Subject::Connection).await?);
        }
    }
    let handler = median(&mut handler);
    println!("handler alone: {handler:?} of processor time for a GET of one object");
    for ((known, chain), (name, _)) in known.iter_mut().zip(&mut chains).zip(&sites) {
        let (known, whole) = (median(known), median(chain));
        let beyond = whole.saturating_sub(handler);
        let verdict = if beyond <= GOAL { "within" } else { "beyond" };
        let who = whole.saturating_sub(known);
        println!("{name}: {whole:?}, {beyond:?} more than the handler, {verdict} {GOAL:?}; {who:?} of it for who asks");
    }
    Ok(())
}

/// What is measured.
#[derive(Clone, Copy)]
enum Subject {
    /// Finding the object, and nothing else.
    Handler,
    /// From the request to the last byte of the answer, for a user who is known.
    Server,
    /// The same, and first who the user is.
    Connection,
}

async fn cost(site: &Site, subject: Subject) -> Result<Duration, Failure> {
    let user = Requester::User(Arc::new(User { name: "jane".to_owned(), groups: groups(), ..User::default() }));
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
            Subject::Server | Subject::Connection => {
                let mut request = Request::get(&target).header("user-agent", "bench").body(Empty::<Bytes>::new())?;
                let requester = match subject {
                    Subject::Connection => {
                        site.authentication.authenticate(&target, request.headers_mut(), &site.peer).await
                    }
                    _ => user.clone(),
                };
                let response = site.server.answer(request, requester).await;
                if response.status() != 200 {
                    return Err(format!("the object cannot be read: {}", response.status()).into());
                }
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

fn groups() -> Vec<String> {
    GROUPS.map(str::to_owned).into()
}

/// Every role allows the same, and the last of its rules is the one that is asked for.
fn policy() -> Result<Policy, Failure> {
    let rule = |number: usize| {
        let resources = ["widgets", "gadgets", "things", "things/status"];
        json!({"verbs": ["list", "watch", "get"], "apiGroups": [format!("g{number}.example")], "resources": resources})
    };
    let asked_for = json!({
        "verbs": ["get", "list"], "apiGroups": ["catalog.bailiwick.dev"], "resources": ["resourcecatalogclaims"],
    });
    let rules: Value = (1..RULES_OF_A_ROLE).map(rule).chain([asked_for]).collect();
    let mut objects = Vec::new();
    for number in 0..CLUSTER_ROLES {
        let role = json!({"metadata": {"name": format!("role-{number}")}, "rules": rules});
        objects.push(PolicyObject::ClusterRole(serde_json::from_value(role)?));
    }
    let places = (1..NAMESPACES).map(|place| format!("namespace-{place}")).chain(["default".to_owned()]);
    for (place, number) in
        places.flat_map(|place| (0..BINDINGS_OF_A_NAMESPACE).map(move |number| (place.clone(), number)))
    {
        let binding = json!({
            "metadata": {"name": format!("binding-{number}"), "namespace": place},
            "roleRef": {"kind": "ClusterRole", "name": format!("role-{number}")},
            "subjects": [{"kind": "Group", "name": format!("group-{number}")}],
        });
        objects.push(PolicyObject::RoleBinding(serde_json::from_value(binding)?));
    }
    Ok(objects.into_iter().collect())
}

/// What finds out who asks, and a connection on which a certificate was shown.
fn authentication(folder: &Path) -> Result<(Authentication, Peer), Failure> {
    let (serving, clients) = (Authority::new("serving")?, Authority::new("clients")?);
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map(|()| path)
    };
    let identity = serving.server("server", &[])?;
    let files = TlsFiles {
        certificate: write("tls.crt", &identity.certificate)?,
        key: write("tls.key", &identity.key)?,
        client_ca: Some(write("client-ca.crt", &clients.certificate())?),
        request_header_ca: None,
    };
    let authentication = Authentication::new(AuthenticationParts {
        tls: Arc::new(Tls::load(&files)?),
        request_header: RequestHeaderOptions::default(),
        tokens: Arc::new(TokenAuthenticatorChain::default()),
        revocable_tokens: Arc::new(TokenAuthenticatorChain::default()),
        audiences: Vec::new(),
        token_cache: TokenCacheOptions::default(),
        anonymous: Anonymous::health(),
        clock: Arc::new(SystemClock),
    })?;
    let jane = clients.client("jane", &GROUPS)?;
    let shown = vec![CertificateDer::from_pem_slice(jane.certificate.as_bytes())?];
    Ok((authentication, Peer::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)), shown)))
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
                Some(Audit { policy: AuditPolicy::parse(policy.as_bytes())?, log })
            }
        };
        let live = Arc::new(LivePolicy::default());
        live.replace(policy()?);
        let authorizer = AuthorizerChain::new(vec![
            Box::new(AllowGroup::MASTERS),
            Box::new(AllowPaths::new(["/healthz", "/readyz", "/livez"])?),
            Box::new(Rbac::new(live)),
        ]);
        let (authentication, peer) = authentication(folder.path())?;
        let parts = ServerParts {
            registry: registry.clone(),
            health: Health::new(),
            authorizer: Arc::new(authorizer),
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
        Ok(Self { server, registry, authentication, peer, _folder: folder })
    }
}
