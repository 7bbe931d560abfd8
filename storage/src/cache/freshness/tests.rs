//! Many readers, one question.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use super::*;
use crate::key::{Key, Prefix};
use crate::store::{At, ListOptions, Lookup, Page, Watch};
use crate::txn::Txn;

/// A store that takes its time to tell its revision, and counts how often it was asked.
#[derive(Default)]
struct Slow {
    asked: AtomicU64,
    revision: AtomicU64,
}

#[async_trait]
impl Store for Slow {
    async fn revision(&self) -> Result<Revision> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let revision = self.revision.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(Revision::new(revision))
    }

    async fn get(&self, _: &Key, _: At) -> Result<Lookup> {
        Err(Error::Closed)
    }

    async fn list(&self, _: &Prefix, _: ListOptions) -> Result<Page> {
        Err(Error::Closed)
    }

    async fn commit(&self, _: Txn) -> Result<Revision> {
        Err(Error::Closed)
    }

    async fn watch(&self, _: &Prefix, _: Revision) -> Result<Box<dyn Watch>> {
        Err(Error::Closed)
    }

    async fn compact(&self, _: Revision) -> Result<()> {
        Err(Error::Closed)
    }
}

#[tokio::test(start_paused = true)]
async fn readers_share_a_check() {
    let store = Arc::<Slow>::default();
    let freshness = Freshness::new(store.clone());
    let checks: Vec<_> = (0..1_000)
        .map(|_| {
            tokio::spawn({
                let freshness = freshness.clone();
                async move { freshness.check().await }
            })
        })
        .collect();
    for check in checks {
        check.await.unwrap().unwrap();
    }
    assert!(store.asked.load(Ordering::SeqCst) <= 2);
}

/// R-03, in small: a reader that asks while a check is under way is not answered by it, because a write may have been
/// acknowledged since the check began.
#[tokio::test(start_paused = true)]
async fn a_check_under_way_is_too_old() {
    let store = Arc::<Slow>::default();
    let freshness = Freshness::new(store.clone());
    let first = tokio::spawn({
        let freshness = freshness.clone();
        async move { freshness.check().await }
    });
    tokio::time::sleep(Duration::from_millis(10)).await;
    store.revision.store(7, Ordering::SeqCst);
    assert_eq!(freshness.check().await.unwrap(), Revision::new(7));
    assert_eq!(first.await.unwrap().unwrap(), Revision::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_gives_up_harms_nobody() {
    let store = Arc::<Slow>::default();
    let freshness = Freshness::new(store.clone());
    let given_up = tokio::time::timeout(Duration::from_millis(10), freshness.check()).await;
    assert!(given_up.is_err());
    assert!(freshness.check().await.is_ok());
}
