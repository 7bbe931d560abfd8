//! The server as the account that was installed, with its own certificate, behind a real kube-apiserver; and what it lacks
//! without each of its rights.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bailiwick_controllers::{LeaderElection, LeaderElectionOptions};
use bailiwick_test_host::{Cluster, Kubectl, Port};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::host::{about, done, done_soon, lines, manifests, refused_soon, user};
use crate::process::{PATIENCE, folder, program};

/// How long something is looked for that is not to happen.
const NEVER: Duration = Duration::from_secs(3);

/// The roles that hold rules of ours.
const EVERYWHERE: &str = "clusterrole bailiwick";
const AT_HOME: &str = "role bailiwick -n bailiwick-system";

/// A cluster with an installation whose server runs outside.
struct World {
    cluster: Cluster,
    port: Port,
    /// How the server's account reaches the cluster.
    kubeconfig: PathBuf,
    /// What was installed.
    manifests: String,
    _files: TempDir,
}

/// A server that may not have all it needs.
struct Starting {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
    data: TempDir,
}

/// SRV-13
#[tokio::test(flavor = "multi_thread")]
async fn every_right_is_needed_and_no_other() {
    let world = World::start().await;
    the_least_suffices(&world).await;
    for (role, rule, lacking) in [
        (EVERYWHERE, "namespaces", "the cluster's namespaces cannot be followed at present"),
        (EVERYWHERE, "rolebindings", "the cluster's roles cannot be followed at present"),
        (EVERYWHERE, "apiservices", "cannot be told who vouches for this server"),
        (AT_HOME, "secrets", "the Secret \"bailiwick-authority\" in \"bailiwick-system\" cannot be"),
    ] {
        world.remove_rule(role, &[rule]).await;
        world.lacks_until_restored(lacking).await;
    }
    done(world.admin(), "delete rolebinding bailiwick-authentication-reader -n kube-system").await;
    world.lacks_until_restored("cannot read the ConfigMap extension-apiserver-authentication in kube-system").await;
    nobody_may_without_reviews(&world).await;
    nobody_leads_without_leases(&world).await;
}

/// Through the aggregator, by the certificate that the server made itself.
async fn the_least_suffices(world: &World) {
    let mut server = world.spawn();
    let admin = world.admin();
    for name in ["v1alpha1.catalog.bailiwick.dev", "v1alpha1.org.bailiwick.dev"] {
        done(admin, &format!("wait --for=condition=Available apiservice/{name} --timeout=60s")).await;
    }
    done_soon(admin, "get organizations").await;
    let organization =
        "{apiVersion: org.bailiwick.dev/v1alpha1, kind: Organization, metadata: {name: Acme}, memberUsers: [alice]}";
    admin.apply(organization).await.unwrap();
    assert_eq!(done(admin, "get organizations -o name").await, "organization.org.bailiwick.dev/Acme\n");
    let port = format!("--port={}", world.port.number());
    let output = about(&world.cluster, &["install", "--check", "--external-name=localhost", &port]).await;
    let lines = lines(&output);
    assert!(output.status.success() && !lines.iter().any(|line| line.starts_with("missing: ")), "{lines:#?}");
    assert_eq!(lines.last().unwrap(), "nothing is missing");
    server.stop().await;
}

/// Without the ClusterRole `system:auth-delegator`, which is Kubernetes' own.
async fn nobody_may_without_reviews(world: &World) {
    let admin = world.admin();
    let rule = "create clusterrole readers --verb=list --resource=organizations.org.bailiwick.dev";
    let mut server = world.spawn();
    world.wait_ready(&server).await;
    done_soon(admin, "get organizations").await;
    done(admin, rule).await;
    done(admin, "create clusterrolebinding readers --clusterrole=readers --user=alice").await;
    let alice = user(&world.cluster, "alice", &[]).await;
    done_soon(&alice, "get organizations").await;
    done(admin, "delete clusterrolebinding bailiwick:auth-delegator").await;
    // What was allowed is remembered for a while.
    refused_soon(&alice, "get organizations", "Internal").await;
    admin.apply(&world.manifests).await.unwrap();
    done_soon(&alice, "get organizations").await;
    server.stop().await;
}

async fn nobody_leads_without_leases(world: &World) {
    let kubeconfig = Kubeconfig::read_from(&world.kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    let options =
        LeaderElectionOptions { retry_period: Duration::from_millis(200), ..LeaderElectionOptions::default() };
    let leads = async |limit: Duration| {
        let name = bailiwick_api::CONTROLLERS_LEASE;
        let candidate = LeaderElection::new(client.clone(), "bailiwick-system", name, "me", options);
        let stop = CancellationToken::new();
        timeout(limit, candidate.run(stop.clone(), async || stop.cancel())).await.is_ok()
    };
    // Once for a Lease that is to be made, and once for one that is there.
    for verb in ["create", "update"] {
        world.remove_rule(AT_HOME, &["leases", verb]).await;
        sleep(Duration::from_secs(1)).await;
        assert!(!leads(NEVER).await, "without {verb}");
        world.admin().apply(&world.manifests).await.unwrap();
        assert!(leads(PATIENCE).await, "with {verb}");
    }
}

// === impl World ===

impl World {
    async fn start() -> Self {
        let (cluster, port, files) = (Cluster::start().await.unwrap(), Port::reserve().unwrap(), folder());
        let manifests = manifests(&["--external-name=localhost", &format!("--port={}", port.number())]).await;
        cluster.admin().apply(&manifests).await.unwrap();
        let token = done(cluster.admin(), "create token bailiwick -n bailiwick-system").await;
        let kubeconfig = files.path().join("bailiwick.kubeconfig");
        std::fs::write(&kubeconfig, kubeconfig_with_token(&cluster, token.trim())).unwrap();
        Self { cluster, port, kubeconfig, manifests, _files: files }
    }

    fn admin(&self) -> &Kubectl {
        self.cluster.admin()
    }

    /// Starts the server, with nothing left from before but what is in etcd.
    fn spawn(&self) -> Starting {
        let data = folder();
        let mut command = program(data.path(), &["serve", "--service=bailiwick-system/bailiwick"]);
        command.arg(format!("--kubeconfig={}", self.kubeconfig.display()));
        command.arg(format!("--etcd-servers={}", self.cluster.etcd().endpoints().join(",")));
        command.arg(format!("--secure-port={}", self.port.number()));
        command.args([
            "--authorization-webhook-cache-authorized-ttl=1s",
            "--authorization-webhook-cache-unauthorized-ttl=1s",
        ]);
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Starting { child, log, data }
    }

    /// Shows that a server says what it lacks, and that it goes on by itself once it has all its rights again.
    async fn lacks_until_restored(&self, lacking: &str) {
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
    async fn forget(&self) {
        let patch = "{\"spec\":{\"caBundle\":null}}";
        done(self.admin(), &format!("patch apiservice v1alpha1.org.bailiwick.dev --type=merge -p {patch}")).await;
        let patch = "{\"data\":null}";
        done(self.admin(), &format!("patch secret bailiwick-authority -n bailiwick-system --type=merge -p {patch}"))
            .await;
    }

    async fn wait_ready(&self, server: &Starting) {
        let authority = server.data.path().join("bailiwick-data/pki/ca.crt");
        let (port, authority) = (self.port.number(), authority.display());
        let ready = format!("get --raw /readyz --server=https://127.0.0.1:{port} --certificate-authority={authority}");
        done_soon(self.admin(), &ready).await;
    }

    /// Takes one rule out of a role: the only one that has all these words.
    async fn remove_rule(&self, role: &str, words: &[&str]) {
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
    async fn wait_for(&mut self, words: &str) {
        let mut seen = Vec::new();
        let reading = async {
            while let Some(line) = self.log.next_line().await.unwrap() {
                if line.contains(words) {
                    return true;
                }
                seen.push(line);
            }
            false
        };
        let found = timeout(PATIENCE, reading).await;
        assert!(matches!(found, Ok(true)), "{words}: {seen:#?}");
    }

    async fn stop(&mut self) {
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
