//! Membership in Groups.

use serde_json::json;

use crate::site::{API, RBAC, Site, group};

/// ORG-11: a Group can be bound anywhere, and whoever is in it has what it has, with the next request.
#[tokio::test]
async fn groups_of_the_cluster_count_everywhere() {
    let site = Site::alone().await;
    let root = site.root();
    let bound = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "viewers" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "viewers" }],
    });
    root.post(&format!("{RBAC}/clusterrolebindings"), &bound).await.expect(201);
    let dave = site.user("dave");
    dave.may_not("get", "configmaps", "default").await;
    root.post(&format!("{API}/groups"), &group("viewers", &["dave", "erin"])).await.expect(201);
    dave.may("get", "configmaps", "default").await;
    assert_eq!(dave.groups().await, ["system:authenticated", "viewers"]);
    root.delete(&format!("{API}/groups/viewers")).await.expect(200);
    dave.may_not("get", "configmaps", "default").await;
}
