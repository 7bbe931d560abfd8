//! What Kubernetes, and programs made for it, make of the server.

use std::time::Duration;

use bailiwick_client_tests::{go_controller, go_refused_within, python};
use bailiwick_differential_tests::accepted::Accepted;
use bailiwick_differential_tests::suite::{
    CONTROLLERS, accepted_custom_resources_file, accepted_file, accepted_lifecycle_file, accepted_quotas_file,
    accepted_templates_file,
};
use bailiwick_differential_tests::{Suite, Target};
use bailiwick_test_host::{Cluster, ClusterOptions};

use crate::process::{Server, folder};

/// How soon a token is refused whose account is gone.
const SOON: Duration = Duration::from_secs(1);

/// What is meant to differ, and what is still to be repaired, is in `tests/differential/differences.yaml`. Afterwards, templates of
/// pods, and custom resources and their definitions, that are wrong in thousands of ways: the same causes, the same warnings,
/// the same defaults.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_requests_have_the_same_answers() {
    let folder = folder();
    // There are none on the other side.
    let server = Server::start(folder.path(), &["--controllers="]).await;
    let cluster = Cluster::start().await.unwrap();
    let real = Target::taught("kube-apiserver", cluster.kubeconfig()).await.unwrap();
    let ours = Target::native("bailiwick", &server.kubeconfig()).await.unwrap();
    let accepted = Accepted::read(&accepted_file()).unwrap();
    let outcome = Suite::load().unwrap().compare(&real, &ours, &accepted).await.unwrap();
    assert!(outcome.is_clean(), "{outcome}");

    let accepted = Accepted::read(&accepted_templates_file()).unwrap();
    let outcome = Suite::pod_templates().unwrap().compare(&real, &ours, &accepted).await.unwrap();
    assert!(outcome.is_clean(), "{outcome}");
    assert!(outcome.steps > 2000, "{outcome}");

    let accepted = Accepted::read(&accepted_custom_resources_file()).unwrap();
    let outcome = Suite::custom_resources().unwrap().compare(&real, &ours, &accepted).await.unwrap();
    assert!(outcome.is_clean(), "{outcome}");
    assert!(outcome.steps > 5000, "{outcome}");
    server.stop().await;
}

/// What is owned, what namespaces end with, and what they begin with.
#[tokio::test(flavor = "multi_thread")]
async fn what_happens_by_itself_ends_alike() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let cluster = Cluster::options().controller_manager().start().await.unwrap();
    let real = Target::taught("kube-apiserver", cluster.kubeconfig()).await.unwrap();
    let ours = Target::native("bailiwick", &server.kubeconfig()).await.unwrap();
    let accepted = Accepted::read(&accepted_lifecycle_file()).unwrap();
    let outcome = Suite::lifecycle().unwrap().compare(&real, &ours, &accepted).await.unwrap();
    assert!(outcome.is_clean(), "{outcome}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn go_and_python_get_along_with_it() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubeconfig = server.kubeconfig();
    let (go, python) = tokio::join!(go_refused_within(&kubeconfig, SOON), python(&kubeconfig));
    assert!(go.is_ok(), "{}", go.unwrap_err());
    assert!(python.is_ok(), "{}", python.unwrap_err());
    server.stop().await;
}

/// Informers, leader election, finalizers, server-side apply, and a kind of its own. The same with kube-rs is in `system`.
#[tokio::test(flavor = "multi_thread")]
async fn a_controller_of_controller_runtime_does_its_work() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let outcome = go_controller(&server.kubeconfig()).await;
    assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    server.stop().await;
}

/// What happens after a write, too: quotas are counted, and refuse with the same words.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_follows_from_the_same_writes() {
    let folder = folder();
    // What is in each namespace by itself would be counted, too.
    let server = Server::start(folder.path(), &["--controllers="]).await;
    let cluster = ClusterOptions::default().controller_manager_flag(CONTROLLERS).start().await.unwrap();
    let real = Target::taught("kube-apiserver", cluster.kubeconfig()).await.unwrap();
    let ours = Target::native("bailiwick", &server.kubeconfig()).await.unwrap();
    let accepted = Accepted::read(&accepted_quotas_file()).unwrap();
    let outcome = Suite::quotas().unwrap().compare(&real, &ours, &accepted).await.unwrap();
    assert!(outcome.is_clean(), "{outcome}");
    server.stop().await;
}
