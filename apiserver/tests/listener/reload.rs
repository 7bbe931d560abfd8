//! certificates are replaced while connections are open.

use std::time::Duration;

use bailiwick_test_host::pki::{Authority, Identity};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};

use crate::client::{Dial, get, text};
use crate::server::{PATIENCE, Server, patient};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_serving_certificate_is_shown_to_new_connections() {
    let server = Server::start(patient()).await;
    let first = shown(&server).await;
    let (mut open, _connection) = server.http2().await;
    let next = server.authority.server("next", &[]).unwrap();
    server.rotate(&next);
    wait_for(&server, &next).await;
    assert_ne!(shown(&server).await, first);
    assert_eq!(text(open.send_request(get("/")).await).await, "HTTP/2.0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_serving_certificate_is_not_taken() {
    let server = Server::start(patient()).await;
    let first = shown(&server).await;
    let next = server.authority.server("next", &[]).unwrap();
    // Only half of the pair, then rubbish, then nothing at all.
    std::fs::write(server.file("tls.crt"), &next.certificate).unwrap();
    settle().await;
    assert_eq!(shown(&server).await, first);
    std::fs::write(server.file("tls.crt"), "rubbish").unwrap();
    settle().await;
    assert_eq!(shown(&server).await, first);
    std::fs::remove_file(server.file("tls.crt")).unwrap();
    settle().await;
    assert_eq!(shown(&server).await, first);
    // The key before the certificate: when the pair is whole, it is taken.
    std::fs::write(server.file("tls.key"), &next.key).unwrap();
    settle().await;
    assert_eq!(shown(&server).await, first);
    std::fs::write(server.file("tls.crt"), &next.certificate).unwrap();
    wait_for(&server, &next).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_client_authority_is_believed_and_the_old_one_no_longer() {
    let server = Server::start(patient()).await;
    let next = Authority::new("next").unwrap();
    let (old_client, new_client) = (server.clients.client("jane", &[]).unwrap(), next.client("jane", &[]).unwrap());
    assert!(believes(&server, &old_client) && !believes(&server, &new_client));
    let generation = server.tls.trust().generation;

    std::fs::write(server.file("client-ca.crt"), "rubbish").unwrap();
    settle().await;
    assert!(believes(&server, &old_client));
    assert_eq!(server.tls.trust().generation, generation);

    std::fs::write(server.file("client-ca.crt"), next.certificate()).unwrap();
    crate::server::eventually("the new authority", || believes(&server, &new_client)).await;
    assert!(!believes(&server, &old_client));
    assert_eq!(server.tls.trust().generation, generation + 1);
    let dial = Dial::http1();
    server.dial(&dial).await.unwrap();
    assert!(dial.shown.wanted.lock().unwrap()[0].windows(4).any(|part| part == b"next"));
}

/// Long enough for many looks at the files.
async fn settle() {
    tokio::time::sleep(10 * patient().certificate_poll).await;
}

async fn wait_for(server: &Server, identity: &Identity) {
    let expected = CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap();
    let waiting = async {
        while shown(server).await != expected {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the new certificate in time");
}

async fn shown(server: &Server) -> CertificateDer<'static> {
    let stream = server.dial(&Dial::http1()).await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0].clone()
}

fn believes(server: &Server, identity: &Identity) -> bool {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000));
    server.tls.trust().client_ca.as_ref().unwrap().verify(&[certificate], now).is_ok()
}
