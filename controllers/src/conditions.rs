//! Conditions of objects: one is set, others stay, and the time of the last change is that of the last change.

use std::time::SystemTime;

use bailiwick_api::{Condition, ConditionStatus};
use k8s_openapi::jiff::Timestamp;

use crate::shortened::shortened;

/// How long a message may be. A status with a longer one is not taken, and nothing else of it would be said either.
const MAX_MESSAGE: usize = 32_768;

/// What a condition says from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict<'v> {
    pub(crate) condition: &'v str,
    pub(crate) status: ConditionStatus,
    pub(crate) reason: &'v str,
    pub(crate) message: &'v str,
}

/// The condition of a type.
pub(crate) fn find<'c>(conditions: &'c [Condition], condition: &str) -> Option<&'c Condition> {
    conditions.iter().find(|other| other.condition_type == condition)
}

/// Says it, of an object in this generation.
pub(crate) fn set(conditions: &mut Vec<Condition>, verdict: Verdict<'_>, generation: Option<i64>, now: SystemTime) {
    let since = find(conditions, verdict.condition).filter(|before| before.status == verdict.status);
    let condition = Condition {
        condition_type: verdict.condition.to_owned(),
        status: verdict.status,
        observed_generation: generation,
        last_transition_time: since.map_or_else(|| text(now), |before| before.last_transition_time.clone()),
        reason: verdict.reason.to_owned(),
        message: shortened(verdict.message, MAX_MESSAGE),
    };
    match conditions.iter_mut().find(|other| other.condition_type == verdict.condition) {
        Some(found) => *found = condition,
        None => conditions.push(condition),
    }
}

/// A time as objects state it: in whole seconds.
pub(crate) fn text(now: SystemTime) -> String {
    let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    text_of(i64::try_from(since_epoch).unwrap_or_default())
}

/// The same of a number of seconds since 1970.
pub(crate) fn text_of(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// The seconds since 1970 of a time as objects state it.
pub(crate) fn seconds(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_time_is_that_of_the_last_change() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let verdict = |status, reason| Verdict { condition: "Ready", status, reason, message: "" };
        let mut conditions = vec![Condition { condition_type: "Other".to_owned(), ..Condition::default() }];
        set(&mut conditions, verdict(ConditionStatus::False, "Waiting"), Some(1), at(10));
        set(&mut conditions, verdict(ConditionStatus::False, "StillWaiting"), Some(2), at(20));
        let ready = find(&conditions, "Ready").unwrap();
        assert_eq!(
            (ready.last_transition_time.as_str(), ready.reason.as_str()),
            ("1970-01-01T00:00:10Z", "StillWaiting")
        );
        set(&mut conditions, verdict(ConditionStatus::True, "Done"), Some(2), at(30));
        assert_eq!(find(&conditions, "Ready").unwrap().last_transition_time, "1970-01-01T00:00:30Z");
        assert_eq!(conditions.len(), 2);
    }

    #[test]
    fn a_message_is_never_too_long() {
        for (text, length) in [("a".repeat(32_768), 32_768), ("a".repeat(40_000), 32_766), ("ü".repeat(20_000), 16_383)]
        {
            let verdict =
                Verdict { condition: "Ready", status: ConditionStatus::False, reason: "Long", message: &text };
            let mut conditions = Vec::new();
            set(&mut conditions, verdict, None, SystemTime::UNIX_EPOCH);
            let message = &conditions[0].message;
            assert_eq!(message.chars().count(), length, "as a schema counts");
            assert!(message.len() <= MAX_MESSAGE && (message == &text || message.ends_with('…')));
        }
    }
}
