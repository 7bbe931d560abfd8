//! Whether something is a certificate and its key, in the words of Go's `crypto/tls`.
//!
//! What only Go's parser finds wrong inside a certificate or a key is not told: nobody is warned of what clients can use.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, PublicKeyData};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::SubjectPublicKeyInfo;

/// What a PEM block is called that holds a certificate.
const CERTIFICATE: &str = "CERTIFICATE";
const PRIVATE_KEY: &str = "PRIVATE KEY";

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// What everything that is written as DER begins with here.
const SEQUENCE: u8 = 0x30;

/// A block of PEM.
struct Block {
    label: String,
    bytes: Vec<u8>,
}

/// What to say of a certificate and a key that cannot be used together.
pub(super) fn pair_warning(certificate: &[u8], key: &[u8]) -> Option<String> {
    let certificate = match find(blocks(certificate), |label| label == CERTIFICATE) {
        Ok(der) => der,
        Err(found) => return Some(no_certificate(&found)),
    };
    let key = match find(blocks(key), |label| label == PRIVATE_KEY || label.ends_with(" PRIVATE KEY")) {
        Ok(der) => der,
        Err(found) => return Some(no_key(&found)),
    };
    unfit(&certificate, &key).map(str::to_owned)
}

/// The first block that is looked for, or what there is instead.
fn find(blocks: Vec<Block>, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<u8>, Vec<String>> {
    let mut others = Vec::new();
    for Block { label, bytes } in blocks {
        if is_wanted(&label) {
            return Ok(bytes);
        }
        others.push(label);
    }
    Err(others)
}

fn no_certificate(found: &[String]) -> String {
    match found {
        [] => "tls: failed to find any PEM data in certificate input".to_owned(),
        [only] if only.ends_with(PRIVATE_KEY) => "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched".to_owned(),
        found => format!("tls: failed to find \"{CERTIFICATE}\" PEM block in certificate input after skipping PEM blocks of the following types: [{}]", found.join(" ")),
    }
}

fn no_key(found: &[String]) -> String {
    match found {
        [] => "tls: failed to find any PEM data in key input".to_owned(),
        [only] if only == CERTIFICATE => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        found => format!(
            "tls: failed to find PEM block with type ending in \"{PRIVATE_KEY}\" in key input after skipping PEM blocks of the following types: [{}]",
            found.join(" ")
        ),
    }
}

/// What keeps a key from being that of a certificate.
fn unfit(certificate: &[u8], key: &[u8]) -> Option<&'static str> {
    if certificate.first() != Some(&SEQUENCE) {
        return Some("x509: malformed certificate");
    }
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    if key.first() != Some(&SEQUENCE) {
        return Some("tls: failed to parse private key");
    }
    let key = KeyPair::try_from(key).ok()?;
    let own = key.subject_public_key_info();
    let (_, own) = SubjectPublicKeyInfo::from_der(&own).ok()?;
    let public = certificate.public_key();
    if own.algorithm.algorithm != public.algorithm.algorithm {
        return Some("tls: private key type does not match public key type");
    }
    (own.subject_public_key != public.subject_public_key).then_some("tls: private key does not match public key")
}

/// All blocks that begin and end, and have bytes in between.
fn blocks(pem: &[u8]) -> Vec<Block> {
    let text = String::from_utf8_lossy(pem);
    let mut blocks = Vec::new();
    let mut open: Option<(&str, String)> = None;
    for line in text.lines().map(str::trim_end) {
        let named = |prefix: &str| line.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(DASHES));
        if let Some(begun) = named(BEGIN) {
            open = Some((begun, String::new()));
        } else if let Some(ended) = named(END) {
            let closed = open.take().filter(|(begun, _)| *begun == ended);
            let bytes = closed.and_then(|(_, base64)| STANDARD.decode(base64).ok());
            blocks.extend(bytes.map(|bytes| Block { label: ended.to_owned(), bytes }));
        } else if let Some((_, base64)) = open.as_mut().filter(|_| !line.contains(':')) {
            // Headers are no part of what is in a block.
            base64.push_str(line);
        }
    }
    blocks
}

#[cfg(test)]
mod tests;
