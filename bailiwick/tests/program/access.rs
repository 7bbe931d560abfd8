//! Who may what, as kubectl asks for it: reviews, roles, and tokens of service accounts.

use std::fs;

use bailiwick_test_host::Kubectl;

use crate::process::{Server, folder};

/// Who has nothing but a token.
const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
clusters: [{name: it, cluster: {server: URL, insecure-skip-tls-verify: true}}]
users: [{name: it, user: {token: TOKEN}}]
contexts: [{name: it, context: {cluster: it, user: it}}]
current-context: it
";

async fn ok(kubectl: &Kubectl, line: &str) -> String {
    kubectl.run(line.split(' ')).await.unwrap().success().unwrap()
}

async fn refused(kubectl: &Kubectl, line: &str) -> String {
    let output = kubectl.run(line.split(' ')).await.unwrap();
    assert!(!output.status.success(), "{line}: {}", output.stdout);
    output.stdout + &output.stderr
}

#[tokio::test]
async fn roles_decide_and_reviews_tell() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubectl = server.kubectl().await;
    assert!(ok(&kubectl, "auth whoami").await.contains("system:masters"));
    assert!(ok(&kubectl, "auth can-i delete namespaces").await.contains("yes"));
    refused(&kubectl, "auth can-i get configmaps -n shop --as alice").await;
    ok(&kubectl, "create namespace shop").await;
    // What was bound counts for the very next request.
    ok(&kubectl, "create rolebinding alice --clusterrole=admin --user=alice -n shop").await;
    assert!(ok(&kubectl, "auth can-i create configmaps -n shop --as alice").await.contains("yes"));
    assert!(ok(&kubectl, "auth can-i --list -n shop --as alice").await.contains("rolebindings.rbac"));
    ok(&kubectl, "create configmap a -n shop --as alice").await;
    refused(&kubectl, "get configmaps -n default --as alice").await;
    // Nobody gives away what they do not have.
    ok(&kubectl, "create role reader --verb=get --resource=configmaps -n shop --as alice").await;
    let why =
        refused(&kubectl, "create rolebinding evil --clusterrole=cluster-admin --user=alice -n shop --as alice").await;
    assert!(why.contains("attempting to grant RBAC permissions not currently held"), "{why}");
    ok(&kubectl, "delete rolebinding alice -n shop").await;
    refused(&kubectl, "get configmaps -n shop --as alice").await;
}

#[tokio::test]
async fn tokens_of_service_accounts_end_with_their_accounts() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubectl = server.kubectl().await;
    ok(&kubectl, "create namespace shop").await;
    ok(&kubectl, "create serviceaccount bot -n shop").await;
    ok(&kubectl, "create rolebinding bot --clusterrole=view --serviceaccount=shop:bot -n shop").await;
    let token = ok(&kubectl, "create token bot -n shop").await;
    assert!(ok(&kubectl, "get --raw /openid/v1/jwks").await.contains("ES256"));
    let kubeconfig = folder.path().join("bot.kubeconfig");
    fs::write(&kubeconfig, KUBECONFIG.replace("URL", &server.url).replace("TOKEN", token.trim())).unwrap();
    let bot = Kubectl::new(&kubeconfig).await.unwrap();
    assert!(ok(&bot, "auth whoami").await.contains("system:serviceaccount:shop:bot"));
    ok(&bot, "get configmaps -n shop").await;
    refused(&bot, "get configmaps -n default").await;
    // An account of the same name is another one.
    ok(&kubectl, "delete serviceaccount bot -n shop").await;
    ok(&kubectl, "create serviceaccount bot -n shop").await;
    let why = refused(&bot, "get configmaps -n shop").await;
    assert!(why.contains("Unauthorized") || why.contains("logged in"), "{why}");
}
