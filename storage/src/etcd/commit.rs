//! Writing: one transaction of etcd, with every expectation as a comparison.
//!
//! A write is never sent twice. It goes to the next member only if it certainly did not reach this one; if it may have
//! been carried out and the answer was lost, the caller is told just that.

use etcd_client::proto::PbRangeResponse;
use etcd_client::{Compare, CompareOp, GetOptions, Txn as EtcdTxn, TxnOp, TxnResponse};
use tokio::time::{Instant, timeout_at};

use super::Engine;
use super::connect::take_apart;
use super::identity::Physical;
use super::members::Purpose;
use super::read::unavailable;
use super::status::Failure;
use crate::envelope;
use crate::error::{Conflict, Error, Result};
use crate::revision::Revision;
use crate::txn::{Expected, Guard, Txn};

/// No key has been written at this revision.
const NEVER: i64 = -1;

impl Engine {
    pub(super) async fn write(&self, txn: Txn) -> Result<Revision> {
        txn.validate()?;
        self.identity.check()?;
        let floor = self.identity.floor();
        let answer = self.send(self.translate(&txn)).await.map_err(failed)?;
        let succeeded = answer.succeeded();
        let (header, ranges) = take_apart(answer).map_err(|failure| failed(Failure::Lost(failure.to_string())))?;
        self.identity.observe(header.cluster, header.revision)?;
        self.identity.observe_newest(floor, header.revision)?;
        if succeeded {
            return Ok(self.identity.public(header.revision));
        }
        Err(self.conflict(&txn.guards, ranges)?)
    }

    fn translate(&self, txn: &Txn) -> EtcdTxn {
        let guards = txn.guards.iter().map(|guard| self.compare(guard));
        let writes = txn.writes.iter().map(|write| {
            let place = self.layout.place(&write.key);
            match &write.value {
                Some(value) => TxnOp::put(place, envelope::seal(&[], &write.key, value), None),
                None => TxnOp::delete(place, None),
            }
        });
        let keys_only = || Some(GetOptions::new().with_keys_only());
        let found = txn.guards.iter().map(|guard| TxnOp::get(self.layout.place(&guard.key), keys_only()));
        EtcdTxn::new()
            .when([self.identity.guard(self.layout.meta())].into_iter().chain(guards).collect::<Vec<_>>())
            .and_then(writes.collect::<Vec<_>>())
            .or_else([TxnOp::get(self.layout.meta(), None)].into_iter().chain(found).collect::<Vec<_>>())
    }

    fn compare(&self, guard: &Guard) -> Compare {
        let place = self.layout.place(&guard.key);
        match guard.expected {
            Expected::Absent => Compare::create_revision(place, CompareOp::Equal, 0),
            Expected::At(revision) => {
                // A key that does not exist compares as written at zero, which no expectation may mean.
                let revision = match self.identity.physical(revision) {
                    Physical::Of(revision) if revision > 0 => revision,
                    _ => NEVER,
                };
                Compare::mod_revision(place, CompareOp::Equal, revision)
            }
        }
    }

    async fn send(&self, txn: EtcdTxn) -> Result<TxnResponse, Failure> {
        let deadline = Instant::now() + self.patience.call;
        // Every member once, and one of them again with a new token.
        let mut attempts_left = self.members.len() + 1;
        loop {
            let line = self.members.line(Purpose::Requests);
            // Until there is a client nothing is sent, so a failure up to here is no doubt about the outcome.
            let client = match timeout_at(deadline, line.kv()).await {
                Ok(client) => client,
                Err(_) => Err(Failure::NotDone(line.silent().to_string())),
            };
            let failure = match client {
                Err(Failure::Lost(reason)) => Failure::NotDone(reason),
                Err(failure) => failure,
                Ok(mut kv) => match timeout_at(deadline, kv.txn(txn.clone())).await {
                    Ok(Ok(answer)) => return Ok(answer),
                    Ok(Err(error)) => error.into(),
                    Err(_) => line.silent(),
                },
            };
            self.members.failed(&line, &failure);
            if matches!(failure, Failure::StaleToken(_)) {
                let _ = timeout_at(deadline, line.renew_token()).await;
            }
            attempts_left -= 1;
            if failure.is_ambiguous() || !failure.is_passing() || attempts_left == 0 || Instant::now() >= deadline {
                return Err(failure);
            }
        }
    }

    // The comparisons and these reads saw the same state, so the first guard that does not hold is the reason.
    fn conflict(&self, guards: &[Guard], mut ranges: Vec<PbRangeResponse>) -> Result<Error> {
        if ranges.len() != guards.len() + 1 {
            return Err(unavailable(Failure::Refused("the answer is incomplete".to_owned())));
        }
        let meta = ranges.remove(0).kvs.pop();
        self.identity.verify(meta.as_ref().map(|record| record.value.as_slice()))?;
        for (guard, range) in guards.iter().zip(ranges) {
            let actual = range.kvs.first().map(|found| self.identity.public(found.mod_revision));
            let holds = match guard.expected {
                Expected::Absent => actual.is_none(),
                Expected::At(revision) => actual == Some(revision),
            };
            if !holds {
                let Guard { key, expected } = guard.clone();
                return Ok(Error::Conflict(Conflict { key, expected, actual }));
            }
        }
        Err(unavailable(Failure::Refused("etcd found a conflict where there is none".to_owned())))
    }
}

fn failed(failure: Failure) -> Error {
    match failure {
        Failure::NoSpace => Error::ReadOnly {
            reason: "etcd's database has reached its quota (alarm NOSPACE): delete what is not needed, or raise \
                     --quota-backend-bytes; then compact, run `etcdctl defrag` on every member, and `etcdctl alarm \
                     disarm`. Deletions are still accepted"
                .into(),
        },
        failure if failure.is_ambiguous() => Error::OutcomeUnknown { reason: failure.to_string().into() },
        failure => unavailable(failure),
    }
}
