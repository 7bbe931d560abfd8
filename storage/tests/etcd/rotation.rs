//! Certificates that are replaced while the store is in use.

use bailiwick_storage::etcd::{ClientCertificate, ConnectError, Etcd, Secret, TlsOptions};
use bailiwick_storage::{Revision, Store, Txn};
use bailiwick_test_host as host;
use host::pki::{Authority, Identity};

use crate::support::{Recorder, all, key, options};

fn tls(trusted: &str, client: &Identity) -> TlsOptions {
    let client = ClientCertificate { certificate: client.certificate.clone().into(), key: Secret::new(&client.key) };
    TlsOptions { ca: trusted.into(), client: Some(client), server_name: None }
}

async fn restart(etcd: &host::Etcd) {
    etcd.member(0).stop().await.unwrap();
    etcd.member(0).start().await.unwrap();
    etcd.wait_ready().await.unwrap();
}

/// R-20, for etcd: its authority and all certificates are replaced, as they are in production, by way of a time in which both
/// are trusted.
#[tokio::test]
async fn certificates_are_replaced_while_the_store_is_in_use() {
    let etcd = host::Etcd::options().tls().start().await.unwrap();
    let files = etcd.tls().unwrap();
    let old_client =
        Identity { certificate: files.client_certificate.text().to_owned(), key: files.client_key.text().to_owned() };
    let old = tls(files.ca.text(), &old_client);
    let mut old_options = options(etcd.endpoints());
    old_options.tls = Some(old.clone());
    let store = Etcd::connect(old_options.clone()).await.unwrap();
    let mut watch = Recorder::start(store.watch(&all(), Revision::ZERO).await.unwrap());
    store.commit(Txn::new().create(key("a"), "1")).await.unwrap();

    let authority = Authority::new("etcd, the second").unwrap();
    let both = format!("{}{}", files.ca.text(), authority.certificate());
    let (server, client) = (authority.server("etcd", &[]).unwrap(), authority.client("client", &[]).unwrap());

    // What etcd does not let in yet is not used, and nothing is lost by trying.
    let error = store.set_tls(tls(&both, &client)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Tls { .. }), "{error:?}");
    let unusable = TlsOptions { ca: b"no certificate".to_vec(), ..old };
    let error = store.set_tls(unusable).await.unwrap_err();
    assert!(matches!(error, ConnectError::InvalidCertificates { .. }), "{error:?}");
    store.commit(Txn::new().create(key("b"), "2")).await.unwrap();

    files.replace(&server, &both).unwrap();
    restart(&etcd).await;
    store.set_tls(tls(&both, &client)).await.unwrap();
    store.commit(Txn::new().create(key("c"), "3")).await.unwrap();

    files.replace(&server, &authority.certificate()).unwrap();
    restart(&etcd).await;
    let last = store.commit(Txn::new().create(key("d"), "4")).await.unwrap();
    assert_eq!(watch.until(last).await.len(), 4);
    let Err(error) = Etcd::connect(old_options).await else { panic!("who has the old certificates is let in") };
    assert!(matches!(error, ConnectError::Tls { .. }), "{error:?}");
}
