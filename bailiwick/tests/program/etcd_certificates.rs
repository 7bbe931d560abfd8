//! An etcd that is reached over TLS, as an installation reaches its own, and certificates for it that are replaced while the server
//! runs.

use std::path::Path;
use std::time::Duration;

use bailiwick_test_host::pki::{Authority, Identity};
use bailiwick_test_host::{Etcd, Kubectl};
use tokio::time::{Instant, sleep};

use crate::process::{PATIENCE, Server, failure, folder, run};
use crate::support::host::done_soon;

const FILES: [&str; 3] = ["--etcd-cafile=ca.crt", "--etcd-certfile=tls.crt", "--etcd-keyfile=tls.key"];
/// Longer than files go unseen.
const A_LOOK: Duration = Duration::from_secs(3);

/// R-20, for etcd: its authority, its certificate and that of the server are replaced, by way of a time in which both authorities
/// are trusted. The server is not started again.
#[tokio::test]
async fn certificates_for_etcd_are_replaced_while_the_server_runs() {
    let etcd = Etcd::options().tls().start().await.unwrap();
    let (folder, old) = (folder(), etcd.tls().unwrap());
    let client =
        Identity { certificate: old.client_certificate.text().to_owned(), key: old.client_key.text().to_owned() };
    present(folder.path(), old.ca.text(), &client);
    let servers = format!("--etcd-servers={}", etcd.endpoints().join(","));
    let server = Server::start(folder.path(), &[&[servers.as_str()], &FILES[..]].concat()).await;
    assert!(!server.data.join("store").exists());
    let kubectl = server.kubectl().await;
    works_soon(&kubectl, "first").await;

    let authority = Authority::new("etcd, the second").unwrap();
    let both = format!("{}{}", old.ca.text(), authority.certificate());
    let (serving, client) = (authority.server("etcd", &[]).unwrap(), authority.client("client", &[]).unwrap());

    // What etcd does not let in yet is not used, and nothing is lost by trying. It is tried again.
    present(folder.path(), &both, &client);
    sleep(A_LOOK).await;
    works_soon(&kubectl, "early").await;
    old.replace(&serving, &both).unwrap();
    restart(&etcd).await;
    works_soon(&kubectl, "both").await;

    // A file that is away changes nothing.
    std::fs::remove_file(folder.path().join("tls.key")).unwrap();
    sleep(A_LOOK).await;
    works_soon(&kubectl, "away").await;

    // Whoever shows an old certificate is not let in any more.
    present(folder.path(), &authority.certificate(), &client);
    sleep(A_LOOK).await;
    old.replace(&serving, &authority.certificate()).unwrap();
    restart(&etcd).await;
    works_soon(&kubectl, "second").await;

    let log = server.stop_and_tell().await;
    assert!(log.contains("the new certificates for etcd are not used: the old ones stay"), "{log}");
    assert!(log.contains("cannot read tls.key: No such file"), "{log}");
    assert!(log.contains("certificates for etcd were replaced") && !log.contains("PRIVATE"), "{log}");
}

/// What is missing, or no PEM, is said at the start, by its name.
#[tokio::test]
async fn files_for_etcd_that_cannot_be_used_are_named() {
    let folder = folder();
    let authority = Authority::new("etcd").unwrap();
    present(folder.path(), &authority.certificate(), &authority.client("client", &[]).unwrap());
    std::fs::write(folder.path().join("bytes"), [0xff, 0xfe]).unwrap();
    std::fs::write(folder.path().join("rubbish"), "rubbish").unwrap();
    let [ca, certificate, key] = FILES;
    for (files, expected) in [
        ([ca, certificate, "--etcd-keyfile=missing"], "cannot read missing: No such file"),
        ([ca, "--etcd-certfile=missing", key], "cannot read missing: No such file"),
        (["--etcd-cafile=missing", certificate, key], "cannot read missing: No such file"),
        ([ca, certificate, "--etcd-keyfile=bytes"], "the key in bytes is not text: give a PEM file"),
        ([ca, certificate, "--etcd-keyfile=rubbish"], "the certificates for etcd cannot be used"),
    ] {
        let arguments = [&["--secure-port=0", "--etcd-servers=https://127.0.0.1:1"][..], &files].concat();
        let error = failure(&run(folder.path(), &arguments).await);
        assert!(error.contains(expected), "{files:?}: {error}");
    }
}

/// Puts the files into the folder, one after the other, as others do. The server may look in between.
fn present(folder: &Path, trusted: &str, client: &Identity) {
    for (name, text) in
        [("tls.crt", client.certificate.as_str()), ("tls.key", client.key.as_str()), ("ca.crt", trusted)]
    {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

async fn restart(etcd: &Etcd) {
    etcd.member(0).stop().await.unwrap();
    etcd.member(0).start().await.unwrap();
    etcd.wait_ready().await.unwrap();
}

/// Writes something, and reads it as it is in etcd, once both are possible.
async fn works_soon(kubectl: &Kubectl, name: &str) {
    let began = Instant::now();
    // Each time another one: what became of a write that failed may not be known.
    for number in 0.. {
        let object = format!("configmap {name}-{number} -n default");
        let made = kubectl.run(format!("create {object}").split(' ')).await.unwrap();
        if made.status.success() {
            done_soon(kubectl, &format!("get {object}")).await;
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{made:?}");
        sleep(Duration::from_millis(200)).await;
    }
}
