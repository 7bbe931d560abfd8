//! A real Kubernetes control plane on loopback: etcd, kube-apiserver and, if wanted, kube-controller-manager.
//!
//! It has no nodes, so no pod ever runs; everything that is only API works. Its users have certificates.

mod api_service;
mod authorization;
mod sample;
mod tls;

use std::ffi::OsStr;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tempfile::TempDir;

use crate::daemon::Daemon;
use crate::daemon::Health;
use crate::daemon::START_ATTEMPTS;
use crate::error::Error;
use crate::etcd::Etcd;
use crate::etcd::EtcdOptions;
use crate::http::Tls;
use crate::kubeconfig;
use crate::kubectl::Kubectl;
use crate::kubectl::Output;
use crate::port::Port;
use crate::tool;

pub use api_service::SERVICE_HOST;
pub use authorization::AuthorizationWebhook;
pub use sample::SampleApiserver;
pub use tls::ClusterTls;

/// How long a daemon may take until it serves. It takes about six seconds; the rest is for a busy machine.
const READY_LIMIT: Duration = Duration::from_secs(180);

/// How often to ask meanwhile. Each time is a handshake, and a line in the log.
const READY_POLL: Duration = Duration::from_millis(100);

/// The group that may do everything.
const ADMIN_GROUP: &str = "system:masters";

/// What kind of cluster to start. The default has no controllers.
#[derive(Debug, Clone, Default)]
pub struct ClusterOptions {
    controller_manager: bool,
    etcd: EtcdOptions,
    apiserver_flags: Vec<String>,
    controller_manager_flags: Vec<String>,
    authorization_webhook: Option<AuthorizationWebhook>,
}

/// A running control plane. Its daemons end, and its data goes, on drop; if the test is failing, the data stays and the logs are
/// shown.
#[derive(Debug)]
pub struct Cluster {
    // Dropped in this order: clients before servers.
    controller_manager: Option<Server>,
    apiserver: Server,
    etcd: Etcd,
    admin: Kubectl,
    url: String,
    tls: ClusterTls,
    /// The administrator's certificate, as a client.
    admin_tls: Tls,
    /// How many users there are, for the names of their files.
    users: AtomicUsize,
    folder: TempDir,
}

/// A daemon with the port it serves.
#[derive(Debug)]
struct Server {
    daemon: Daemon,
    port: Port,
}

// === impl ClusterOptions ===

impl ClusterOptions {
    /// Runs kube-controller-manager too. Namespaces then finish deleting, owners' dependents are collected, quotas are counted,
    /// namespaces have the service account `default`, and the roles `admin`, `edit` and `view`, which are put together from
    /// others, are not empty.
    pub fn controller_manager(mut self) -> Self {
        self.controller_manager = true;
        self
    }

    /// Starts an etcd of this kind. kube-apiserver is given no certificate and no password for it.
    pub fn etcd(mut self, options: EtcdOptions) -> Self {
        self.etcd = options;
        self
    }

    /// Adds a flag to kube-apiserver, such as `--enable-aggregator-routing=true`. A later flag wins over an earlier one.
    pub fn apiserver_flag(mut self, flag: impl Into<String>) -> Self {
        self.apiserver_flags.push(flag.into());
        self
    }

    /// Has kube-apiserver ask this webhook, too, what users may do.
    pub fn authorization_webhook(mut self, webhook: AuthorizationWebhook) -> Self {
        self.authorization_webhook = Some(webhook);
        self
    }

    /// Adds a flag to kube-controller-manager, such as `--controllers=namespace`. Runs it, too.
    pub fn controller_manager_flag(mut self, flag: impl Into<String>) -> Self {
        self.controller_manager_flags.push(flag.into());
        self.controller_manager()
    }

    /// Starts it and waits until all of it serves.
    pub async fn start(self) -> Result<Cluster, Error> {
        let apiserver_program = tool::KUBE_APISERVER.path().await?;
        let controller_manager_program = match self.controller_manager {
            true => Some(tool::KUBE_CONTROLLER_MANAGER.path().await?),
            false => None,
        };
        let folder = tempfile::Builder::new().prefix("bailiwick-cluster-").tempdir();
        let folder = folder.map_err(Error::file(&std::env::temp_dir()))?;
        let kubeconfig = folder.path().join("admin.kubeconfig");
        let admin = Kubectl::new(&kubeconfig).await?;
        let tls = ClusterTls::make(folder.path())?;
        let etcd = self.etcd.clone().start().await?;
        let authorization = match &self.authorization_webhook {
            Some(webhook) => webhook.write(folder.path(), &tls)?,
            None => "--authorization-mode=RBAC".to_owned(),
        };

        let admin_tls = Tls::new(tls.ca.text(), Some(&tls.admin()))?;
        let apiserver = Server::start(|port| {
            let name = "kube-apiserver";
            let flags = self.apiserver_flags(port, &etcd, &tls, &authorization);
            let health = health(port, &admin_tls, "/readyz");
            Daemon::new(name.to_owned(), apiserver_program.clone(), flags, log_path(&folder, name), health)
        })
        .await?;
        let url = format!("https://{}", apiserver.port.address());
        kubeconfig::write(&kubeconfig, &url, tls.ca.text(), &tls.admin())?;
        let users = AtomicUsize::new(0);
        let mut cluster =
            Cluster { controller_manager: None, apiserver, etcd, admin, url, tls, admin_tls, users, folder };
        if let Some(program) = controller_manager_program {
            let controller_manager = Server::start(|port| {
                let name = "kube-controller-manager";
                let flags = self.controller_manager_flags(port, &cluster);
                let health = health(port, &cluster.admin_tls, "/healthz");
                Daemon::new(name.to_owned(), program.clone(), flags, log_path(&cluster.folder, name), health)
            });
            cluster.controller_manager = Some(controller_manager.await?);
        }
        Ok(cluster)
    }

    fn apiserver_flags(&self, port: &Port, etcd: &Etcd, tls: &ClusterTls, authorization: &str) -> Vec<String> {
        let mut flags = vec![
            format!("--etcd-servers={}", etcd.endpoints().join(",")),
            "--bind-address=127.0.0.1".to_owned(),
            // Else it looks for a default route, which a machine without a network does not have.
            "--advertise-address=127.0.0.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--secure-port={}", port.number()),
            format!("--tls-cert-file={}", tls.server_certificate.path().display()),
            format!("--tls-private-key-file={}", tls.server_key.path().display()),
            format!("--client-ca-file={}", tls.ca.path().display()),
            authorization.to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", tls.service_account_key.path().display()),
            format!("--service-account-signing-key-file={}", tls.service_account_key.path().display()),
            format!("--service-cluster-ip-range={}", tls::SERVICE_RANGE),
            format!("--requestheader-client-ca-file={}", tls.front_proxy_ca.path().display()),
            format!("--requestheader-allowed-names={}", tls::FRONT_PROXY_NAME),
            "--requestheader-username-headers=X-Remote-User".to_owned(),
            "--requestheader-uid-headers=X-Remote-Uid".to_owned(),
            "--requestheader-group-headers=X-Remote-Group".to_owned(),
            "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
            format!("--proxy-client-cert-file={}", tls.front_proxy_certificate.path().display()),
            format!("--proxy-client-key-file={}", tls.front_proxy_key.path().display()),
        ];
        flags.extend(self.apiserver_flags.iter().cloned());
        flags
    }

    fn controller_manager_flags(&self, port: &Port, cluster: &Cluster) -> Vec<String> {
        let (kubeconfig, tls) = (cluster.kubeconfig().display(), &cluster.tls);
        let mut flags = vec![
            format!("--kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            format!("--service-account-private-key-file={}", tls.service_account_key.path().display()),
            format!("--root-ca-file={}", tls.ca.path().display()),
            "--leader-elect=false".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", port.number()),
            format!("--tls-cert-file={}", tls.server_certificate.path().display()),
            format!("--tls-private-key-file={}", tls.server_key.path().display()),
        ];
        flags.extend(self.controller_manager_flags.iter().cloned());
        flags
    }
}

// === impl Cluster ===

impl Cluster {
    /// Starts a cluster without controllers and waits until it serves.
    pub async fn start() -> Result<Self, Error> {
        Self::options().start().await
    }

    /// Options to start something else than the default.
    pub fn options() -> ClusterOptions {
        ClusterOptions::default()
    }

    /// The URL of kube-apiserver.
    pub fn server(&self) -> &str {
        &self.url
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        self.admin.kubeconfig()
    }

    /// Authorities, certificates and keys.
    pub fn tls(&self) -> &ClusterTls {
        &self.tls
    }

    /// The cluster's etcd. Clients of its own keep to keys outside `/registry`.
    pub fn etcd(&self) -> &Etcd {
        &self.etcd
    }

    /// kube-apiserver.
    pub fn apiserver(&self) -> &Daemon {
        &self.apiserver.daemon
    }

    /// kube-controller-manager. None if it was not wanted.
    pub fn controller_manager(&self) -> Option<&Daemon> {
        self.controller_manager.as_ref().map(|server| &server.daemon)
    }

    /// The administrator's kubectl.
    pub fn admin(&self) -> &Kubectl {
        &self.admin
    }

    /// Runs kubectl as the administrator: [`Kubectl::run`].
    pub async fn kubectl<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Result<Output, Error> {
        self.admin.run(arguments).await
    }

    /// Makes a user who has no rights but those that roles give to the name or a group. Gives a kubeconfig that lasts as long as
    /// the cluster.
    pub fn user(&self, name: &str, groups: &[&str]) -> Result<PathBuf, Error> {
        let index = self.users.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(format!("user{index}.kubeconfig"));
        kubeconfig::write(&path, &self.url, self.tls.ca.text(), &self.tls.user(name, groups)?)?;
        Ok(path)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let failing = std::thread::panicking();
        for Server { daemon, .. } in self.controller_manager.iter().chain([&self.apiserver]) {
            daemon.end();
            if failing {
                daemon.show_log();
            }
        }
        if failing {
            self.folder.disable_cleanup(true);
            eprintln!("--- the cluster's logs are kept in {} ---", self.folder.path().display());
        }
    }
}

// === impl Server ===

impl Server {
    /// Starts what `plan` makes of a port, with another port if another program was faster.
    async fn start(plan: impl Fn(&Port) -> Daemon) -> Result<Self, Error> {
        let mut attempt = 1;
        loop {
            let port = Port::reserve()?;
            let daemon = plan(&port);
            daemon.spawn()?;
            match daemon.wait_ready().await {
                Ok(()) => return Ok(Self { daemon, port }),
                Err(Error::PortTaken { .. }) if attempt < START_ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

fn health(port: &Port, tls: &Tls, ready_path: &'static str) -> Health {
    Health { address: port.address(), tls: Some(tls.clone()), ready_path, ready_limit: READY_LIMIT, poll: READY_POLL }
}

fn log_path(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().join(format!("{name}.log"))
}

#[cfg(test)]
mod tests;
