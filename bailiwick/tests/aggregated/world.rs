//! A cluster with its controllers, and our program behind it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bailiwick_test_host::pki::{Authority, Identity, Pem};
use bailiwick_test_host::{Cluster, Etcd, Kubectl, Port, SERVICE_HOST};
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use tokio::time::{Instant, sleep};

use crate::direct::Direct;
use crate::process::{Server, folder, program};

/// What our program serves.
pub(crate) const GROUPS: [&str; 6] = [
    "admission.bailiwick.dev",
    "bundle.bailiwick.dev",
    "catalog.bailiwick.dev",
    "claim.bailiwick.dev",
    "org.bailiwick.dev",
    "quota.bailiwick.dev",
];
pub(crate) const VERSION: &str = "v1alpha1";
pub(crate) const ENTRIES: &str = "/apis/catalog.bailiwick.dev/v1alpha1/namespaces/default/resourcecatalogentries";
/// After this, what was to happen did not happen.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The rights of our program's account: the least that it works with.
const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: bailiwick}
rules:
- {apiGroups: [''], resources: [namespaces], verbs: [get, list, watch]}
- {apiGroups: [''], resources: [resourcequotas], verbs: [list, watch]}
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings, clusterroles, clusterrolebindings]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bailiwick}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bailiwick}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bailiwick}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bailiwick-delegator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'system:auth-delegator'}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bailiwick}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: bailiwick, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bailiwick}]
";

static WORLD: OnceCell<World> = OnceCell::const_new();
static TURN: Mutex<()> = Mutex::const_new(());

/// The cluster, and what our program needs to stand behind it.
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    /// What our program is registered under.
    pub(crate) port: Port,
    /// Who vouches for our program.
    pub(crate) ca: String,
    /// Our program's account.
    pub(crate) kubeconfig: PathBuf,
    certificate: Pem,
    key: Pem,
    touched: AtomicUsize,
    _files: TempDir,
}

/// The world, for one test at a time.
pub(crate) async fn world() -> (MutexGuard<'static, ()>, &'static World) {
    let turn = TURN.lock().await;
    (turn, WORLD.get_or_init(World::make).await)
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < SOON, "in vain: {what}");
        sleep(Duration::from_millis(100)).await;
    }
    began.elapsed()
}

/// An entry of a catalog, as JSON.
pub(crate) fn entry(name: &str) -> String {
    serde_json::json!({
        "apiVersion": "catalog.bailiwick.dev/v1alpha1", "kind": "ResourceCatalogEntry", "metadata": {"name": name},
        "spec": {"description": "tools", "extension": {"apiVersion": "example.com/v1", "kind": "Template"}}
    })
    .to_string()
}

// === impl World ===

impl World {
    async fn make() -> Self {
        let cluster = Cluster::options().controller_manager().start().await.unwrap();
        cluster.admin().apply(RIGHTS).await.unwrap();
        let files = folder();
        let authority = Authority::new("bailiwick").unwrap();
        let Identity { certificate, key } = authority.server("bailiwick", &[SERVICE_HOST]).unwrap();
        let world = Self {
            port: Port::reserve().unwrap(),
            ca: authority.certificate(),
            kubeconfig: cluster.user("bailiwick", &[]).unwrap(),
            certificate: Pem::write(&files.path().join("serving.crt"), certificate).unwrap(),
            key: Pem::write(&files.path().join("serving.key"), key).unwrap(),
            touched: AtomicUsize::new(0),
            cluster,
            _files: files,
        };
        let data = folder();
        let server = world.start(data.path(), &[]).await;
        world.register().await;
        server.stop().await;
        world
    }

    /// Has the aggregator send requests for our groups to our port.
    pub(crate) async fn register(&self) {
        for group in GROUPS {
            self.cluster.register_api_service(group, VERSION, self.port.number(), &self.ca).await.unwrap();
        }
    }

    /// The flags of a program that stands behind the cluster, with its data in an etcd.
    fn flags(&self, etcd: &Etcd) -> Vec<String> {
        vec![
            format!("--kubeconfig={}", self.kubeconfig.display()),
            format!("--etcd-servers={}", etcd.endpoints().join(",")),
            format!("--tls-cert-file={}", self.certificate.path().display()),
            format!("--tls-private-key-file={}", self.key.path().display()),
            "--authorization-webhook-cache-unauthorized-ttl=1s".to_owned(),
        ]
    }

    /// Starts our program where it is registered.
    pub(crate) async fn start(&self, folder: &Path, arguments: &[&str]) -> Server {
        self.start_on(folder, self.port.number(), arguments).await
    }

    /// Starts our program elsewhere, with its data in the cluster's etcd.
    pub(crate) async fn start_on(&self, folder: &Path, port: u16, arguments: &[&str]) -> Server {
        self.start_with(self.cluster.etcd(), folder, port, arguments).await
    }

    /// Starts our program with its data in this etcd.
    pub(crate) async fn start_with(&self, etcd: &Etcd, folder: &Path, port: u16, arguments: &[&str]) -> Server {
        let flags = self.flags(etcd);
        let flags: Vec<&str> = flags.iter().map(String::as_str).chain(arguments.iter().copied()).collect();
        Server::start_on(folder, port, &flags).await
    }

    /// Starts our program elsewhere, as an account of this kubeconfig.
    pub(crate) async fn start_as(&self, kubeconfig: &Path, folder: &Path, arguments: &[&str]) -> Server {
        let flags = self.flags(self.cluster.etcd()).into_iter().filter(|flag| !flag.starts_with("--kubeconfig="));
        let mut command = program(folder, &["--secure-port=0"]);
        command.args(flags).arg(format!("--kubeconfig={}", kubeconfig.display())).args(arguments);
        Server::start_command(folder, command).await
    }

    /// Starts our program elsewhere, as a pod of the cluster whose service account's files are in this folder.
    pub(crate) async fn start_in_pod(&self, folder: &Path, account: &Path) -> Server {
        let flags = self.flags(self.cluster.etcd()).into_iter().filter(|flag| !flag.starts_with("--kubeconfig="));
        let (host, port) = self.cluster.server().strip_prefix("https://").unwrap().rsplit_once(':').unwrap();
        let mut command = program(folder, &["--mode=aggregated", "--secure-port=0", "--etcd-prefix=/pod"]);
        command.args(flags).arg(format!("--service-account-dir={}", account.display()));
        command.env("KUBERNETES_SERVICE_HOST", host).env("KUBERNETES_SERVICE_PORT", port);
        Server::start_command(folder, command).await
    }

    /// Starts our program, and waits until the aggregator has found it.
    pub(crate) async fn serve(&self, folder: &Path, arguments: &[&str]) -> Server {
        let server = self.start(folder, arguments).await;
        self.wait_available().await;
        server
    }

    /// Waits until the aggregator has found our program.
    pub(crate) async fn wait_available(&self) {
        self.touch().await;
        for group in GROUPS {
            self.run(&format!("wait --for=condition=Available apiservice/{VERSION}.{group} --timeout=60s")).await;
            // A cluster that was stopped meanwhile says so before it has looked itself.
            eventually("the cluster's clients find the group", async || {
                let group = format!("--api-group={group}");
                let found = self.cluster.kubectl(["api-resources", &group, "-o", "name"]).await.unwrap();
                found.status.success() && !found.stdout.is_empty()
            })
            .await;
        }
    }

    /// Has the aggregator look for our program at once: else it does when it likes, which can take half a minute.
    pub(crate) async fn touch(&self) {
        let touched = self.touched.fetch_add(1, Ordering::Relaxed);
        let names = GROUPS.map(|group| format!("{VERSION}.{group}")).join(" ");
        self.run(&format!("annotate apiservice {names} bailiwick.dev/touched={touched} --overwrite")).await;
    }

    /// Has the cluster's controllers look at once which kinds there are: else they do every 30 s.
    pub(crate) async fn restart_controllers(&self) {
        let controllers = self.cluster.controller_manager().unwrap();
        controllers.kill().await.unwrap();
        controllers.start().await.unwrap();
        controllers.wait_ready().await.unwrap();
    }

    /// Runs a command of the administrator that must succeed; its words are separated by spaces.
    pub(crate) async fn run(&self, command: &str) -> String {
        self.cluster.kubectl(command.split(' ')).await.unwrap().success().unwrap()
    }

    /// Makes an object as the administrator.
    pub(crate) async fn make_object(&self, manifest: &str) {
        self.cluster.admin().apply(manifest).await.unwrap();
    }

    /// kubectl as a user of the cluster.
    pub(crate) async fn user(&self, name: &str, groups: &[&str]) -> Kubectl {
        Kubectl::new(&self.cluster.user(name, groups).unwrap()).await.unwrap()
    }

    /// The way past the aggregator, as the holder of a certificate or as nobody.
    pub(crate) fn direct(&self, server: &Server, identity: Option<&Identity>) -> Direct {
        Direct::new(server.address(), &self.ca, identity)
    }

    /// The way past the aggregator, as someone who may do everything.
    pub(crate) fn master(&self, server: &Server) -> Direct {
        let identity = self.cluster.tls().user("master", &["system:masters"]).unwrap();
        self.direct(server, Some(&identity))
    }
}
