//! Keeps accounts in line with what there is, and the status of allocations in line with the accounts.
//!
//! Namespaces, ResourceQuotas, allocations and the ledger itself are followed; whatever changes leads to the projects that
//! are to be looked at again, and only those. Now and then all of them are, so that nothing that was missed stays so; beside
//! that, and beside whatever else takes long, what has changed comes first.
//!
//! What fails for one project, or one allocation, is tried again later, and delays no other.

mod questions;
mod round;
mod sweep;
mod telling;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bailiwick_api::quota::Reservation;
use bailiwick_machinery::GroupVersion;
use bailiwick_storage::cache::{Delivery, Snapshot, Watcher};
use bailiwick_storage::{At, Key, Prefix};
use futures::FutureExt;
use tokio::time::{Instant, sleep_until};

use self::questions::{Answer, Questions};
use self::sweep::{Sweep, Ticket};
use super::desk::failed;
use super::ledger::{AccountRow, Rows, Spec, read};
use super::picture::{Picture, Reserved};
use super::source::{Labels, OwnProjects};
use super::{Allocations, GROUP, PLURAL, VERSION};
use crate::error::{Error, Result};
use crate::registry::Registry;
use crate::served_kind::ServedKind;

/// How often reservations that are due are looked at: not for each of them, as decisions are made beside.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// After which time a project is looked at again where something failed, or nothing could be found out.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How often the status of allocations is told while nobody waits for that: it is large, and decisions are made beside.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// The same for projects that use something else than their ResourceQuotas tell.
const LOOK_AHEAD: Duration = Duration::from_millis(500);

/// Keeps accounts and status up to date.
pub(super) struct Keeper<'k> {
    allocations: &'k Allocations,
    registry: &'k Registry,
    rows: Rows,
    kind: Arc<ServedKind>,
    own: Option<Own>,
    /// The ledger, and the allocations.
    ledger: Watcher,
    objects: Watcher,
    pictures: BTreeMap<String, Picture>,
    /// Projects to look at, before all else.
    changed: BTreeSet<String>,
    /// Those that are being looked at because they have changed.
    news: BTreeSet<String>,
    /// Projects that are looked at though nothing is known to have changed.
    sweep: Sweep,
    /// Projects that could not be looked at: when to try again, and their place in the sweep.
    failed: BTreeMap<String, (Instant, Ticket)>,
    /// What another server is asked about projects.
    questions: Questions,
    /// Projects whose labels are to be asked for, as they have an account that they should not have by those that are known.
    in_doubt: BTreeSet<String>,
    /// Allocations that select or count something else than before.
    uncounted: BTreeSet<String>,
    /// Allocations to be added up once the sweep has come so far.
    counting: BTreeMap<String, Ticket>,
    /// Allocations that are no more, and of which something may be left; and when to remove more of that.
    gone: BTreeSet<String>,
    forget_at: Instant,
    /// Allocations whose status someone may wait for, who wrote a ResourceQuota or a label; others whose status is to be looked
    /// at; and those of them whose turn it is.
    awaited: BTreeSet<String>,
    untold: BTreeSet<String>,
    telling: Vec<String>,
    reserved: &'k mut Reserved,
    /// Reservations that are due, by project.
    due: Vec<(String, Vec<Reservation>)>,
    /// Projects that used something else than their ResourceQuotas told, and when to look at them again.
    ahead: (BTreeSet<String>, Instant),
    /// When to look at reservations again.
    look_at: Instant,
    /// When to tell what nobody waits for.
    tell_at: Instant,
    resync_at: Instant,
}

/// Namespaces and ResourceQuotas of our own.
struct Own {
    projects: OwnProjects,
    namespaces: Watcher,
    quotas: Watcher,
}

// === impl Keeper ===

impl<'k> Keeper<'k> {
    pub(super) async fn new(
        allocations: &'k Allocations,
        registry: &'k Registry,
        reserved: &'k mut Reserved,
    ) -> Result<Self> {
        let absent = || Error::Failed { what: "quota allocations", why: "the kind is not served".to_owned() };
        let kind = registry.find(&GroupVersion::new(GROUP, VERSION), PLURAL).ok_or_else(absent)?;
        let rows = Rows::new()?;
        let state = registry.cache().snapshot(At::Latest).await.map_err(failed)?;
        let from = state.revision();
        let watch = |prefix: &Prefix| registry.cache().watch_objects(prefix, from).map_err(failed);
        let own = match allocations.own(registry) {
            None => None,
            Some(projects) => Some(Own {
                namespaces: watch(projects.namespaces().kind().keys().all())?,
                quotas: watch(projects.quotas().kind().keys().all())?,
                projects,
            }),
        };
        let (ledger, objects) = (watch(rows.all())?, watch(kind.kind().keys().all())?);
        let mut keeper = Self {
            allocations,
            registry,
            rows,
            kind,
            own,
            ledger,
            objects,
            pictures: BTreeMap::new(),
            changed: BTreeSet::new(),
            news: BTreeSet::new(),
            sweep: Sweep::default(),
            failed: BTreeMap::new(),
            questions: Questions::default(),
            in_doubt: BTreeSet::new(),
            uncounted: BTreeSet::new(),
            counting: BTreeMap::new(),
            gone: BTreeSet::new(),
            forget_at: Instant::now(),
            awaited: BTreeSet::new(),
            untold: BTreeSet::new(),
            telling: Vec::new(),
            reserved,
            due: Vec::new(),
            ahead: (BTreeSet::new(), Instant::now()),
            look_at: Instant::now(),
            tell_at: Instant::now(),
            resync_at: Instant::now() + allocations.pace.resync_every,
        };
        for spec in keeper.rows.read_specs(&state)? {
            keeper.begin(spec, &state)?;
        }
        keeper.note_gone(&state)?;
        keeper.resync(&state);
        Ok(keeper)
    }

    /// Notes the allocations that went while nobody looked.
    fn note_gone(&mut self, state: &Snapshot) -> Result<()> {
        let left = self.rows.left(state)?;
        self.gone.extend(left.into_iter().filter(|name| !self.pictures.contains_key(name)));
        self.reserved.keep_allocations(|name| self.pictures.contains_key(name));
        self.allocations.metrics.set_reservations(self.reserved.count());
        Ok(())
    }

    pub(super) async fn run(mut self) -> Result<()> {
        loop {
            let through = self.own.as_ref().map(|own| own.quotas.position().get());
            let settled = self.round().await?;
            let state = self.catch_up(settled).await?;
            self.count(&state).await?;
            self.tell(&state).await;
            // What else has changed meanwhile is looked at before anyone waits.
            if let Some(through) = through {
                self.allocations.through_tx.send_replace(through);
            }
            self.wait().await?;
        }
    }

    /// Waits until something changes, and takes over all that has.
    async fn wait(&mut self) -> Result<()> {
        if self.has_work() {
            self.note_time().await?;
            return self.take_what_is_there();
        }
        let due = self.next_deadline();
        let elsewhere = self.allocations.elsewhere.clone();
        let changed_elsewhere = async {
            match &elsewhere {
                Some(elsewhere) => elsewhere.changed().await,
                None => std::future::pending().await,
            }
        };
        let (quotas, namespaces) = match &mut self.own {
            Some(own) => (Some(&mut own.quotas), Some(&mut own.namespaces)),
            None => (None, None),
        };
        enum News {
            Ledger(Delivery),
            Objects(Delivery),
            Quotas(Delivery),
            Namespaces(Delivery),
            Elsewhere(BTreeSet<String>),
            Answer(Answer),
            Time,
        }
        let news = tokio::select! {
            delivery = self.ledger.next() => News::Ledger(delivery.map_err(failed)?),
            delivery = self.objects.next() => News::Objects(delivery.map_err(failed)?),
            delivery = next(quotas) => News::Quotas(delivery?),
            delivery = next(namespaces) => News::Namespaces(delivery?),
            changed = changed_elsewhere => News::Elsewhere(changed),
            answer = self.questions.next() => News::Answer(answer),
            () = sleep_until(due) => News::Time,
        };
        match news {
            News::Ledger(delivery) => self.note_rows(&delivery)?,
            News::Objects(delivery) => self.note_objects(&delivery),
            News::Quotas(delivery) => self.note_quotas(&delivery),
            News::Namespaces(delivery) => self.note_namespaces(&delivery),
            News::Elsewhere(changed) => self.changed.extend(changed),
            News::Answer(answer) => self.note_answer(answer),
            News::Time => {}
        }
        self.note_time().await?;
        self.take_what_is_there()
    }

    /// Takes over what has changed so far, without waiting.
    fn take_what_is_there(&mut self) -> Result<()> {
        while let Some(delivery) = self.ledger.next().now_or_never() {
            self.note_rows(&delivery.map_err(failed)?)?;
        }
        while let Some(delivery) = self.objects.next().now_or_never() {
            self.note_objects(&delivery.map_err(failed)?);
        }
        while let Some(delivery) = self.own.as_mut().and_then(|own| own.quotas.next().now_or_never()) {
            self.note_quotas(&delivery.map_err(failed)?);
        }
        while let Some(delivery) = self.own.as_mut().and_then(|own| own.namespaces.next().now_or_never()) {
            self.note_namespaces(&delivery.map_err(failed)?);
        }
        let elsewhere = self.allocations.elsewhere.as_ref();
        if let Some(changed) = elsewhere.and_then(|elsewhere| elsewhere.changed().now_or_never()) {
            self.changed.extend(changed);
        }
        while let Some(answer) = self.questions.next().now_or_never() {
            self.note_answer(answer);
        }
        Ok(())
    }

    /// Whether there is something to do at once.
    fn has_work(&self) -> bool {
        let is_due = !self.changed.is_empty() || !self.sweep.is_empty() || !self.due.is_empty();
        let is_gone = !self.gone.is_empty() && Instant::now() >= self.forget_at;
        let is_new = !self.uncounted.is_empty() || is_gone || self.questions.has_answers();
        (self.is_ready() && (is_due || is_new)) || !self.telling.is_empty()
    }

    fn note_quotas(&mut self, delivery: &Delivery) {
        for key in delivery.events.iter().filter_map(|event| key(event)) {
            let namespace = key.resource().and_then(|resource| key.as_str().strip_prefix(resource));
            if let Some((namespace, _)) = namespace.and_then(|rest| rest.split_once('/')) {
                self.changed.insert(namespace.to_owned());
            }
        }
    }

    fn note_namespaces(&mut self, delivery: &Delivery) {
        let names = delivery.events.iter().filter_map(|event| key(event)).map(|key| key.name().to_owned());
        self.changed.extend(names);
    }

    fn note_objects(&mut self, delivery: &Delivery) {
        let names = delivery.events.iter().filter_map(|event| key(event)).map(|key| key.name().to_owned());
        self.untold.extend(names);
    }

    /// Takes over changes of the ledger, whoever made them.
    fn note_rows(&mut self, delivery: &Delivery) -> Result<()> {
        for event in &delivery.events {
            let Some(key) = key(event) else { continue };
            if let Some((allocation, namespace)) = self.rows.place(key) {
                let (allocation, namespace) = (allocation.to_owned(), namespace.to_owned());
                let row: Option<AccountRow> = read(event.object.as_ref())?;
                self.note_account(&allocation, &namespace, row);
            } else if self.rows.specs()?.contains(key) {
                // All of its rows are read when its turn comes.
                let name = key.name().to_owned();
                match event.object {
                    Some(_) => drop(self.uncounted.insert(name)),
                    None => {
                        self.pictures.remove(&name);
                        self.counting.remove(&name);
                        // Nothing is told of its accounts any more.
                        self.reserved.keep_only(&name, &BTreeSet::new());
                        self.allocations.metrics.set_reservations(self.reserved.count());
                        self.gone.insert(name);
                    }
                }
            } else if let Some(allocation) = self.rows.totalled(key) {
                self.untold.insert(allocation.to_owned());
            }
        }
        Ok(())
    }

    fn note_account(&mut self, allocation: &str, namespace: &str, row: Option<AccountRow>) {
        let Some(picture) = self.pictures.get_mut(allocation) else { return };
        match picture.spec.current_account(row) {
            Some(account) => {
                picture.set(namespace, &account);
                self.reserved.note(allocation, namespace, Some(&account));
            }
            None => {
                picture.remove(namespace);
                self.reserved.note(allocation, namespace, None);
            }
        }
        self.allocations.metrics.set_reservations(self.reserved.count());
        let untold = if self.news.contains(namespace) { &mut self.awaited } else { &mut self.untold };
        untold.insert(allocation.to_owned());
    }

    /// Notes what is due: reservations, what failed, and now and then everything.
    async fn note_time(&mut self) -> Result<()> {
        let now = Instant::now();
        if now >= self.resync_at {
            let state = self.registry.cache().snapshot(At::Any).await.map_err(failed)?;
            self.resync(&state);
        }
        if now >= self.ahead.1 {
            std::mem::take(&mut self.ahead.0).into_iter().for_each(|namespace| self.sweep.add(namespace));
        }
        let again = self.failed.extract_if(.., |_, (at, _)| *at <= now);
        for (namespace, (_, ticket)) in again.collect::<Vec<_>>() {
            self.sweep.put_back(namespace, ticket);
        }
        if self.due.is_empty() && now >= self.look_at {
            self.due = self.reserved.for_longer_than(self.allocations.pace.release_after).into_iter().collect();
            self.look_at = now + LOOK_EVERY;
        }
        Ok(())
    }

    fn note_answer(&mut self, answer: Answer) {
        self.questions.keep(answer);
    }

    fn next_deadline(&self) -> Instant {
        let ahead = (!self.ahead.0.is_empty()).then_some(self.ahead.1);
        let told = (!self.untold.is_empty()).then_some(self.tell_at);
        let again = self.failed.values().map(|(at, _)| *at).min();
        let counted = (!self.counting.is_empty()).then(|| Instant::now() + LOOK_AGAIN);
        let forgotten = (self.is_ready() && !self.gone.is_empty()).then_some(self.forget_at);
        let next = [ahead, told, again, counted, forgotten].into_iter().flatten().fold(self.resync_at, Instant::min);
        let Some(since) = self.reserved.first() else { return next };
        next.min((since + self.allocations.pace.release_after).max(self.look_at))
    }

    /// From now on everything is to be looked at.
    fn resync(&mut self, state: &Snapshot) {
        self.resync_at = Instant::now() + self.allocations.pace.resync_every;
        // Before: then these are all there are.
        let is_ready = self.is_ready();
        let known: BTreeSet<String> = self.pictures.values().flat_map(Picture::projects).cloned().collect();
        self.namespaces(state).into_iter().chain(known).for_each(|namespace| self.sweep.add(namespace));
        let through = self.sweep.last();
        match is_ready {
            true => self.counting.extend(self.pictures.keys().map(|name| (name.clone(), through))),
            false => self.uncounted.extend(self.pictures.keys().cloned()),
        }
        self.untold.extend(self.pictures.keys().cloned());
    }

    fn namespaces(&self, state: &Snapshot) -> Vec<String> {
        match (&self.own, &self.allocations.elsewhere) {
            (Some(own), _) => own.projects.all(state),
            (None, Some(elsewhere)) => elsewhere.namespaces().into_keys().collect(),
            (None, None) => Vec::new(),
        }
    }

    /// All namespaces and their labels.
    fn labelled(&self, state: &Snapshot) -> Result<BTreeMap<String, Labels>> {
        match (&self.own, &self.allocations.elsewhere) {
            (Some(own), _) => own.projects.labelled(state),
            (None, Some(elsewhere)) => Ok(elsewhere.namespaces()),
            (None, None) => Ok(BTreeMap::new()),
        }
    }

    /// Whether it is known what there is.
    fn is_ready(&self) -> bool {
        self.allocations.elsewhere.as_ref().is_none_or(|elsewhere| elsewhere.is_ready())
    }

    /// Reads all accounts of an allocation.
    fn begin(&mut self, spec: Spec, state: &Snapshot) -> Result<()> {
        let name = spec.allocation.name.clone();
        let (picture, accounts) = Picture::of(spec, &self.rows, state)?;
        self.reserved.keep_only(&name, &accounts.iter().map(|(namespace, _)| namespace.as_str()).collect());
        for (namespace, account) in &accounts {
            self.reserved.note(&name, namespace, Some(account));
        }
        self.allocations.metrics.set_reservations(self.reserved.count());
        self.pictures.insert(name.clone(), picture);
        self.untold.insert(name);
        Ok(())
    }
}

async fn next(watcher: Option<&mut Watcher>) -> Result<Delivery> {
    match watcher {
        Some(watcher) => watcher.next().await.map_err(failed),
        None => std::future::pending().await,
    }
}

fn key(event: &Arc<bailiwick_storage::cache::ObjectEvent>) -> Option<&Key> {
    Some(event.object.as_ref().or(event.previous.as_ref())?.key())
}
