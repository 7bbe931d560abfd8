//! The parameters of a request, decoded once.
//!
//! Go drops a parameter that it cannot read, and a selector that is dropped selects everything. So what cannot be read is
//! refused here.

use crate::go::is_false_folded;
use crate::request::{Part, RequestError};

/// The most parameters of one request.
pub(crate) const MAX_PARAMETERS: usize = 1000;

/// The parameters of a request, in their order. Names may repeat; all but `dryRun` count where they stand first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

/// What a `+` stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plus {
    Itself,
    Space,
}

// === impl Query ===

impl Query {
    /// Reads what follows the `?` of a request's target.
    pub(crate) fn parse(raw: &str) -> Result<Self, RequestError> {
        let mut pairs = Vec::new();
        for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
            // Some read it as a separator, as `&`: whoever checks must not read something else than who executes.
            if pair.contains(';') {
                return Err(RequestError::Semicolon);
            }
            if pairs.len() == MAX_PARAMETERS {
                return Err(RequestError::TooManyParameters);
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            pairs.push((decode(name, Part::Query, Plus::Space)?, decode(value, Part::Query, Plus::Space)?));
        }
        Ok(Self(pairs))
    }

    /// The first value of a parameter.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a parameter.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The first value, or the empty text.
    pub(crate) fn text(&self, name: &str) -> String {
        self.first(name).unwrap_or_default().to_owned()
    }

    /// A switch: only `0` and `false` are off, and being there without a value is on.
    pub(crate) fn switch(&self, name: &str) -> Option<bool> {
        self.first(name).map(|value| value != "0" && !is_false_folded(value))
    }

    /// Whether the answer shall be laid out for people, if the client says so.
    pub fn pretty(&self) -> Option<bool> {
        let value = self.first("pretty").filter(|value| !value.is_empty())?;
        Some(crate::go::parse_bool(value).unwrap_or(false))
    }
}

/// Undoes percent-encoding.
pub(crate) fn decode(raw: &str, part: Part, plus: Plus) -> Result<String, RequestError> {
    if !raw.contains('%') && (plus == Plus::Itself || !raw.contains('+')) {
        return Ok(raw.to_owned());
    }
    let mut decoded = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                let (Some(high), Some(low)) = (hex(*high), hex(*low)) else {
                    return Err(RequestError::MalformedEscape(part));
                };
                decoded.push(high << 4 | low);
                rest = after;
            }
            (b'%', _) => return Err(RequestError::MalformedEscape(part)),
            (b'+', _) if plus == Plus::Space => decoded.push(b' '),
            (byte, _) => decoded.push(*byte),
        }
    }
    String::from_utf8(decoded).map_err(|_| RequestError::NotUtf8(part))
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
