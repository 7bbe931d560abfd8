//! Clusters with an installation, which all tests share, and their server, of which each test has its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bailiwick_api::CONTROLLERS_LEASE;
use bailiwick_test_host::pki::Authority;
use bailiwick_test_host::{Cluster, ClusterOptions, Port};
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use uuid::Uuid;

use super::client::Endpoint;
use super::host::{done, done_soon, refused_soon};
use super::process::{Server, folder};
use super::world::World;

/// The audit log of a server, in its folder.
pub(crate) const AUDIT_LOG: &str = "audit.log";
/// What of each request is written down: of a question about someone's rights, who that is.
const AUDIT_POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [
{"level": "Request", "resources": [{"group": "authorization.k8s.io", "resources": ["subjectaccessreviews"]}]},
{"level": "Metadata"}], "omitStages": ["RequestReceived"]}"#;

/// Our groups, and a kind of each.
const GROUPS: [&str; 5] = ["org", "bundle", "catalog", "claim", "quota"];
const ONE_OF_EACH: &str =
    "organizations,readinessrules,resourcecatalogs,resourceclaimdefinitions,resourcequotaallocations";

/// The audit log of the cluster.
const HOST_LOG: &str = "host.log";

/// As many as there are tests at a time on a small machine. The second is made when the first is in use, and then both are.
static PLACES: [Place; 2] = [Place::new(), Place::new()];

/// Where a cluster is, once it is made, and whose turn it is there.
struct Place {
    turn: Mutex<()>,
    shared: OnceCell<Shared>,
}

/// A cluster.
pub(crate) struct Shared {
    world: World,
    /// Who vouches for servers.
    ca: String,
    /// How many servers there have been.
    served: AtomicUsize,
    /// With the audit log.
    files: TempDir,
}

/// A cluster, for one test at a time.
pub(crate) async fn cluster() -> (MutexGuard<'static, ()>, &'static Shared) {
    let [first, second] = &PLACES;
    let (turn, place) = tokio::select! {
        biased;
        turn = first.turn.lock() => (turn, first),
        turn = second.turn.lock() => (turn, second),
    };
    (turn, place.shared.get_or_init(Shared::make).await)
}

/// Flags of a server that keeps an audit log in its folder.
pub(crate) fn audit_flags(folder: &Path) -> [String; 2] {
    let policy = folder.join("policy.yaml");
    std::fs::write(&policy, AUDIT_POLICY).unwrap();
    let log = folder.join(AUDIT_LOG);
    [format!("--audit-policy-file={}", policy.display()), format!("--audit-log-path={}", log.display())]
}

// === impl Place ===

impl Place {
    const fn new() -> Self {
        Self { turn: Mutex::const_new(()), shared: OnceCell::const_new() }
    }
}

// === impl Shared ===

impl Shared {
    async fn make() -> Self {
        // Which puts together the roles `admin` and `edit`.
        let files = folder();
        let policy = files.path().join("policy.yaml");
        std::fs::write(&policy, AUDIT_POLICY).unwrap();
        let log = files.path().join(HOST_LOG);
        let flags =
            [format!("--audit-policy-file={}", policy.display()), format!("--audit-log-path={}", log.display())];
        let options = flags.into_iter().fold(Cluster::options().controller_manager(), ClusterOptions::apiserver_flag);
        let cluster = options.start().await.unwrap();
        let authority = Authority::new("bailiwick").unwrap();
        let world = World::start_with(cluster, Port::reserve().unwrap(), &authority).await;
        // The guards are in force a moment after they were installed.
        for (command, words) in [
            ("label namespace default openshift.io/owner=nonsense --dry-run=server", "openshift.io/owner"),
            ("create rolebinding x --clusterrole=view --group=org:A:b --dry-run=server", "use an OrgRoleBinding"),
            (
                "create clusterrolebinding x --clusterrole=view --group=org:A:b --dry-run=server",
                "use an OrgRoleBinding",
            ),
        ] {
            refused_soon(world.admin(), command, words).await;
        }
        Self { world, ca: authority.certificate(), served: AtomicUsize::new(0), files }
    }

    /// Installs again, as an administrator does who wants something else.
    pub(crate) async fn install_with(&self, more: &[&str]) {
        self.world.install_with(more).await;
    }

    /// The number of a server that has nothing stored yet.
    pub(crate) fn next(&self) -> usize {
        self.served.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Starts the server of this number, with these flags, and waits until the aggregator has found it.
    pub(crate) async fn serve(&self, folder: &Path, number: usize, flags: &[&str]) -> Server {
        let admin = self.world.admin();
        // The server of the test before has ended without giving it back.
        done(admin, &format!("delete lease {CONTROLLERS_LEASE} -n bailiwick-system --ignore-not-found")).await;
        let server = self.start(folder, number, flags).await;
        // Else the aggregator looks for it when it likes, which can take half a minute, for each group by itself.
        let services = GROUPS.map(|group| format!("v1alpha1.{group}.bailiwick.dev")).join(" ");
        let touched = Uuid::new_v4();
        done(admin, &format!("annotate apiservice {services} bailiwick.dev/touched={touched} --overwrite")).await;
        done(admin, &format!("wait --for=condition=Available apiservice {services} --timeout=60s")).await;
        done_soon(admin, &format!("get {ONE_OF_EACH}")).await;
        server
    }

    /// Has the aggregator hand on the groups by whose names others know our kinds, to a server that serves them.
    pub(crate) async fn register_aliases(&self) {
        self.world.install_with(&["--alias-groups"]).await;
        let name = "v1.smith.atlassian.com";
        done(self.world.admin(), &format!("wait --for=condition=Available apiservice/{name} --timeout=60s")).await;
    }

    /// Starts another server over the data of the last one, which the aggregator does not know.
    pub(crate) async fn serve_beside(&self, folder: &Path) -> Server {
        self.start(folder, self.served.load(Ordering::Relaxed), &["--secure-port=0"]).await
    }

    async fn start(&self, folder: &Path, number: usize, more: &[&str]) -> Server {
        let [policy, log] = audit_flags(folder);
        let prefix = format!("--etcd-prefix=/server-{number}");
        let arguments = [&prefix, &policy, &log, "--shutdown-delay-duration=0s"];
        Server::start_command(folder, self.world.command(folder, &[&arguments, more].concat())).await
    }

    /// The way to a server past the cluster, as its administrator.
    pub(crate) fn past(&self, server: &Server) -> Endpoint {
        let tls = self.world.cluster.tls();
        let identity = (tls.admin_certificate.text(), tls.admin_key.text());
        Endpoint::at(server.address(), &self.ca, Some(identity))
    }

    /// The way to the cluster, as its administrator.
    pub(crate) fn administrator(&self) -> Endpoint {
        let tls = self.world.cluster.tls();
        let identity = (tls.admin_certificate.text(), tls.admin_key.text());
        Endpoint::at(self.address(), tls.ca.text(), Some(identity))
    }

    /// The same, for kubectl.
    pub(crate) fn kubeconfig(&self) -> &Path {
        self.world.cluster.kubeconfig()
    }

    /// The way to the cluster, as nobody.
    pub(crate) fn stranger(&self) -> Endpoint {
        Endpoint::at(self.address(), self.world.cluster.tls().ca.text(), None)
    }

    /// Where the cluster writes down what is asked of it.
    pub(crate) fn host_log(&self) -> PathBuf {
        self.files.path().join(HOST_LOG)
    }

    fn address(&self) -> std::net::SocketAddr {
        self.world.cluster.server().trim_start_matches("https://").parse().unwrap()
    }
}
