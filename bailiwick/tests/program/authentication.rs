//! Who is believed, as the flags and the configuration file say.

use std::path::Path;
use std::time::{Duration, Instant};

use bailiwick_test_host::pki::Authority;
use bytes::Bytes;
use http::Method;
use http::header::AUTHORIZATION;
use serde_json::json;
use tokio::time::sleep;

use crate::process::{PATIENCE, Server, failure, folder, run};
use crate::support::client::{Endpoint, request};

const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";

#[tokio::test]
async fn what_does_not_fit_together_is_refused_at_the_start() {
    let folder = folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let authority = Authority::new("both").unwrap();
    write("both.crt", &authority.certificate());
    write("empty.yaml", HEAD);
    write("anonymous.yaml", &format!("{HEAD}anonymous: {{enabled: true}}\n"));
    write("invalid.yaml", &format!("{HEAD}jwt: [{{}}]\n"));
    write("unknown.yaml", &format!("{HEAD}more: 1\n"));
    for (arguments, expected) in [
        (
            &["--oidc-issuer-url=https://a.example"][..],
            "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
        ),
        (&["--oidc-groups-claim=x"], "must be specified together"),
        (
            &[
                "--oidc-issuer-url=https://own.example",
                "--oidc-client-id=x",
                "--service-account-issuer=https://own.example",
            ],
            "URL must not overlap with disallowed issuers: [https://own.example]",
        ),
        (
            &["--oidc-issuer-url=http://a.example", "--oidc-client-id=x"],
            "jwt[0].issuer.url: Invalid value: \"http://a.example\": URL scheme must be https",
        ),
        (
            &["--oidc-issuer-url=https://a.example", "--oidc-client-id=x", "--oidc-signing-algs=RS256,HS256"],
            "unsupported signing alg: \"HS256\"",
        ),
        (
            &["--authentication-config=empty.yaml", "--oidc-client-id=x"],
            "authentication-config file and oidc-* flags are mutually exclusive",
        ),
        (
            &["--authentication-config=anonymous.yaml", "--anonymous-auth=false"],
            "--anonymous-auth flag cannot be set when anonymous field is configured",
        ),
        (&["--authentication-config=invalid.yaml"], "jwt[0].issuer.url: Required value"),
        (&["--authentication-config=unknown.yaml"], "unknown field `more`"),
        (&["--authentication-config=absent.yaml"], "absent.yaml"),
        (
            &["--requestheader-client-ca-file=both.crt", "--client-ca-file=both.crt"],
            "--requestheader-allowed-names must be specified",
        ),
        (&["--requestheader-client-ca-file=absent.crt"], "absent.crt"),
        (&["--requestheader-username-headers="], "empty value in \"requestheader-username-headers\""),
    ] {
        let error = failure(&run(folder.path(), &[&["--secure-port=0"], arguments].concat()).await);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

/// A front proxy names a user, and the file says where nobody needs to be named, also when it changes.
#[tokio::test]
async fn users_come_through_a_front_proxy_and_the_file_is_followed() {
    let folder = folder();
    let file = folder.path().join("authentication.yaml");
    let write = |anonymous: &str| std::fs::write(&file, format!("{HEAD}anonymous: {anonymous}\n")).unwrap();
    write("{enabled: true, conditions: [{path: /livez}]}");
    let proxies = Authority::new("proxies").unwrap();
    std::fs::write(folder.path().join("proxies.crt"), proxies.certificate()).unwrap();
    let flags = [
        "--requestheader-client-ca-file=proxies.crt",
        "--requestheader-allowed-names=front-proxy",
        "--authentication-config=authentication.yaml",
    ];
    let server = Server::start(folder.path(), &flags).await;
    let authority = std::fs::read_to_string(server.data.join("pki/ca.crt")).unwrap();
    let proxy = proxies.client("front-proxy", &[]).unwrap();
    let masters = [("x-remote-user", "ruth"), ("x-remote-group", "system:masters")];
    let ask = async |path: &str, certificate, headers: &[(&str, &str)]| {
        crate::https::get(server.address(), &authority, certificate, path, headers).await
    };
    assert_eq!(ask("/metrics", Some(&proxy), &masters).await.0, 200);
    let (code, text) = ask("/metrics", Some(&proxy), &masters[..1]).await;
    assert!(code == 403 && text.contains("User \\\"ruth\\\" cannot get path"), "{code} {text}");
    assert_eq!(ask("/metrics", None, &masters).await.0, 401);

    assert_eq!(ask("/livez", None, &[]).await.0, 200);
    write("rubbish");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(ask("/livez", None, &[]).await.0, 200);
    write("{enabled: true}");
    let began = std::time::Instant::now();
    loop {
        let (code, text) = ask("/metrics", None, &[]).await;
        if code == 403 {
            assert!(text.contains("User \\\"system:anonymous\\\""), "{text}");
            break;
        }
        assert!(code == 401 && began.elapsed() < PATIENCE, "{code} {text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(Path::new(&file).exists());
    server.stop().await;
}

/// A token is worth nothing a second after its account was deleted, or what it is bound to.
#[tokio::test]
async fn a_token_ends_within_a_second_with_its_account() {
    const NAMESPACE: &str = "/api/v1/namespaces/default";
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let (root, stranger) = (Endpoint::of(&server).connect().await.unwrap(), Endpoint::of_stranger(&server));
    let named = |name: &str| json!({"metadata": {"name": name}});
    let code = async |token: &str| {
        let mut request = request(Method::GET, "/api", "", Bytes::new());
        request.headers_mut().insert(AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        // A connection of someone who is not believed is closed.
        stranger.connect().await.unwrap().send(request).await.unwrap().code
    };
    for (kind, plural) in [("", "serviceaccounts"), ("Secret", "secrets")] {
        let account = format!("bot-{plural}");
        let accounts = format!("{NAMESPACE}/serviceaccounts");
        root.post(&accounts, &named(&account)).await.unwrap().expect(201);
        let mut asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        if !kind.is_empty() {
            root.post(&format!("{NAMESPACE}/{plural}"), &named(&account)).await.unwrap().expect(201);
            asked["spec"]["boundObjectRef"] = json!({"apiVersion": "v1", "kind": kind, "name": account});
        }
        let given = root.post(&format!("{accounts}/{account}/token"), &asked).await.unwrap().expect(201);
        let token = given["status"]["token"].as_str().unwrap();
        assert_eq!(code(token).await, 200);
        root.delete(&format!("{NAMESPACE}/{plural}/{account}")).await.unwrap().expect(200);
        let deleted = Instant::now();
        while code(token).await != 401 {
            assert!(deleted.elapsed() < Duration::from_secs(1), "{plural}: the token is still believed");
            sleep(Duration::from_millis(5)).await;
        }
    }
    server.stop().await;
}
