//! A store together with the [`Model`] of what was written to it, so that a case can write and compare in one line.

use std::sync::Arc;

use bytes::Bytes;

use super::fixtures::{check_same, soon};
use super::follower::Follower;
use super::model::Model;
use crate::error::Result;
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::store::{At, ListOptions, Page, Record, Store};
use crate::txn::Txn;

/// One writer's view of a store. Everything it writes goes into the model, too.
pub struct Session {
    /// The store.
    pub store: Arc<dyn Store>,
    /// What was written so far.
    pub model: Model,
    /// The store's revision before the first write.
    pub start: Revision,
}

impl Session {
    /// Begins with a store that nobody has written to yet.
    pub async fn new(store: Arc<dyn Store>) -> Self {
        let start = soon("the first revision", store.revision()).await.unwrap();
        Self { store, model: Model::default(), start }
    }

    /// Commits something that must succeed. Each revision must be higher than the one before.
    pub async fn commit(&mut self, txn: Txn) -> Revision {
        let revision = soon("a commit", self.store.commit(txn.clone())).await.unwrap();
        let newest = self.model.newest().max(self.start);
        assert!(revision > newest, "a write got revision {revision}, which does not follow {newest}");
        self.model.record(revision, &txn);
        revision
    }

    /// Creates or updates a key.
    pub async fn put(&mut self, key: &Key, value: impl Into<Bytes>) -> Revision {
        let txn = match self.model.written(key) {
            Some(seen) => Txn::new().update(key.clone(), value, seen),
            None => Txn::new().create(key.clone(), value),
        };
        self.commit(txn).await
    }

    /// Deletes a key that exists.
    pub async fn delete(&mut self, key: &Key) -> Revision {
        let seen = self.model.written(key).expect("the case deletes only what exists");
        self.commit(Txn::new().delete(key.clone(), seen)).await
    }

    /// Reads one key in its newest state.
    pub async fn latest(&self, key: &Key) -> Option<Record> {
        self.store.get(key, At::Latest).await.unwrap().record
    }

    /// Reads one key and compares the answer with the model at the revision it claims to be true for.
    pub async fn check_get(&self, key: &Key, at: At) -> Revision {
        let lookup = soon("a get", self.store.get(key, at)).await.unwrap();
        let what = format!("{key} {at:?} as of {}", lookup.revision);
        check_same(lookup.record.as_slice(), self.model.get(key, lookup.revision).as_slice(), what);
        self.check_revision(at, lookup.revision);
        lookup.revision
    }

    /// Lists a range and compares the answer with the model at the revision it claims to be true for.
    pub async fn check_list(&self, prefix: &Prefix, at: At) -> Revision {
        let page = soon("a list", self.store.list(prefix, ListOptions::at(at))).await.unwrap();
        let what = format!("{prefix:?} {at:?} as of {}", page.revision);
        check_same(&page.records, &self.model.state(prefix, page.revision), what);
        assert_eq!((page.remaining, page.damaged.len()), (0, 0));
        self.check_revision(at, page.revision);
        page.revision
    }

    /// Watches a range up to the newest revision and compares the events with the model.
    pub async fn check_watch(&self, prefix: &Prefix, after: Revision) {
        let mut follower = Follower::open(&*self.store, prefix, after).await;
        let newest = self.store.revision().await.unwrap();
        follower.until(newest).await;
        check_same(&follower.events, &self.model.events(prefix, after), format!("{prefix:?} after {after}"));
    }

    /// Lists a range page by page, all pages of the state `at`; the first page decides which state that is. Checks
    /// what each page says of the rest.
    pub async fn pages(&self, prefix: &Prefix, at: At, limit: usize) -> Result<Vec<Page>> {
        let mut pages: Vec<Page> = Vec::new();
        loop {
            let page = soon("a page", self.store.list(prefix, self.next_page(at, pages.last(), limit))).await?;
            let done = page.remaining == 0;
            assert!(page.records.len() <= limit, "a page has {} records, more than {limit}", page.records.len());
            assert!(done || page.records.len() == limit, "a page before the last one is full");
            if let Some(last) = pages.last() {
                assert_eq!(page.revision, last.revision, "all pages show one state");
                assert_eq!(page.records.len() + page.remaining, last.remaining, "the rest is as large as was said");
            }
            pages.push(page);
            if done {
                return Ok(pages);
            }
        }
    }

    /// The options for the page after `last`.
    pub fn next_page(&self, at: At, last: Option<&Page>, limit: usize) -> ListOptions {
        let limit = limit.try_into().expect("a page has at least one record");
        match last {
            None => ListOptions::at(at).limit(limit),
            Some(page) => {
                let key = page.records.last().expect("a page that is not the last has records").key.clone();
                ListOptions::at(At::Exact(page.revision)).limit(limit).after(key)
            }
        }
    }

    fn check_revision(&self, at: At, revision: Revision) {
        match at {
            At::Any => {}
            At::Latest => assert!(revision >= self.model.newest().max(self.start), "{revision} is not the newest"),
            At::NotOlderThan(wanted) => assert!(revision >= wanted, "{revision} is older than {wanted}"),
            At::Exact(wanted) => assert_eq!(revision, wanted, "the answer is for the revision that was asked for"),
        }
    }
}
