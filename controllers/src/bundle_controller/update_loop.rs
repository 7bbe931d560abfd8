//! What was written lately. It tells that somebody else keeps changing or deleting what a Bundle says, so that the two do not
//! write for ever.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

/// How often what others have changed or deleted is put right within [`WINDOW`]. After that it is left to people.
const MAX_CORRECTIONS: usize = 5;
const WINDOW: Duration = Duration::from_secs(600);

/// What was written of one resource. It is kept whether or not the object is looked at meanwhile: whoever forgets it takes the
/// next change of somebody else for a wish of the Bundle's, and does not count it.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// What was applied last.
    pub(super) applied: Option<Fingerprint>,
    pub(super) corrections: Corrections,
}

/// By what it is known whether something is what was applied. That itself is not kept: it is as large as the object, of which what
/// was seen is kept already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint([u8; 32]);

/// What has been put right lately in one object.
#[derive(Clone, Debug, Default)]
pub(super) struct Corrections {
    when: VecDeque<Instant>,
    /// Who had changed it, and which fields.
    who: BTreeSet<String>,
}

// === impl Fingerprint ===

impl Fingerprint {
    /// That of an object, whose fields are written down in the order of their names.
    pub(super) fn of(object: &Value) -> Self {
        Self(Sha256::digest(object.to_string()).into())
    }
}

// === impl Corrections ===

impl Corrections {
    /// Whether what somebody has changed should not be put right any more. It says who has changed it.
    pub(super) fn are_too_many(&mut self, now: Instant) -> Option<String> {
        while self.when.front().is_some_and(|then| now.duration_since(*then) > WINDOW) {
            self.when.pop_front();
        }
        if self.when.len() < MAX_CORRECTIONS {
            return None;
        }
        let who = self.who.iter().cloned().collect::<Vec<_>>().join("; ");
        let who = if who.is_empty() { "another client keeps changing the object".to_owned() } else { who };
        Some(format!(
            "{who}; it was put right {MAX_CORRECTIONS} times within {} minutes, and is now left as it is. \
             Take the fields or the object out of the Bundle, or stop the other client; the next change of the Bundle tries again",
            WINDOW.as_secs() / 60
        ))
    }

    /// Notes that it was put right.
    pub(super) fn note(&mut self, now: Instant, who: impl IntoIterator<Item = String>) {
        self.when.push_back(now);
        self.who.extend(who);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// P-8: the same object is known again, in whichever order its fields come, and no other one is taken for it.
    #[test]
    fn what_was_applied_is_known_again() {
        let of = |text: &str| Fingerprint::of(&serde_json::from_str(text).unwrap());
        let applied = Fingerprint::of(&json!({"data": {"a": "1", "b": "2"}, "kind": "ConfigMap"}));
        assert_eq!(of(r#"{"kind": "ConfigMap", "data": {"b": "2", "a": "1"}}"#), applied);
        for other in [
            r#"{"kind": "ConfigMap", "data": {"a": "1", "b": "3"}}"#,
            r#"{"kind": "ConfigMap", "data": {"a": "1", "b": 2}}"#,
            r#"{"kind": "ConfigMap", "data": {"a": "1"}}"#,
            r#"{"kind": "ConfigMap", "data": {"a": "1", "b": "2", "c": null}}"#,
        ] {
            assert_ne!(of(other), applied, "{other}");
        }
    }

    /// P-8: it ends after some corrections, says with whom, and begins again when time has passed.
    #[tokio::test(start_paused = true)]
    async fn corrections_have_an_end() {
        let mut corrections = Corrections::default();
        for _ in 0..MAX_CORRECTIONS {
            assert_eq!(corrections.are_too_many(Instant::now()), None);
            corrections.note(Instant::now(), ["\"scaler\" sets .spec.replicas".to_owned()]);
            tokio::time::advance(Duration::from_secs(10)).await;
        }
        let told = corrections.are_too_many(Instant::now()).unwrap();
        assert!(told.contains("\"scaler\" sets .spec.replicas"), "{told}");
        tokio::time::advance(WINDOW).await;
        assert_eq!(corrections.are_too_many(Instant::now()), None);
    }
}
