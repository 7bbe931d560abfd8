//! Keeps accounts in line with what there is, and the status of allocations in line with the accounts.
//!
//! Namespaces, ResourceQuotas, allocations and the ledger itself are followed; whatever changes leads to the projects that
//! are to be looked at again, and only those. Now and then all of them are, so that nothing that was missed stays so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bailiwick_api::ResourceQuotaAllocation;
use bailiwick_machinery::{GroupVersion, Object, format_rfc3339};
use bailiwick_storage::cache::{Delivery, Snapshot, Watcher};
use bailiwick_storage::{At, Key, Prefix, Revision};
use futures::FutureExt;
use futures::future::try_join_all;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};

use super::desk::{Task, failed};
use super::ledger::{AccountRow, Rows, Spec, read};
use super::picture::{Picture, Reserved};
use super::source::{OwnProjects, Project, ProjectQuotas};
use super::status::{keep_times, status};
use super::{Allocations, GROUP, PLURAL, VERSION};
use crate::context::{Clock, Ctx, SystemClock};
use crate::error::{Error, Result};
use crate::own_writes::server;
use crate::registry::Registry;
use crate::served_kind::ServedKind;
use crate::update::{Part, Update};
use crate::write::{Tracking, WriteOptions};

/// How often everything is looked at.
const RESYNC_EVERY: Duration = Duration::from_secs(300);
/// After how many seconds a reservation has come to nothing, where what there is is certain.
const RELEASE_OWN: i64 = 5;
/// The same where another server is followed; then it is asked.
const RELEASE_ELSEWHERE: i64 = 60;
/// After which time reservations are looked at again of which nothing could be found out.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How many projects are brought to the desk at once.
const AT_ONCE: usize = 64;

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
    /// Projects to look at.
    changed: BTreeSet<String>,
    /// Allocations whose projects are all to be looked at, and then to be added up.
    uncounted: BTreeSet<String>,
    /// Allocations that are no more.
    gone: BTreeSet<String>,
    /// Allocations whose status is to be looked at.
    untold: BTreeSet<String>,
    reserved: Reserved,
    /// When to look at reservations again of which nothing could be found out.
    look_at: Instant,
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
    pub(super) async fn new(allocations: &'k Allocations, registry: &'k Registry) -> Result<Self> {
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
            uncounted: BTreeSet::new(),
            gone: BTreeSet::new(),
            untold: BTreeSet::new(),
            reserved: Reserved::default(),
            look_at: Instant::now(),
            resync_at: Instant::now() + RESYNC_EVERY,
        };
        for spec in keeper.rows.read_specs(&state)? {
            keeper.begin(spec, &state)?;
        }
        keeper.resync(&state);
        Ok(keeper)
    }

    pub(super) async fn run(mut self) -> Result<()> {
        loop {
            let through = self.own.as_ref().map(|own| own.quotas.position().get());
            let settled = self.settle().await?;
            let state = self.catch_up(settled).await?;
            self.tell(&state).await?;
            // What else has changed meanwhile is looked at before anyone waits.
            if let Some(through) = through {
                self.allocations.through_tx.send_replace(through);
            }
            self.wait().await?;
        }
    }

    /// Waits until something changes, and takes over all that has.
    async fn wait(&mut self) -> Result<()> {
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
            Time,
        }
        let news = tokio::select! {
            delivery = self.ledger.next() => News::Ledger(delivery.map_err(failed)?),
            delivery = self.objects.next() => News::Objects(delivery.map_err(failed)?),
            delivery = next(quotas) => News::Quotas(delivery?),
            delivery = next(namespaces) => News::Namespaces(delivery?),
            changed = changed_elsewhere => News::Elsewhere(changed),
            () = sleep_until(due) => News::Time,
        };
        match news {
            News::Ledger(delivery) => self.note_rows(&delivery)?,
            News::Objects(delivery) => self.note_objects(&delivery),
            News::Quotas(delivery) => self.note_quotas(&delivery),
            News::Namespaces(delivery) => self.note_namespaces(&delivery),
            News::Elsewhere(changed) => self.changed.extend(changed),
            News::Time => self.note_time().await?,
        }
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
        Ok(())
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
                        self.gone.insert(name);
                    }
                }
            } else {
                self.untold.insert(key.name().to_owned());
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
        self.untold.insert(allocation.to_owned());
    }

    /// Looks at what is due: reservations, and now and then everything.
    async fn note_time(&mut self) -> Result<()> {
        if Instant::now() >= self.resync_at {
            let state = self.registry.cache().snapshot(At::Any).await.map_err(failed)?;
            self.resync(&state);
        }
        let overdue = seconds() - self.release_after();
        for namespace in self.reserved.before(overdue) {
            let project = match &self.allocations.elsewhere {
                None => None,
                Some(elsewhere) => match elsewhere.look(&namespace).await {
                    Ok(quotas) => Some(Project { quotas, ..elsewhere.project(&namespace) }),
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(error, %namespace, "what became of a reservation cannot be found out at present");
                        continue;
                    }
                },
            };
            let task =
                || Task::Settle { namespace: namespace.clone(), project: project.clone(), released_before: overdue };
            self.finish(task).await?;
        }
        self.look_at = Instant::now() + LOOK_AGAIN;
        Ok(())
    }

    fn next_deadline(&self) -> Instant {
        let Some(since) = self.reserved.first() else { return self.resync_at };
        let left = u64::try_from(since + self.release_after() + 1 - seconds()).unwrap_or(0);
        let due = (Instant::now() + Duration::from_secs(left)).max(self.look_at);
        self.resync_at.min(due)
    }

    fn release_after(&self) -> i64 {
        if self.own.is_some() { RELEASE_OWN } else { RELEASE_ELSEWHERE }
    }

    /// From now on everything is to be looked at.
    fn resync(&mut self, state: &Snapshot) {
        self.resync_at = Instant::now() + RESYNC_EVERY;
        self.changed.extend(self.namespaces(state));
        self.changed.extend(self.pictures.values().flat_map(Picture::projects).cloned());
        self.uncounted.extend(self.pictures.keys().cloned());
        self.untold.extend(self.pictures.keys().cloned());
    }

    fn namespaces(&self, state: &Snapshot) -> Vec<String> {
        match (&self.own, &self.allocations.elsewhere) {
            (Some(own), _) => own.projects.all(state),
            (None, Some(elsewhere)) => elsewhere.namespaces(),
            (None, None) => Vec::new(),
        }
    }

    /// Reads all accounts of an allocation.
    fn begin(&mut self, spec: Spec, state: &Snapshot) -> Result<()> {
        let name = spec.allocation.name.clone();
        let (picture, accounts) = Picture::of(spec, &self.rows, state)?;
        for (namespace, account) in &accounts {
            self.reserved.note(&name, namespace, Some(account));
        }
        self.allocations.metrics.set_reservations(self.reserved.count());
        self.pictures.insert(name.clone(), picture);
        self.untold.insert(name);
        Ok(())
    }

    /// Brings the accounts of all projects that have changed in line with them. The state in which they are.
    async fn settle(&mut self) -> Result<Revision> {
        let mut reached = Revision::ZERO;
        if self.allocations.elsewhere.as_ref().is_some_and(|elsewhere| !elsewhere.is_ready()) {
            return Ok(reached);
        }
        let uncounted = std::mem::take(&mut self.uncounted);
        if !uncounted.is_empty() {
            let state = self.registry.cache().snapshot(At::Latest).await.map_err(failed)?;
            for spec in self.rows.read_specs(&state)? {
                if uncounted.contains(&spec.allocation.name) {
                    self.begin(spec, &state)?;
                }
            }
            self.changed.extend(self.namespaces(&state));
            let known = uncounted.iter().filter_map(|name| self.pictures.get(name));
            self.changed.extend(known.flat_map(Picture::projects).cloned());
        }
        let mut changed: Vec<String> = std::mem::take(&mut self.changed).into_iter().collect();
        if self.pictures.is_empty() {
            // Whatever comes is looked at when there is an allocation.
            changed.clear();
        }
        for some in changed.chunks(AT_ONCE) {
            let tasks = some.iter().map(|namespace| self.settle_one(namespace));
            reached = try_join_all(tasks).await?.into_iter().fold(reached, Ord::max);
        }
        for allocation in uncounted {
            reached = reached.max(self.finish(|| Task::Count(allocation.clone())).await?);
        }
        for allocation in std::mem::take(&mut self.gone) {
            reached = reached.max(self.finish(|| Task::Forget(allocation.clone())).await?);
        }
        Ok(reached)
    }

    async fn settle_one(&self, namespace: &str) -> Result<Revision> {
        // Reservations end when they are due, after a look at the other server.
        let released_before = if self.own.is_some() { seconds() - RELEASE_OWN } else { i64::MIN };
        let project = match &self.allocations.elsewhere {
            Some(elsewhere) => Some(self.known_elsewhere(&**elsewhere, namespace).await?),
            None => None,
        };
        let (namespace, project) = (namespace.to_owned(), &project);
        self.finish(|| Task::Settle { namespace: namespace.clone(), project: project.clone(), released_before }).await
    }

    /// What is known of a project. Before an account is given up, the other server is asked: its watches tell of namespaces
    /// and of ResourceQuotas in no order.
    async fn known_elsewhere(&self, elsewhere: &dyn ProjectQuotas, namespace: &str) -> Result<Project> {
        let mut project = elsewhere.project(namespace);
        let is_left = |picture: &Picture| {
            let label = |key: &str| project.labels.as_ref()?.get(key).map(String::as_str);
            picture.has(namespace) && (project.labels.is_none() || !picture.spec.allocation.selects(namespace, label))
        };
        if self.pictures.values().any(is_left) {
            project.labels = elsewhere.labels_now(namespace).await?;
        }
        Ok(project)
    }

    /// Has something done until nothing is left of it.
    async fn finish(&self, task: impl Fn() -> Task) -> Result<Revision> {
        loop {
            let done = self.allocations.ask(task()).await?;
            self.allocations.metrics.add_released(done.released);
            if done.finished {
                return Ok(done.revision);
            }
        }
    }

    /// Takes over what was settled, before anything is told of it.
    async fn catch_up(&mut self, settled: Revision) -> Result<Arc<Snapshot>> {
        let state = self.registry.cache().snapshot(At::NotOlderThan(settled)).await.map_err(failed)?;
        while let Some(delivery) = self.ledger.next().now_or_never() {
            self.note_rows(&delivery.map_err(failed)?)?;
        }
        Ok(state)
    }

    /// Says what is the case, where that has changed.
    async fn tell(&mut self, state: &Snapshot) -> Result<()> {
        let untold = std::mem::take(&mut self.untold);
        let pictures = untold.iter().filter_map(|name| self.pictures.get(name));
        try_join_all(pictures.map(|picture| self.tell_one(picture, state))).await?;
        Ok(())
    }

    async fn tell_one(&self, picture: &Picture, state: &Snapshot) -> Result<()> {
        let status = status(picture, &self.rows, state)?;
        let now = SystemClock.now();
        let timestamp = format_rfc3339(seconds()).unwrap_or_default();
        let options = WriteOptions::default();
        let change = |found: &Object| {
            let mut status = status.clone();
            let before = ResourceQuotaAllocation::deserialize(found.as_value()).ok().and_then(|old| old.status);
            let before = before.map(|before| before.conditions).unwrap_or_default();
            keep_times(&mut status.conditions, &before, found.metadata().generation(), &timestamp);
            let mut object = found.clone();
            let status = serde_json::to_value(&status)
                .map_err(|error| Error::Failed { what: "the status of an allocation", why: error.to_string() })?;
            object.fields_mut().insert("status".to_owned(), status);
            self.kind.accept(object, &options)
        };
        let user = server();
        let ctx = Ctx { user: &user, now, annotations: None };
        let tracking = Tracking::Manager("bailiwick".to_owned());
        let update = Update { part: Part::Status, change: &change, tracking: &tracking, dry_run: false };
        match self.registry.update(&ctx, &self.kind, "", &picture.spec.allocation.name, update).await {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
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

fn seconds() -> i64 {
    let since = SystemClock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
