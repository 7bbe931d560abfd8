use super::*;

use rcgen::{CertificateParams, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256};

fn block(label: &str, bytes: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(bytes))
}

fn check(certificate: &str, key: &str, expected: &str) {
    let warning = pair_warning(certificate.as_bytes(), key.as_bytes()).unwrap_or_default();
    assert!(warning.contains(expected) && warning.is_empty() == expected.is_empty(), "{certificate} {key}: {warning}");
}

fn pair(key: &KeyPair) -> (String, String) {
    let certificate = CertificateParams::new(vec!["example.com".to_owned()]).unwrap().self_signed(key).unwrap();
    (block(CERTIFICATE, certificate.der()), block(PRIVATE_KEY, &key.serialize_der()))
}

#[test]
fn what_is_no_certificate_or_no_key_is_warned_of() {
    let (certificate, key) = pair(&KeyPair::generate().unwrap());
    let other = block("X", &[1]);
    check(&certificate, &key, "");
    check(&format!("{other}{certificate}"), &format!("{other}{key}"), "");
    check("", &key, "failed to find any PEM data in certificate input");
    check("-----BEGIN CERTIFICATE-----\nAQ==\n", &key, "failed to find any PEM data in certificate input");
    check(&key, &certificate, "but did find a private key; PEM inputs may have been switched");
    check(&other, &key, "after skipping PEM blocks of the following types: [X]");
    check(&certificate, "", "failed to find any PEM data in key input");
    check(&certificate, &certificate, "found a certificate rather than a key");
    check(
        &certificate,
        &other,
        "type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the following",
    );
    check(&block(CERTIFICATE, &[1]), &key, "x509: malformed certificate");
    check(&certificate, &block(PRIVATE_KEY, &[1]), "tls: failed to parse private key");
}

#[test]
fn a_key_that_does_not_fit_its_certificate_is_warned_of() {
    let [one, other, large, edwards, rsa] = [
        KeyPair::generate(),
        KeyPair::generate(),
        KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384),
        KeyPair::generate_for(&PKCS_ED25519),
        KeyPair::generate_for(&PKCS_RSA_SHA256),
    ]
    .map(|key| pair(&key.unwrap()));
    for (certificate, key) in [&one, &other, &large, &edwards, &rsa] {
        check(certificate, key, "");
    }
    let (other_key, other_type) = ("private key does not match public key", "key type does not match public key type");
    check(&one.0, &other.1, other_key);
    check(&one.0, &large.1, other_key);
    check(&one.0, &rsa.1, other_type);
    check(&rsa.0, &edwards.1, other_type);
}
