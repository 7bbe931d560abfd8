//! Is the cache what the store is? A comparison of both at one revision, again and again.

use std::sync::Arc;
use std::time::Duration;

use super::snapshot::Snapshot;
use super::{Inner, PAGE};
use crate::error::{Error, Result};
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::store::{At, ListOptions, Values};

/// How the cache is compared with the store.
#[derive(Clone, Copy, Debug)]
pub struct AuditOptions {
    /// The time between two comparisons.
    pub interval: Duration,
    /// What to do about a difference.
    pub on_difference: OnDifference,
}

/// What to do about a difference between the cache and the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDifference {
    /// Log it, count it, and go on.
    Report,
    /// In tests: panic, in the audit and in whoever uses the cache next.
    Panic,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self { interval: Duration::from_secs(300), on_difference: OnDifference::Report }
    }
}

/// Compares until the cache ends.
#[allow(clippy::panic, reason = "a difference must fail the test that found it")]
pub(super) async fn run(cache: Arc<Inner>, options: AuditOptions) {
    loop {
        tokio::time::sleep(options.interval).await;
        match compare(&cache).await {
            Ok(None) => {}
            Ok(Some(difference)) => {
                cache.core.metrics().audit_differences.inc();
                tracing::error!(%difference, "the cache differs from the store");
                if options.on_difference == OnDifference::Panic {
                    cache.core.poison(difference.clone());
                    panic!("{difference}");
                }
            }
            // The state was forgotten while it was compared, or the store cannot be reached: another time.
            Err(error) => tracing::debug!(%error, "the cache could not be compared with the store"),
        }
        cache.core.metrics().audits.inc();
    }
}

/// The first difference between the cache and the store at the cache's revision.
pub(super) async fn compare(cache: &Inner) -> Result<Option<String>, Error> {
    let snapshot = cache.core.snapshot();
    let revision = snapshot.revision();
    let everything = Prefix::everything();
    let mut options = ListOptions::at(At::Exact(revision)).limit(PAGE);
    options.values = Values::Omitted;
    loop {
        let page = cache.store.list(&everything, options.clone()).await?;
        let stored: Vec<(Key, Revision)> =
            page.records.into_iter().map(|record| (record.key, record.revision)).collect();
        let last = stored.last().map(|(key, _)| key.clone()).filter(|_| page.remaining > 0);
        if let Some(difference) = compare_page(&snapshot, options.after.as_ref(), last.as_ref(), &stored) {
            return Ok(Some(format!("at revision {revision}: {difference}")));
        }
        match last {
            Some(last) => options.after = Some(last),
            None => return Ok(None),
        }
    }
}

/// Compares what the store has behind `after` and up to `last` with what the cache has there.
fn compare_page(
    snapshot: &Snapshot,
    after: Option<&Key>,
    last: Option<&Key>,
    stored: &[(Key, Revision)],
) -> Option<String> {
    let everything = Prefix::everything();
    let cached = snapshot.range(&everything, after).take_while(|object| last.is_none_or(|last| object.key() <= last));
    let mut cached = cached.map(|object| (object.key(), object.revision()));
    let mut stored = stored.iter().map(|(key, revision)| (key, *revision));
    loop {
        match (cached.next(), stored.next()) {
            (None, None) => return None,
            (cached, stored) if cached == stored => {}
            (cached, stored) => return Some(format!("the cache has {cached:?} where the store has {stored:?}")),
        }
    }
}
