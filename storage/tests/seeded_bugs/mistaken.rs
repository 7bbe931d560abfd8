//! A store that is right inside and makes one mistake at its border.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bailiwick_storage::testing::Backend;
use bailiwick_storage::{
    At, Batch, Change, Error, Event, Key, ListOptions, Lookup, Page, Prefix, Result, Revision, Store, Txn, Watch,
};

/// What the store does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    SwallowConflicts,
    ForgetActual,
    SwallowInvalid,
    ReturnRevisionBefore,
    EmptyIsAbsent,
    ExactIsLatest,
    FutureIsLatest,
    AbsenceWithoutRevision,
    Backwards,
    RemainingIsOne,
    IgnoreAfter,
    ReadBehind,
    ClaimTooNew,
    NotOlderIsExact,
    NotOlderIsOlder,
    TearLists,
    SplitRevisions,
    ProgressTooHigh,
    IgnoreProgress,
    BeginLate,
    BeginNow,
    WatchEverything,
    LoseOnDrop,
    LoseWhenSlow,
    DeleteIsPut,
    CompactNothing,
    CompactAll,
    SkipExpired,
    ExpiredIsOldest,
    CompactFuture,
    CompactionEndsWatches,
}

/// Wraps the stores of another backend.
pub(crate) struct Mistaken<B> {
    inner: B,
    mistake: Option<Mistake>,
}

struct MistakenStore {
    inner: Arc<dyn Store>,
    mistake: Option<Mistake>,
    /// The revision before the last commit's.
    before: AtomicU64,
    compactions: Arc<AtomicU64>,
}

struct MistakenWatch {
    store: Arc<dyn Store>,
    inner: Box<dyn Watch>,
    prefix: Prefix,
    mistake: Option<Mistake>,
    held_back: Option<Batch>,
    compactions: Arc<AtomicU64>,
    compactions_seen: u64,
}

impl<B> Mistaken<B> {
    pub(crate) fn new(inner: B, mistake: Option<Mistake>) -> Self {
        Self { inner, mistake }
    }
}

#[async_trait]
impl<B: Backend> Backend for Mistaken<B> {
    async fn open(&self) -> Arc<dyn Store> {
        let inner = self.inner.open().await;
        let before = AtomicU64::new(inner.revision().await.unwrap().get());
        Arc::new(MistakenStore { inner, mistake: self.mistake, before, compactions: Arc::default() })
    }
}

impl MistakenStore {
    fn does(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    async fn mistake_at(&self, at: At) -> At {
        let newest = self.inner.revision().await.unwrap();
        match at {
            At::Exact(_) if self.does(Mistake::ExactIsLatest) => At::Latest,
            At::Exact(wanted) | At::NotOlderThan(wanted) if self.does(Mistake::FutureIsLatest) && wanted > newest => {
                At::Latest
            }
            At::NotOlderThan(wanted) if self.does(Mistake::NotOlderIsExact) => At::Exact(wanted),
            At::NotOlderThan(_) if self.does(Mistake::NotOlderIsOlder) => {
                At::Exact(Revision::new(self.before.load(Ordering::SeqCst)))
            }
            At::Latest if self.does(Mistake::ReadBehind) => {
                At::Exact(Revision::new(self.before.load(Ordering::SeqCst)))
            }
            at => at,
        }
    }

    fn mistake_revision(&self, revision: Revision, is_empty: bool) -> Revision {
        if self.does(Mistake::AbsenceWithoutRevision) && is_empty {
            return Revision::ZERO;
        }
        Revision::new(revision.get() + u64::from(self.does(Mistake::ClaimTooNew)))
    }
}

#[async_trait]
impl Store for MistakenStore {
    async fn revision(&self) -> Result<Revision> {
        self.inner.revision().await
    }

    async fn get(&self, key: &Key, at: At) -> Result<Lookup> {
        let mut lookup = self.inner.get(key, self.mistake_at(at).await).await?;
        if self.does(Mistake::EmptyIsAbsent) {
            lookup.record = lookup.record.filter(|record| !record.value.is_empty());
        }
        lookup.revision = self.mistake_revision(lookup.revision, lookup.record.is_none());
        Ok(lookup)
    }

    async fn list(&self, prefix: &Prefix, mut options: ListOptions) -> Result<Page> {
        options.at = self.mistake_at(options.at).await;
        if self.does(Mistake::IgnoreAfter) {
            options.after = None;
        }
        let mut page = match self.inner.list(prefix, options.clone()).await {
            Err(Error::Expired { oldest, .. }) if self.does(Mistake::ExpiredIsOldest) => {
                self.inner.list(prefix, ListOptions { at: At::Exact(oldest), ..options.clone() }).await?
            }
            other => other?,
        };
        if self.does(Mistake::TearLists) {
            tokio::task::yield_now().await;
            let later = self.inner.list(prefix, options.clone()).await?;
            let middle = page.records.len().min(later.records.len()) / 2;
            page.records.splice(middle.., later.records.into_iter().skip(middle));
        }
        if self.does(Mistake::Backwards) {
            page.records.reverse();
        }
        if self.does(Mistake::RemainingIsOne) {
            page.remaining = page.remaining.min(1);
        }
        page.revision = self.mistake_revision(page.revision, page.records.is_empty());
        Ok(page)
    }

    async fn commit(&self, txn: Txn) -> Result<Revision> {
        let before = self.inner.revision().await?;
        match self.inner.commit(txn).await {
            Ok(revision) => {
                self.before.store(before.get(), Ordering::SeqCst);
                Ok(if self.does(Mistake::ReturnRevisionBefore) { before } else { revision })
            }
            Err(Error::Conflict(_)) if self.does(Mistake::SwallowConflicts) => Ok(before),
            Err(Error::Conflict(mut conflict)) if self.does(Mistake::ForgetActual) => {
                conflict.actual = None;
                Err(Error::Conflict(conflict))
            }
            Err(Error::Invalid(_)) if self.does(Mistake::SwallowInvalid) => Ok(before),
            Err(other) => Err(other),
        }
    }

    async fn watch(&self, prefix: &Prefix, after: Revision) -> Result<Box<dyn Watch>> {
        let after = match self.mistake {
            Some(Mistake::BeginLate) => Revision::new(after.get() + 1),
            Some(Mistake::BeginNow) => self.inner.revision().await?,
            _ => after,
        };
        let range = if self.does(Mistake::WatchEverything) { Prefix::everything() } else { prefix.clone() };
        let inner = match self.inner.watch(&range, after).await {
            Err(Error::Expired { oldest, .. }) if self.does(Mistake::SkipExpired) => {
                self.inner.watch(&range, oldest).await?
            }
            other => other?,
        };
        Ok(Box::new(MistakenWatch {
            store: self.inner.clone(),
            inner,
            prefix: range,
            mistake: self.mistake,
            held_back: None,
            compactions: self.compactions.clone(),
            compactions_seen: self.compactions.load(Ordering::SeqCst),
        }))
    }

    async fn compact(&self, oldest: Revision) -> Result<()> {
        self.compactions.fetch_add(1, Ordering::SeqCst);
        let newest = self.inner.revision().await?;
        match self.mistake {
            Some(Mistake::CompactNothing) => Ok(()),
            Some(Mistake::CompactAll) => self.inner.compact(newest).await,
            Some(Mistake::CompactFuture) => self.inner.compact(oldest.min(newest)).await,
            _ => self.inner.compact(oldest).await,
        }
    }
}

impl MistakenWatch {
    fn does(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }
}

#[async_trait]
impl Watch for MistakenWatch {
    async fn next(&mut self) -> Result<Batch> {
        if let Some(batch) = self.held_back.take() {
            return Ok(batch);
        }
        if self.does(Mistake::CompactionEndsWatches) {
            let compactions = self.compactions.load(Ordering::SeqCst);
            if compactions > self.compactions_seen {
                let newest = self.store.revision().await?;
                return Err(Error::Expired { requested: Revision::ZERO, oldest: newest });
            }
        }
        let mut batch = match self.inner.next().await {
            Err(Error::Expired { oldest, .. }) if self.does(Mistake::SkipExpired) => {
                self.inner = self.store.watch(&self.prefix, oldest).await?;
                self.inner.next().await?
            }
            other => other?,
        };
        match self.mistake {
            Some(Mistake::LoseOnDrop) => tokio::task::yield_now().await,
            Some(Mistake::LoseWhenSlow) if batch.events.len() > 100 => drop(batch.events.drain(..50)),
            Some(Mistake::ProgressTooHigh) => batch.through = Revision::new(batch.through.get() + 1),
            Some(Mistake::DeleteIsPut) => {
                for Event { change, .. } in &mut batch.events {
                    if *change == Change::Delete {
                        *change = Change::Put("".into());
                    }
                }
            }
            Some(Mistake::SplitRevisions) if batch.events.len() > 1 => {
                let events = batch.events.split_off(batch.events.len() - 1);
                self.held_back = Some(Batch { through: batch.through, events });
                batch.through = batch.events[batch.events.len() - 1].revision;
            }
            _ => {}
        }
        Ok(batch)
    }

    fn request_progress(&mut self) {
        if !self.does(Mistake::IgnoreProgress) {
            self.inner.request_progress();
        }
    }
}
