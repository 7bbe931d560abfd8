//! What a plain word of YAML means: the rules of go-yaml v2, which are those of YAML 1.1 with exceptions.

use std::borrow::Cow;

use super::super::DecodeError;
use super::{binary, cut};

/// What a scalar means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Resolved<'t> {
    /// Nothing.
    Null,
    /// A truth.
    Bool(bool),
    /// A whole number.
    Whole(i64),
    /// A whole number that is too large for `Whole`.
    Unsigned(u64),
    /// Another number, infinity or not a number.
    Float(f64),
    /// Text. Points in time are text too.
    Text(Cow<'t, str>),
}

const STR: &str = "tag:yaml.org,2002:str";
const BOOL: &str = "tag:yaml.org,2002:bool";
const INT: &str = "tag:yaml.org,2002:int";
const FLOAT: &str = "tag:yaml.org,2002:float";
const NULL: &str = "tag:yaml.org,2002:null";
const TIMESTAMP: &str = "tag:yaml.org,2002:timestamp";
const BINARY: &str = "tag:yaml.org,2002:binary";

/// What a scalar with this tag means; an empty tag leaves it to the text.
pub(crate) fn resolve<'t>(tag: &str, text: &'t str) -> Result<Resolved<'t>, DecodeError> {
    let own = Resolved::Text(Cow::Borrowed(text));
    let wrong = |actual: &'static str, tag: &'static str| DecodeError::WrongTag { actual, value: cut(text, 64), tag };
    match tag {
        "" => Ok(untagged(text)),
        STR => Ok(own),
        BINARY => Ok(Resolved::Text(Cow::Owned(binary(text)?))),
        TIMESTAMP if is_timestamp(text) => Ok(own),
        TIMESTAMP => Err(wrong(untagged(text).tag(), "!!timestamp")),
        BOOL => match untagged(text) {
            Resolved::Bool(truth) => Ok(Resolved::Bool(truth)),
            other => Err(wrong(other.tag(), "!!bool")),
        },
        INT => match untagged(text) {
            whole @ (Resolved::Whole(_) | Resolved::Unsigned(_)) => Ok(whole),
            other => Err(wrong(other.tag(), "!!int")),
        },
        NULL => match untagged(text) {
            Resolved::Null => Ok(Resolved::Null),
            other => Err(wrong(other.tag(), "!!null")),
        },
        FLOAT => match untagged(text) {
            Resolved::Whole(whole) => Ok(Resolved::Float(whole as f64)),
            Resolved::Float(float) => Ok(Resolved::Float(float)),
            other => Err(wrong(other.tag(), "!!float")),
        },
        _ => Ok(own),
    }
}

/// Whether the text, written plainly, is read as the same text, also by readers that know numbers of base 60.
pub(crate) fn looks_like_text(text: &str) -> bool {
    matches!(untagged(text), Resolved::Text(_)) && !is_timestamp(text) && !is_base_60(text)
}

// === impl Resolved ===

impl Resolved<'_> {
    fn tag(&self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Whole(_) | Self::Unsigned(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::Text(_) => "!!str",
        }
    }
}

fn untagged(text: &str) -> Resolved<'_> {
    let number = match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Resolved::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Resolved::Bool(false);
        }
        "" | "~" | "null" | "Null" | "NULL" => return Resolved::Null,
        ".nan" | ".NaN" | ".NAN" => Some(Resolved::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(Resolved::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => Some(Resolved::Float(f64::NEG_INFINITY)),
        text => match text.as_bytes() {
            // Here, and only here, underscores must stand between digits.
            [b'.', ..] if text.contains('_') => {
                let digits = |part: &str| (part.bytes().next(), part.bytes().next_back());
                let mut last = None;
                let between = text.split('_').enumerate().all(|(position, part)| {
                    let (first, end) = digits(part);
                    let sound = position == 0 || (is_digit(last) && is_digit(first));
                    last = end;
                    sound
                });
                if between { decimal(&text.replace('_', "")).map(Resolved::Float) } else { None }
            }
            [b'.', ..] => decimal(text).map(Resolved::Float),
            [b'0'..=b'9' | b'+' | b'-', ..] => signed_number(text),
            _ => None,
        },
    };
    number.unwrap_or(Resolved::Text(Cow::Borrowed(text)))
}

fn is_digit(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_digit())
}

fn signed_number<'r>(text: &str) -> Option<Resolved<'r>> {
    let text = if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) };
    let (negative, signed, digits) = match text.as_bytes() {
        [b'-', ..] => (true, true, text.get(1..)?),
        [b'+', ..] => (false, true, text.get(1..)?),
        _ => (false, false, &*text),
    };
    if let Some(magnitude) = whole(digits) {
        let value = if negative { -i128::from(magnitude) } else { i128::from(magnitude) };
        if let Ok(whole) = i64::try_from(value) {
            return Some(Resolved::Whole(whole));
        }
        if !signed {
            return Some(Resolved::Unsigned(magnitude));
        }
    }
    decimal(&text).map(Resolved::Float)
}

/// Digits after `0x`, `0o`, `0b` or `0`, or decimal ones.
fn whole(digits: &str) -> Option<u64> {
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (digits.get(2..)?, 16),
        [b'0', b'o' | b'O', ..] => (digits.get(2..)?, 8),
        [b'0', b'b' | b'B', ..] => (digits.get(2..)?, 2),
        [b'0', _, ..] => (digits.get(1..)?, 8),
        _ => (digits, 10),
    };
    // `from_str_radix` takes a sign, which was taken already.
    if digits.starts_with(['+', '-']) { None } else { u64::from_str_radix(digits, radix).ok() }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, if it is in range.
fn decimal(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let sound = match mantissa.split_once('.') {
        Some((before, after)) => digits(before) && digits(after) && !(before.is_empty() && after.is_empty()),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let sound_exponent = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if !sound || !sound_exponent {
        return None;
    }
    text.parse::<f64>().ok().filter(|float| float.is_finite())
}

/// The forms of points in time that go-yaml knows.
fn is_timestamp(text: &str) -> bool {
    let year = text.bytes().take_while(u8::is_ascii_digit).count();
    if year != 4 {
        return false;
    }
    let mut rest = Digits(text);
    let date = (|| {
        let year = rest.number(4, 4)?;
        rest.literal('-')?;
        let month = rest.number(1, 2).filter(|month| (1..=12).contains(month))?;
        rest.literal('-')?;
        let day = rest.number(1, 2)?;
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let last = match month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        (1..=last).contains(&day).then_some(())
    })();
    if date.is_none() {
        return false;
    }
    if rest.0.is_empty() {
        return true;
    }
    let zoned = match rest.0.chars().next() {
        Some('T' | 't') => true,
        // Before a space, upstream overlooks further ones.
        Some(' ') => false,
        _ => return false,
    };
    let spaces = if zoned { 1 } else { rest.0.bytes().take_while(|byte| *byte == b' ').count() };
    rest = Digits(rest.0.get(spaces..).unwrap_or_default());
    let time = (|| {
        rest.number(1, 2).filter(|hour| *hour < 24)?;
        rest.literal(':')?;
        rest.number(1, 2).filter(|minute| *minute < 60)?;
        rest.literal(':')?;
        rest.number(1, 2).filter(|second| *second < 60)?;
        rest.fraction();
        if zoned { rest.zone() } else { Some(()) }
    })();
    time.is_some() && rest.0.is_empty()
}

struct Digits<'t>(&'t str);

impl Digits<'_> {
    fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let count = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let number = self.0.get(..count).filter(|_| count >= least)?.parse().ok()?;
        self.0 = self.0.get(count..)?;
        Some(number)
    }

    fn literal(&mut self, c: char) -> Option<()> {
        self.0 = self.0.strip_prefix(c)?;
        Some(())
    }

    fn fraction(&mut self) {
        if let Some(rest) = self.0.strip_prefix(['.', ','])
            && rest.starts_with(|c: char| c.is_ascii_digit())
        {
            self.0 = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        }
    }

    fn zone(&mut self) -> Option<()> {
        if let Some(rest) = self.0.strip_prefix('Z') {
            self.0 = rest;
            return Some(());
        }
        self.0 = self.0.strip_prefix(['+', '-'])?;
        self.number(2, 2).filter(|hours| *hours <= 24)?;
        self.literal(':')?;
        self.number(2, 2).filter(|minutes| *minutes <= 60)?;
        Some(())
    }
}

/// `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`: numbers of base 60, which YAML 1.1 had and nobody wants.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (unsigned, ""),
    };
    let digit_or_line = |byte: u8| byte.is_ascii_digit() || byte == b'_';
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let sound_first = first.starts_with(|c: char| c.is_ascii_digit()) && first.bytes().all(digit_or_line);
    let mut others = 0;
    let sound_others = parts.all(|part| {
        others += 1;
        matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
    });
    sound_first && sound_others && others > 0 && fraction.bytes().all(digit_or_line)
}
