//! Times and durations.

use bailiwick_apiserver::parse_duration;
use bailiwick_machinery::table::{age, human_duration};
use bailiwick_machinery::{format_rfc3339, parse_rfc3339};

/// Words of times and durations.
pub const DICTIONARY: &[&[u8]] = &[
    b"2001-01-01T00:00:00Z",
    b"9999-12-31T23:59:59.999999999Z",
    b"0000-01-01T00:00:00Z",
    b"1969-12-31T23:59:59Z",
    b"+14:00",
    b"-23:59",
    b"Z",
    b"T",
    b":",
    b"-",
    b"02-29",
    b"1h",
    b"m",
    b"s",
    b"ms",
    b"us",
    "µs".as_bytes(),
    b"ns",
    b"1.5h",
    b"-1ns",
    b"2562047h47m16.854775807s",
];

/// A time that is read is read again from what is written of it; a duration is read or refused, and both are shown.
pub fn target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(seconds) = parse_rfc3339(&text)
        && let Some(written) = format_rfc3339(seconds)
    {
        assert_eq!(parse_rfc3339(&written), Some(seconds), "{written}");
    }
    assert!(age(&text, std::time::UNIX_EPOCH).len() < 32, "a long age");
    if let Ok(nanoseconds) = parse_duration(&text) {
        assert!(human_duration(nanoseconds).len() < 32, "a long duration");
    }
}
