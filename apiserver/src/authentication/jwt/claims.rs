//! What a verified token claims: by whom, for whom and when.

use std::time::Duration;

use serde_json::{Map, Value};

use super::compact::{self, CompactError};
use crate::authentication::configuration::Issuer;

/// How far clocks may be apart. It makes no token last longer: it only lets one begin earlier.
const LEEWAY: f64 = 10.0;
/// The latest time that is taken for one: the end of the year 9999.
const LAST_SECOND: f64 = 253_402_300_799.0;

/// Google writes its name in two ways.
const GOOGLE: &str = "https://accounts.google.com";
const GOOGLE_WITHOUT_SCHEME: &str = "accounts.google.com";

/// The claims of a token whose signature was verified.
#[derive(Debug)]
pub(super) struct Claims(pub(super) Map<String, Value>);

/// Why claims are not believed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum ClaimError {
    #[error(transparent)]
    Payload(#[from] CompactError),
    #[error("id token issued by a different provider")]
    Issuer,
    #[error("the claim \"aud\" is neither a text nor a list of texts")]
    AudienceType,
    #[error("expected audience in {expected:?}, and the token is for others")]
    Audience { expected: Vec<String> },
    #[error("the claim {0:?} is no time: it must be a number of seconds since 1970")]
    Time(&'static str),
    #[error("the token has no claim \"exp\": it would never end")]
    Endless,
    #[error("token is expired since {0} s")]
    Expired(u64),
    #[error("the token begins in the future, by the claim {0:?}")]
    NotYet(&'static str),
}

/// Whether a token that names `named` is the issuer's.
pub(super) fn is_issuer(named: &str, issuer: &str) -> bool {
    named == issuer || (issuer == GOOGLE && named == GOOGLE_WITHOUT_SCHEME)
}

// === impl Claims ===

impl Claims {
    pub(super) fn parse(payload: &[u8]) -> Result<Self, ClaimError> {
        Ok(Self(compact::object("payload", payload)?))
    }

    /// Checks that the issuer means this server, now.
    pub(super) fn check(&self, issuer: &Issuer, now: Duration) -> Result<(), ClaimError> {
        match self.0.get("iss") {
            Some(Value::String(named)) if is_issuer(named, &issuer.url) => {}
            _ => return Err(ClaimError::Issuer),
        }
        self.check_audience(&issuer.audiences)?;
        self.check_time(now.as_secs_f64())
    }

    fn check_audience(&self, expected: &[String]) -> Result<(), ClaimError> {
        let is_expected = |audience: &str| expected.iter().any(|expected| expected == audience);
        let meant = match self.0.get("aud") {
            None => false,
            Some(Value::String(audience)) => is_expected(audience),
            Some(Value::Array(audiences)) => {
                let audiences = audiences.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
                audiences.ok_or(ClaimError::AudienceType)?.into_iter().any(is_expected)
            }
            Some(_) => return Err(ClaimError::AudienceType),
        };
        if meant { Ok(()) } else { Err(ClaimError::Audience { expected: expected.to_vec() }) }
    }

    fn check_time(&self, now: f64) -> Result<(), ClaimError> {
        let expires = self.time("exp")?.ok_or(ClaimError::Endless)?;
        if expires < now {
            // Whole seconds are enough for a log.
            return Err(ClaimError::Expired((now - expires) as u64));
        }
        for name in ["nbf", "iat"] {
            if self.time(name)?.is_some_and(|begins| begins > now + LEEWAY) {
                return Err(ClaimError::NotYet(name));
            }
        }
        Ok(())
    }

    fn time(&self, name: &'static str) -> Result<Option<f64>, ClaimError> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let time = value.as_f64().filter(|time| (0.0..=LAST_SECOND).contains(time));
        time.map(Some).ok_or(ClaimError::Time(name))
    }
}
