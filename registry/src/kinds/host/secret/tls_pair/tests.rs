use super::*;

fn block(label: &str) -> String {
    format!("-----BEGIN {label}-----\nAQ==\n-----END {label}-----\n")
}

fn check(certificate: &str, key: &str, expected: &str) {
    let warning = pair_warning(certificate.as_bytes(), key.as_bytes()).unwrap_or_default();
    assert!(warning.contains(expected) && warning.is_empty() == expected.is_empty(), "{certificate} {key}: {warning}");
}

#[test]
fn what_is_no_certificate_or_no_key_is_warned_of() {
    let (certificate, key, other) = (block("CERTIFICATE"), block("EC PRIVATE KEY"), block("X"));
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
}
