//! Our program has an account for each thing that it asks the cluster, and each has the right to that and to nothing else.

use http::Method;

use crate::process::folder;
use crate::world::{ENTRIES, eventually, world};

/// Who follows what is there, who asks whose a token is, and who asks what users may. A robot may read entries.
const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: accounts-follow}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bailiwick}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: follows}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: accounts-tokens}
rules: [{apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: accounts-tokens}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: accounts-tokens}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: asks-who}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: accounts-who, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: asks-who}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: accounts-access}
rules: [{apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: accounts-access}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: accounts-access}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: asks-what}]
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: accounts-robot, namespace: default}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: accounts-robot, namespace: default}
rules: [{apiGroups: [catalog.bailiwick.dev], resources: [resourcecatalogentries], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: accounts-robot, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: accounts-robot}
subjects: [{kind: ServiceAccount, name: accounts-robot, namespace: default}]
";

/// SRV-13: with the rights of `system:auth-delegator` divided between two accounts, and none of them the program's own.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_needs_the_right_to_that_question_only() {
    let (_turn, world) = world().await;
    world.make_object(RIGHTS).await;
    let account = |name: &str| world.cluster.user(name, &[]).unwrap();
    let flag = |name: &str, user: &str| format!("--{name}-kubeconfig={}", account(user).display());
    let flags = [flag("authentication", "asks-who"), flag("authorization", "asks-what")];
    let folder = folder();
    let server =
        world.start_as(&account("follows"), folder.path(), &["--etcd-prefix=/accounts", &flags[0], &flags[1]]).await;
    let token = world.run("create token accounts-robot -n default").await;
    let bearer = format!("Bearer {}", token.trim());
    let direct = world.direct(&server, None);
    let code = async |method: Method, token: &str| {
        direct.send(method, ENTRIES, &[("authorization", token)], "{}").await.unwrap().code
    };
    // Rights, and what was not allowed before they were known, are a moment late.
    eventually("the robot may read", async || code(Method::GET, &bearer).await == 200).await;
    assert_eq!(code(Method::POST, &bearer).await, 403);
    assert_eq!(code(Method::GET, "Bearer nonsense").await, 401);
    // By a certificate, of an authority that the first of them has read of.
    world.master(&server).get(ENTRIES).await.expect(200);
    // What was asked can be seen.
    let metrics = world.master(&server).get("/metrics").await.body;
    for sort in ["authn", "authz"] {
        let asked = format!("apiserver_delegated_{sort}_request_total{{code=\"201\"}} ");
        assert!(metrics.contains(&asked), "{asked}: {metrics}");
    }
    server.stop().await;
}
