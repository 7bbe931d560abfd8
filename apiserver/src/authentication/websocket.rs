//! Tokens among the subprotocols of a WebSocket: browsers can set no other header.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::header::{CONNECTION, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, HeaderValue};

use super::token::Token;

/// What stands before the token, which is in base64 for URLs.
const PREFIX: &str = "base64url.bearer.authorization.k8s.io.";

/// As Go reads base64: without padding, and whatever the unused bits are.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// Why a token among subprotocols cannot be read. In Kubernetes' words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProtocolError {
    #[error("multiple base64.bearer.authorization tokens specified")]
    Multiple,
    #[error("invalid base64.bearer.authorization token encoding")]
    Encoding,
    #[error("invalid base64.bearer.authorization token")]
    Text,
    #[error("missing additional subprotocol")]
    Alone,
}

/// A token, and the subprotocols without it.
#[derive(Debug)]
pub(super) struct Protocols {
    pub(super) token: Token,
    others: Vec<String>,
}

/// The token that a request for a WebSocket brings.
pub(super) fn token(headers: &HeaderMap) -> Result<Option<Protocols>, ProtocolError> {
    if !asks_for_websocket(headers) {
        return Ok(None);
    }
    let (mut token, mut others) = (None, Vec::new());
    for header in headers.get_all(SEC_WEBSOCKET_PROTOCOL) {
        for protocol in String::from_utf8_lossy(header.as_bytes()).split(',').map(str::trim) {
            let Some(encoded) = protocol.strip_prefix(PREFIX) else {
                others.push(protocol.to_owned());
                continue;
            };
            if token.is_some() {
                return Err(ProtocolError::Multiple);
            }
            let decoded = BASE64.decode(encoded).map_err(|_| ProtocolError::Encoding)?;
            token = Some(String::from_utf8(decoded).map_err(|_| ProtocolError::Text)?);
        }
    }
    match token.filter(|token| !token.is_empty()) {
        None => Ok(None),
        Some(_) if others.is_empty() => Err(ProtocolError::Alone),
        Some(token) => Ok(Some(Protocols { token: Token::new(token), others })),
    }
}

// === impl Protocols ===

impl Protocols {
    /// Takes the token out of the request.
    pub(super) fn strip(&self, headers: &mut HeaderMap) {
        match HeaderValue::from_str(&self.others.join(",")) {
            Ok(others) => drop(headers.insert(SEC_WEBSOCKET_PROTOCOL, others)),
            Err(_) => drop(headers.remove(SEC_WEBSOCKET_PROTOCOL)),
        }
    }
}

fn asks_for_websocket(headers: &HeaderMap) -> bool {
    let is = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"websocket");
    let upgrades = |value: &HeaderValue| {
        let options = value.as_bytes().to_ascii_lowercase();
        options.windows(7).any(|part| part == b"upgrade")
    };
    headers.get(UPGRADE).is_some_and(is) && headers.get_all(CONNECTION).iter().any(upgrades)
}

#[cfg(test)]
mod tests;
