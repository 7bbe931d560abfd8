//! Where a list that was cut short goes on.
//!
//! A token is `{"v":"meta.k8s.io/v1","rv":N,"start":"<key>\u0000"}` in base64 for URLs: the revision of the first page, and
//! the key of the last object, relative to the collection. Clients can write tokens of their own. So the key is only text
//! here: it is to be read by `storage::Prefix::key`, which cannot leave the collection that the request was authorized for.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

const VERSION: &str = "meta.k8s.io/v1";

/// Where a list goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinueToken {
    resume: Resume,
    after: String,
}

/// As of when it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// At the revision of the pages before.
    Exact(u64),
    /// Now: the pages before are too old. The result is no snapshot.
    Latest,
}

/// Why a token is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContinueTokenError {
    /// It is not base64.
    #[error("continue key is not valid: illegal base64 data at input byte {0}")]
    Base64(usize),
    /// It is not a JSON object with these fields.
    #[error("continue key is not valid: not a continue token")]
    Json,
    /// It is of another time or make.
    #[error("continue key is not valid: server does not recognize this encoded version {0}")]
    Version(String),
    /// It has no revision.
    #[error("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")]
    NoRevision,
    /// It has no key.
    #[error("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")]
    NoStart,
    /// It has a key that no server wrote.
    #[error("continue key is not valid: {0}")]
    Start(String),
}

/// What is encoded, in the order in which Kubernetes writes it.
#[derive(Serialize)]
struct Encoded<'t> {
    v: &'t str,
    rv: i64,
    start: &'t str,
}

// === impl ContinueToken ===

impl ContinueToken {
    /// A token to go on after the object with this key, relative to the collection.
    pub fn new(resume: Resume, after: impl Into<String>) -> Self {
        Self { resume, after: after.into() }
    }

    /// Reads what a client sent.
    pub fn decode(text: &str) -> Result<Self, ContinueTokenError> {
        let json = decode_base64(text).map_err(ContinueTokenError::Base64)?;
        let fields: Option<Map<String, Value>> = serde_json::from_slice(&json).map_err(|_| ContinueTokenError::Json)?;
        let fields = fields.unwrap_or_default();
        let version = text_of(&fields, "v")?;
        let start = text_of(&fields, "start")?;
        let revision = match fields.get("rv") {
            None | Some(Value::Null) => 0,
            Some(revision) => revision.as_i64().ok_or(ContinueTokenError::Json)?,
        };
        if version != VERSION {
            return Err(ContinueTokenError::Version(version.to_owned()));
        }
        let resume = match revision {
            0 => return Err(ContinueTokenError::NoRevision),
            revision => u64::try_from(revision).map_or(Resume::Latest, Resume::Exact),
        };
        if start.is_empty() {
            return Err(ContinueTokenError::NoStart);
        }
        // Upstream takes any key without dots and double slashes. Those that a server wrote end in NUL, and have no other.
        let after = start.strip_suffix('\0').unwrap_or_default();
        let plain = |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains(|c: char| c.is_control());
        if !after.split('/').all(plain) {
            return Err(ContinueTokenError::Start(start.to_owned()));
        }
        Ok(Self { resume, after: after.to_owned() })
    }

    /// As of when to go on.
    pub fn resume(&self) -> Resume {
        self.resume
    }

    /// After which key, relative to the collection. Not more than text: it may come from a client.
    pub fn after(&self) -> &str {
        &self.after
    }
}

/// As it is sent to clients.
impl fmt::Display for ContinueToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rv = match self.resume {
            Resume::Exact(revision) => i64::try_from(revision).unwrap_or(i64::MAX),
            Resume::Latest => -1,
        };
        let encoded = Encoded { v: VERSION, rv, start: &format!("{}\0", self.after) };
        let json = serde_json::to_vec(&encoded).map_err(|_| fmt::Error)?;
        f.write_str(&encode_base64(&json))
    }
}

fn text_of<'f>(fields: &'f Map<String, Value>, name: &str) -> Result<&'f str, ContinueTokenError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(ContinueTokenError::Json),
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn encode_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            let index = bits >> (18 - 6 * digit) & 63;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

/// As Go reads it: line ends are skipped, and bits that are left over are ignored. An error tells where it is.
fn decode_base64(text: &str) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut digits) = (0_u32, 0);
    for (at, byte) in text.bytes().enumerate().filter(|(_, byte)| !matches!(byte, b'\r' | b'\n')) {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return Err(at),
        };
        bits = bits << 6 | u32::from(digit);
        digits += 1;
        if digits == 4 {
            bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
            (bits, digits) = (0, 0);
        }
    }
    match digits {
        0 => {}
        // One digit is less than a byte.
        1 => return Err(text.len() - 1),
        digits => {
            let aligned = (bits << (6 * (4 - digits))).to_be_bytes();
            bytes.extend_from_slice(&aligned[1..digits]);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
