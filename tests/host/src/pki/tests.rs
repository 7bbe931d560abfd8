use rcgen::PublicKeyData;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::UnixTime;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::server::WebPkiClientVerifier;

use super::*;

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// Whether a server that trusts `authority` accepts `certificate` from a client.
fn is_trusted(authority: &Authority, certificate: &str) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(der(&authority.certificate())).unwrap();
    let provider = tokio_rustls::rustls::crypto::aws_lc_rs::default_provider();
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.into()).build().unwrap();
    let day = UnixTime::since_unix_epoch(std::time::Duration::from_hours(24 * 365 * 60));
    verifier.verify_client_cert(&der(certificate), &[], day).is_ok()
}

#[test]
fn a_client_with_groups_is_signed_and_keeps_its_key() {
    let (authority, stranger) = (Authority::new("ours").unwrap(), Authority::new("theirs").unwrap());
    // Long enough for lengths of two bytes, which DER writes in another way.
    let groups: Vec<String> = (0..20).map(|index| format!("a group with the number {index}")).collect();
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    for groups in [&groups[..], &groups[..2], &groups[..1], &[]] {
        let client = authority.client("alice", groups).unwrap();
        assert!(is_trusted(&authority, &client.certificate), "{groups:?}");
        assert!(!is_trusted(&stranger, &client.certificate), "{groups:?}");
        let bytes = der(&client.certificate);
        let contains = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        assert!(groups.iter().chain(&["alice"]).all(|name| contains(name.as_bytes())), "{groups:?}");
        let key = KeyPair::from_pem(&client.key).unwrap();
        assert!(contains(&key.subject_public_key_info()), "{groups:?}");
    }
}
