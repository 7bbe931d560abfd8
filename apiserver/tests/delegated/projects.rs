//! Whose a project is.

use std::time::Duration;

use bailiwick_apiserver::ClusterNamespaces;
use bailiwick_registry::{Error, NamespaceState, Namespaces, Projects};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::cluster::{Behaviour, Cluster};

/// Namespaces of which the watch has seen nothing yet.
fn unseen(behaviour: Behaviour) -> (Cluster, ClusterNamespaces) {
    let cluster = Cluster::new(behaviour);
    let (namespaces, _following) = ClusterNamespaces::new(cluster.client(), cluster.client());
    (cluster, namespaces)
}

fn list() -> Value {
    json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": {"resourceVersion": "7"},
        "items": [metadata("web"), metadata("api")],
    })
}

fn metadata(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"openshift.io/owner": "organizations__Acme"}}})
}

/// O-04: an organization goes only if it owns nothing, so the cluster is asked what it owns, whatever a watch has seen of it so
/// far.
#[tokio::test]
async fn what_an_organization_owns_is_asked_of_the_cluster() {
    let (cluster, namespaces) = unseen(Behaviour::Object(list()));
    assert_eq!(namespaces.owned_by("Acme").await.unwrap(), ["api", "web"]);
    let address = cluster.address();
    assert!(address.starts_with("/api/v1/namespaces?"), "{address}");
    assert!(address.contains("labelSelector=openshift.io%2Fowner%3Dorganizations__Acme"), "{address}");
    // What is older than the question is no answer to it.
    assert!(!address.contains("resourceVersion"), "{address}");
    assert_eq!(namespaces.known_owner_of("web"), None);
}

/// Who does not answer has not said that there is nothing.
#[tokio::test(start_paused = true)]
async fn no_answer_is_no_empty_list() {
    for behaviour in [Behaviour::Code(503), Behaviour::Code(403), Behaviour::Silence, Behaviour::Refusal] {
        let (_, namespaces) = unseen(behaviour);
        let owned = namespaces.owned_by("Acme").await;
        assert!(matches!(owned, Err(Error::HostUnknown { .. })), "{owned:?}");
        let owner = namespaces.owner_of("web").await;
        assert!(matches!(owner, Err(Error::NamespaceUnknown { .. })), "{owner:?}");
    }
}

/// Nor is a project the former owner's because a watch is late.
#[tokio::test]
async fn whose_a_project_is_is_asked_of_the_cluster() {
    let mut web = metadata("web");
    web["apiVersion"] = json!("meta.k8s.io/v1");
    web["kind"] = json!("PartialObjectMetadata");
    let (cluster, namespaces) = unseen(Behaviour::Object(web.clone()));
    assert_eq!(namespaces.owner_of("web").await.unwrap().as_deref(), Some("Acme"));
    let mut nobodys = web.clone();
    nobodys["metadata"]["labels"] = json!({});
    cluster.behave(Behaviour::Object(nobodys));
    assert_eq!(namespaces.owner_of("web").await.unwrap(), None);
}

/// O-06: what a watch has seen counts while there is one. A cluster that is gone, or does not say a word, is noticed, and so is
/// one that comes back with nothing new to tell.
#[tokio::test(start_paused = true)]
async fn what_was_seen_counts_while_it_is_followed() {
    let cluster = Cluster::new(Behaviour::Refusal);
    let (namespaces, following) = ClusterNamespaces::new(cluster.client(), cluster.client());
    let _following = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(following));
    let known = || namespaces.known_owner_of("web");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(known(), None);
    for fault in [Behaviour::Refusal, Behaviour::Code(503), Behaviour::Silence] {
        cluster.behave(Behaviour::Unchanging(list()));
        sleep(Duration::from_secs(15)).await;
        // The watch hangs, as it does in a half-open connection, and is opened anew again and again.
        let mut seen = 0;
        for _ in 0..100 {
            sleep(Duration::from_millis(500)).await;
            seen += u32::from(known().as_deref() == Some("Acme"));
        }
        assert!(seen >= 80, "{seen}");
        assert_eq!(namespaces.find("web").await.unwrap(), Some(NamespaceState::Active));
        cluster.behave(fault);
        sleep(Duration::from_secs(11)).await;
        assert_eq!(known(), None);
        assert!(namespaces.find("web").await.is_err(), "it may have gone since");
        let asked = cluster.asked();
        sleep(Duration::from_secs(10)).await;
        assert!(cluster.asked() - asked <= 21, "it is not asked without a pause");
    }
}

/// Nor does it count if the cluster says otherwise.
#[tokio::test(start_paused = true)]
async fn what_was_seen_is_compared_with_what_is_there() {
    let cluster = Cluster::new(Behaviour::Unchanging(list()));
    let (namespaces, following) = ClusterNamespaces::new(cluster.client(), cluster.client());
    let _following = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(following));
    sleep(Duration::from_millis(10)).await;
    let mut web = metadata("web");
    (web["apiVersion"], web["kind"]) = (json!("meta.k8s.io/v1"), json!("PartialObjectMetadata"));
    cluster.behave(Behaviour::Unchanging(web.clone()));
    assert!(namespaces.is_known("web").await);
    web["metadata"]["labels"] = json!({"openshift.io/owner": "organizations__Beta"});
    cluster.behave(Behaviour::Unchanging(web));
    assert!(!namespaces.is_known("web").await);
    for fault in [Behaviour::Code(503), Behaviour::Refusal] {
        cluster.behave(fault);
        assert!(!namespaces.is_known("web").await);
    }
}
