//! The keys that an issuer publishes.
//!
//! A key is good for the algorithms of its own type, and if it names one, for that alone. Symmetric keys are no keys here.

use bailiwick_machinery::decode::from_json;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::{Map, Value};

use super::algorithm;
use super::compact::Compact;

/// The most keys that are taken from an issuer. Those in use publish fewer than ten; each may have to be tried.
const MAX_KEYS: usize = 100;

/// Keys to verify tokens with.
#[derive(Clone, Debug, Default)]
pub struct KeySet(Vec<Key>);

/// Why something is no set of keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySetError {
    /// It is not even JSON, or has no list of keys.
    #[error("it is no JSON Web Key Set: it must be a JSON object with a list \"keys\"")]
    Form,
    /// Nobody has so many.
    #[error("it has more than {MAX_KEYS} keys")]
    TooMany,
}

/// How the keys are related to a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// One of them signed it.
    Signed,
    /// The one it names did not sign it.
    Forged,
    /// None of them has the name it gives, or signed it if it gives none.
    Unknown,
}

#[derive(Clone, Debug)]
struct Key {
    id: String,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

// === impl KeySet ===

impl KeySet {
    /// Reads a JSON Web Key Set. Keys that cannot verify tokens are passed over.
    pub fn from_json(json: &[u8]) -> Result<Self, KeySetError> {
        let value = from_json(json).map_err(|_| KeySetError::Form)?.value;
        let keys = value.get("keys").and_then(Value::as_array).ok_or(KeySetError::Form)?;
        if keys.len() > MAX_KEYS {
            return Err(KeySetError::TooMany);
        }
        Ok(Self(keys.iter().filter_map(|key| Key::read(key.as_object()?)).collect()))
    }

    /// How many keys can be used.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn check(&self, token: &Compact<'_>) -> Match {
        let named = |key: &&Key| token.key_id.as_ref().is_none_or(|id| key.id == *id);
        let mut candidates = self.0.iter().filter(named).peekable();
        let is_known = token.key_id.is_some() && candidates.peek().is_some();
        if candidates.any(|key| key.signed(token)) {
            return Match::Signed;
        }
        if is_known { Match::Forged } else { Match::Unknown }
    }
}

// === impl Key ===

impl Key {
    fn read(key: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        if key.get("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        if let Some(operations) = key.get("key_ops")
            && !operations.as_array()?.iter().any(|operation| operation == "verify")
        {
            return None;
        }
        let (mut algorithms, decoding) = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"].map(algorithm::find);
                (algorithms.into_iter().flatten().collect(), DecodingKey::from_rsa_components(text("n")?, text("e")?))
            }
            ("EC", Some("P-256")) => (vec![Algorithm::ES256], DecodingKey::from_ec_components(text("x")?, text("y")?)),
            ("EC", Some("P-384")) => (vec![Algorithm::ES384], DecodingKey::from_ec_components(text("x")?, text("y")?)),
            _ => return None,
        };
        if let Some(only) = key.get("alg") {
            let only = only.as_str().and_then(algorithm::find)?;
            algorithms.retain(|algorithm: &Algorithm| *algorithm == only);
        }
        let id = text("kid").unwrap_or_default().to_owned();
        Some(Self { id, algorithms, key: decoding.ok()? })
    }

    fn signed(&self, token: &Compact<'_>) -> bool {
        self.algorithms.contains(&token.algorithm)
            && jsonwebtoken::crypto::verify(token.signature, token.message.as_bytes(), &self.key, token.algorithm)
                .unwrap_or(false)
    }
}
