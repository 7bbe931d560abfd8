//! The form of a token: three parts in base64, and a header that says how the third signs the others.
//!
//! Other readers accept more than one writing of the same token: padding, unused bits, spaces, a key given twice. Here
//! there is one.

use bailiwick_machinery::decode::from_json;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use serde_json::{Map, Value};

use super::algorithm::Algorithms;
use crate::authentication::token::MAX_TOKEN_BYTES;

/// The types that a token may say it is of. Others are signed by the same issuers and are no credentials: logout tokens,
/// security events, proofs of possession.
const TYPES: [&str; 2] = ["jwt", "at+jwt"];
/// The longest name of a key.
const MAX_KEY_ID_BYTES: usize = 1_024;

/// A token that is well-formed. Nothing has been verified.
#[derive(Debug)]
pub(super) struct Compact<'t> {
    pub(super) algorithm: Algorithm,
    /// The key that signed it, if it says so.
    pub(super) key_id: Option<String>,
    /// What is signed.
    pub(super) message: &'t str,
    /// In base64.
    pub(super) signature: &'t str,
    /// JSON.
    pub(super) payload: Vec<u8>,
}

/// Why a token is not well-formed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CompactError {
    #[error("the token is longer than {MAX_TOKEN_BYTES} bytes")]
    TooLong,
    #[error("malformed jwt: it must have three parts")]
    Parts,
    #[error("malformed jwt: its {0} is not base64 for URLs in the one way to write it")]
    Base64(&'static str),
    #[error("malformed jwt: its {0} is no JSON object")]
    Json(&'static str),
    #[error("malformed jwt: {field:?} occurs twice in its {part}")]
    Duplicate { part: &'static str, field: String },
    #[error("malformed jwt: {0:?} in its header is not a text")]
    NoText(&'static str),
    #[error("id token signed with unsupported algorithm")]
    Algorithm,
    #[error("its header has {0:?}, which asks for something that is not done here")]
    Extension(&'static str),
    #[error("its type is none of a token that identifies someone")]
    Type,
    #[error("it names a key of more than {MAX_KEY_ID_BYTES} bytes")]
    KeyId,
}

/// The issuer that a token names. Nothing has been verified.
pub(super) fn untrusted_issuer(token: &str) -> Option<String> {
    if token.len() > MAX_TOKEN_BYTES {
        return None;
    }
    let mut parts = token.split('.');
    let (_, payload, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else { return None };
    let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
    match from_json(&payload).ok()?.value.get("iss")? {
        Value::String(issuer) => Some(issuer.clone()),
        _ => None,
    }
}

// === impl Compact ===

impl<'t> Compact<'t> {
    pub(super) fn parse(token: &'t str, algorithms: &Algorithms) -> Result<Self, CompactError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(CompactError::TooLong);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(CompactError::Parts)?;
        let (header, payload) = message.split_once('.').ok_or(CompactError::Parts)?;
        if payload.contains('.') {
            return Err(CompactError::Parts);
        }
        let header = object("header", &decode("header", header)?)?;
        let payload = decode("payload", payload)?;
        decode("signature", signature)?;
        for extension in ["crit", "b64", "zip", "enc", "jwk"] {
            if header.contains_key(extension) {
                return Err(CompactError::Extension(extension));
            }
        }
        if let Some(kind) = text(&header, "typ")? {
            let kind = kind.to_ascii_lowercase();
            if !TYPES.contains(&kind.strip_prefix("application/").unwrap_or(&kind)) {
                return Err(CompactError::Type);
            }
        }
        let algorithm = text(&header, "alg")?.and_then(|name| algorithms.get(name)).ok_or(CompactError::Algorithm)?;
        let key_id = text(&header, "kid")?.filter(|id| !id.is_empty()).map(str::to_owned);
        if key_id.as_ref().is_some_and(|id| id.len() > MAX_KEY_ID_BYTES) {
            return Err(CompactError::KeyId);
        }
        Ok(Self { algorithm, key_id, message, signature, payload })
    }
}

/// A JSON object without repetitions.
pub(super) fn object(part: &'static str, json: &[u8]) -> Result<Map<String, Value>, CompactError> {
    if std::str::from_utf8(json).is_err() {
        return Err(CompactError::Json(part));
    }
    let decoded = from_json(json).map_err(|_| CompactError::Json(part))?;
    if let Some(duplicate) = decoded.duplicates.first() {
        return Err(CompactError::Duplicate { part, field: duplicate.path.clone() });
    }
    match decoded.value {
        Value::Object(object) => Ok(object),
        _ => Err(CompactError::Json(part)),
    }
}

fn decode(part: &'static str, text: &str) -> Result<Vec<u8>, CompactError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| CompactError::Base64(part))
}

fn text<'h>(header: &'h Map<String, Value>, name: &'static str) -> Result<Option<&'h str>, CompactError> {
    match header.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(CompactError::NoText(name)),
    }
}
