//! Who may what, as kubectl asks for it: reviews, roles, and tokens of service accounts.

use std::fs;

use bailiwick_test_host::Kubectl;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use rcgen::{KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use tokio::time::{Duration, Instant, sleep};

use crate::process::{Server, folder};

/// How soon a token is refused whose account is gone.
const SOON: Duration = Duration::from_secs(1);

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

/// `kubectl create token --bound-object-kind`: who removes the Secret ends the token, also if there is another of its name.
#[tokio::test]
async fn a_token_ends_with_the_secret_that_it_is_bound_to() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubectl = server.kubectl().await;
    ok(&kubectl, "create namespace shop").await;
    ok(&kubectl, "create serviceaccount bot -n shop").await;
    ok(&kubectl, "create secret generic lease -n shop").await;
    let bound = "create token bot -n shop --bound-object-kind=Secret --bound-object-name=lease";
    let token = ok(&kubectl, bound).await;
    let kubeconfig = folder.path().join("bot.kubeconfig");
    fs::write(&kubeconfig, KUBECONFIG.replace("URL", &server.url).replace("TOKEN", token.trim())).unwrap();
    let bot = Kubectl::new(&kubeconfig).await.unwrap();
    assert!(ok(&bot, "auth whoami").await.contains("system:serviceaccount:shop:bot"));
    ok(&kubectl, "delete secret lease -n shop").await;
    ok(&kubectl, "create secret generic lease -n shop").await;
    let why = refused(&bot, "auth whoami").await;
    assert!(why.contains("Unauthorized") || why.contains("logged in"), "{why}");
    let missing = refused(&kubectl, &bound.replace("lease", "missing")).await;
    assert!(missing.contains("secrets \"missing\" not found"), "{missing}");
}

/// A client as Rust programs have it, and tokens that are signed with RSA, as kubeadm's keys are.
#[tokio::test]
async fn a_rust_client_works_with_a_token_that_is_signed_with_rsa() {
    let folder = folder();
    let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
    fs::write(folder.path().join("sa.key"), key.serialize_pem()).unwrap();
    let server = Server::start(folder.path(), &["--service-account-signing-key-file=sa.key"]).await;
    let kubectl = server.kubectl().await;
    ok(&kubectl, "create namespace shop").await;
    ok(&kubectl, "create serviceaccount bot -n shop").await;
    ok(&kubectl, "create rolebinding bot --clusterrole=view --serviceaccount=shop:bot -n shop").await;
    let keys: serde_json::Value = serde_json::from_str(&ok(&kubectl, "get --raw /openid/v1/jwks").await).unwrap();
    let key = &keys["keys"][0];
    assert_eq!(
        (key["kty"].as_str(), key["alg"].as_str(), key["e"].as_str()),
        (Some("RSA"), Some("RS256"), Some("AQAB"))
    );

    let admin = Kubeconfig::read_from(server.kubeconfig()).unwrap();
    let admin = Config::from_custom_kubeconfig(admin, &KubeConfigOptions::default()).await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(Client::try_from(admin).unwrap(), "shop");
    let issued = accounts.create_token_request("bot", &PostParams::default(), &TokenRequest::default()).await.unwrap();
    let token = issued.status.unwrap().token.unwrap();
    let text = KUBECONFIG.replace("URL", &server.url).replace("TOKEN", &token);
    let bot = Kubeconfig::from_yaml(&text).unwrap();
    let bot = Config::from_custom_kubeconfig(bot, &KubeConfigOptions::default()).await.unwrap();
    let config_maps: Api<ConfigMap> = Api::namespaced(Client::try_from(bot).unwrap(), "shop");
    config_maps.list(&ListParams::default()).await.unwrap();

    accounts.delete("bot", &DeleteParams::default()).await.unwrap();
    let gone = Instant::now();
    loop {
        let asked = Instant::now();
        match config_maps.list(&ListParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 401 => break,
            other => assert!(asked - gone < SOON, "the token is still believed: {other:?}"),
        }
        sleep(Duration::from_millis(20)).await;
    }
    server.stop().await;
}
