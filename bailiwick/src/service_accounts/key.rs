//! Keys as JSON Web Tokens have them: RSA, and the elliptic curves P-256 and P-384.

use bailiwick_apiserver::TokenSigner;
use bailiwick_registry::kinds::TokenIssueError;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{KeyPair, PublicKeyData, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use x509_parser::pem::Pem;
use x509_parser::prelude::{FromDer, SubjectPublicKeyInfo};
use x509_parser::public_key::PublicKey as Parsed;

/// Why something is no key for tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("it holds no private key, PEM")]
    Private,
    #[error("it holds no key, PEM: neither a public one nor a private one")]
    None,
    #[error("its key is of another kind than RSA or an elliptic curve P-256 or P-384")]
    Kind,
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicKey {
    id: String,
    numbers: Numbers,
}

/// What a key consists of, in base64.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Numbers {
    Rsa { modulus: String, exponent: String },
    Curve { curve: Curve, x: String, y: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Curve {
    P256,
    P384,
}

/// A private key.
pub(super) struct Signer {
    key: KeyPair,
    public: PublicKey,
}

// === impl PublicKey ===

impl PublicKey {
    /// All keys of a file, of which private ones stand for their public ones.
    pub(super) fn read_all(pem: &str) -> Result<Vec<Self>, KeyError> {
        let mut keys = Vec::new();
        for block in Pem::iter_from_buffer(pem.as_bytes()).flatten() {
            match block.label.as_str() {
                "PUBLIC KEY" => keys.push(Self::read(&block.contents)?),
                label if label.ends_with("PRIVATE KEY") => {
                    let key = KeyPair::try_from(block.contents.as_slice()).map_err(|_| KeyError::Private)?;
                    keys.push(Self::read(&key.subject_public_key_info())?);
                }
                _ => {}
            }
        }
        if keys.is_empty() { Err(KeyError::None) } else { Ok(keys) }
    }

    fn read(der: &[u8]) -> Result<Self, KeyError> {
        let (_, info) = SubjectPublicKeyInfo::from_der(der).map_err(|_| KeyError::Kind)?;
        let numbers = match info.parsed() {
            Ok(Parsed::RSA(key)) => Numbers::Rsa { modulus: number(key.modulus), exponent: number(key.exponent) },
            Ok(Parsed::EC(point)) => {
                let (curve, point) = match (point.data().len(), point.data().split_first()) {
                    (65, Some((4, point))) => (Curve::P256, point),
                    (97, Some((4, point))) => (Curve::P384, point),
                    _ => return Err(KeyError::Kind),
                };
                let (x, y) = point.split_at(point.len() / 2);
                Numbers::Curve { curve, x: URL_SAFE_NO_PAD.encode(x), y: URL_SAFE_NO_PAD.encode(y) }
            }
            _ => return Err(KeyError::Kind),
        };
        // As Kubernetes derives it, so that a key keeps its name when it moves between servers.
        Ok(Self { id: URL_SAFE_NO_PAD.encode(Sha256::digest(der)), numbers })
    }

    /// Its name.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn algorithm(&self) -> &'static str {
        match self.numbers {
            Numbers::Rsa { .. } => "RS256",
            Numbers::Curve { curve: Curve::P256, .. } => "ES256",
            Numbers::Curve { curve: Curve::P384, .. } => "ES384",
        }
    }

    /// As a JSON Web Key.
    pub(super) fn to_json(&self) -> Value {
        let (id, algorithm) = (&self.id, self.algorithm());
        match &self.numbers {
            Numbers::Rsa { modulus, exponent } => {
                json!({"use": "sig", "kty": "RSA", "kid": id, "alg": algorithm, "n": modulus, "e": exponent})
            }
            Numbers::Curve { curve, x, y } => {
                let curve = match curve {
                    Curve::P256 => "P-256",
                    Curve::P384 => "P-384",
                };
                json!({"use": "sig", "kty": "EC", "kid": id, "crv": curve, "alg": algorithm, "x": x, "y": y})
            }
        }
    }
}

/// A number without the zero that says that it is positive.
fn number(bytes: &[u8]) -> String {
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    URL_SAFE_NO_PAD.encode(bytes.get(first..).unwrap_or_default())
}

// === impl Signer ===

impl Signer {
    pub(super) fn read(pem: &str) -> Result<Self, KeyError> {
        let key = KeyPair::from_pem(pem).map_err(|_| KeyError::Private)?;
        let public = PublicKey::read(&key.subject_public_key_info())?;
        Ok(Self { key, public })
    }

    pub(super) fn public(&self) -> &PublicKey {
        &self.public
    }
}

impl TokenSigner for Signer {
    fn algorithm(&self) -> &str {
        self.public.algorithm()
    }

    fn key_id(&self) -> &str {
        &self.public.id
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, TokenIssueError> {
        let signature = self.key.sign(message).map_err(|error| TokenIssueError(error.to_string()))?;
        let width = match self.public.numbers {
            Numbers::Rsa { .. } => return Ok(signature),
            Numbers::Curve { curve: Curve::P256, .. } => 32,
            Numbers::Curve { curve: Curve::P384, .. } => 48,
        };
        two_numbers(&signature, width).ok_or_else(|| TokenIssueError("its signature has an unknown form".to_owned()))
    }
}

/// Tokens have the two numbers of a signature side by side, certificates have them as a list: `30 len 02 len r 02 len s`.
fn two_numbers(list: &[u8], width: usize) -> Option<Vec<u8>> {
    let [0x30, length, rest @ ..] = list else { return None };
    if usize::from(*length) != rest.len() {
        return None;
    }
    let mut signature = Vec::with_capacity(2 * width);
    let mut rest = rest;
    for _ in 0..2 {
        let [0x02, length, more @ ..] = rest else { return None };
        let (number, more) = more.split_at_checked(usize::from(*length))?;
        let number = number.strip_prefix(&[0]).unwrap_or(number);
        signature.resize(signature.len() + width.checked_sub(number.len())?, 0);
        signature.extend_from_slice(number);
        rest = more;
    }
    rest.is_empty().then_some(signature)
}
