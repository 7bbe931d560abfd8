//! A cluster with an installation, and its server.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bailiwick_test_host::pki::Authority;
use bailiwick_test_host::{Cluster, Kubectl, Port};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::{sleep, timeout};

use super::host::{done, done_soon, manifests};
use super::process::{PATIENCE, folder, program};

/// A cluster with an installation whose server runs outside.
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) port: Port,
    /// How the server's account reaches the cluster.
    pub(crate) kubeconfig: PathBuf,
    /// What was installed.
    pub(crate) manifests: String,
    /// By which arguments.
    arguments: Vec<String>,
    /// By which certificate the server is known; without these files it makes its own.
    serving: Option<[PathBuf; 2]>,
    _files: TempDir,
}

/// A server that may not have all it needs.
pub(crate) struct Starting {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
    data: TempDir,
}

// === impl World ===

impl World {
    pub(crate) async fn start() -> Self {
        Self::start_in(Cluster::start().await.unwrap()).await
    }

    /// Installs in this cluster.
    pub(crate) async fn start_in(cluster: Cluster) -> Self {
        Self::start_in_with(cluster, &[]).await
    }

    /// The same, with more arguments.
    pub(crate) async fn start_in_with(cluster: Cluster, arguments: &[&str]) -> Self {
        Self::install(cluster, Port::reserve().unwrap(), None, arguments).await
    }

    /// Installs in this cluster, with the server at this port, and a certificate of this authority.
    pub(crate) async fn start_with(cluster: Cluster, port: Port, authority: &Authority) -> Self {
        Self::install(cluster, port, Some(authority), &[]).await
    }

    async fn install(cluster: Cluster, port: Port, authority: Option<&Authority>, more: &[&str]) -> Self {
        let files = folder();
        let write = |name: &str, text: &str| {
            let path = files.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let mut arguments = vec!["--external-name=localhost".to_owned(), format!("--port={}", port.number())];
        let serving = authority.map(|authority| {
            arguments.push(format!("--ca={}", write("ca.crt", &authority.certificate()).display()));
            let identity = authority.server("bailiwick", &["localhost", "bailiwick.bailiwick-system.svc"]).unwrap();
            [write("tls.crt", &identity.certificate), write("tls.key", &identity.key)]
        });
        // Which is asked about groups that others may have.
        arguments.push(format!("--kubeconfig={}", cluster.kubeconfig().display()));
        arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        let manifests = manifests(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await;
        cluster.admin().apply(&manifests).await.unwrap();
        let token = done(cluster.admin(), "create token bailiwick -n bailiwick-system").await;
        let kubeconfig = files.path().join("bailiwick.kubeconfig");
        std::fs::write(&kubeconfig, kubeconfig_with_token(&cluster, token.trim())).unwrap();
        Self { cluster, port, kubeconfig, manifests, arguments, serving, _files: files }
    }

    /// Installs again, with more arguments than before.
    pub(crate) async fn install_with(&self, more: &[&str]) {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
        self.admin().apply(&manifests(&arguments).await).await.unwrap();
    }

    pub(crate) fn admin(&self) -> &Kubectl {
        self.cluster.admin()
    }

    /// Starts the server, with nothing left from before but what is in etcd.
    pub(crate) fn spawn(&self) -> Starting {
        self.spawn_with(&[])
    }

    /// The same, with more arguments.
    pub(crate) fn spawn_with(&self, arguments: &[&str]) -> Starting {
        let data = folder();
        let mut child = self.command(data.path(), arguments).stdout(Stdio::null()).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Starting { child, log, data }
    }

    /// The server, in a folder of its own.
    pub(crate) fn command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = program(folder, &[&["serve"], arguments].concat());
        match &self.serving {
            None => drop(command.arg("--service=bailiwick-system/bailiwick")),
            Some([certificate, key]) => {
                command.arg(format!("--tls-cert-file={}", certificate.display()));
                command.arg(format!("--tls-private-key-file={}", key.display()));
            }
        }
        command.arg(format!("--kubeconfig={}", self.kubeconfig.display()));
        command.arg(format!("--etcd-servers={}", self.cluster.etcd().endpoints().join(",")));
        if !arguments.iter().any(|argument| argument.starts_with("--secure-port=")) {
            command.arg(format!("--secure-port={}", self.port.number()));
        }
        command.args([
            "--authorization-webhook-cache-authorized-ttl=1s",
            "--authorization-webhook-cache-unauthorized-ttl=1s",
        ]);
        command
    }

    /// Shows that a server says what it lacks, and that it goes on by itself once it has all its rights again.
    pub(crate) async fn lacks_until_restored(&self, lacking: &str) {
        // A rule is in force for a moment after it is gone, and what was done in that moment is not done again.
        sleep(Duration::from_secs(1)).await;
        self.forget().await;
        let mut server = self.spawn();
        server.wait_for(lacking).await;
        self.admin().apply(&self.manifests).await.unwrap();
        self.wait_ready(&server).await;
        let bundle = "get apiservice v1alpha1.org.bailiwick.dev -o jsonpath={.spec.caBundle}";
        timeout(PATIENCE, async {
            while done(self.admin(), bundle).await.is_empty() {
                sleep(Duration::from_millis(200)).await;
            }
        })
        .await
        .expect("the cluster to know the server");
        server.stop().await;
    }

    /// Undoes what earlier servers did in the cluster.
    pub(crate) async fn forget(&self) {
        let patch = "{\"spec\":{\"caBundle\":null}}";
        done(self.admin(), &format!("patch apiservice v1alpha1.org.bailiwick.dev --type=merge -p {patch}")).await;
        let patch = "{\"data\":null}";
        done(self.admin(), &format!("patch secret bailiwick-authority -n bailiwick-system --type=merge -p {patch}"))
            .await;
    }

    pub(crate) async fn wait_ready(&self, server: &Starting) {
        let authority = server.data().join("service-pki/ca.crt");
        let (port, authority) = (self.port.number(), authority.display());
        let ready = format!("get --raw /readyz --server=https://127.0.0.1:{port} --certificate-authority={authority}");
        done_soon(self.admin(), &ready).await;
    }

    /// Takes one rule out of a role: the only one that has all these words.
    pub(crate) async fn remove_rule(&self, role: &str, words: &[&str]) {
        let rules = done(self.admin(), &format!("get {role} -o jsonpath={{.rules}}")).await;
        let rules: Vec<serde_json::Value> = serde_json::from_str(&rules).unwrap();
        let has = |rule: &serde_json::Value, word: &&str| rule.to_string().contains(&format!("\"{word}\""));
        let found = rules.iter().enumerate().filter(|(_, rule)| words.iter().all(|word| has(rule, word)));
        let [(index, _)] = found.collect::<Vec<_>>()[..] else { panic!("one rule with {words:?}, not: {rules:?}") };
        let patch = format!("[{{\"op\":\"remove\",\"path\":\"/rules/{index}\"}}]");
        done(self.admin(), &format!("patch {role} --type=json -p {patch}")).await;
    }
}

// === impl Starting ===

impl Starting {
    /// Reads the log up to a line with these words.
    pub(crate) async fn wait_for(&mut self, words: &str) {
        self.wait_for_all(&[words]).await;
    }

    /// Reads the log until there has been a line with each of these words. Whoever is to lead waits until the one before is
    /// taken to be gone.
    pub(crate) async fn wait_for_all(&mut self, words: &[&str]) {
        let (mut seen, mut missing) = (Vec::new(), words.to_vec());
        let reading = async {
            while let Some(line) = self.log.next_line().await.unwrap() {
                missing.retain(|words| !line.contains(words));
                if missing.is_empty() {
                    return;
                }
                seen.push(line);
            }
        };
        let in_time = timeout(PATIENCE, reading).await.is_ok();
        assert!(in_time && missing.is_empty(), "{missing:?}: {seen:#?}");
    }

    /// What it has of its own.
    pub(crate) fn data(&self) -> PathBuf {
        self.data.path().join("bailiwick-data")
    }

    /// Whether it runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) async fn stop(&mut self) {
        self.child.kill().await.unwrap();
    }
}

fn kubeconfig_with_token(cluster: &Cluster, token: &str) -> String {
    let authority: &Path = cluster.tls().ca.path();
    format!(
        "apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: '{}', certificate-authority: '{}'}}}}]
users: [{{name: u, user: {{token: {token}}}}}]
",
        cluster.server(),
        authority.display()
    )
}
