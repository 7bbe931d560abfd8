use bailiwick_apiserver::CaPool;
use tempfile::TempDir;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};

use super::*;

fn day(number: i64) -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH + Duration::days(20_000 + number)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// What is made when a server starts on this day, for these names.
fn start(folder: &TempDir, on: i64, for_names: &[&str]) -> Result<Vec<&'static str>, PkiError> {
    let mut pki = Pki::open(folder.path().join("pki"), day(on))?;
    pki.serving(&names(for_names))?;
    pki.admin()?;
    Ok(pki.made().to_vec())
}

#[test]
fn certificates_are_made_once_and_again_when_they_run_out() {
    let folder = TempDir::new().unwrap();
    let (authority, serving, admin) =
        ("a certificate authority", "a serving certificate", "an administrator's certificate");
    let localhost = &["localhost", "127.0.0.1", "::1"];
    assert_eq!(start(&folder, 0, localhost).unwrap(), [authority, serving, admin]);
    assert!(start(&folder, 0, localhost).unwrap().is_empty());
    assert!(start(&folder, 334, localhost).unwrap().is_empty());
    assert_eq!(start(&folder, 336, localhost).unwrap(), [serving, admin]);
    // Names in another order are the same names; another name is not.
    assert!(start(&folder, 337, &["::1", "localhost", "127.0.0.1"]).unwrap().is_empty());
    assert_eq!(start(&folder, 337, &["::1", "localhost"]).unwrap(), [serving]);
}

#[test]
fn half_a_pair_is_made_again() {
    let folder = TempDir::new().unwrap();
    start(&folder, 0, &["localhost"]).unwrap();
    std::fs::remove_file(folder.path().join("pki/admin.key")).unwrap();
    std::fs::write(folder.path().join("pki/serving.key"), "rubbish").unwrap();
    let made = start(&folder, 0, &["localhost"]).unwrap();
    assert_eq!(made, ["a serving certificate", "an administrator's certificate"]);
}

#[test]
fn another_authority_signs_everything_again() {
    let (folder, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    start(&folder, 0, &["localhost"]).unwrap();
    start(&other, 0, &["localhost"]).unwrap();
    for file in ["ca.crt", "ca.key"] {
        std::fs::copy(other.path().join("pki").join(file), folder.path().join("pki").join(file)).unwrap();
    }
    assert_eq!(start(&folder, 0, &["localhost"]).unwrap().len(), 2);
}

#[test]
fn an_authority_that_cannot_sign_is_an_error_and_stays() {
    let folder = TempDir::new().unwrap();
    start(&folder, 0, &["localhost"]).unwrap();
    let expired = start(&folder, 10 * 365 + 1, &["localhost"]).unwrap_err().to_string();
    assert!(expired.contains("it has expired; remove the folder"), "{expired}");
    let key = folder.path().join("pki/ca.key");
    std::fs::copy(folder.path().join("pki/admin.key"), &key).unwrap();
    let mixed = start(&folder, 0, &["localhost"]).unwrap_err().to_string();
    assert!(mixed.contains("its key belongs to another certificate"), "{mixed}");
}

#[test]
fn the_administrator_is_a_master() {
    let folder = TempDir::new().unwrap();
    let mut pki = Pki::open(folder.path().join("pki"), day(0)).unwrap();
    let admin = CertificateDer::from_pem_slice(pki.admin().unwrap().certificate.as_bytes()).unwrap();
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(day(1).unix_timestamp() as u64));
    let found = CaPool::from_pem(pki.authority().as_bytes()).unwrap().verify(&[admin], now).unwrap();
    assert_eq!((found.common_name.as_str(), found.organizations), ("admin", names(&["system:masters"])));
    assert_eq!(found.not_after, day(365).unix_timestamp());
}
