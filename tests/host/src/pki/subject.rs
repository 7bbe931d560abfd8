//! Certificates whose subject has several organizations, which is how Kubernetes' certificates name several groups.
//!
//! rcgen keeps one value per attribute. So its certificate is taken apart, gets another subject, and is signed again. Nothing here
//! reads certificates of others.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::KeyPair;
use rcgen::SigningKey;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::error::Error;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const BIT_STRING: u8 = 0x03;
const UTF8_STRING: u8 = 0x0c;
/// 2.5.4.3, with its tag and length.
const COMMON_NAME: [u8; 5] = [0x06, 3, 0x55, 4, 3];
/// 2.5.4.10, with its tag and length.
const ORGANIZATION: [u8; 5] = [0x06, 3, 0x55, 4, 10];

/// The subject's place among a certificate's fields, after version, serial number, algorithm, issuer and validity.
const SUBJECT: usize = 5;

/// The characters of a line of PEM.
const PEM_LINE: usize = 64;

/// `certificate` with another subject, signed with `issuer_key` as before. PEM, both.
pub(super) fn replace(
    certificate: &str,
    common_name: &str,
    organizations: &[&str],
    issuer_key: &KeyPair,
) -> Result<String, Error> {
    let der = CertificateDer::from_pem_slice(certificate.as_bytes())?;
    let parts = children(&der);
    let (fields, algorithm) = (children(parts[0]), parts[1]);

    let names = organizations.iter().map(|name| (ORGANIZATION, *name)).chain([(COMMON_NAME, common_name)]);
    let names: Vec<u8> = names.flat_map(|(attribute, value)| attribute_set(attribute, value)).collect();
    let subject = element(SEQUENCE, &[&names]);

    let mut fields = fields;
    fields[SUBJECT] = &subject;
    let signed = element(SEQUENCE, &fields);
    // A bit string begins with the number of bits it does not use.
    let signature = element(BIT_STRING, &[&[0], &issuer_key.sign(&signed)?]);
    Ok(pem(&element(SEQUENCE, &[&signed, algorithm, &signature])))
}

fn attribute_set(attribute: [u8; 5], value: &str) -> Vec<u8> {
    let value = element(UTF8_STRING, &[value.as_bytes()]);
    element(SET, &[&element(SEQUENCE, &[&attribute, &value])])
}

/// One element of DER.
fn element(tag: u8, contents: &[&[u8]]) -> Vec<u8> {
    let content = contents.concat();
    let length = content.len().to_be_bytes();
    let length = &length[length.iter().position(|byte| *byte != 0).unwrap_or(length.len() - 1)..];
    let mut bytes = vec![tag];
    if content.len() >= 0x80 {
        bytes.push(0x80 | u8::try_from(length.len()).expect("at most 8"));
    }
    bytes.extend_from_slice(length);
    bytes.extend(content);
    bytes
}

/// The elements inside an element of well-formed DER, whole.
fn children(element: &[u8]) -> Vec<&[u8]> {
    let (start, end) = content(element);
    let mut rest = &element[start..end];
    let mut children = Vec::new();
    while !rest.is_empty() {
        let (child, after) = rest.split_at(content(rest).1);
        children.push(child);
        rest = after;
    }
    children
}

/// Where the content of the first element begins and ends.
fn content(bytes: &[u8]) -> (usize, usize) {
    let first = usize::from(bytes[1]);
    if first < 0x80 {
        return (2, 2 + first);
    }
    let start = 2 + (first & 0x7f);
    let length = bytes[2..start].iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    (start, start + length)
}

fn pem(der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(PEM_LINE).map(|line| str::from_utf8(line).expect("base64 is ASCII")).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}
