//! Numbers, durations and quotes as Go's libraries read and write them: clients see the texts of their errors.

use std::fmt;

pub(crate) use bailiwick_machinery::go::{json_type, quote};

/// A number that Go's `strconv` refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("strconv.{function}: parsing {}: {fault}", quote(text))]
pub(crate) struct NumberError {
    function: &'static str,
    text: String,
    fault: NumberFault,
}

/// Why it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NumberFault {
    #[error("invalid syntax")]
    Syntax,
    #[error("value out of range")]
    Range,
}

/// A duration that Go's `time` refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// No duration at all, or one beyond 292 years.
    #[error("time: invalid duration {}", TimeQuoted(.0))]
    Invalid(String),
    /// A number alone.
    #[error("time: missing unit in duration {}", TimeQuoted(.0))]
    MissingUnit(String),
    /// A unit that Go does not know.
    #[error("time: unknown unit {} in duration {}", TimeQuoted(unit), TimeQuoted(text))]
    UnknownUnit {
        /// The unit.
        unit: String,
        /// The whole text.
        text: String,
    },
}

/// `strconv.ParseInt(text, 10, 64)`.
pub(crate) fn parse_int(text: &str) -> Result<i64, NumberError> {
    let error = |fault| NumberError { function: "ParseInt", text: text.to_owned(), fault };
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let magnitude = parse_digits(digits).map_err(error)?;
    let value = if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() };
    value.ok_or_else(|| error(NumberFault::Range))
}

/// `strconv.ParseUint(text, 10, 64)`.
pub(crate) fn parse_uint(text: &str) -> Result<u64, NumberError> {
    parse_digits(text.as_bytes()).map_err(|fault| NumberError { function: "ParseUint", text: text.to_owned(), fault })
}

/// `strconv.ParseBool(text)`.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// `strings.EqualFold(text, "false")`: the long s is a small s to Unicode.
pub(crate) fn is_false_folded(text: &str) -> bool {
    text.replace('\u{17f}', "s").eq_ignore_ascii_case("false")
}

/// `time.ParseDuration(text)`, in nanoseconds: a duration as clients and flags give it, such as `1m30s`.
pub fn parse_duration(text: &str) -> Result<i64, DurationError> {
    let invalid = || DurationError::Invalid(text.to_owned());
    let (negative, mut rest) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if rest == b"0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, after) = leading_int(rest).ok_or_else(invalid)?;
        let before_point = after.len() != rest.len();
        let (fraction, scale, after, after_point) = match after {
            [b'.', digits @ ..] => {
                let (fraction, scale, after) = leading_fraction(digits);
                (fraction, scale, after, after.len() != digits.len())
            }
            after => (0, 1.0, after, false),
        };
        if !before_point && !after_point {
            return Err(invalid());
        }
        let end = after.iter().position(|byte| *byte == b'.' || byte.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() {
            return Err(DurationError::MissingUnit(text.to_owned()));
        }
        let unit = nanoseconds(unit).ok_or_else(|| DurationError::UnknownUnit {
            unit: String::from_utf8_lossy(unit).into_owned(),
            text: text.to_owned(),
        })?;
        let mut part = whole.checked_mul(unit).filter(|part| *part <= 1 << 63).ok_or_else(invalid)?;
        if fraction > 0 {
            // The product is below one unit, so it fits; Go truncates it in the same way.
            part += (fraction as f64 * (unit as f64 / scale)) as u64;
        }
        total = total.checked_add(part).filter(|total| *total <= 1 << 63).ok_or_else(invalid)?;
        rest = after;
    }
    let value = if negative { 0_i64.checked_sub_unsigned(total) } else { i64::try_from(total).ok() };
    value.ok_or_else(invalid)
}

/// Quotes as the package `time` writes them, which knows no Unicode.
struct TimeQuoted<'t>(&'t str);

impl fmt::Display for TimeQuoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for byte in self.0.bytes() {
            match byte {
                b'"' | b'\\' => write!(f, "\\{}", char::from(byte))?,
                b' '..=0x7f => write!(f, "{}", char::from(byte))?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        f.write_str("\"")
    }
}

fn parse_digits(digits: &[u8]) -> Result<u64, NumberFault> {
    if digits.is_empty() {
        return Err(NumberFault::Syntax);
    }
    let mut value: u64 = 0;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return Err(NumberFault::Syntax);
        }
        // As in Go, what follows an overflow is not looked at.
        value = value
            .checked_mul(10)
            .and_then(|value| value.checked_add(u64::from(byte - b'0')))
            .ok_or(NumberFault::Range)?;
    }
    Ok(value)
}

/// The integer at the start; `None` if it is larger than 2^63.
fn leading_int(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let mut value: u64 = 0;
    for byte in digits {
        value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0')).filter(|value| *value <= 1 << 63)?;
    }
    Some((value, rest))
}

/// The digits after a point, as many as fit, and what to divide them by.
fn leading_fraction(text: &[u8]) -> (u64, f64, &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let (mut value, mut scale) = (0_u64, 1.0);
    for byte in digits {
        let next = value.checked_mul(10).and_then(|value| value.checked_add(u64::from(byte - b'0')));
        let Some(next) = next.filter(|next| *next <= 1 << 63 && value <= ((1 << 63) - 1) / 10) else { break };
        value = next;
        scale *= 10.0;
    }
    (value, scale, rest)
}

fn nanoseconds(unit: &[u8]) -> Option<u64> {
    match std::str::from_utf8(unit).ok()? {
        "ns" => Some(1),
        "us" | "\u{b5}s" | "\u{3bc}s" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        "m" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
