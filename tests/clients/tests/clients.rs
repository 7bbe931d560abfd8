//! Clients in other languages, and a real kube-apiserver that has our kinds: what they expect is what Kubernetes does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

use bailiwick_client_tests::{go, go_controller, python};
use bailiwick_differential_tests::Target;
use bailiwick_test_host::Cluster;

#[tokio::test(flavor = "multi_thread")]
async fn go_and_python_get_along_with_a_real_server() {
    let cluster = Cluster::start().await.unwrap();
    Target::taught("kube-apiserver", cluster.kubeconfig()).await.unwrap();
    let (go, python) = tokio::join!(go(cluster.kubeconfig()), python(cluster.kubeconfig()));
    let controller = go_controller(cluster.kubeconfig()).await;
    // `Display` shows what the program printed.
    assert!(controller.is_ok(), "{}", controller.unwrap_err());
    assert!(go.is_ok(), "{}", go.unwrap_err());
    assert!(python.is_ok(), "{}", python.unwrap_err());
}

/// A client that misses something says so: here, the kinds.
#[tokio::test(flavor = "multi_thread")]
async fn clients_fail_without_what_they_need() {
    let cluster = Cluster::start().await.unwrap();
    let (go, python) = tokio::join!(go(cluster.kubeconfig()), python(cluster.kubeconfig()));
    let (go, python) = (go.unwrap_err().to_string(), python.unwrap_err().to_string());
    assert!(go.contains("the server could not find the requested resource"), "{go}");
    assert!(python.contains("404"), "{python}");
}
