//! Forgetting old revisions. etcd keeps every revision until it is told not to.
//!
//! Replicas take turns as those of kube-apiserver do: a key counts the turns, and who moves it on compacts to the
//! revision it noted one age ago; the others see that it has moved and note the newest revision anew. No lock is held,
//! and compacting twice would do no harm.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use etcd_client::{Compare, CompareOp, Txn, TxnOp, WatchOptions};
use tokio::time::{sleep, timeout};

use super::Engine;
use super::connect::take_apart;
use super::identity::Physical;
use super::members::Purpose;
use super::read::unavailable;
use super::status::Failure;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::revision::Revision;

/// How often it is looked whether a turn is due, as a part of the age.
const LOOKS_PER_AGE: u32 = 20;
/// The longest time between two looks.
const LONGEST_LOOK: Duration = Duration::from_secs(10);
/// The shortest.
const SHORTEST_LOOK: Duration = Duration::from_millis(10);

/// One replica's part in the turns.
pub(super) struct Compactor {
    engine: Arc<Engine>,
    clock: Arc<dyn Clock>,
    age: Duration,
    /// How many turns there had been when this replica last looked.
    turns: i64,
    noted: Option<Note>,
}

/// A revision, and when it was the newest.
#[derive(Clone, Copy, Debug)]
struct Note {
    revision: i64,
    at: Duration,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is too early.
    Waited,
    /// Another replica had its turn.
    Lost,
    /// It was this replica's turn, but it had noted nothing to compact to.
    Noted,
    /// Everything older is forgotten.
    Compacted(Revision),
}

impl Engine {
    pub(super) async fn forget(&self, oldest: Revision) -> Result<()> {
        self.identity.check()?;
        let revision = match self.identity.physical(oldest) {
            Physical::Of(revision) if revision > 0 => revision,
            Physical::Of(_) | Physical::BeforeBase => return Ok(()),
            Physical::Unreachable => i64::MAX,
        };
        // An empty etcd must not be taken for a store in which this was done long ago.
        self.verify().await?;
        match self.forget_physical(revision).await {
            Ok(()) => Ok(()),
            Err(Failure::Future) => Err(Error::FutureRevision { requested: oldest, current: self.newest().await? }),
            Err(failure) => Err(unavailable(failure)),
        }
    }

    /// The oldest revision of etcd that is kept, as far as known. etcd tells it only to a watch that asks for more.
    pub(super) async fn oldest_kept(&self) -> i64 {
        let line = self.members.line(Purpose::Watches);
        let ask = async {
            let options = WatchOptions::new().with_start_revision(1);
            let mut watch = line.watch().await?.watch(self.layout.meta(), Some(options)).await?;
            while let Some(response) = watch.message().await? {
                if response.compact_revision() > 0 {
                    return Ok(response.compact_revision());
                }
                if !response.created() {
                    break;
                }
            }
            Err(Failure::Refused("nothing has been compacted".to_owned()))
        };
        if let Ok(Ok(oldest)) = timeout(self.patience.attempt, ask).await {
            self.note_compacted(oldest);
        }
        self.compacted.load(Ordering::Relaxed)
    }

    /// Remembers that etcd has forgotten what is older than `oldest`.
    pub(super) fn note_compacted(&self, oldest: i64) {
        self.compacted.fetch_max(oldest, Ordering::Relaxed);
    }

    async fn forget_physical(&self, revision: i64) -> Result<(), Failure> {
        let compact = |mut kv: etcd_client::KvClient| async move { kv.compact(revision, None).await };
        match self.members.ask(self.patience, compact).await {
            Ok(_) | Err(Failure::Compacted) => {
                self.note_compacted(revision);
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }
}

// === impl Compactor ===

impl Compactor {
    pub(super) fn new(engine: Arc<Engine>, clock: Arc<dyn Clock>, age: Duration) -> Self {
        Self { engine, clock, age, turns: 0, noted: None }
    }

    /// Takes part for ever.
    pub(super) async fn run(mut self) {
        loop {
            sleep((self.age / LOOKS_PER_AGE).clamp(SHORTEST_LOOK, LONGEST_LOOK)).await;
            match self.step().await {
                Ok(Step::Compacted(oldest)) => tracing::debug!(%oldest, "compacted etcd"),
                Ok(Step::Waited | Step::Lost | Step::Noted) => {}
                Err(Error::Replaced { .. }) => return,
                Err(error) => tracing::warn!(%error, "could not compact etcd"),
            }
        }
    }

    /// Takes a turn if one is due.
    pub(super) async fn step(&mut self) -> Result<Step> {
        let now = self.clock.now();
        let due = match self.noted {
            Some(note) => {
                if now.saturating_sub(note.at) < self.age {
                    return Ok(Step::Waited);
                }
                Some(note.revision)
            }
            None => None,
        };
        let engine = self.engine.clone();
        engine.identity.check()?;
        let answer = match self.claim(due.unwrap_or(0)).await {
            // The count cannot move on while there is no space; then the little that compacting twice costs is well spent.
            Err(Failure::NoSpace) => {
                self.noted = Some(Note { revision: engine.verify().await?.revision, at: now });
                return self.compact_to(due).await;
            }
            answer => answer.map_err(unavailable)?,
        };
        let won = answer.succeeded();
        let (header, mut ranges) = take_apart(answer).map_err(unavailable)?;
        engine.identity.observe(header.cluster, header.revision)?;
        self.noted = Some(Note { revision: header.revision, at: now });
        if won {
            self.turns += 1;
            return self.compact_to(due).await;
        }
        let turns = ranges.pop().and_then(|mut range| range.kvs.pop());
        let meta = ranges.pop().and_then(|mut range| range.kvs.pop());
        engine.identity.verify(meta.as_ref().map(|record| record.value.as_slice()))?;
        self.turns = turns.map_or(0, |turns| turns.version);
        Ok(Step::Lost)
    }

    // If the answer is lost the call is repeated, finds that the count has moved, and takes it for another's turn.
    async fn claim(&self, revision: i64) -> Result<etcd_client::TxnResponse, Failure> {
        let place = self.engine.layout.compaction();
        let meta = self.engine.layout.meta();
        let txn = Txn::new()
            .when([self.engine.identity.guard(meta), Compare::version(place, CompareOp::Equal, self.turns)])
            .and_then([TxnOp::put(place, revision.to_string(), None)])
            .or_else([TxnOp::get(meta, None), TxnOp::get(place, None)]);
        let claim = |mut kv: etcd_client::KvClient| {
            let txn = txn.clone();
            async move { kv.txn(txn).await }
        };
        self.engine.members.ask(self.engine.patience, claim).await
    }

    async fn compact_to(&self, due: Option<i64>) -> Result<Step> {
        match due {
            None => Ok(Step::Noted),
            Some(revision) => {
                self.engine.forget_physical(revision).await.map_err(unavailable)?;
                Ok(Step::Compacted(self.engine.identity.public(revision)))
            }
        }
    }
}
