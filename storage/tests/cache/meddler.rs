//! A store between the cache and the real one that can be told to misbehave.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_storage::cache::{AuditOptions, Cache, CacheOptions, Extract, OnDifference, Term, Terms, Undecodable};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::SimDisk;
use bailiwick_storage::{
    At, Batch, Error, Key, ListOptions, Lookup, Page, Prefix, Result, Revision, Store, Txn, Watch,
};
use bytes::Bytes;
use tokio::sync::watch;

/// A store that hides how far it has come, as etcd does, and whose watches can be ended or held up.
pub(super) struct Meddler {
    store: Embedded,
    /// Counts up: every watch of an older count ends.
    epoch: watch::Sender<u64>,
    /// Whether watches deliver nothing for now.
    held: watch::Sender<bool>,
    /// Whether the store cannot be asked.
    down: AtomicBool,
    pub(super) revision_checks: AtomicU64,
    pub(super) lists: AtomicU64,
}

struct MeddledWatch {
    watch: Box<dyn Watch>,
    epoch: watch::Receiver<u64>,
    opened_in: u64,
    held: watch::Receiver<bool>,
}

impl Meddler {
    pub(super) async fn open() -> Arc<Self> {
        Self::over(&SimDisk::default()).await
    }

    pub(super) async fn over(disk: &SimDisk) -> Arc<Self> {
        let store = Embedded::open(EmbeddedOptions::new(Arc::new(disk.clone()))).await.unwrap();
        Arc::new(Self {
            store,
            epoch: watch::Sender::new(0),
            held: watch::Sender::new(false),
            down: AtomicBool::new(false),
            revision_checks: AtomicU64::new(0),
            lists: AtomicU64::new(0),
        })
    }

    /// Ends every watch as if the store had forgotten what comes next.
    pub(super) fn expire_watches(&self) {
        self.epoch.send_modify(|epoch| *epoch += 1);
    }

    pub(super) fn hold_watches(&self, hold: bool) {
        self.held.send_replace(hold);
    }

    pub(super) fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    fn check_up(&self) -> Result<()> {
        match self.down.load(Ordering::SeqCst) {
            true => Err(Error::Unavailable { reason: "it is down".into() }),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Store for Meddler {
    async fn revision(&self) -> Result<Revision> {
        self.revision_checks.fetch_add(1, Ordering::SeqCst);
        self.check_up()?;
        tokio::task::yield_now().await;
        self.store.revision().await
    }

    async fn get(&self, key: &Key, at: At) -> Result<Lookup> {
        self.check_up()?;
        self.store.get(key, at).await
    }

    async fn list(&self, prefix: &Prefix, options: ListOptions) -> Result<Page> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        self.check_up()?;
        self.store.list(prefix, options).await
    }

    async fn commit(&self, txn: Txn) -> Result<Revision> {
        self.check_up()?;
        self.store.commit(txn).await
    }

    async fn watch(&self, prefix: &Prefix, after: Revision) -> Result<Box<dyn Watch>> {
        self.check_up()?;
        let watch = self.store.watch(prefix, after).await?;
        let epoch = self.epoch.subscribe();
        let opened_in = *epoch.borrow();
        Ok(Box::new(MeddledWatch { watch, epoch, opened_in, held: self.held.subscribe() }))
    }

    async fn compact(&self, oldest: Revision) -> Result<()> {
        self.store.compact(oldest).await
    }
}

#[async_trait]
impl Watch for MeddledWatch {
    async fn next(&mut self) -> Result<Batch> {
        let opened_in = self.opened_in;
        tokio::select! {
            _ = self.epoch.wait_for(|epoch| *epoch != opened_in) => {
                Err(Error::Expired { requested: Revision::new(1), oldest: Revision::new(2) })
            }
            batch = async {
                let _ = self.held.wait_for(|held| !held).await;
                self.watch.next().await
            } => batch,
        }
    }

    fn request_progress(&mut self) {
        self.watch.request_progress();
    }
}

/// Values are lines `label=value`; the body is the value with its revision in front. `undecodable` is not an object.
pub(super) struct Lines;

impl Extract for Lines {
    fn extract(&self, _: &Key, revision: Revision, stored: Bytes, terms: &mut Terms<'_>) -> Result<Bytes, Undecodable> {
        let text = std::str::from_utf8(&stored).map_err(|error| Undecodable(error.to_string().into()))?;
        if text == "undecodable" {
            return Err(Undecodable("it is not made of lines".into()));
        }
        for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
            terms.add(Term::label(name, value));
        }
        Ok(format!("{revision}\n{text}").into())
    }
}

/// Options for tests: compared with the store all the time.
pub(super) fn options() -> CacheOptions {
    let mut options = CacheOptions::new(Arc::new(Lines));
    options.audit = AuditOptions { interval: Duration::from_millis(20), on_difference: OnDifference::Panic };
    options
}

pub(super) async fn cache(store: &Arc<Meddler>, options: CacheOptions) -> Cache {
    Cache::start(store.clone(), options).await.unwrap()
}
