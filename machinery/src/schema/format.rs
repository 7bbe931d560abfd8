//! The formats of text that Kubernetes checks, each by the rule that Kubernetes has for it.
//!
//! The rules are those of upstream's registry of formats, oddities included: `my-host` is no `hostname` but `a-` is one,
//! and a `duration` may be `3 weeks`. A format that is not listed here is documentation only.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

mod email;
mod uri;

pub(crate) use uri::is_absolute_url;

/// A format of text that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    BsonObjectId,
    Byte,
    Cidr,
    CreditCard,
    Date,
    DateTime,
    Duration,
    Email,
    HexColor,
    Hostname,
    Ipv4,
    Ipv6,
    Isbn,
    Isbn10,
    Isbn13,
    LongName,
    Mac,
    Password,
    RgbColor,
    ShortName,
    Ssn,
    Uri,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
}

// === impl Format ===

impl Format {
    /// The format of this name. Dashes do not count: `date-time` is `datetime`.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name.replace('-', "").as_str() {
            "bsonobjectid" => Self::BsonObjectId,
            "byte" => Self::Byte,
            "cidr" => Self::Cidr,
            "creditcard" => Self::CreditCard,
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            "email" => Self::Email,
            "hexcolor" => Self::HexColor,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "k8slongname" => Self::LongName,
            "mac" => Self::Mac,
            "password" => Self::Password,
            "rgbcolor" => Self::RgbColor,
            "k8sshortname" => Self::ShortName,
            "ssn" => Self::Ssn,
            "uri" => Self::Uri,
            "uuid" => Self::Uuid,
            "uuid3" => Self::Uuid3,
            "uuid4" => Self::Uuid4,
            "uuid5" => Self::Uuid5,
            _ => return None,
        })
    }

    /// Whether the text has the format.
    pub(crate) fn holds(self, text: &str) -> bool {
        match self {
            Self::BsonObjectId => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
            Self::Byte => is_base64(text),
            Self::Cidr => is_cidr(text),
            Self::CreditCard => is_credit_card(text),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
            Self::Duration => is_duration(text),
            Self::Email => email::is_email(text),
            Self::HexColor => is_hex_color(text),
            Self::Hostname => is_hostname(text),
            Self::Ipv4 => text.contains('.') && is_sloppy_ip(text),
            Self::Ipv6 => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
            Self::Isbn => is_isbn10(text) || is_isbn13(text),
            Self::Isbn10 => is_isbn10(text),
            Self::Isbn13 => is_isbn13(text),
            Self::LongName => text.len() <= 253 && text.split('.').all(is_label),
            Self::Mac => is_mac(text),
            Self::Password => true,
            Self::RgbColor => is_rgb_color(text),
            Self::ShortName => text.len() <= 63 && is_label(text),
            Self::Ssn => is_ssn(text),
            Self::Uri => uri::is_request_uri(text),
            Self::Uuid => is_uuid(text, None, false),
            Self::Uuid3 => is_uuid(text, Some(b'3'), false),
            Self::Uuid4 => is_uuid(text, Some(b'4'), true),
            Self::Uuid5 => is_uuid(text, Some(b'5'), true),
        }
    }
}

fn is_base64(text: &str) -> bool {
    let data = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let alphabet = |b: u8| b.is_ascii_alphanumeric() || b == b'+' || b == b'/';
    !text.is_empty() && text.len().is_multiple_of(4) && data.bytes().all(alphabet)
}

/// Four decimal numbers up to 255; leading zeros are tolerated.
fn sloppy_ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0_u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let value = part.trim_start_matches('0');
        *octet = if value.is_empty() { 0 } else { value.parse().ok()? };
    }
    parts.next().is_none().then(|| octets.into())
}

fn sloppy_ipv6(text: &str) -> Option<Ipv6Addr> {
    match text.rsplit_once(':') {
        Some((head, tail)) if tail.contains('.') => format!("{head}:{}", sloppy_ipv4(tail)?).parse().ok(),
        _ => text.parse().ok(),
    }
}

fn is_sloppy_ip(text: &str) -> bool {
    sloppy_ipv4(text).is_some() || sloppy_ipv6(text).is_some()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let bits = match (sloppy_ipv4(address), sloppy_ipv6(address)) {
        (Some(_), _) => 32,
        (None, Some(_)) => 128,
        (None, None) => return false,
    };
    let digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
    digits && length.parse::<u32>().is_ok_and(|length| length <= bits)
}

fn is_mac(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    let (separator, width) = match bytes {
        [_, _, separator @ (b':' | b'-'), ..] => (*separator, 2),
        [_, _, _, _, b'.', ..] => (b'.', 4),
        _ => return matches!(bytes.len(), 12 | 16 | 40) && is_hex(bytes),
    };
    let mut octets = 0;
    for group in bytes.split(|b| *b == separator) {
        if group.len() != width || !is_hex(group) {
            return false;
        }
        octets += width / 2;
    }
    matches!(octets, 6 | 8 | 20)
}

/// Hexadecimal digits in groups of 8, 4, 4, 4 and 12, with dashes between or without.
fn is_uuid(text: &str, version: Option<u8>, variant: bool) -> bool {
    let mut rest = text.as_bytes();
    for (group, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if group > 0
            && let [b'-', after @ ..] = rest
        {
            rest = after;
        }
        let Some((digits, after)) = rest.split_at_checked(length) else {
            return false;
        };
        let first = digits.first().copied().unwrap_or_default();
        let fits = match group {
            2 => version.is_none_or(|version| version == first),
            3 => !variant || matches!(first.to_ascii_lowercase(), b'8' | b'9' | b'a' | b'b'),
            _ => true,
        };
        if !fits || !digits.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn is_blank(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\u{0c}' | '\r' | ' ')
}

fn isbn_digits(text: &str) -> Vec<u8> {
    text.chars().filter(|c| *c != '-' && !is_blank(*c)).map(|c| u8::try_from(c).unwrap_or(0)).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = isbn_digits(text);
    let [body @ .., last] = digits.as_slice() else {
        return false;
    };
    let last = match last {
        b'X' => 10,
        digit if digit.is_ascii_digit() => u32::from(digit - b'0'),
        _ => return false,
    };
    let shaped = body.len() == 9 && body.iter().all(u8::is_ascii_digit);
    shaped
        && (body.iter().zip(1..).map(|(digit, i)| i * u32::from(digit - b'0')).sum::<u32>() + 10 * last)
            .is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = isbn_digits(text);
    let shaped = digits.len() == 13 && digits.iter().all(u8::is_ascii_digit);
    let weighted = digits.iter().zip([1, 3].into_iter().cycle());
    shaped && weighted.map(|(digit, weight)| weight * u32::from(digit - b'0')).sum::<u32>().is_multiple_of(10)
}

/// The shapes of the large issuers, and the Luhn checksum.
fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
    let issued = match digits.as_slice() {
        [b'4', ..] => matches!(digits.len(), 13 | 16),
        [b'5', b'1'..=b'5', ..] | [b'6', b'0', b'1', b'1', ..] | [b'6' | b'3', b'5', ..] => digits.len() == 16,
        [b'3', b'4' | b'7', ..] | [b'2', b'1', b'3', b'1', ..] | [b'1', b'8', b'0', b'0', ..] => digits.len() == 15,
        [b'3', b'0', b'0'..=b'5', ..] | [b'3', b'6' | b'8', ..] => digits.len() == 14,
        _ => false,
    };
    let doubled = digits.iter().rev().map(|digit| u32::from(digit - b'0')).enumerate().map(|(i, digit)| match i % 2 {
        0 => digit,
        _ if digit >= 5 => digit * 2 - 9,
        _ => digit * 2,
    });
    issued && doubled.sum::<u32>().is_multiple_of(10)
}

fn is_ssn(text: &str) -> bool {
    let digit_at = |i: usize| !matches!(i, 3 | 6);
    text.len() == 11
        && text.bytes().enumerate().all(|(i, b)| if digit_at(i) { b.is_ascii_digit() } else { b == b'-' || b == b' ' })
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_rgb_color(text: &str) -> bool {
    let Some(inside) = text.strip_prefix("rgb(").and_then(|text| text.strip_suffix(')')) else {
        return false;
    };
    let component = |text: &str| {
        let text = text.trim_matches(is_blank);
        let plain = text == "0" || !text.starts_with('0');
        plain && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u8>().is_ok()
    };
    inside.split(',').count() == 3 && inside.split(',').all(component)
}

/// Lower-case letters and digits with dashes between.
fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && !text.starts_with('-') && !text.ends_with('-') && text.bytes().all(inner)
}

/// One label in which a dash may only be second, or labels and a last one of letters. Letters and symbols of any script.
static HOSTNAME: LazyLock<Regex> = LazyLock::new(|| {
    let inner = r"[a-zA-Z0-9\p{S}\p{L}]";
    let dashed = r"[a-zA-Z0-9\-\p{S}\p{L}]";
    let pattern =
        format!(r"^(?:{inner}-?{inner}{{0,62}}|(?:{inner}(?:{dashed}{{0,61}}{inner})?\.)+[a-zA-Z\p{{L}}]{{2,63}})$");
    Regex::new(&pattern).expect("the pattern is fixed")
});

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|label| label.len() <= 63) && HOSTNAME.is_match(text)
}

fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else {
        return false;
    };
    let number = |digits: &[&u8]| {
        let add = |sum: u32, digit: &&u8| digit.is_ascii_digit().then(|| sum * 10 + u32::from(**digit - b'0'));
        digits.iter().try_fold(0, add)
    };
    let (Some(year), Some(month), Some(day)) = (number(&[y1, y2, y3, y4]), number(&[m1, m2]), number(&[d1, d2])) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$")
        .expect("the pattern is fixed")
});

fn is_date_time(text: &str) -> bool {
    // The usual form without the regular expression.
    if let Some((date, [h1, h2, b':', m1, m2, b':', s1, s2, b'Z'])) =
        text.as_bytes().split_at_checked(11).filter(|(head, _)| head.ends_with(b"T"))
        && [h1, h2, m1, m2, s1, s2].into_iter().all(u8::is_ascii_digit)
        && let Some(date) = text.get(..date.len() - 1)
    {
        return is_date(date) && [*h1, *h2] <= *b"23" && *m1 <= b'5' && *s1 <= b'5';
    }
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    let Some(time) = TIME.captures(time).filter(|_| is_date(date)) else {
        return false;
    };
    let below = |group: usize, most: &str| time.get(group).is_some_and(|value| value.as_str() <= most);
    below(1, "23") && below(2, "59") && below(3, "59")
}

/// Go's durations (`1h30m`), or anything in which a number is followed by a unit (`3 weeks and 1 day`).
fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_worded_duration(text)
}

fn is_go_duration(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    if text == "0" {
        return true;
    }
    let mut rest = text;
    let mut total = 0_u128;
    while !rest.is_empty() {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, after) = rest.split_at(digits(rest));
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(digits(after)),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return false;
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let nanoseconds: u128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return false,
        };
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().unwrap_or(u64::MAX) };
        total = total.saturating_add(u128::from(whole) * nanoseconds);
        if whole > 1 << 63 || total > (1 << 63) - 1 {
            return false;
        }
        rest = after;
    }
    !text.is_empty()
}

fn is_worded_duration(text: &str) -> bool {
    /// The last of each is a beginning: `sec` stands for `seconds` too.
    const UNITS: [&[&str]; 8] = [
        &["ns", "nano"],
        &["us", "µs", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    static PART: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("([0-9]+)[\\t\\n\\x0c\\r ]*([A-Za-zµ]+)").expect("the pattern is fixed"));
    let mut any = false;
    for part in PART.captures_iter(text) {
        let (_, [number, unit]) = part.extract();
        if number.parse::<i64>().is_err() {
            return false;
        }
        let unit = unit.to_lowercase();
        any |= UNITS.iter().any(|names| {
            names.contains(&unit.as_str()) || names.last().is_some_and(|beginning| unit.starts_with(beginning))
        });
    }
    any
}
