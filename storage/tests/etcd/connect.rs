//! Getting to etcd, and being told clearly why not.

use std::time::Duration;

use bailiwick_storage::etcd::{ClientCertificate, ConnectError, Credentials, Etcd, EtcdOptions, Secret, TlsOptions};
use bailiwick_storage::{At, Error, Store, Txn};
use bailiwick_test_host as host;
use tokio::time::Instant;

use crate::support::{Recorder, all, key, options, store};

fn with_tls(etcd: &host::Etcd, ca: &host::pki::Pem, client: Option<(&host::pki::Pem, &host::pki::Pem)>) -> EtcdOptions {
    let mut options = options(etcd.endpoints());
    options.tls = Some(TlsOptions {
        ca: ca.text().as_bytes().to_vec(),
        client: client.map(|(certificate, key)| ClientCertificate {
            certificate: certificate.text().as_bytes().to_vec(),
            key: Secret::new(key.text()),
        }),
        server_name: None,
    });
    options
}

async fn refused(options: EtcdOptions) -> ConnectError {
    let (start, limit) = (Instant::now(), options.connect_timeout + Duration::from_secs(1));
    match Etcd::connect(options).await {
        Ok(_) => panic!("connected"),
        Err(error) => {
            assert!(start.elapsed() < limit, "{error} only after {:?}", start.elapsed());
            error
        }
    }
}

#[tokio::test]
async fn tls_with_client_certificates() {
    let etcd = host::Etcd::options().tls().start().await.unwrap();
    let tls = etcd.tls().unwrap();
    let client = Some((&tls.client_certificate, &tls.client_key));
    let store = Etcd::connect(with_tls(&etcd, &tls.ca, client)).await.unwrap();
    let revision = store.commit(Txn::new().create(key("a"), "1")).await.unwrap();
    let mut watch = Recorder::start(store.watch(&all(), bailiwick_storage::Revision::ZERO).await.unwrap());
    assert_eq!(watch.until(revision).await.len(), 1);

    let error = refused(with_tls(&etcd, &tls.stranger_ca, client)).await;
    assert!(matches!(error, ConnectError::Tls { .. }), "{error:?}");
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    assert!(error.to_string().contains("check that the CA"), "{error}");

    let stranger = Some((&tls.stranger_certificate, &tls.stranger_key));
    let error = refused(with_tls(&etcd, &tls.ca, stranger)).await;
    assert!(matches!(error, ConnectError::Tls { .. }), "{error:?}");
    let error = refused(with_tls(&etcd, &tls.ca, None)).await;
    assert!(matches!(error, ConnectError::Tls { .. }), "{error:?}");

    let plain = options(etcd.endpoints().iter().map(|endpoint| endpoint.replace("https", "http")));
    let error = refused(plain).await;
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn options_that_cannot_work_are_refused_before_anything_is_sent() {
    let error = refused(EtcdOptions::new(Vec::<String>::new())).await;
    assert!(matches!(error, ConnectError::NoEndpoints), "{error:?}");
    for endpoint in ["https://localhost:2379", "localhost:2379", "ftp://localhost", "http://"] {
        let error = refused(options([endpoint])).await;
        assert!(matches!(error, ConnectError::InvalidEndpoint { .. }), "{endpoint}: {error:?}");
    }
    let mut with_root = options(["http://127.0.0.1:1"]);
    with_root.root = "a//b".to_owned();
    assert!(matches!(refused(with_root).await, ConnectError::InvalidRoot(_)));
    let mut with_base = options(["http://127.0.0.1:1"]);
    with_base.base = u64::MAX;
    assert!(matches!(refused(with_base).await, ConnectError::InvalidBase { .. }));
    let authority = host::pki::Authority::new("ca").unwrap().certificate();
    let client = ClientCertificate { certificate: authority.clone().into(), key: Secret::new("no PEM") };
    for (ca, client) in [("no PEM", None), ("", None), (authority.as_str(), Some(client))] {
        let mut with_tls = options(["https://127.0.0.1:1"]);
        with_tls.tls = Some(TlsOptions { ca: ca.into(), client, server_name: None });
        let error = refused(with_tls).await;
        assert!(matches!(error, ConnectError::InvalidCertificates { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn an_etcd_that_is_not_there_is_said_not_to_be() {
    let mut refusing = options(["http://127.0.0.1:1"]);
    refusing.connect_timeout = Duration::from_secs(1);
    let error = refused(refusing).await;
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("http://127.0.0.1:1"), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");

    let etcd = host::Etcd::start().await.unwrap();
    etcd.member(0).pause().unwrap();
    let mut silent = options(etcd.endpoints());
    silent.connect_timeout = Duration::from_secs(1);
    let error = refused(silent).await;
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn authentication_by_password() {
    let etcd = host::Etcd::options().flag("--auth-token-ttl=2").start().await.unwrap();
    etcd.enable_auth("bailiwick", "correct horse").await.unwrap();
    let with_user = |user: &str, password: &str| {
        let mut options = options(etcd.endpoints());
        options.credentials = Some(Credentials { user: user.to_owned(), password: Secret::new(password) });
        options
    };
    let store = Etcd::connect(with_user("bailiwick", "correct horse")).await.unwrap();
    let mut watch = Recorder::start(store.watch(&all(), store.revision().await.unwrap()).await.unwrap());
    let created = store.commit(Txn::new().create(key("a"), "1")).await.unwrap();

    // The token runs out, for requests and for watches alike.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(store.get(&key("a"), At::Latest).await.unwrap().record.is_some());
    let updated = store.commit(Txn::new().update(key("a"), "2", created)).await.unwrap();
    assert_eq!(watch.until(updated).await.len(), 2);
    let mut late = Recorder::start(store.watch(&all(), created).await.unwrap());
    assert_eq!(late.until(updated).await.len(), 1);
    // A change of anyone's rights makes the tokens that are out there old.
    etcd.etcdctl(["role", "add", "another"]).await.unwrap();
    assert!(store.get(&key("a"), At::Latest).await.is_ok());
    let mut later = Recorder::start(store.watch(&all(), created).await.unwrap());
    assert_eq!(later.until(updated).await.len(), 1);
    etcd.etcdctl(["role", "add", "yet-another"]).await.unwrap();
    store.commit(Txn::new().update(key("a"), "3", updated)).await.unwrap();

    for (options, text) in [
        (with_user("bailiwick", "wrong"), "invalid user ID or password"),
        (with_user("nobody", "correct horse"), "invalid user ID or password"),
        (options(etcd.endpoints()), "user name is empty"),
    ] {
        let error = refused(options).await;
        assert!(matches!(error, ConnectError::Unauthorized { .. }), "{error:?}");
        assert!(error.to_string().contains(text), "{error}");
        assert!(!format!("{error} {error:?}").contains("wrong\""), "{error:?}");
    }
    let credentials = Credentials { user: "u".to_owned(), password: Secret::new("swordfish") };
    assert!(!format!("{credentials:?}").contains("swordfish"));
}

#[tokio::test]
async fn a_user_without_rights_and_a_password_nobody_asks_for() {
    let etcd = host::Etcd::start().await.unwrap();
    let mut with_user = options(etcd.endpoints());
    with_user.credentials = Some(Credentials { user: "u".to_owned(), password: Secret::new("p") });
    let error = refused(with_user.clone()).await;
    assert!(error.to_string().contains("authentication is not enabled"), "{error}");

    etcd.etcdctl(["user", "add", "u:p"]).await.unwrap();
    etcd.enable_auth("root", "r").await.unwrap();
    let error = refused(with_user).await;
    assert!(error.to_string().contains("permission denied"), "{error}");
    assert!(error.to_string().contains("/bailiwick/"), "{error}");
}

#[tokio::test]
async fn what_is_not_our_store_is_not_opened() {
    let etcd = host::Etcd::start().await.unwrap();
    let first = store(&etcd).await;
    first.commit(Txn::new().create(key("a"), "1")).await.unwrap();

    let future = r#"{"format":2,"id":"6f2d7d0c-3c1c-4b0e-9a53-0d8d3c0f7f10","base":0}"#;
    etcd.etcdctl(["put", "/bailiwick/meta", future]).await.unwrap();
    let error = refused(options(etcd.endpoints())).await;
    assert!(matches!(error, ConnectError::OtherFormat { found: 2 }), "{error:?}");
    etcd.etcdctl(["put", "/bailiwick/meta", "something else"]).await.unwrap();
    let error = refused(options(etcd.endpoints())).await;
    assert!(matches!(error, ConnectError::UnreadableIdentity { .. }), "{error:?}");
    etcd.etcdctl(["del", "/bailiwick/meta"]).await.unwrap();
    let error = refused(options(etcd.endpoints())).await;
    assert!(matches!(error, ConnectError::NoIdentity { records: 1, .. }), "{error:?}");
    assert!(matches!(first.revision().await, Err(Error::Replaced { .. })));
}

#[tokio::test]
async fn replicas_that_make_the_store_together_agree() {
    let etcd = host::Etcd::start().await.unwrap();
    let opening = (0..8).map(|_| tokio::spawn(Etcd::connect(options(etcd.endpoints()))));
    let mut stores = Vec::new();
    for opening in opening.collect::<Vec<_>>() {
        stores.push(opening.await.unwrap().unwrap());
    }
    for (number, store) in stores.iter().enumerate() {
        store.commit(Txn::new().create(key(&format!("k{number}")), "v")).await.unwrap();
    }
}
