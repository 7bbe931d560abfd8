//! Points in time as the API writes them: RFC 3339, in UTC, in whole seconds.
//!
//! What can be read is what Go's `time.Parse` reads with the same layout; it is what upstream uses.

/// The first second of the year 1. Go's zero time, which stands for "not set".
pub(crate) const ZERO: i64 = -62_135_596_800;

/// The last second of the year 9999. Later ones have no text of four digits.
const LAST: i64 = 253_402_300_799;

/// The last second that all who read objects can read. Libraries that know zones end a day early, so that the time of a clock
/// anywhere is still in the year 9999.
pub(crate) const LAST_READ_BY_ALL: i64 = 253_402_207_200;

/// The first second of the year 0, which can be read, but means nothing.
const FIRST: i64 = -62_167_219_200;

const DAY: i64 = 86_400;

/// What Go's layout of a time consists of.
pub(crate) const RFC3339_LAYOUT: &[&str] = &["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", "Z07:00"];

/// The same with millionths of seconds.
pub(crate) const RFC3339_MICRO_LAYOUT: &[&str] =
    &["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", ".000000", "Z07:00"];

/// Seconds since 1970 of a text such as `2024-02-29T12:00:00Z`; a fraction is cut off. `None` if it is no such text.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    let mut rest = text.as_bytes();
    let year = digits(&mut rest, 4)?;
    expect(&mut rest, b'-')?;
    let month = digits(&mut rest, 2)?;
    expect(&mut rest, b'-')?;
    let day = digits(&mut rest, 2)?;
    expect(&mut rest, b'T')?;
    let hour = hour(&mut rest)?;
    expect(&mut rest, b':')?;
    let minute = digits(&mut rest, 2)?;
    expect(&mut rest, b':')?;
    let second = digits(&mut rest, 2)?;
    fraction(&mut rest);
    let offset = offset(&mut rest)?;
    let valid = rest.is_empty()
        && (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    valid.then(|| days_from_civil(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset)
}

/// Seconds since 1970 and the millionths beyond, of a text such as `2024-02-29T12:00:00.000001Z`, which has six digits.
pub(crate) fn parse_rfc3339_micro(text: &str) -> Option<(i64, u32)> {
    let (_, fraction) = text.split_once('.')?;
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let micros = fraction.get(..6).filter(|_| digits == 6)?.parse().ok()?;
    Some((parse_rfc3339(text)?, micros))
}

/// Where Go stops reading a text that is no time: what is left of it, and which part of the layout should stand there.
pub(crate) fn where_unread<'t>(text: &'t str, layout: &[&'static str]) -> (&'t str, &'static str) {
    let mut rest = text;
    for element in layout {
        let digits = |from: usize| {
            let part = rest.get(from..element.len());
            part.is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let fits = match element.as_bytes() {
            [b'0'..=b'9', ..] => digits(0),
            [b'.', ..] => rest.starts_with('.') && digits(1),
            _ => rest.starts_with(element),
        };
        if !fits {
            return (rest, element);
        }
        rest = rest.get(element.len()..).unwrap_or_default();
    }
    (rest, "")
}

/// A text in quotes as Go's package for times prints it, which is another way than anywhere else.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..0x80 => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\x{byte:02x}")),
        }
    }
    quoted.push('"');
    quoted
}

/// The text of so many seconds and millionths; `None` outside of the years 0 to 9999.
pub fn format_rfc3339_micro(seconds: i64, micros: u32) -> Option<String> {
    let mut text = date_and_time(seconds)?;
    text.push('.');
    push_digits(&mut text, micros.into(), 6);
    text.push('Z');
    Some(text)
}

/// The text of so many seconds since 1970; `None` outside of the years 0 to 9999.
pub fn format_rfc3339(seconds: i64) -> Option<String> {
    let mut text = date_and_time(seconds)?;
    text.push('Z');
    Some(text)
}

/// Without the zone. By hand, because every entry of the audit log has two of these.
fn date_and_time(seconds: i64) -> Option<String> {
    if !(FIRST..=LAST).contains(&seconds) {
        return None;
    }
    let (year, month, day) = civil_from_days(seconds.div_euclid(DAY));
    let rest = seconds.rem_euclid(DAY);
    let mut text = String::with_capacity("2006-01-02T15:04:05.000000Z".len());
    push_digits(&mut text, year, 4);
    for (separator, part) in [('-', month), ('-', day), ('T', rest / 3600), (':', rest / 60 % 60), (':', rest % 60)] {
        text.push(separator);
        push_digits(&mut text, part, 2);
    }
    Some(text)
}

/// The last decimal digits of a number that is not negative.
fn push_digits(text: &mut String, number: i64, count: u32) {
    for place in (0..count).rev() {
        let digit = number / 10_i64.pow(place) % 10;
        text.push(char::from(b'0' + u8::try_from(digit).unwrap_or_default()));
    }
}

fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (head, tail) = rest.split_at_checked(count)?;
    *rest = tail;
    head.iter().try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

/// Go's layout for hours takes one digit too.
fn hour(rest: &mut &[u8]) -> Option<i64> {
    match rest {
        [_, b':', ..] => digits(rest, 1),
        _ => digits(rest, 2),
    }
}

fn expect(rest: &mut &[u8], byte: u8) -> Option<()> {
    let (first, tail) = rest.split_first()?;
    *rest = tail;
    (*first == byte).then_some(())
}

/// Passes over a fraction: a point or a comma, and digits.
fn fraction(rest: &mut &[u8]) {
    if let [b'.' | b',', tail @ ..] = rest {
        let count = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count > 0 {
            *rest = tail.get(count..).unwrap_or_default();
        }
    }
}

/// What the zone is ahead of UTC, in seconds.
fn offset(rest: &mut &[u8]) -> Option<i64> {
    let (sign, tail) = rest.split_first()?;
    *rest = tail;
    let sign = match sign {
        b'Z' => return Some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hours = digits(rest, 2)?;
    expect(rest, b':')?;
    let minutes = digits(rest, 2)?;
    // Go tolerates exactly these two values that no clock shows.
    (hours <= 24 && minutes <= 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn days_of(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970. A year is taken to begin in March, so that a leap day is the last of its year; 400 years have
/// 146,097 days.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The reverse.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = (shifted + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests;
