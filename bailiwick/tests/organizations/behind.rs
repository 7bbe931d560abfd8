//! A cluster with an installation, which all tests share, and its server, of which each test has its own.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use bailiwick_api::CONTROLLERS_LEASE;
use bailiwick_test_host::pki::Authority;
use bailiwick_test_host::{Cluster, Port};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::client::Endpoint;
use crate::host::{done, done_soon, refused_soon};
use crate::process::Server;
use crate::world::World;

/// The audit log of a server, in its folder.
pub(crate) const AUDIT_LOG: &str = "audit.log";
const AUDIT_POLICY: &str =
    "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}], omitStages: [RequestReceived]}";

static SHARED: OnceCell<Shared> = OnceCell::const_new();
static TURN: Mutex<()> = Mutex::const_new(());

/// The cluster.
pub(crate) struct Shared {
    world: World,
    /// How many servers there have been.
    served: AtomicUsize,
}

/// The cluster, for one test at a time.
pub(crate) async fn cluster() -> (MutexGuard<'static, ()>, &'static Shared) {
    let turn = TURN.lock().await;
    (turn, SHARED.get_or_init(Shared::make).await)
}

/// Flags of a server that keeps an audit log in its folder.
pub(crate) fn audit_flags(folder: &Path) -> [String; 2] {
    let policy = folder.join("policy.yaml");
    std::fs::write(&policy, AUDIT_POLICY).unwrap();
    let log = folder.join(AUDIT_LOG);
    [format!("--audit-policy-file={}", policy.display()), format!("--audit-log-path={}", log.display())]
}

// === impl Shared ===

impl Shared {
    async fn make() -> Self {
        // Which puts together the roles `admin` and `edit`.
        let cluster = Cluster::options().controller_manager().start().await.unwrap();
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
        Self { world, served: AtomicUsize::new(0) }
    }

    /// Starts a server that has nothing stored yet, with these flags, and waits until the aggregator has found it.
    pub(crate) async fn serve(&self, folder: &Path, flags: &[&str]) -> Server {
        let number = self.served.fetch_add(1, Ordering::Relaxed);
        let [policy, log] = audit_flags(folder);
        let arguments =
            [format!("--etcd-prefix=/organizations-{number}"), policy, log, "--shutdown-delay-duration=0s".to_owned()];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(flags.iter().copied()).collect();
        let admin = self.world.admin();
        // The server of the test before has ended without giving it back.
        done(admin, &format!("delete lease {CONTROLLERS_LEASE} -n bailiwick-system --ignore-not-found")).await;
        let server = Server::start_command(folder, self.world.command(folder, &arguments)).await;
        // Else the aggregator looks for it when it likes, which can take half a minute.
        let touch =
            format!("annotate apiservice v1alpha1.org.bailiwick.dev bailiwick.dev/touched={number} --overwrite");
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

    /// The same, for kubectl.
    pub(crate) fn kubeconfig(&self) -> &Path {
        self.world.cluster.kubeconfig()
    }

    /// The way to the cluster, as nobody.
    pub(crate) fn stranger(&self) -> Endpoint {
        Endpoint::at(self.address(), self.world.cluster.tls().ca.text(), None)
    }

    fn address(&self) -> std::net::SocketAddr {
        self.world.cluster.server().trim_start_matches("https://").parse().unwrap()
    }
}
