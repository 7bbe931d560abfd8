//! What an operation knows beside its object: who asks, and what time it is.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bailiwick_machinery::format_rfc3339;

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name that authentication found.
    pub name: String,
    /// What tells users of one name apart over time.
    pub uid: String,
    /// The groups the user is in.
    pub groups: Vec<String>,
    /// Those of the groups that the user is in by what this server knows, and which nobody said when it was found out who asks.
    /// Whoever is in them now need not be tomorrow: what is kept for later is without them.
    pub added_groups: Vec<String>,
    /// What else authentication found.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// What an operation knows beside its object.
#[derive(Clone, Copy, Debug)]
pub struct Ctx<'c> {
    /// Who asks.
    pub user: &'c User,
    /// When.
    pub now: SystemTime,
    /// What the audit log is to say about it, if there is one.
    pub annotations: Option<&'c Annotations>,
}

/// What an operation adds to the audit log's entry of its request: words that the request itself does not show.
#[derive(Debug, Default)]
pub struct Annotations(Mutex<BTreeMap<String, String>>);

/// What time it is. Injected, so that tests can say.
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> SystemTime;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

// === impl User ===

impl User {
    /// The same user, in these groups.
    #[must_use]
    pub fn in_groups(mut self, groups: Vec<String>) -> Self {
        let came: HashSet<String> = self.groups_that_came().map(str::to_owned).collect();
        self.added_groups = groups.iter().filter(|group| !came.contains(*group)).cloned().collect();
        self.groups = groups;
        self
    }

    /// The groups that were said of the user when it was found out who asks.
    pub fn groups_that_came(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().filter(|group| !self.added_groups.contains(group)).map(String::as_str)
    }
}

// === impl SystemClock ===

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is what others take the time from")]
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

// === impl Ctx ===

impl Ctx<'_> {
    /// Adds to the audit log's entry of the request; nothing where there is none.
    pub fn annotate(&self, key: &str, value: impl Into<String>) {
        if let Some(annotations) = self.annotations {
            annotations.add(key, value);
        }
    }

    /// The time as objects state it: in whole seconds.
    pub fn timestamp(&self) -> String {
        format_rfc3339(self.seconds()).unwrap_or_default()
    }

    /// Seconds since 1970.
    pub fn seconds(&self) -> i64 {
        match self.now.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_secs()).unwrap_or(i64::MAX),
        }
    }
}

// === impl Annotations ===

impl Annotations {
    /// Adds one. The first value of a key counts: what has been said is not unsaid.
    pub fn add(&self, key: &str, value: impl Into<String>) {
        let mut annotations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        annotations.entry(key.to_owned()).or_insert_with(|| value.into());
    }

    /// Shows all there are so far, by their keys.
    pub fn show<T>(&self, to: impl FnOnce(&BTreeMap<String, String>) -> T) -> T {
        to(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
