//! Reading: one key, or a range page by page, in the state that is asked for.
//!
//! Every read is a transaction that also reads the store's identity record, so that an answer that comes from another
//! store is never taken for one of ours.

use std::time::Duration;

use bytes::Bytes;
use etcd_client::proto::{PbKeyValue, PbRangeResponse};
use etcd_client::{GetOptions, Txn, TxnOp};
use tokio::time::{Instant, sleep};

use super::Engine;
use super::connect::{Header, take_apart};
use super::identity::Physical;
use super::layout::Range;
use super::status::Failure;
use crate::envelope;
use crate::error::{CorruptFault, Error, Result};
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::store::{At, Damaged, ListOptions, Lookup, Page, Record, Values};

/// How long a read waits for a revision that has not been reached.
const FUTURE_WAIT: Duration = Duration::from_secs(3);
/// How often it looks whether it has.
const FUTURE_POLL: Duration = Duration::from_millis(50);
/// How many keys the first request of a list asks for. With values of the largest size that makes 100 MiB.
const FIRST_PAGE: i64 = 100;
/// The most any request asks for.
const LARGEST_PAGE: i64 = 5_000;
/// How large an answer should be. The size of the next request follows from the size of the last answer.
const PAGE_BYTES: usize = 4 << 20;

/// Which members may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Consistency {
    /// Any member, from what it has.
    Serializable,
    /// A member that has asked the leader how far it should be.
    Linearizable,
}

/// How to read, in etcd's terms.
#[derive(Clone, Copy, Debug)]
struct View {
    consistency: Consistency,
    /// At this revision, or at the newest if it is zero.
    exactly: i64,
    /// Not before this revision.
    at_least: i64,
    /// The revision that was asked for, for messages.
    requested: Revision,
}

struct Answer {
    header: Header,
    range: PbRangeResponse,
}

/// What one attempt to read came to.
enum Reading {
    Done(Answer),
    /// The revision has not been reached.
    TooEarly,
    /// The member is so far behind that it does not know the store.
    Lagging,
}

impl Engine {
    /// The newest revision, from a member that has asked the leader, and proof that this still is our store.
    pub(super) async fn newest(&self) -> Result<Revision> {
        let header = self.verify().await?;
        Ok(self.identity.public(header.revision))
    }

    /// Proves that this still is our store.
    pub(super) async fn verify(&self) -> Result<Header> {
        self.identity.check()?;
        let floor = self.identity.floor();
        let answer = self
            .members
            .ask(self.patience, |mut kv| {
                let txn = Txn::new().and_then([TxnOp::get(self.layout.meta(), None)]);
                async move { kv.txn(txn).await }
            })
            .await
            .map_err(unavailable)?;
        let (header, mut ranges) = take_apart(answer).map_err(unavailable)?;
        self.identity.observe(header.cluster, header.revision)?;
        let record = ranges.pop().and_then(|mut range| range.kvs.pop());
        self.identity.verify(record.as_ref().map(|record| record.value.as_slice()))?;
        self.identity.observe_newest(floor, header.revision)?;
        Ok(header)
    }

    pub(super) async fn lookup(&self, key: &Key, at: At) -> Result<Lookup> {
        let view = self.view(at).await?;
        let place = self.layout.place(key);
        let mut answer = self.read(view, |options| TxnOp::get(place.as_str(), Some(options))).await?;
        let record = match answer.range.kvs.pop() {
            None => None,
            Some(found) => {
                let revision = self.identity.public(found.mod_revision);
                let value = unseal(key, found.value).map_err(|fault| Error::Corrupt { key: key.to_string(), fault })?;
                Some(Record { key: key.clone(), revision, value })
            }
        };
        Ok(Lookup { revision: self.true_for(at, answer.header), record })
    }

    pub(super) async fn page(&self, prefix: &Prefix, options: &ListOptions) -> Result<Page> {
        let mut view = self.view(options.at).await?;
        let mut range = self.layout.range(prefix);
        if let Some(after) = &options.after {
            range.behind(self.layout.place(after).as_bytes());
        }
        let mut page = Page { revision: Revision::ZERO, records: Vec::new(), remaining: 0, damaged: Vec::new() };
        let mut ask_for = FIRST_PAGE;
        let mut first = true;
        loop {
            let missing = options.limit.map_or(usize::MAX, |limit| limit.get() - page.records.len());
            let limit = ask_for.min(i64::try_from(missing).unwrap_or(i64::MAX));
            let sized = |get: GetOptions| match options.values {
                Values::All | Values::Whole => get.with_limit(limit),
                Values::Omitted => get.with_limit(limit).with_keys_only(),
            };
            let answer = self.read(view, |get| range.get(sized(get))).await?;
            if first {
                page.revision = self.true_for(options.at, answer.header);
                // What follows is read from the same state, and need not be newer than it.
                if view.exactly == 0 {
                    view = View { exactly: answer.header.revision, requested: page.revision, ..view };
                }
                first = false;
            }
            let PbRangeResponse { kvs, more, count, .. } = answer.range;
            page.remaining = usize::try_from(count).unwrap_or(0).saturating_sub(kvs.len());
            ask_for = next_page(&kvs);
            if let Some(last) = kvs.last() {
                range.behind(&last.key);
            }
            for found in kvs {
                self.take(found, options.values, &mut page)?;
            }
            let full = options.limit.is_some_and(|limit| page.records.len() >= limit.get());
            if full || !more {
                return Ok(page);
            }
        }
    }

    /// The error for a revision that is not kept, with the oldest that is. If etcd does not tell that in time it is the
    /// oldest that may be.
    pub(super) async fn expired(&self, requested: Revision) -> Error {
        let oldest = self.identity.public(self.oldest_kept().await);
        Error::Expired { requested, oldest: oldest.max(requested.next()) }
    }

    fn take(&self, found: PbKeyValue, values: Values, page: &mut Page) -> Result<()> {
        let revision = self.identity.public(found.mod_revision);
        let key = match self.layout.key(&found.key) {
            Ok(key) => key,
            Err(error) => {
                let key = String::from_utf8_lossy(&found.key).into_owned();
                tracing::warn!(key, %error, "something that is no record lies among the records");
                return match values {
                    Values::All => Err(Error::Corrupt { key, fault: envelope::EnvelopeError::Key.into() }),
                    Values::Whole | Values::Omitted => Ok(()),
                };
            }
        };
        if values == Values::Omitted {
            page.records.push(Record { key, revision, value: Bytes::new() });
            return Ok(());
        }
        match unseal(&key, found.value) {
            Ok(value) => page.records.push(Record { key, revision, value }),
            Err(fault) if values == Values::Whole => page.damaged.push(Damaged { key, revision, fault }),
            Err(fault) => return Err(Error::Corrupt { key: key.to_string(), fault }),
        }
        Ok(())
    }

    /// The revision an answer is true for.
    fn true_for(&self, at: At, header: Header) -> Revision {
        match at {
            At::Exact(revision) => revision,
            At::Any | At::Latest | At::NotOlderThan(_) => self.identity.public(header.revision),
        }
    }

    async fn view(&self, at: At) -> Result<View> {
        self.identity.check()?;
        let newest =
            View { consistency: Consistency::Linearizable, exactly: 0, at_least: 0, requested: Revision::ZERO };
        match at {
            At::Any => Ok(View { consistency: Consistency::Serializable, ..newest }),
            At::Latest => Ok(newest),
            At::NotOlderThan(requested) => match self.identity.physical(requested) {
                Physical::BeforeBase => Ok(newest),
                Physical::Of(at_least) => Ok(View { at_least, requested, ..newest }),
                Physical::Unreachable => Ok(View { at_least: i64::MAX, requested, ..newest }),
            },
            At::Exact(requested) => match self.identity.physical(requested) {
                // Zero means "the newest" to etcd. Its first revision, in which there is nothing yet, is one.
                Physical::Of(revision) => Ok(View { exactly: revision.max(1), requested, ..newest }),
                Physical::Unreachable => Ok(View { exactly: i64::MAX, requested, ..newest }),
                Physical::BeforeBase => Err(self.expired(requested).await),
            },
        }
    }

    /// Reads, and waits a little for a revision that is still to come.
    async fn read(&self, mut view: View, operation: impl Fn(GetOptions) -> TxnOp) -> Result<Answer> {
        let patience_ends = Instant::now() + FUTURE_WAIT;
        loop {
            match self.read_once(view, &operation).await? {
                Reading::Done(answer) if answer.header.revision >= view.at_least => return Ok(answer),
                Reading::Lagging => view.consistency = Consistency::Linearizable,
                Reading::Done(_) | Reading::TooEarly if Instant::now() + FUTURE_POLL < patience_ends => {
                    sleep(FUTURE_POLL).await;
                }
                Reading::Done(_) | Reading::TooEarly => {
                    let current = self.newest().await?;
                    return Err(Error::FutureRevision { requested: view.requested, current });
                }
            }
        }
    }

    async fn read_once(&self, view: View, operation: impl Fn(GetOptions) -> TxnOp) -> Result<Reading> {
        self.identity.check()?;
        let floor = self.identity.floor();
        let options = match view.consistency {
            Consistency::Serializable => GetOptions::new().with_serializable(),
            Consistency::Linearizable => GetOptions::new(),
        };
        let reads =
            [TxnOp::get(self.layout.meta(), Some(options.clone())), operation(options.with_revision(view.exactly))];
        let answer = self
            .members
            .ask(self.patience, |mut kv| {
                let txn = Txn::new().and_then(reads.clone());
                async move { kv.txn(txn).await }
            })
            .await;
        let (header, mut ranges) = match answer.and_then(take_apart) {
            Ok(answer) => answer,
            Err(Failure::Future) => return Ok(Reading::TooEarly),
            Err(Failure::Compacted) => return Err(self.expired(view.requested).await),
            Err(failure) => return Err(unavailable(failure)),
        };
        self.identity.observe(header.cluster, header.revision)?;
        let (Some(range), Some(mut meta)) = (ranges.pop(), ranges.pop()) else {
            return Err(unavailable(Failure::Refused("the answer is incomplete".to_owned())));
        };
        let record = meta.kvs.pop();
        let record = record.as_ref().map(|record| record.value.as_slice());
        match view.consistency {
            Consistency::Linearizable => {
                self.identity.verify(record)?;
                self.identity.observe_newest(floor, header.revision)?;
            }
            // Only the newest state can prove that the store is another.
            Consistency::Serializable if !self.identity.matches(record) => return Ok(Reading::Lagging),
            Consistency::Serializable => {}
        }
        Ok(Reading::Done(Answer { header, range }))
    }
}

// === impl Range ===

impl Range {
    fn get(&self, options: GetOptions) -> TxnOp {
        TxnOp::get(self.start.clone(), Some(options.with_range(self.end.clone())))
    }
}

/// Opens a stored value and checks that it belongs where it was found.
pub(super) fn unseal(key: &Key, stored: Vec<u8>) -> Result<Bytes, CorruptFault> {
    let (owner, value) = envelope::open(&[], &Bytes::from(stored))?;
    if owner == *key { Ok(value) } else { Err(CorruptFault::WrongKey(owner)) }
}

/// The error for a call that was not answered, or answered with a refusal, and changed nothing.
pub(super) fn unavailable(failure: Failure) -> Error {
    Error::Unavailable { reason: failure.to_string().into() }
}

// How many keys to ask for next, so that the answer has about the right size.
fn next_page(last: &[PbKeyValue]) -> i64 {
    let bytes: usize = last.iter().map(|found| found.key.len() + found.value.len()).sum();
    let mean = bytes / last.len().max(1) + 1;
    i64::try_from(PAGE_BYTES / mean).unwrap_or(LARGEST_PAGE).clamp(1, LARGEST_PAGE)
}

#[cfg(test)]
mod tests;
