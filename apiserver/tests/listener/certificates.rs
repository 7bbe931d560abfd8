//! Clients' certificates: who may show them, and which pool believes them.

use std::time::Duration;

use bailiwick_apiserver::{CaPool, CaPoolError, CertificateError};
use bailiwick_test_host::pki::{Authority, Identity};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};

use crate::client::{Dial, get, http1_on, text};
use crate::server::{Server, patient};

const DAY: u64 = 24 * 60 * 60;
/// A day in 2027.
const NOW: u64 = 1_800_000_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_arrives_whoever_signed_it() {
    let server = Server::start(patient()).await;
    let known = server.clients.client("jane", &["devs", "ops"]).unwrap();
    let unknown = Authority::new("unknown").unwrap().client("jane", &[]).unwrap();
    for (dial, expected) in [
        (Dial::http1(), "0"),
        (Dial::http1().showing(&known), "1"),
        (Dial::http1().showing(&unknown), "1"),
        (Dial::http1().tls12().showing(&known), "1"),
    ] {
        let (mut requests, _connection) = http1_on(server.dial(&dial).await.unwrap()).await;
        assert_eq!(text(requests.send_request(get("/certificates")).await).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_without_its_key_ends_the_handshake() {
    let server = Server::start(patient()).await;
    let victim = server.clients.client("jane", &[]).unwrap();
    let thief = server.clients.client("mallory", &[]).unwrap();
    for dial in [Dial::http1(), Dial::http1().tls12()] {
        let dial = dial.showing_with_key(&victim, &thief.key);
        // In TLS 1.3 a client hears of it only with the first answer.
        if let Ok(stream) = server.dial(&dial).await {
            let (mut requests, _connection) = http1_on(stream).await;
            assert!(requests.send_request(get("/certificates")).await.is_err());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_names_of_the_authorities_are_sent() {
    let server = Server::start(patient()).await;
    let dial = Dial::http1();
    server.dial(&dial).await.unwrap();
    let wanted = dial.shown.wanted.lock().unwrap().clone();
    let [name] = &wanted[..] else { panic!("one authority, not {wanted:?}") };
    assert!(name.windows(7).any(|part| part == b"clients"), "{name:02x?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn findings_last_as_long_as_the_connection() {
    let server = Server::start(patient()).await;
    for _ in 0..2 {
        let (mut requests, _connection) = server.http1().await;
        assert_eq!(text(requests.send_request(get("/count")).await).await, "0");
        // The answer is here before the connection takes the next request.
        requests.ready().await.unwrap();
        assert_eq!(text(requests.send_request(get("/count")).await).await, "1");
    }
}

#[test]
fn a_pool_says_whom_a_certificate_names() {
    let authority = Authority::new("clients").unwrap();
    let found = pool(&authority).verify(&chain(&authority.client("jane", &["devs", "ops"]).unwrap()), now()).unwrap();
    assert_eq!(found.common_name, "jane");
    assert_eq!(found.organizations, ["devs", "ops"]);
    assert_eq!(found.uid, None);
    assert!(found.not_after > NOW as i64);
}

/// S-02: what one pool believes, the other does not.
#[test]
fn pools_are_separate() {
    let (clients, proxies) = (Authority::new("same name").unwrap(), Authority::new("same name").unwrap());
    let (jane, proxy) = (clients.client("jane", &[]).unwrap(), proxies.client("front-proxy", &[]).unwrap());
    pool(&clients).verify(&chain(&jane), now()).unwrap();
    pool(&proxies).verify(&chain(&proxy), now()).unwrap();
    let refused = |pool: CaPool, identity| pool.verify(&chain(identity), now()).unwrap_err();
    assert!(matches!(refused(pool(&clients), &proxy), CertificateError::Untrusted(_)));
    assert!(matches!(refused(pool(&proxies), &jane), CertificateError::Untrusted(_)));
    assert_eq!(pool(&clients).verify(&[], now()), Err(CertificateError::Absent));
}

#[test]
fn several_authorities_in_one_file_are_one_pool() {
    let (old, new) = (Authority::new("old").unwrap(), Authority::new("new").unwrap());
    let both = CaPool::from_pem(format!("{}{}", old.certificate(), new.certificate()).as_bytes()).unwrap();
    for authority in [old, new] {
        both.verify(&chain(&authority.client("jane", &[]).unwrap()), now()).unwrap();
    }
    assert_eq!(format!("{both:?}"), "CaPool { authorities: 2 }");
}

#[test]
fn a_certificate_counts_only_in_its_time_for_its_purpose_and_with_a_name() {
    let made = Made::new(|_| {});
    made.verify(|_| {}, NOW).unwrap();
    let untrusted = |outcome| matches!(outcome, Err(CertificateError::Untrusted(_)));
    assert!(untrusted(made.verify(|_| {}, NOW + 2 * DAY)), "too late");
    assert!(untrusted(made.verify(|_| {}, NOW - 2 * DAY)), "too early");
    let for_servers = |params: &mut CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    };
    assert!(untrusted(made.verify(for_servers, NOW)), "for servers");
    let nameless = |params: &mut CertificateParams| params.distinguished_name = rcgen::DistinguishedName::new();
    assert_eq!(made.verify(nameless, NOW), Err(CertificateError::Nameless));
    let empty = |params: &mut CertificateParams| params.distinguished_name.push(DnType::CommonName, "");
    assert_eq!(made.verify(empty, NOW), Err(CertificateError::Nameless));
    let with_uid = |params: &mut CertificateParams| {
        params.distinguished_name.push(DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]), "0815");
    };
    assert_eq!(made.verify(with_uid, NOW).unwrap().uid.as_deref(), Some("0815"));
}

#[test]
fn an_authority_that_expired_vouches_for_nobody() {
    let made = Made::new(|params| params.not_after = time(NOW - DAY / 2));
    assert!(matches!(made.verify(|_| {}, NOW), Err(CertificateError::Untrusted(_))));
    made.verify(|_| {}, NOW - DAY * 3 / 4).unwrap();
}

/// what a certificate says holds as long as all who vouch for it, also on connections that last longer.
#[test]
fn a_certificate_counts_no_longer_than_its_authorities() {
    let long = |params: &mut CertificateParams| params.not_after = time(NOW + 9 * DAY);
    let until = |found: bailiwick_apiserver::ClientCertificate| found.not_after as u64;
    assert_eq!(until(Made::new(long).verify(|_| {}, NOW).unwrap()), NOW + DAY, "its own end");
    assert_eq!(until(Made::new(|_| {}).verify(long, NOW).unwrap()), NOW + DAY, "its authority's");

    let (other, one) = (Made::new(long), Made::new(|_| {}));
    let both = CaPool::from_pem(format!("{}{}", other.issuer.pem(), one.issuer.pem()).as_bytes()).unwrap();
    let mut params = leaf_params();
    long(&mut params);
    let leaf = params.signed_by(&KeyPair::generate().unwrap(), &one.issuer).unwrap();
    assert_eq!(until(both.verify(&[leaf.der().clone()], now()).unwrap()), NOW + DAY, "not that of another authority");

    let root = Made::new(long);
    let mut params = authority_params();
    params.distinguished_name.push(DnType::CommonName, "between");
    params.not_after = time(NOW + 2 * DAY);
    let between = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &root.issuer).unwrap();
    let mut params = leaf_params();
    long(&mut params);
    let leaf = params.signed_by(&KeyPair::generate().unwrap(), &between).unwrap();
    let pool = CaPool::from_pem(root.issuer.pem().as_bytes()).unwrap();
    let found = pool.verify(&[leaf.der().clone(), between.der().clone()], now()).unwrap();
    assert_eq!(until(found), NOW + 2 * DAY, "that of one in between");
}

#[test]
fn what_is_no_authority_makes_no_pool() {
    let leaf = Authority::new("clients").unwrap().client("jane", &[]).unwrap();
    assert!(matches!(CaPool::from_pem(leaf.certificate.as_bytes()), Err(CaPoolError::Authority { number: 1, .. })));
    assert!(matches!(CaPool::from_pem(b"# nothing\n"), Err(CaPoolError::Empty)));
    let cut = &Authority::new("clients").unwrap().certificate()[..200];
    assert!(matches!(CaPool::from_pem(cut.as_bytes()), Err(CaPoolError::Pem(_))));
}

/// An authority with dates of its own.
struct Made {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Made {
    fn new(change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut params = authority_params();
        change(&mut params);
        Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    fn verify(
        &self,
        change: impl FnOnce(&mut CertificateParams),
        at: u64,
    ) -> Result<bailiwick_apiserver::ClientCertificate, CertificateError> {
        let mut params = leaf_params();
        change(&mut params);
        let certificate = params.signed_by(&KeyPair::generate().unwrap(), &self.issuer).unwrap();
        let pool = CaPool::from_pem(self.issuer.pem().as_bytes()).unwrap();
        pool.verify(&[certificate.der().clone()], UnixTime::since_unix_epoch(Duration::from_secs(at)))
    }
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.not_before, params.not_after) = (time(NOW - DAY), time(NOW + DAY));
    params
}

/// The certificate of a client.
fn leaf_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "jane");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    (params.not_before, params.not_after) = (time(NOW - DAY), time(NOW + DAY));
    params
}

fn time(seconds: u64) -> time::OffsetDateTime {
    time::OffsetDateTime::from_unix_timestamp(seconds as i64).unwrap()
}

fn pool(authority: &Authority) -> CaPool {
    CaPool::from_pem(authority.certificate().as_bytes()).unwrap()
}

fn chain(identity: &Identity) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).map(Result::unwrap).collect()
}

fn now() -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(NOW))
}
