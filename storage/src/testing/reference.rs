//! The contract in its plainest form: a list of events under a lock, from which everything is computed. Slow, and gone
//! with the process. The suite is tested on it, and it can make the mistakes that a store without a disk can make.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::yield_now;

use super::Backend;
use crate::error::{Conflict, Error, Result};
use crate::fault::{Fault, Faults};
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::store::{At, Batch, Change, Event, ListOptions, Lookup, Page, Record, Store, Values, Watch};
use crate::txn::{Expected, Txn};

/// How long a read waits for a revision that has not been reached.
const PATIENCE: Duration = Duration::from_secs(3);

/// A store in memory. Clones share it; as a [`Backend`] it opens fresh ones with the same faults.
#[derive(Clone)]
pub struct Reference {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// commits --newest revision--> watches and waiting reads
    newest: watch::Sender<Revision>,
    start: Revision,
    stride: u64,
    faults: Faults,
}

struct State {
    revision: Revision,
    oldest: Revision,
    log: Vec<Event>,
}

struct ReferenceWatch {
    shared: Arc<Shared>,
    newest: watch::Receiver<Revision>,
    prefix: Prefix,
    after: Revision,
    fresh: bool,
    progress_wanted: bool,
}

// === impl Reference ===

impl Reference {
    /// An empty store at revision `start`, each write of which moves it by `stride`, as if others wrote in between.
    pub fn new(start: Revision, stride: u64, faults: Faults) -> Self {
        let state = Mutex::new(State { revision: start, oldest: start, log: Vec::new() });
        let newest = watch::Sender::new(start);
        Self { shared: Arc::new(Shared { state, newest, start, stride, faults }) }
    }

    /// Waits for the revision a read wants. Every operation yields once, so that tasks take turns on one thread, too.
    async fn reach(&self, at: At) -> Result<()> {
        yield_now().await;
        let (At::NotOlderThan(requested) | At::Exact(requested)) = at else {
            return Ok(());
        };
        let mut newest = self.shared.newest.subscribe();
        let reached = tokio::time::timeout(PATIENCE, newest.wait_for(|newest| *newest >= requested)).await;
        match reached {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::FutureRevision { requested, current: *self.shared.newest.borrow() }),
        }
    }

    /// The revision a read is answered for, and the state as of it.
    fn view(&self, at: At) -> Result<(Revision, BTreeMap<Key, Record>)> {
        let state = self.shared.state.lock().unwrap();
        match at {
            At::Exact(requested) if requested < state.oldest => Err(Error::Expired { requested, oldest: state.oldest }),
            At::Exact(requested) => Ok((requested, state.as_of(requested))),
            At::Latest if self.shared.faults.is_set(Fault::StaleRead) => {
                let stale = Revision::new(state.revision.get() - self.shared.stride);
                Ok((state.revision, state.as_of(stale)))
            }
            At::Any | At::Latest | At::NotOlderThan(_) => Ok((state.revision, state.as_of(state.revision))),
        }
    }
}

#[async_trait]
impl Backend for Reference {
    async fn open(&self) -> Arc<dyn Store> {
        let Shared { start, stride, faults, .. } = &*self.shared;
        Arc::new(Self::new(*start, *stride, faults.clone()))
    }
}

#[async_trait]
impl Store for Reference {
    async fn revision(&self) -> Result<Revision> {
        yield_now().await;
        Ok(self.shared.state.lock().unwrap().revision)
    }

    async fn get(&self, key: &Key, at: At) -> Result<Lookup> {
        self.reach(at).await?;
        let (revision, mut records) = self.view(at)?;
        Ok(Lookup { revision, record: records.remove(key) })
    }

    async fn list(&self, prefix: &Prefix, options: ListOptions) -> Result<Page> {
        self.reach(options.at).await?;
        let (revision, records) = self.view(options.at)?;
        let behind = |key: &Key| options.after.as_ref().is_none_or(|after| key > after);
        let mut found = records.into_values().filter(|record| prefix.contains(&record.key) && behind(&record.key));
        let limit = options.limit.map_or(usize::MAX, usize::from);
        let mut records: Vec<_> = found.by_ref().take(limit).collect();
        if options.values == Values::Omitted {
            records.iter_mut().for_each(|record| record.value = Bytes::new());
        }
        Ok(Page { revision, records, remaining: found.count(), damaged: Vec::new() })
    }

    async fn commit(&self, txn: Txn) -> Result<Revision> {
        yield_now().await;
        txn.validate()?;
        let mut state = self.shared.state.lock().unwrap();
        let now = state.as_of(state.revision);
        for guard in &txn.guards {
            let actual = now.get(&guard.key).map(|record| record.revision);
            if guard.expected != actual.map_or(Expected::Absent, Expected::At) {
                return Err(Error::Conflict(Conflict { key: guard.key.clone(), expected: guard.expected, actual }));
            }
        }
        let revision = Revision::new(state.revision.get() + self.shared.stride);
        state.revision = revision;
        state.log.extend(txn.writes.into_iter().map(|write| Event {
            revision,
            key: write.key,
            change: write.value.map_or(Change::Delete, Change::Put),
        }));
        self.shared.newest.send_replace(revision);
        Ok(revision)
    }

    async fn watch(&self, prefix: &Prefix, after: Revision) -> Result<Box<dyn Watch>> {
        yield_now().await;
        let oldest = self.shared.state.lock().unwrap().oldest;
        if after < oldest {
            return Err(Error::Expired { requested: after, oldest });
        }
        let (shared, newest) = (self.shared.clone(), self.shared.newest.subscribe());
        let prefix = prefix.clone();
        Ok(Box::new(ReferenceWatch { shared, newest, prefix, after, fresh: true, progress_wanted: false }))
    }

    async fn compact(&self, oldest: Revision) -> Result<()> {
        yield_now().await;
        let mut state = self.shared.state.lock().unwrap();
        if oldest > state.revision {
            return Err(Error::FutureRevision { requested: oldest, current: state.revision });
        }
        state.oldest = state.oldest.max(oldest);
        Ok(())
    }
}

// === impl State ===

impl State {
    fn as_of(&self, revision: Revision) -> BTreeMap<Key, Record> {
        let mut records = BTreeMap::new();
        for Event { revision, key, change } in self.log.iter().take_while(|event| event.revision <= revision) {
            match change {
                Change::Put(value) => {
                    records.insert(key.clone(), Record { key: key.clone(), revision: *revision, value: value.clone() });
                }
                Change::Delete | Change::Corrupt(_) => {
                    records.remove(key);
                }
            }
        }
        records
    }
}

// === impl ReferenceWatch ===

impl ReferenceWatch {
    fn batch(&mut self) -> Result<Option<Batch>> {
        let state = self.shared.state.lock().unwrap();
        if self.after < state.oldest {
            return Err(Error::Expired { requested: self.after, oldest: state.oldest });
        }
        if state.revision < self.after {
            return Ok(None);
        }
        let repeat = self.fresh && self.shared.faults.is_set(Fault::RepeatEvent);
        let is_new = |event: &Event| event.revision > self.after || repeat && event.revision == self.after;
        let is_lost = |index: usize, event: &Event| {
            (self.shared.faults.is_set(Fault::DropEvent) && index % 10 == 9)
                || (self.shared.faults.is_set(Fault::MissDelete) && event.change == Change::Delete)
        };
        let from = state.log.partition_point(|event| event.revision < self.after);
        let events: Vec<_> = (from..)
            .zip(&state.log[from..])
            .filter(|(index, event)| is_new(event) && self.prefix.contains(&event.key) && !is_lost(*index, event))
            .map(|(_, event)| event.clone())
            .collect();
        self.after = state.revision;
        self.fresh = false;
        let wanted = std::mem::take(&mut self.progress_wanted);
        Ok((wanted || !events.is_empty()).then_some(Batch { through: self.after, events }))
    }
}

#[async_trait]
impl Watch for ReferenceWatch {
    async fn next(&mut self) -> Result<Batch> {
        yield_now().await;
        loop {
            // Marked as seen before looking, so that a commit in between wakes the wait below.
            self.newest.borrow_and_update();
            if let Some(batch) = self.batch()? {
                return Ok(batch);
            }
            self.newest.changed().await.map_err(|_| Error::Closed)?;
        }
    }

    fn request_progress(&mut self) {
        self.progress_wanted = true;
    }
}
