//! What everyone can do with catalogs, and with what is in them.

use serde_json::json;
use tokio::sync::OnceCell;

use crate::market::{NAMESPACES, claims, entries};
use crate::objects::{API, RBAC, bound, config_map};
use crate::support::rights::{ANONYMOUS, CLUSTER, Measure, Tried};

/// How rights are measured in a market.
pub(crate) static MEASURE: Measure = Measure {
    subjects: &[
        "pat",
        "ada",
        "eddie",
        "bea",
        "dev",
        "fay",
        "mallory",
        ANONYMOUS,
        "system:serviceaccount:shop:publisher",
        "system:serviceaccount:a:maker",
    ],
    namespaces: &NAMESPACES,
    asked: &[
        ("", "serviceaccounts", "maker", "impersonate"),
        ("", "serviceaccounts", "publisher", "impersonate"),
        ("catalog.bailiwick.dev", "resourcecatalogs", "gold", "claim"),
        ("catalog.bailiwick.dev", "resourcecatalogs", "gold", "publish"),
    ],
    tried: |place, who| if place == CLUSTER { in_cluster() } else { in_namespace(place, who) },
    at_first: [OnceCell::const_new(), OnceCell::const_new()],
};

/// What is tried in a namespace: to read sources and copies, entries, claims and what can be claimed; to make something, and
/// to take the namespace over.
fn in_namespace(namespace: &str, who: &str) -> Tried {
    let core = |plural: &str| format!("/api/v1/namespaces/{namespace}/{plural}");
    let shown = format!("{API}/namespaces/{namespace}/localresourcecatalogs");
    let read = vec![core("secrets"), core("configmaps"), entries(namespace), claims(namespace), shown];
    let admin = bound("gain", namespace, "ClusterRole/admin", &format!("User/{who}"));
    let made = vec![
        (core("configmaps"), config_map("gain", json!({}))),
        (format!("{RBAC}/namespaces/{namespace}/rolebindings"), admin),
    ];
    Tried { read, made }
}

/// What is tried in the cluster.
fn in_cluster() -> Tried {
    let catalogs = format!("{API}/resourcecatalogs");
    let catalog = crate::objects::catalog("gain", json!({ "selector": {} }));
    let read = vec!["/api/v1/secrets".to_owned(), format!("{API}/resourcecatalogentries"), catalogs.clone()];
    Tried { read, made: vec![(catalogs, catalog)] }
}
