//! A cluster with an installation, which all tests share, and its server, of which each test has its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bailiwick_api::CONTROLLERS_LEASE;
use bailiwick_test_host::pki::Authority;
use bailiwick_test_host::{Cluster, ClusterOptions, Port};
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use uuid::Uuid;

use crate::client::Endpoint;
use crate::host::{done, done_soon, refused_soon};
use crate::process::{Server, folder};
use crate::world::World;

/// The audit log of a server, in its folder.
pub(crate) const AUDIT_LOG: &str = "audit.log";
/// What of each request is written down.
pub(crate) const POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}],
"omitStages": ["RequestReceived"]}"#;

/// The audit log of the cluster.
const HOST_LOG: &str = "host.log";

static SHARED: OnceCell<Shared> = OnceCell::const_new();
static TURN: Mutex<()> = Mutex::const_new(());

/// The cluster.
pub(crate) struct Shared {
    world: World,
    /// How many servers there have been.
    served: AtomicUsize,
    /// With the audit log.
    files: TempDir,
}

/// The cluster, for one test at a time.
pub(crate) async fn cluster() -> (MutexGuard<'static, ()>, &'static Shared) {
    let turn = TURN.lock().await;
    (turn, shared().await)
}

/// The cluster, for a test that has its turn.
pub(crate) async fn shared() -> &'static Shared {
    SHARED.get_or_init(Shared::make).await
}

// === impl Shared ===

impl Shared {
    async fn make() -> Self {
        // Which puts together the roles `admin` and `edit`.
        let files = folder();
        let policy = files.path().join("policy.yaml");
        std::fs::write(&policy, POLICY).unwrap();
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
        Self { world, served: AtomicUsize::new(0), files }
    }

    /// The number of a server that has nothing stored yet.
    pub(crate) fn next(&self) -> usize {
        self.served.fetch_add(1, Ordering::Relaxed)
    }

    /// Starts the server of this number, and waits until the aggregator has found it.
    pub(crate) async fn serve(&self, folder: &Path, number: usize) -> Server {
        let policy = folder.join("policy.yaml");
        std::fs::write(&policy, POLICY).unwrap();
        let arguments = [
            format!("--etcd-prefix=/server-{number}"),
            format!("--audit-policy-file={}", policy.display()),
            format!("--audit-log-path={}", folder.join(AUDIT_LOG).display()),
            "--shutdown-delay-duration=0s".to_owned(),
        ];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let admin = self.world.admin();
        // The server of the test before has ended without giving it back.
        done(admin, &format!("delete lease {CONTROLLERS_LEASE} -n bailiwick-system --ignore-not-found")).await;
        let server = Server::start_command(folder, self.world.command(folder, &arguments)).await;
        // Else the aggregator looks for it when it likes, which can take half a minute.
        let touched = Uuid::new_v4();
        let touch =
            format!("annotate apiservice v1alpha1.org.bailiwick.dev bailiwick.dev/touched={touched} --overwrite");
        done(admin, &touch).await;
        done(admin, "wait --for=condition=Available apiservice/v1alpha1.org.bailiwick.dev --timeout=60s").await;
        done_soon(admin, "get organizations").await;
        server
    }

    /// The way to the cluster, as its administrator.
    pub(crate) fn administrator(&self) -> Endpoint {
        let tls = self.world.cluster.tls();
        let identity = (tls.admin_certificate.text(), tls.admin_key.text());
        Endpoint::at(self.address(), tls.ca.text(), Some(identity))
    }

    /// The way to the cluster, as nobody.
    pub(crate) fn stranger(&self) -> Endpoint {
        Endpoint::at(self.address(), self.world.cluster.tls().ca.text(), None)
    }

    /// The kubeconfig of the cluster's administrator.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.world.cluster.kubeconfig().to_owned()
    }

    /// Where the cluster writes down what is asked of it.
    pub(crate) fn host_log(&self) -> PathBuf {
        self.files.path().join(HOST_LOG)
    }

    fn address(&self) -> std::net::SocketAddr {
        self.world.cluster.server().trim_start_matches("https://").parse().unwrap()
    }
}
