//! The server as the account that was installed, with its own certificate, behind a real kube-apiserver; and what it lacks
//! without each of its rights.

use std::time::Duration;

use bailiwick_controllers::{LeaderElection, LeaderElectionOptions};
use bailiwick_test_host::Kubectl;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::host::{about, done, done_soon, lines, refused_soon, user};
use crate::process::PATIENCE;
use crate::world::World;

/// How long something is looked for that is not to happen.
pub(crate) const NEVER: Duration = Duration::from_secs(3);

/// The roles that hold rules of ours.
pub(crate) const EVERYWHERE: &str = "clusterrole bailiwick";
pub(crate) const AT_HOME: &str = "role bailiwick -n bailiwick-system";

/// SRV-13
#[tokio::test(flavor = "multi_thread")]
async fn every_right_is_needed_and_no_other() {
    let world = World::start().await;
    the_least_suffices(&world).await;
    for (role, rule, lacking) in [
        (EVERYWHERE, ["namespaces", "watch"], "namespaces of the cluster cannot be followed at present"),
        (EVERYWHERE, ["rolebindings", "watch"], "roles and bindings of the cluster cannot be followed at present"),
        (EVERYWHERE, ["apiservices", "patch"], "cannot be told who vouches for this server"),
        (EVERYWHERE, ["orgrolebindings", "watch"], "cannot be followed for organizations at present"),
        (EVERYWHERE, ["resourcecatalogs", "watch"], "cannot be followed for catalogs at present"),
        (EVERYWHERE, ["serviceaccounts", "watch"], "cannot be followed for claims of catalogs at present"),
        (AT_HOME, ["secrets", "get"], "the Secret \"bailiwick-authority\" in \"bailiwick-system\" cannot be"),
    ] {
        world.remove_rule(role, &rule).await;
        world.lacks_until_restored(lacking).await;
    }
    done(world.admin(), "delete rolebinding bailiwick-authentication-reader -n kube-system").await;
    world.lacks_until_restored("cannot read the ConfigMap extension-apiserver-authentication in kube-system").await;
    nothing_is_followed_without_the_right_to(&world).await;
    nothing_is_said_without_the_right_to(&world).await;
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
    // The authority of a server that stood alone here before, and vouched for its clients, would still be the only one.
    assert!(server.data().join("service-pki/ca.key").exists() && !server.data().join("pki").exists());
    server.stop().await;
}

/// Several rights at once: what the server says names the kinds.
async fn nothing_is_followed_without_the_right_to(world: &World) {
    let rules = [
        (["resourcequotas", "watch"], "the cluster's quotas cannot be followed at present"),
        (["resourcequotaallocations", "watch"], "quota allocations cannot be followed for"),
        (["bundles", "watch"], "bundles cannot be followed for"),
        (["resourceclaimdefinitions", "watch"], "ResourceClaimDefinitions cannot be followed for"),
        (["customresourcedefinitions", "watch"], "CustomResourceDefinitions cannot be followed for"),
    ];
    for (rule, _) in &rules {
        world.remove_rule(EVERYWHERE, rule).await;
    }
    sleep(Duration::from_secs(1)).await;
    let mut server = world.spawn();
    server.wait_for_all(&rules.map(|(_, words)| words)).await;
    world.admin().apply(&world.manifests).await.unwrap();
    world.wait_ready(&server).await;
    server.stop().await;
}

/// What follows from organizations is said in a status, and told in events, as far as there are rights to.
async fn nothing_is_said_without_the_right_to(world: &World) {
    let admin = world.admin();
    world.remove_rule(EVERYWHERE, &["orgrolebindings/status", "patch"]).await;
    let mut server = world.spawn();
    world.wait_ready(&server).await;
    done_soon(admin, "get organizations").await;
    let group =
        "{apiVersion: org.bailiwick.dev/v1alpha1, kind: OrgGroup, metadata: {name: 'Acme:told'}, users: [alice]}";
    admin.apply(group).await.unwrap();
    another_leads(admin).await;
    sleep(NEVER).await;
    let reason = "get orggroup Acme:told -o jsonpath={.status.conditions[0].reason}";
    assert_eq!(done(admin, reason).await, "");
    admin.apply(&world.manifests).await.unwrap();
    prints(admin, reason, "AllMembers").await;

    world.remove_rule(EVERYWHERE, &["events", "create"]).await;
    sleep(Duration::from_secs(1)).await;
    let events = "get events -n default --field-selector reason=NoOwner -o name";
    bind_without_owner(admin, "silent").await;
    sleep(NEVER).await;
    assert_eq!(done(admin, events).await, "");
    admin.apply(&world.manifests).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    bind_without_owner(admin, "told").await;
    let began = Instant::now();
    while done(admin, events).await.is_empty() {
        assert!(began.elapsed() < PATIENCE, "no event");
        sleep(Duration::from_millis(200)).await;
    }
    done(admin, "delete orgrolebindings silent told -n default").await;
    server.stop().await;
}

/// Whoever is to lead now waits until the one before is taken to be gone.
async fn another_leads(admin: &Kubectl) {
    let lease = bailiwick_api::CONTROLLERS_LEASE;
    let holder = format!("get lease {lease} -n bailiwick-system -o jsonpath={{.spec.holderIdentity}}");
    let (before, began) = (done(admin, &holder).await, Instant::now());
    while done(admin, &holder).await == before {
        assert!(began.elapsed() < 2 * PATIENCE, "nobody else leads");
        sleep(Duration::from_millis(200)).await;
    }
}

/// A binding that comes to nothing, which its status says.
async fn bind_without_owner(admin: &Kubectl, name: &str) {
    let binding = format!(
        "{{apiVersion: org.bailiwick.dev/v1alpha1, kind: OrgRoleBinding, metadata: {{name: {name}, namespace: default}}, \
         roleRef: {{name: view}}, users: [alice]}}"
    );
    admin.apply(&binding).await.unwrap();
    let condition = "-n default -o jsonpath={.status.conditions[0].reason}";
    prints(admin, &format!("get orgrolebinding {name} {condition}"), "NoOwner").await;
}

/// Waits until a command prints this.
async fn prints(admin: &Kubectl, command: &str, wanted: &str) {
    let began = Instant::now();
    loop {
        let text = done(admin, command).await;
        if text == wanted {
            return;
        }
        assert!(began.elapsed() < 2 * PATIENCE, "{command}: {text}");
        sleep(Duration::from_millis(200)).await;
    }
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
    done(world.admin(), &format!("delete lease {} -n bailiwick-system", bailiwick_api::CONTROLLERS_LEASE)).await;
    // Once for a Lease that is to be made, and once for one that is there.
    for verb in ["create", "update"] {
        world.remove_rule(AT_HOME, &["leases", verb]).await;
        sleep(Duration::from_secs(1)).await;
        assert!(!leads(NEVER).await, "without {verb}");
        world.admin().apply(&world.manifests).await.unwrap();
        assert!(leads(PATIENCE).await, "with {verb}");
    }
}
