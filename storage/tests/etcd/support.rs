//! Stores to test, a writer that knows what it was promised, and a watcher that remembers everything.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bailiwick_storage::etcd::{Etcd, EtcdOptions};
use bailiwick_storage::{At, Change, Error, Event, Key, ListOptions, Prefix, Resource, Revision, Store, Txn, Watch};
use bailiwick_test_host as host;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Options for `etcd`, without the task that compacts.
pub(crate) fn options(endpoints: impl IntoIterator<Item = impl Into<String>>) -> EtcdOptions {
    let mut options = EtcdOptions::new(endpoints);
    options.compaction = None;
    options
}

/// A store in `etcd`.
pub(crate) async fn store(etcd: &host::Etcd) -> Arc<Etcd> {
    Arc::new(Etcd::connect(options(etcd.endpoints())).await.unwrap())
}

/// All that the tests write.
pub(crate) fn all() -> Prefix {
    resource().all().clone()
}

/// One key.
pub(crate) fn key(name: &str) -> Key {
    resource().object(name).unwrap()
}

fn resource() -> Resource {
    Resource::new("", "configmaps").unwrap()
}

/// Everything a watch delivered, checked for order as it comes.
pub(crate) struct Recorder {
    events: Arc<Mutex<Vec<Event>>>,
    through: watch::Receiver<Revision>,
    ask: Arc<Notify>,
    task: JoinHandle<Error>,
}

impl Recorder {
    pub(crate) fn start(mut watch: Box<dyn Watch>) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let ask = Arc::new(Notify::new());
        let (through_tx, through) = watch::channel(Revision::ZERO);
        let (log, asked) = (events.clone(), ask.clone());
        let task = tokio::spawn(async move {
            loop {
                let batch = tokio::select! {
                    batch = watch.next() => batch,
                    () = asked.notified() => {
                        watch.request_progress();
                        continue;
                    }
                };
                let batch = match batch {
                    Ok(batch) => batch,
                    Err(error) => return error,
                };
                let before = *through_tx.borrow();
                assert!(batch.through >= before, "{} after {before}", batch.through);
                for event in &batch.events {
                    assert!(event.revision > before, "{event:?} after {before}");
                    assert!(event.revision <= batch.through, "{event:?} beyond {}", batch.through);
                }
                assert!(batch.events.is_sorted_by_key(|event| event.revision), "{batch:?}");
                log.lock().unwrap().extend(batch.events);
                through_tx.send_replace(batch.through);
            }
        });
        Self { events, through, ask, task }
    }

    /// Waits until everything up to `revision` has been delivered, and gives it.
    pub(crate) async fn until(&mut self, revision: Revision) -> Vec<Event> {
        let reached = async {
            while *self.through.borrow_and_update() < revision {
                self.ask.notify_one();
                let _ = timeout(Duration::from_millis(200), self.through.changed()).await;
                assert!(!self.task.is_finished(), "the watch ended");
            }
        };
        timeout(PATIENCE, reached).await.unwrap_or_else(|_| panic!("no news of {revision}"));
        self.events.lock().unwrap().clone()
    }

    /// Waits for the error that ends the watch.
    pub(crate) async fn end(mut self) -> Error {
        timeout(PATIENCE, &mut self.task).await.expect("the watch goes on").unwrap()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Writes without a pause, and remembers which writes were acknowledged.
pub(crate) struct Writer {
    stop: Arc<AtomicBool>,
    task: JoinHandle<Written>,
}

/// What a writer did.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Acknowledged writes: the value, or `None` for a deletion.
    pub(crate) acknowledged: BTreeMap<Revision, (Key, Option<String>)>,
    /// Writes whose fate the writer was not told. Each may have been made, then or later: a member that stood still
    /// goes on with what it had been sent.
    pub(crate) unknown: Vec<(Key, Option<String>)>,
    /// Those that were made after the writer had looked and not found them.
    pub(crate) late: usize,
    /// Writes that certainly did not happen.
    pub(crate) unavailable: usize,
    /// The longest time without an acknowledged write.
    pub(crate) longest_gap: Duration,
}

impl Writer {
    pub(crate) fn start(store: Arc<Etcd>, name: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, key) = (stop.clone(), key(name));
        let task = tokio::spawn(async move {
            let mut written = Written::default();
            let (mut known, mut count) = (Known { record: None, at: Revision::ZERO }, 0_u64);
            let mut last = Instant::now();
            while !stopped.load(Ordering::Relaxed) {
                count += 1;
                let seen = known.record.as_ref().map(|(revision, _)| *revision);
                let value = (count % 7 != 0 || seen.is_none()).then(|| format!("{key}={count}"));
                let txn = match (value.clone(), seen) {
                    (Some(value), None) => Txn::new().create(key.clone(), value),
                    (Some(value), Some(seen)) => Txn::new().update(key.clone(), value, seen),
                    (None, Some(seen)) => Txn::new().delete(key.clone(), seen),
                    (None, None) => unreachable!("only what exists is deleted"),
                };
                match store.commit(txn).await {
                    Ok(revision) => {
                        known = Known { record: value.clone().map(|value| (revision, value)), at: revision };
                        written.acknowledged.insert(revision, (key.clone(), value));
                        written.longest_gap = written.longest_gap.max(last.elapsed());
                        last = Instant::now();
                    }
                    Err(Error::Unavailable { .. }) => written.unavailable += 1,
                    Err(Error::OutcomeUnknown { .. }) => {
                        written.unknown.push((key.clone(), value));
                        known = Known::read(&store, &key).await;
                    }
                    // Nobody else writes this key, so this must be one of the unknown writes, made since the last look.
                    Err(Error::Conflict(conflict)) => {
                        assert!(conflict.actual.is_none_or(|actual| actual > known.at), "{conflict}: a stale read");
                        known = Known::read(&store, &key).await;
                        let made = (key.clone(), known.record.as_ref().map(|(_, value)| value.clone()));
                        assert!(written.unknown.contains(&made), "{conflict}: {made:?} was never tried");
                        written.late += 1;
                    }
                    Err(error) => panic!("{error}"),
                }
                sleep(Duration::from_millis(2)).await;
            }
            written
        });
        Self { stop, task }
    }

    pub(crate) async fn stop(self) -> Written {
        self.stop.store(true, Ordering::Relaxed);
        timeout(PATIENCE, self.task).await.expect("the writer hangs").unwrap()
    }
}

/// What a writer knows of its key.
struct Known {
    record: Option<(Revision, String)>,
    /// When it was so.
    at: Revision,
}

impl Known {
    /// Looks, for as long as it takes to learn.
    async fn read(store: &Etcd, key: &Key) -> Self {
        loop {
            match store.get(key, At::Latest).await {
                Ok(found) => {
                    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
                    let record = found.record.map(|record| (record.revision, text(&record.value)));
                    return Self { record, at: found.revision };
                }
                Err(Error::Unavailable { .. }) => sleep(Duration::from_millis(20)).await,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Checks that `events` tell exactly what happened: every acknowledged write once, at its revision; nothing else but
/// writes of unknown outcome; and together they make the state that is listed now.
pub(crate) async fn check_history(store: &Etcd, events: &[Event], written: &[Written]) {
    let mut by_revision = BTreeMap::new();
    for event in events {
        assert!(by_revision.insert(event.revision, event).is_none(), "{event:?} came twice");
    }
    for (revision, (key, value)) in written.iter().flat_map(|written| &written.acknowledged) {
        let event = by_revision.get(revision).unwrap_or_else(|| panic!("{key} at {revision} was lost"));
        assert_eq!(event.key, *key);
        match (&event.change, value) {
            (Change::Put(found), Some(value)) => assert_eq!(found, value.as_bytes()),
            (Change::Delete, None) => {}
            (change, value) => panic!("{value:?} was acknowledged, but {change:?} happened"),
        }
    }
    for event in events {
        let value = match &event.change {
            Change::Put(value) => Some(String::from_utf8_lossy(value).into_owned()),
            Change::Delete | Change::Corrupt(_) => None,
        };
        let acknowledged = written.iter().any(|written| written.acknowledged.contains_key(&event.revision));
        let made = (event.key.clone(), value);
        assert!(acknowledged || written.iter().any(|written| written.unknown.contains(&made)), "who did {event:?}?");
    }
    let mut state = BTreeMap::new();
    for event in events {
        match &event.change {
            Change::Put(value) => state.insert(event.key.clone(), (event.revision, value.clone())),
            Change::Delete => state.remove(&event.key),
            Change::Corrupt(fault) => panic!("{fault}"),
        };
    }
    let listed = store.list(&all(), ListOptions::latest()).await.unwrap();
    let listed = listed.records.into_iter().map(|record| (record.key, (record.revision, record.value)));
    assert_eq!(state, listed.collect());
}
