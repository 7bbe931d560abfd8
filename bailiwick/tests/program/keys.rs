//! Keys, certificates and authorities that are replaced while servers run.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use bailiwick_test_host::Port;
use bailiwick_test_host::pki::Authority;
use rcgen::KeyPair;
use serde_json::json;
use tokio::time::sleep;

use crate::https;
use crate::process::{PATIENCE, Server, folder};
use crate::support::client::{Client, Endpoint};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
/// Whoever verifies tokens need not be known.
const OPEN: &str = "apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous: {enabled: true, conditions: [{path: /.well-known/openid-configuration}, {path: /openid/v1/jwks}]}
";
/// Longer than files go unseen.
const A_LOOK: Duration = Duration::from_secs(3);

/// Where a token is shown, and who vouches for the server there.
struct Door {
    address: SocketAddr,
    authority: String,
}

/// S-06: one server signs, with its keys in files; another believes it, as an issuer with an authority in a file.
#[tokio::test]
async fn keys_and_authorities_are_replaced_while_tokens_are_believed() {
    let (ours, theirs) = (folder(), folder());
    let write = |name: &str, text: &str| put(ours.path(), name, text);
    let [first, second, third] = [(); 3].map(|()| KeyPair::generate().unwrap());
    let [old_authority, new_authority] = ["old", "new"].map(|name| Authority::new(name).unwrap());
    let present = |authority: &Authority| {
        let identity = authority.server("localhost", &[]).unwrap();
        write("server.key", &identity.key);
        write("server.crt", &identity.certificate);
    };
    present(&old_authority);
    write("sign.pem", &first.serialize_pem());
    write("verify.pem", &format!("{}{}", first.public_key_pem(), second.public_key_pem()));
    write("authentication.yaml", OPEN);
    let port = Port::reserve().unwrap();
    let url = format!("https://localhost:{}", port.number());
    let named = format!("--service-account-issuer={url}");
    // By its address, nobody would fetch them: it is that of whoever asks.
    let keys_at = format!("--service-account-jwks-uri={url}/openid/v1/jwks");
    let flags = [
        &*named,
        &*keys_at,
        "--service-account-signing-key-file=sign.pem",
        "--service-account-key-file=verify.pem",
        "--tls-cert-file=server.crt",
        "--tls-private-key-file=server.key",
        "--authentication-config=authentication.yaml",
    ];
    let issuer = Server::start_on(ours.path(), port.number(), &flags).await;
    let mut at_issuer = Door { address: issuer.address(), authority: old_authority.certificate() };
    let root = at_issuer.administrator(&issuer).connect().await.unwrap();
    root.post(ACCOUNTS, &json!({"metadata": {"name": "bot"}})).await.unwrap().expect(201);
    let binding = json!({
        "metadata": {"name": "verifiers"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "system:service-account-issuer-discovery"
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:unauthenticated"}],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    root.post(bindings, &binding).await.unwrap().expect(201);

    put(theirs.path(), "issuer.crt", &old_authority.certificate());
    let issued_by = format!("--oidc-issuer-url={url}");
    let flags = [
        &*issued_by,
        "--oidc-client-id=believer",
        "--oidc-signing-algs=ES256",
        "--oidc-username-prefix=other:",
        "--oidc-ca-file=issuer.crt",
    ];
    let believer = Server::start(theirs.path(), &flags).await;
    let authority = fs::read_to_string(believer.data.join("pki/ca.crt")).unwrap();
    let at_believer = Door { address: believer.address(), authority };

    let by_first = token(&root, &url).await;
    at_believer.answers(&by_first, 200).await;
    at_issuer.answers(&by_first, 200).await;

    // What cannot be used changes nothing.
    write("sign.pem", "rubbish");
    sleep(A_LOOK).await;
    assert_eq!(head(&token(&root, &url).await), head(&by_first));

    // Another one signs, and those who look see nothing of it.
    write("sign.pem", &second.serialize_pem());
    let by_second = token_unlike(&root, &url, &by_first).await;
    for door in [&at_issuer, &at_believer] {
        assert_eq!((door.code(&by_first).await, door.code(&by_second).await), (200, 200));
    }

    // The old ones are taken out, and everything else is replaced with them.
    present(&new_authority);
    at_issuer.authority = new_authority.certificate();
    let began = Instant::now();
    while at_issuer.administrator(&issuer).connect().await.is_err() {
        assert!(began.elapsed() < PATIENCE, "the new certificate is not used");
        sleep(Duration::from_millis(50)).await;
    }
    write("verify.pem", &third.public_key_pem());
    write("sign.pem", &third.serialize_pem());
    let by_third = token_unlike(&root, &url, &by_second).await;
    at_issuer.answers(&by_third, 200).await;
    for old in [&by_first, &by_second] {
        assert_eq!(at_issuer.code(old).await, 401);
    }
    // They vouch for nobody who shows a certificate of an unknown authority.
    assert_eq!(at_believer.code(&by_third).await, 401);
    put(theirs.path(), "issuer.crt", "rubbish");
    sleep(A_LOOK).await;
    assert_eq!((at_believer.code(&by_third).await, at_believer.code(&by_second).await), (401, 200));
    put(theirs.path(), "issuer.crt", &new_authority.certificate());
    at_believer.answers(&by_third, 200).await;
    // For ten seconds it is remembered what a token was worth.
    at_believer.answers(&by_second, 401).await;

    let log = issuer.stop_and_tell().await;
    let count = |text: &str| log.matches(text).count();
    assert_eq!(count("the new keys for tokens of service accounts are not used"), 1, "{log}");
    assert!(count("keys for tokens of service accounts were replaced") >= 2 && !log.contains("PRIVATE"), "{log}");
    let log = believer.stop_and_tell().await;
    assert_eq!(log.matches("the new authorities of --oidc-ca-file are not used").count(), 1, "{log}");
    assert_eq!(log.matches("authorities of --oidc-ca-file were replaced").count(), 1, "{log}");
}

/// A new file in place of the old one, at once.
fn put(folder: &Path, name: &str, text: &str) {
    let aside = folder.join(format!("{name}.aside"));
    fs::write(&aside, text).unwrap();
    fs::rename(&aside, folder.join(name)).unwrap();
}

/// A new token, for its issuer and for who else believes it.
async fn token(issuer: &Client, url: &str) -> String {
    let asked = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [url, "believer"]},
    });
    let given = issuer.post(&format!("{ACCOUNTS}/bot/token"), &asked).await.unwrap().expect(201);
    given["status"]["token"].as_str().unwrap().to_owned()
}

/// The first that another key signs.
async fn token_unlike(issuer: &Client, url: &str, last: &str) -> String {
    let began = Instant::now();
    loop {
        let token = token(issuer, url).await;
        if head(&token) != head(last) {
            return token;
        }
        assert!(began.elapsed() < PATIENCE, "the old key still signs");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Says which key signed a token.
fn head(token: &str) -> &str {
    token.split('.').next().unwrap()
}

// === impl Door ===

impl Door {
    /// The way in for the server's administrator.
    fn administrator(&self, server: &Server) -> Endpoint {
        let read = |name: &str| fs::read_to_string(server.data.join("pki").join(name)).unwrap();
        let (certificate, key) = (read("admin.crt"), read("admin.key"));
        Endpoint::at(self.address, &self.authority, Some((&certificate, &key)))
    }

    async fn code(&self, token: &str) -> u16 {
        let bearer = format!("Bearer {token}");
        https::get(self.address, &self.authority, None, "/api", &[("authorization", &bearer)]).await.0
    }

    async fn answers(&self, token: &str, code: u16) {
        let began = Instant::now();
        loop {
            let found = self.code(token).await;
            if found == code {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{found} instead of {code}");
            sleep(Duration::from_millis(50)).await;
        }
    }
}
