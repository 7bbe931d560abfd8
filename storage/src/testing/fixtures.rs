//! Short names for what the cases are about.

use std::fmt::{Debug, Display};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use crate::error::{Conflict, Error, Result};
use crate::key::{Key, Ledger, Prefix, Resource};
use crate::revision::Revision;
use crate::store::Store;

/// How long anything may take that should happen at once. Long, because the machine may be busy with other tests.
const SOON: Duration = Duration::from_secs(15);

/// The resource that most cases use.
pub fn widgets() -> Resource {
    Resource::new("example.dev", "widgets").expect("the name is legal")
}

/// A resource whose name begins like that of [`widgets`].
pub fn widgetsets() -> Resource {
    Resource::new("example.dev", "widgetsets").expect("the name is legal")
}

/// Another resource, for transactions over several.
pub fn gadgets() -> Resource {
    Resource::new("", "gadgets").expect("the name is legal")
}

/// A widget.
pub fn key(namespace: &str, name: &str) -> Key {
    widgets().namespaced(namespace, name).expect("the names are legal")
}

/// A gadget. Gadgets have no namespace.
pub fn gadget(name: &str) -> Key {
    gadgets().object(name).expect("the name is legal")
}

/// The ledger that cases use.
pub fn ledger() -> Ledger {
    Ledger::new("counts").expect("the name is legal")
}

/// A row of the ledger.
pub fn row(number: usize) -> Key {
    ledger().row(&["rows"], &format!("{number:05}")).expect("the names are legal")
}

/// Waits for something that should happen at once.
pub async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(SOON, future).await {
        Ok(output) => output,
        Err(_) => panic!("{what} did not happen within {SOON:?}"),
    }
}

/// Compares two sequences. Shows where they part rather than all of both: values may be large.
#[track_caller]
pub(super) fn check_same<T: PartialEq + Debug>(found: &[T], expected: &[T], what: impl Display) {
    let parts_at = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let at = parts_at.unwrap_or_else(|| found.len().min(expected.len()));
    let show = |side: &[T]| side.get(at).map(|item| format!("{item:?}").chars().take(200).collect::<String>());
    assert!(
        at == found.len() && at == expected.len(),
        "{what}: {} instead of {} items; number {at} is {:?} instead of {:?}",
        found.len(),
        expected.len(),
        show(found),
        show(expected)
    );
}

/// The conflict a commit must have failed with.
#[track_caller]
pub(super) fn conflict(result: Result<Revision>) -> Conflict {
    match result {
        Err(Error::Conflict(conflict)) => conflict,
        other => panic!("expected a conflict, not {other:?}"),
    }
}

/// Checks that something failed because its revision is no longer kept.
#[track_caller]
pub(super) fn check_expired<T: Debug>(result: Result<T>, wanted: Revision, kept: Revision) {
    match result {
        Err(Error::Expired { requested, oldest }) => assert_eq!((requested, oldest), (wanted, kept)),
        other => panic!("expected revision {wanted} to have expired, the oldest being {kept}, but got {other:?}"),
    }
}

/// What a watch that cannot work fails with: when it is opened, or instead of its first batch.
pub(super) async fn watch_error(store: &dyn Store, prefix: &Prefix, after: Revision) -> Result<()> {
    let mut watch = soon("opening a watch", store.watch(prefix, after)).await?;
    let batch = soon("the end of a watch that cannot work", watch.next()).await?;
    panic!("expected the watch after {after} to fail, not {batch:?}")
}

/// The revision just before this one.
pub(super) fn before(revision: Revision) -> Revision {
    Revision::new(revision.get() - 1)
}

/// Random numbers that can be had again. The seed is printed, and taken from `BAILIWICK_TEST_SEED` if that is set.
pub struct Random(u64);

impl Default for Random {
    fn default() -> Self {
        let given = std::env::var("BAILIWICK_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        println!("to repeat this run: BAILIWICK_TEST_SEED={seed}");
        Self(seed)
    }
}

impl Random {
    /// A sequence of its own for each of several tasks.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("a length fits 64 bits");
        usize::try_from(self.next() % end).expect("it is below a length")
    }

    /// One of several.
    pub fn one_of<T: Clone>(&mut self, several: &[T]) -> T {
        several[self.below(several.len())].clone()
    }

    // SplitMix64, by Steele, Lea and Flood: small, and good enough to choose test cases.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
