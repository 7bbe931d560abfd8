use serde_json::Value;

use super::*;
use crate::recorded::recorded;

#[test]
fn as_upstream_reads_and_writes() {
    for case in recorded("times") {
        let (text, seconds) = (case[0].as_str().unwrap(), case[1].as_i64());
        assert_eq!(parse_rfc3339(text), seconds, "{text}");
        let Some(seconds) = seconds else { continue };
        match (&case[2], format_rfc3339(seconds)) {
            // Upstream writes years of five digits, which nobody can read.
            (Value::String(written), None) => assert!(written.starts_with("10000-"), "{text}"),
            (Value::String(written), ours) => assert_eq!(ours.as_deref(), Some(written.as_str())),
            (written, _) => assert!(written.is_null() && seconds == ZERO, "{text}"),
        }
    }
}

#[test]
fn every_day_has_one_text() {
    // All of them take seconds, these all parts of the calendar.
    for day in (FIRST / DAY..=LAST / DAY).step_by(19).chain(-26_000..51_000) {
        let seconds = day * DAY + day.rem_euclid(DAY);
        let text = format_rfc3339(seconds).unwrap();
        assert_eq!(parse_rfc3339(&text), Some(seconds), "{text}");
    }
    assert_eq!(format_rfc3339(FIRST - 1), None);
    assert_eq!(format_rfc3339(LAST + 1), None);
    assert_eq!(format_rfc3339(i64::MIN), None);
    assert_eq!(format_rfc3339(i64::MAX), None);
}

proptest::proptest! {
    #[test]
    fn any_text_has_an_answer(text in ".{0,40}", digits in "[0-9TZ:.,+-]{0,40}") {
        parse_rfc3339(&text);
        parse_rfc3339(&digits);
    }
}
