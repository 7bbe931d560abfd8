//! Tokens in the `Authorization` header.

use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::token::Token;

/// The token that a request brings as `Authorization: Bearer …`. As in Kubernetes, a second space before it hides it, and
/// what follows it is passed over.
pub(super) fn token(headers: &HeaderMap) -> Option<Token> {
    let header = String::from_utf8_lossy(headers.get(AUTHORIZATION)?.as_bytes());
    let mut parts = header.trim().splitn(3, ' ');
    let (scheme, token) = (parts.next()?, parts.next()?);
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| Token::new(token))
}
