//! What an organization gives, and whether a server says so to a cluster that asks.

use std::time::Duration;

use bailiwick_test_host::AuthorizationWebhook;
use http::Method;
use serde_json::json;
use tokio::time::Instant;

use crate::direct::Direct;
use crate::process::Server;
use crate::world::World;

/// How long what organizations give may be given that was taken away meanwhile.
const GIVEN_FOR: Duration = Duration::from_secs(1);

/// A project, and a role that our account may bind.
const PROJECT: &str = "
{apiVersion: v1, kind: Namespace, metadata: {name: acme-outage, labels: {openshift.io/owner: organizations__Acme}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: bailiwick-bind-view}
rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [outage], verbs: [bind]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bailiwick-bind-view}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bailiwick-bind-view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bailiwick}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: outage}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [create]}]
";

/// Something that is given, and who asks for it.
pub(crate) struct Given {
    cluster: Direct,
    review: String,
}

// === impl Given ===

impl Given {
    /// Acme owns a project, in which bob has a role by a group of it.
    pub(crate) async fn make(world: &World, server: &Server) -> Self {
        world.make_object(PROJECT).await;
        let master = world.master(server);
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "outage"});
        for (path, kind, name, fields) in [
            ("organizations", "Organization", "Acme", json!({"memberUsers": ["bob"]})),
            ("orggroups", "OrgGroup", "Acme:dev", json!({"users": ["bob"]})),
            (
                "namespaces/acme-outage/orgrolebindings",
                "OrgRoleBinding",
                "dev",
                json!({"roleRef": role, "orgGroups": ["Acme:dev"]}),
            ),
        ] {
            let mut object = fields;
            object["apiVersion"] = json!("org.bailiwick.dev/v1alpha1");
            object["kind"] = json!(kind);
            object["metadata"] = json!({"name": name});
            let path = format!("/apis/org.bailiwick.dev/v1alpha1/{path}");
            master.send(Method::POST, &path, &[], &object.to_string()).await.unwrap().expect(201);
        }
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": "bob",
                "resourceAttributes": {"verb": "create", "resource": "configmaps", "namespace": "acme-outage"},
            },
        })
        .to_string();
        let caller = world.cluster.tls().user(AuthorizationWebhook::CALLER, &[]).unwrap();
        let cluster = world.direct(server, Some(&caller));
        Self { cluster, review }
    }

    /// It is given no longer than it may be, and then not at all, and whoever asks is told so in time. How long it was given.
    pub(crate) async fn ends(&self, gone_was: &str) -> Duration {
        let (gone, mut last) = (Instant::now(), Duration::ZERO);
        loop {
            let asked = gone.elapsed();
            if !self.is_given().await {
                break;
            }
            last = asked;
            assert!(last < GIVEN_FOR, "it is still given {last:?} after {gone_was} was gone");
        }
        let began = Instant::now();
        while began.elapsed() < 2 * GIVEN_FOR {
            let asked = Instant::now();
            assert!(!self.is_given().await);
            assert!(asked.elapsed() < GIVEN_FOR, "kube-apiserver would not wait for {:?}", asked.elapsed());
        }
        last
    }

    /// It is given no longer than it may be, though whoever answers finds its way back meanwhile. How long it was given.
    pub(crate) async fn ends_for_good(&self, gone_was: &str) -> Duration {
        let (gone, mut last) = (Instant::now(), Duration::ZERO);
        while gone.elapsed() < 3 * GIVEN_FOR {
            let asked = gone.elapsed();
            if self.is_given().await {
                last = asked;
            }
            assert!(last < GIVEN_FOR, "it is still given {last:?} after {gone_was} was taken away");
        }
        last
    }

    /// Whether bob is said to have it.
    pub(crate) async fn is_given(&self) -> bool {
        let answer = self.cluster.send(Method::POST, "/authorize", &[], &self.review).await.unwrap().expect(200);
        answer["status"]["allowed"] == json!(true)
    }
}
