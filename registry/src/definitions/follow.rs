//! Follows definitions: grants their names, establishes them, and tells the registry which kinds there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bailiwick_machinery::crd::{Definition, Names, TakenNames};
use bailiwick_machinery::watch::EventType;
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_storage::{self as storage, At, Revision, Store, Txn};
use tokio::sync::watch;

use super::status::establish;
use super::{GROUP, MANAGER, PLURAL, VERSION, cleanup, made};
use crate::context::{Clock, Ctx, SystemClock, User};
use crate::encoded::Encoded;
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::read::failed;
use crate::registry::Registry;
use crate::selection::Selection;
use crate::served_kind::ServedKind;
use crate::update::Part;
use crate::watch::{ObjectWatch, WatchFrom};
use crate::write::{Tracking, to_served, to_stored};

/// How long to wait before definitions are followed again whose watch has failed.
const PAUSE: Duration = Duration::from_millis(200);

/// Who follows definitions.
struct Follower {
    registry: Arc<Registry>,
    kind: Arc<ServedKind>,
    /// The definitions there are, by name: what others depend on, and no more, because there may be many and large ones.
    known: BTreeMap<String, Known>,
    /// Those whose kinds were about to change when something failed: how far that came is not known, so they are made again.
    unsettled: BTreeSet<String>,
    /// Those whose objects are being removed.
    cleanups: cleanup::Cleanups,
    /// follower --how far it has come--> writers
    through_tx: watch::Sender<u64>,
}

/// What is known of a definition.
struct Known {
    group: String,
    granted: Names,
    /// Whether it wants names that it was not granted.
    is_waiting: bool,
    /// The kind that is served for it.
    served: Option<Arc<Kind>>,
}

/// A definition that is looked at.
struct Seen {
    object: Object,
    definition: Definition,
    /// The kind that is served for it.
    served: Option<Arc<Kind>>,
}

/// What is to become of the kinds there are.
#[derive(Default)]
struct Changes {
    gone: Vec<Arc<Kind>>,
    come: Vec<Arc<Kind>>,
}

/// Follows definitions from now on, if they are served. All that are established are served when it returns; who writes one
/// waits until what follows from it is so.
pub async fn follow(registry: &Arc<Registry>) -> Result<()> {
    let Some(kind) = registry.find(&GroupVersion::new(GROUP, VERSION), PLURAL) else { return Ok(()) };
    let (through_tx, through_rx) = watch::channel(0);
    let group_kind = kind.group_kind();
    let cleanups = cleanup::Cleanups::new(registry.clone(), kind.clone());
    let registry = registry.clone();
    let (known, unsettled) = (BTreeMap::new(), BTreeSet::new());
    let mut follower = Follower { registry: registry.clone(), kind, known, unsettled, cleanups, through_tx };
    let watch = follower.begin().await?;
    registry.writers_wait_for(group_kind, through_rx);
    registry.spawn(follower.run(watch));
    Ok(())
}

// === impl Known ===

impl Known {
    /// What a definition says of itself, and what is served for it. None if it cannot be read, which is told when it is taken.
    fn of(object: &Object, served: &mut BTreeMap<String, Arc<Kind>>) -> Option<(String, Self)> {
        let Definition { name, spec, status, .. } = Definition::from_object(object).ok()?;
        let is_waiting = spec.names != status.accepted_names;
        let served = served.remove(&name);
        Some((name, Self { group: spec.group, granted: status.accepted_names, is_waiting, served }))
    }
}

// === impl Changes ===

impl Changes {
    /// A kind is not served any more. One that was about to come need not.
    fn remove(&mut self, kind: Option<Arc<Kind>>) {
        let Some(kind) = kind else { return };
        let about_to_come = self.come.len();
        self.come.retain(|come| !Arc::ptr_eq(come, &kind));
        if self.come.len() == about_to_come {
            self.gone.push(kind);
        }
    }
}

// === impl Follower ===

impl Follower {
    async fn run(mut self, mut watch: ObjectWatch) {
        loop {
            if let Err(error) = self.follow(&mut watch).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "definitions are read anew");
            }
            watch = loop {
                tokio::time::sleep(PAUSE).await;
                match self.begin().await {
                    Ok(begun) => break begun,
                    Err(error) => {
                        tracing::warn!(error = &error as &dyn std::error::Error, "definitions cannot be read");
                    }
                }
            };
        }
    }

    /// Takes all there are. What is served is asked of the registry, and what was granted stands in the definitions: nothing
    /// is believed that was to happen before, and may not have.
    async fn begin(&mut self) -> Result<ObjectWatch> {
        let selection = Selection::everything(&self.kind);
        let mut watch = self.registry.watch(&self.kind, None, selection, WatchFrom::State(At::Latest)).await?;
        let objects = watch.initial_readable();
        let mut served = self.registry.defined();
        // Who was granted a name has it, whoever is looked at first.
        self.known = objects.iter().filter_map(|object| Known::of(object, &mut served)).collect();
        let mut changes = Changes::default();
        for object in objects {
            served.remove(object.metadata().name());
            self.take(object, &mut changes).await?;
        }
        served.into_values().for_each(|gone| changes.remove(Some(gone)));
        self.carry_out(changes).await?;
        self.through_tx.send_replace(watch.position());
        Ok(watch)
    }

    /// Takes what happens. After something that cannot be read all is read anew, without it.
    async fn follow(&mut self, watch: &mut ObjectWatch) -> Result<()> {
        loop {
            let batch = watch.next().await?;
            let mut changes = Changes::default();
            for event in &batch.events {
                let object = self.read(&event.object)?;
                match event.event_type {
                    EventType::Deleted => self.forget(object.metadata().name(), &mut changes).await?,
                    _ => self.take(object, &mut changes).await?,
                }
            }
            self.carry_out(changes).await?;
            self.through_tx.send_replace(batch.through);
        }
    }

    async fn carry_out(&mut self, changes: Changes) -> Result<()> {
        if changes.gone.is_empty() && changes.come.is_empty() {
            return Ok(());
        }
        let name = |kind: &Arc<Kind>| kind.definition().map(|definition| definition.name.clone());
        let names: Vec<String> = changes.gone.iter().chain(&changes.come).filter_map(name).collect();
        self.unsettled.extend(names.iter().cloned());
        let changed = self.registry.change_kinds(&changes.gone, &changes.come).await;
        changed.map_err(|error| failed("watch", &self.kind, error))?;
        for name in &names {
            self.unsettled.remove(name);
        }
        Ok(())
    }

    fn read(&self, encoded: &Encoded) -> Result<Object> {
        self.kind.read(encoded).map_err(|error| error.about(&self.kind.resource(), ""))
    }

    /// Takes note of a definition: what its status must say, and what is served of it. If it has given up names, others of its
    /// group may want them.
    async fn take(&mut self, object: Object, changes: &mut Changes) -> Result<()> {
        let mut due = vec![object];
        while let Some(object) = due.pop() {
            if let Some(group) = self.take_one(object, changes).await? {
                due.extend(self.waiting_in(&group).await);
            }
        }
        Ok(())
    }

    /// Takes note of one definition. Its group, if it has other names now than it had before.
    async fn take_one(&mut self, object: Object, changes: &mut Changes) -> Result<Option<String>> {
        let name = object.metadata().name().to_owned();
        let before = self.known.get(&name).map(|known| known.granted.clone());
        let Some(mut seen) = self.see(&name, object) else { return Ok(None) };
        self.establish(&mut seen).await?;
        self.serve(&mut seen, changes);
        self.cleanups.begin(&seen.object, seen.definition.is("Established"));
        let Definition { spec, status, .. } = seen.definition;
        let is_waiting = spec.names != status.accepted_names;
        let has_changed = before.is_some_and(|before| before != status.accepted_names);
        let group = has_changed.then(|| spec.group.clone());
        let known = Known { group: spec.group, granted: status.accepted_names, is_waiting, served: seen.served };
        self.known.insert(name, known);
        Ok(group)
    }

    /// Definitions of a group that want names which they were not granted.
    async fn waiting_in(&self, group: &str) -> Vec<Object> {
        let mut waiting = Vec::new();
        for (name, _) in self.known.iter().filter(|(_, known)| known.group == group && known.is_waiting) {
            // One that is gone, too, or damaged, is told of by an event of its own.
            let found = self.registry.get(&self.kind, "", name, At::Any).await;
            waiting.extend(found.and_then(|found| self.read(&found)).ok());
        }
        waiting
    }

    /// A definition, with what is served for it; none if it cannot be read, which is told.
    fn see(&mut self, name: &str, object: Object) -> Option<Seen> {
        let served = match self.known.remove(name) {
            Some(known) => known.served,
            None => self.registry.defined_by(name),
        };
        match Definition::from_object(&object) {
            Ok(definition) => Some(Seen { object, definition, served }),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, name, "a definition cannot be read");
                None
            }
        }
    }

    /// Says in a definition's status what has become of it, if that has changed.
    async fn establish(&self, seen: &mut Seen) -> Result<()> {
        let group = &seen.definition.spec.group;
        if seen.object.metadata().deletion_timestamp().is_some() || self.registry.serves_natively(group) {
            return Ok(());
        }
        let mut taken = TakenNames::default();
        for other in self.known.values().filter(|other| other.group == *group) {
            taken.add(&other.granted);
        }
        let user = User { name: "system:apiserver".to_owned(), ..User::default() };
        let ctx = Ctx { user: &user, now: SystemClock.now(), annotations: None };
        let mut object = seen.object.clone();
        if !establish(&mut object, &seen.definition, &taken, &ctx.timestamp()) {
            return Ok(());
        }
        Tracking::Manager(MANAGER.to_owned()).track(&ctx, &self.kind, Part::Status, Some(&seen.object), &mut object);
        if let Some(written) = self.write(&seen.object, &object).await?
            && let Ok(definition) = Definition::from_object(&written)
        {
            *seen = Seen { object: written, definition, served: seen.served.take() };
        }
        Ok(())
    }

    /// Writes an object without waiting for those who follow it, who may be this one. None if someone else was faster, of which
    /// the next event tells, or if it cannot be written, because it would be too large or does not say which one it is: it stays
    /// as it is then, and keeps no other.
    async fn write(&self, old: &Object, new: &Object) -> Result<Option<Object>> {
        let name = new.metadata().name();
        let Ok(key) = self.kind.key("", name) else { return Ok(None) };
        let stored = match to_stored(&self.kind, new) {
            Err(error @ Error::TooLarge { .. }) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    name,
                    "a definition has no room for its status"
                );
                return Ok(None);
            }
            stored => stored?,
        };
        let Ok(seen) = old.metadata().resource_version().parse() else { return Ok(None) };
        match self.registry.cache().commit(Txn::new().update(key, stored.clone(), Revision::new(seen))).await {
            Ok(revision) => self.read(&to_served(&self.kind, name, &stored, Some(revision.get()))?).map(Some),
            Err(storage::Error::Conflict(_)) => Ok(None),
            Err(error) => Err(failed("update", &self.kind, error)),
        }
    }

    /// Serves what a definition defines, if it is established and has changed.
    fn serve(&self, seen: &mut Seen, changes: &mut Changes) {
        if !seen.definition.is("Established") || self.registry.serves_natively(&seen.definition.spec.group) {
            changes.remove(seen.served.take());
            return;
        }
        let fingerprint = made::fingerprint(&seen.object);
        let is_served = seen.served.as_ref().is_some_and(|served| served.fingerprint() == Some(&fingerprint));
        if is_served && !self.unsettled.contains(&seen.definition.name) {
            return;
        }
        match made::kind(&seen.object, &seen.definition) {
            Ok(kind) => {
                changes.remove(seen.served.take());
                let kind = Arc::new(kind);
                changes.come.push(kind.clone());
                seen.served = Some(kind);
            }
            Err(error) => {
                tracing::error!(%error, definition = seen.definition.name, "a definition cannot be served");
            }
        }
    }

    /// Forgets a definition. Others of its group may want the names that are free now.
    async fn forget(&mut self, name: &str, changes: &mut Changes) -> Result<()> {
        let Some(gone) = self.known.remove(name) else { return Ok(()) };
        changes.remove(gone.served);
        for object in self.waiting_in(&gone.group).await {
            self.take(object, changes).await?;
        }
        Ok(())
    }
}
