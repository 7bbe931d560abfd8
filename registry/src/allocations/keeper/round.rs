//! One round: all that has changed, and a little of what takes long.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_api::quota::Reservation;
use bailiwick_storage::cache::Snapshot;
use bailiwick_storage::{At, Revision};
use futures::FutureExt;
use futures::future::join_all;
use tokio::task::unconstrained;
use tokio::time::Instant;

use super::super::desk::{Done, Task, failed};
use super::super::evaluate::selects;
use super::super::picture::Picture;
use super::super::source::{Project, Told};
use super::questions::{Answer, Question};
use super::sweep::{NO_TICKET, Ticket};
use super::{Keeper, LOOK_AGAIN, LOOK_AHEAD};
use crate::error::Result;

/// How many projects are brought to the desk at once.
const AT_ONCE: usize = 64;

/// A project whose accounts are to be brought in line.
struct Visit {
    namespace: String,
    /// The project, where it is not in our own store.
    told: Option<Told>,
    over: Vec<Reservation>,
    ticket: Ticket,
}

// === impl Keeper ===

impl Keeper<'_> {
    /// Brings accounts in line: of all projects that have changed, and of some others. The state in which they are.
    pub(super) async fn round(&mut self) -> Result<Revision> {
        self.news.clear();
        let mut reached = Revision::ZERO;
        if !self.is_ready() {
            return Ok(reached);
        }
        self.begin_uncounted().await?;
        let mut changed = std::mem::take(&mut self.changed);
        if self.pictures.is_empty() {
            // Whatever comes is looked at when there is an allocation.
            changed.clear();
            self.sweep.clear();
            self.in_doubt.clear();
        }
        let mut visits: Vec<Visit> = self.take_answers();
        self.news.clone_from(&changed);
        self.news.extend(visits.iter().filter(|visit| visit.over.is_empty()).map(|visit| visit.namespace.clone()));
        for namespace in changed {
            visits.extend(self.visit(namespace, Vec::new(), NO_TICKET));
        }
        reached = reached.max(self.settle(visits).await);

        // Of what takes long, each time only so much that whatever changes meanwhile waits for no more than that.
        let due: Vec<_> = self.due.drain(..self.due.len().min(AT_ONCE)).collect();
        let mut visits: Vec<Visit> =
            due.into_iter().filter_map(|(namespace, over)| self.visit(namespace, over, NO_TICKET)).collect();
        if visits.is_empty() {
            let swept = self.sweep.take(AT_ONCE);
            let swept = swept.into_iter().filter_map(|(ticket, namespace)| self.visit(namespace, Vec::new(), ticket));
            visits = swept.collect();
        }
        reached = reached.max(self.settle(visits).await);
        Ok(reached.max(self.forget_some().await))
    }

    /// Reads the accounts of allocations that select or count something else, all of whose projects are to be looked at.
    async fn begin_uncounted(&mut self) -> Result<()> {
        let uncounted = std::mem::take(&mut self.uncounted);
        if uncounted.is_empty() {
            return Ok(());
        }
        let state = self.registry.cache().snapshot(At::Latest).await.map_err(failed)?;
        for spec in self.rows.read_specs(&state)? {
            if uncounted.contains(&spec.allocation.name) {
                self.begin(spec, &state)?;
            }
        }
        self.concerned(&uncounted, &state)?.into_iter().for_each(|namespace| self.sweep.add(namespace));
        let through = self.sweep.last();
        self.counting.extend(uncounted.into_iter().map(|name| (name, through)));
        Ok(())
    }

    /// The projects that some allocations select, or have accounts of, whatever epoch these are of.
    fn concerned(&self, allocations: &BTreeSet<String>, state: &Snapshot) -> Result<Vec<String>> {
        let pictures: Vec<&Picture> = allocations.iter().filter_map(|name| self.pictures.get(name)).collect();
        let mut found = Vec::new();
        for picture in &pictures {
            let accounts = self.rows.accounts(&picture.spec.allocation.name)?;
            found.extend(state.range(&accounts, None).map(|row| row.key().name().to_owned()));
        }
        for (namespace, labels) in self.labelled(state)? {
            if pictures.iter().any(|picture| selects(&picture.spec, &namespace, &labels)) {
                found.push(namespace);
            }
        }
        Ok(found)
    }

    /// How a project is to be brought in line; none if another server is to be asked about it before.
    fn visit(&mut self, namespace: String, over: Vec<Reservation>, ticket: Ticket) -> Option<Visit> {
        let Some(elsewhere) = &self.allocations.elsewhere else {
            return Some(Visit { namespace, told: None, over, ticket });
        };
        if self.questions.is_open(&namespace) {
            // What was reserved is due again by itself.
            if over.is_empty() {
                self.questions.note_again(&namespace, ticket);
            }
            return None;
        }
        // Before it is asked: what is found then is no older than that.
        let (known, at) = (elsewhere.project(&namespace), self.ledger.position());
        let needs_labels = self.in_doubt.remove(&namespace) || self.gives_up(&namespace, &known);
        if !needs_labels && over.is_empty() {
            let told = Told { project: known, labels_at: Revision::ZERO };
            return Some(Visit { namespace, told: Some(told), over, ticket });
        }
        self.questions.ask(elsewhere, Question { namespace, known, needs_labels, at, over, ticket });
        None
    }

    /// Whether an account of a project would be given up if it is as it is known.
    fn gives_up(&self, namespace: &str, known: &Project) -> bool {
        let is_left = |picture: &Picture| {
            let is_selected = known.labels.as_ref().is_some_and(|labels| selects(&picture.spec, namespace, labels));
            picture.has(namespace) && !is_selected
        };
        self.pictures.values().any(is_left)
    }

    /// The projects about which there is an answer now.
    fn take_answers(&mut self) -> Vec<Visit> {
        let Some(elsewhere) = &self.allocations.elsewhere else { return Vec::new() };
        let answers = self.questions.take();
        self.questions.go_on(elsewhere);
        let mut visits = Vec::new();
        for Answer { namespace, over, ticket, again, told } in answers {
            match told {
                Ok(told) => {
                    match again {
                        Some(NO_TICKET) => drop(self.changed.insert(namespace.clone())),
                        Some(ticket) => self.sweep.put_back(namespace.clone(), ticket),
                        None => {}
                    }
                    visits.push(Visit { namespace, told: Some(told), over, ticket });
                }
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, %namespace, "a project cannot be asked about at present");
                    let at = Instant::now() + LOOK_AGAIN;
                    if !over.is_empty() {
                        // What was reserved is due again by itself.
                        self.look_at = self.look_at.max(at);
                    }
                    if over.is_empty() || again.is_some() {
                        self.put_off(namespace, at, ticket.min(again.unwrap_or(NO_TICKET)));
                    }
                }
            }
        }
        visits
    }

    /// Looks at a project later.
    fn put_off(&mut self, namespace: String, at: Instant, ticket: Ticket) {
        let put_off = self.failed.entry(namespace).or_insert((at, ticket));
        put_off.1 = put_off.1.min(ticket);
    }

    /// Brings the accounts of some projects in line. What fails for one of them is tried again later.
    async fn settle(&mut self, mut visits: Vec<Visit>) -> Revision {
        let mut reached = Revision::ZERO;
        while !visits.is_empty() {
            let some: Vec<Visit> = visits.drain(..visits.len().min(AT_ONCE)).collect();
            let settled = join_all(some.iter().map(|visit| self.settle_one(visit))).await;
            for (Visit { namespace, ticket, .. }, done) in some.into_iter().zip(settled) {
                match done {
                    Ok(done) => {
                        reached = reached.max(done.revision);
                        if done.needs_labels {
                            // Someone has written it down whom the server told of other labels.
                            self.in_doubt.insert(namespace.clone());
                            self.put_off(namespace.clone(), Instant::now(), ticket);
                        }
                        if done.is_ahead {
                            if self.ahead.0.is_empty() {
                                self.ahead.1 = Instant::now() + LOOK_AHEAD;
                            }
                            self.ahead.0.insert(namespace);
                        }
                    }
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(error, %namespace, "what a project has cannot be accounted for at present");
                        self.put_off(namespace, Instant::now() + LOOK_AGAIN, ticket);
                    }
                }
            }
        }
        reached
    }

    async fn settle_one(&self, visit: &Visit) -> Result<Done> {
        let Visit { namespace, told, over, .. } = visit;
        let task = || Task::Settle { namespace: namespace.clone(), told: told.clone(), over: over.clone() };
        self.finish(task).await
    }

    /// Removes some of what is left of an allocation that is no more.
    async fn forget_some(&mut self) -> Revision {
        if Instant::now() < self.forget_at {
            return Revision::ZERO;
        }
        let Some(allocation) = self.gone.pop_first() else { return Revision::ZERO };
        match self.allocations.ask(Task::Forget(allocation.clone())).await {
            Ok(done) if done.finished => done.revision,
            Ok(done) => {
                self.gone.insert(allocation);
                done.revision
            }
            Err(error) => {
                // They count for nothing, not even for an allocation of that name: it has another epoch.
                tracing::warn!(error = &error as &dyn std::error::Error, %allocation, "rows of an allocation stay for now");
                self.gone.insert(allocation);
                self.forget_at = Instant::now() + LOOK_AGAIN;
                Revision::ZERO
            }
        }
    }

    /// Has added up what the projects of those allocations have all of whose projects are settled, unless that is known to be
    /// right: all accounts are read for that, and nothing is decided meanwhile.
    pub(super) async fn count(&mut self, state: &Snapshot) -> Result<()> {
        for name in self.settled_through(state)? {
            let Some(picture) = self.pictures.get(&name) else {
                self.counting.remove(&name);
                continue;
            };
            let spec = &picture.spec;
            // A total is written with each account that changes it: so what was seen of the accounts is what is in the total
            // unless that is newer.
            let written = state.get(&self.rows.total(&name)?).map_or(Revision::ZERO, |row| row.revision());
            let total = self.rows.read_total(state, spec)?;
            let is_seen = written <= self.ledger.position() && self.ledger.position() <= state.revision();
            if total.counted && !is_seen {
                continue;
            }
            if !total.counted || total.charge != *picture.charge() {
                let (allocation, epoch) = (&spec.allocation.name, &spec.epoch);
                let task = || Task::Count { allocation: allocation.clone(), epoch: epoch.clone() };
                if let Err(error) = self.finish(task).await {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, %allocation, "projects cannot be added up at present");
                    continue;
                }
            }
            self.counting.remove(&name);
        }
        Ok(())
    }

    /// The allocations all of whose projects were looked at.
    fn settled_through(&self, state: &Snapshot) -> Result<Vec<String>> {
        if !self.is_ready() {
            return Ok(Vec::new());
        }
        let first = self.sweep.first();
        let through = self.counting.iter().filter(|(_, ticket)| first.is_none_or(|first| first > **ticket));
        let mut through: BTreeMap<&String, Ticket> = through.map(|(name, ticket)| (name, *ticket)).collect();
        let unsettled = self.failed.iter().map(|(namespace, (_, ticket))| (namespace, *ticket));
        let unsettled: Vec<(&String, Ticket)> = unsettled.chain(self.questions.open()).collect();
        if !through.is_empty() && !unsettled.is_empty() {
            let labelled = self.labelled(state)?;
            for (namespace, missing) in unsettled {
                let concerns = |picture: &Picture| {
                    let is_selected = labelled.get(namespace).is_some_and(|it| selects(&picture.spec, namespace, it));
                    is_selected || picture.has(namespace)
                };
                through.retain(|name, ticket| missing > *ticket || !self.pictures.get(*name).is_some_and(concerns));
            }
        }
        Ok(through.into_keys().cloned().collect())
    }

    /// Has something done until nothing is left of it.
    async fn finish(&self, task: impl Fn() -> Task) -> Result<Done> {
        loop {
            let done = self.allocations.ask(task()).await?;
            self.allocations.metrics.add_released(done.released);
            if done.finished {
                return Ok(done);
            }
        }
    }

    /// Takes over what was settled, before anything is told of it.
    pub(super) async fn catch_up(&mut self, settled: Revision) -> Result<Arc<Snapshot>> {
        self.registry.cache().snapshot(At::NotOlderThan(settled)).await.map_err(failed)?;
        // All of it, however long this has been running already.
        while let Some(delivery) = unconstrained(self.ledger.next()).now_or_never() {
            self.note_rows(&delivery.map_err(failed)?)?;
        }
        self.ledger.state().await.map_err(failed)
    }
}
