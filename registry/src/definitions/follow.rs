//! Follows definitions: grants their names, establishes them, and tells the registry which kinds there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bailiwick_machinery::crd::{Definition, TakenNames};
use bailiwick_machinery::watch::EventType;
use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_storage::{self as storage, At, Revision, Store, Txn};
use tokio::sync::watch;

use super::status::establish;
use super::{FINALIZER, GROUP, MANAGER, PLURAL, VERSION, cleanup, made};
use crate::context::{Clock, Ctx, SystemClock, User};
use crate::encoded::Encoded;
use crate::error::Result;
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
    /// The definitions there are, by name.
    known: BTreeMap<String, Known>,
    /// Those whose objects are being removed.
    cleanups: cleanup::Cleanups,
    /// follower --how far it has come--> writers
    through_tx: watch::Sender<u64>,
}

/// A definition, as it was last seen.
struct Known {
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
    let mut follower = Follower { registry: registry.clone(), kind, known: BTreeMap::new(), cleanups, through_tx };
    let watch = follower.begin().await?;
    registry.writers_wait_for(group_kind, through_rx);
    tokio::spawn(follower.run(watch));
    Ok(())
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

    /// Takes all there are, and forgets what is no more.
    async fn begin(&mut self) -> Result<ObjectWatch> {
        let selection = Selection::everything(&self.kind);
        let mut watch = self.registry.watch(&self.kind, None, selection, WatchFrom::State(At::Latest)).await?;
        let mut gone: BTreeSet<String> = self.known.keys().cloned().collect();
        let mut changes = Changes::default();
        for event in watch.initial(usize::MAX)? {
            let object = self.read(&event.object)?;
            gone.remove(object.metadata().name());
            self.take(object, &mut changes).await?;
        }
        for name in gone {
            self.forget(&name, &mut changes).await?;
        }
        self.carry_out(changes).await?;
        self.through_tx.send_replace(watch.position());
        Ok(watch)
    }

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

    async fn carry_out(&self, changes: Changes) -> Result<()> {
        if changes.gone.is_empty() && changes.come.is_empty() {
            return Ok(());
        }
        let changed = self.registry.change_kinds(&changes.gone, &changes.come).await;
        changed.map_err(|error| failed("watch", &self.kind, error))
    }

    fn read(&self, encoded: &Encoded) -> Result<Object> {
        self.kind.read(encoded).map_err(|error| error.about(&self.kind.resource(), ""))
    }

    /// Takes note of a definition: what its status must say, and what is served of it.
    async fn take(&mut self, object: Object, changes: &mut Changes) -> Result<()> {
        let name = object.metadata().name().to_owned();
        let Some(mut known) = self.known_as(&name, object) else { return Ok(()) };
        self.establish(&mut known).await?;
        self.serve(&mut known, changes);
        if known.object.metadata().deletion_timestamp().is_some()
            && known.object.metadata().finalizers().any(|finalizer| finalizer == FINALIZER)
        {
            self.cleanups.begin(&name, known.definition.is("Established"));
        }
        self.known.insert(name, known);
        Ok(())
    }

    /// What is known of a definition; none if it cannot be read, which is told.
    fn known_as(&mut self, name: &str, object: Object) -> Option<Known> {
        let served = match self.known.remove(name) {
            Some(known) => known.served,
            None => self.registry.defined_by(name),
        };
        match Definition::from_object(&object) {
            Ok(definition) => Some(Known { object, definition, served }),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, name, "a definition cannot be read");
                None
            }
        }
    }

    /// Says in a definition's status what has become of it, if that has changed.
    async fn establish(&self, known: &mut Known) -> Result<()> {
        let group = &known.definition.spec.group;
        if known.object.metadata().deletion_timestamp().is_some() || self.registry.serves_natively(group) {
            return Ok(());
        }
        let mut taken = TakenNames::default();
        for other in self.known.values().filter(|other| other.definition.spec.group == *group) {
            taken.add(&other.definition.status.accepted_names);
        }
        let user = User { name: "system:apiserver".to_owned(), ..User::default() };
        let ctx = Ctx { user: &user, now: SystemClock.now(), annotations: None };
        let mut object = known.object.clone();
        if !establish(&mut object, &known.definition, &taken, &ctx.timestamp()) {
            return Ok(());
        }
        Tracking::Manager(MANAGER.to_owned()).track(&ctx, &self.kind, Part::Status, Some(&known.object), &mut object);
        if let Some(written) = self.write(&known.object, &object).await?
            && let Ok(definition) = Definition::from_object(&written)
        {
            *known = Known { object: written, definition, served: known.served.take() };
        }
        Ok(())
    }

    /// Writes an object without waiting for those who follow it, who may be this one. None if someone else was faster: the
    /// next event tells.
    async fn write(&self, old: &Object, new: &Object) -> Result<Option<Object>> {
        let name = new.metadata().name();
        let key = self.kind.key("", name).map_err(|_| crate::read::not_found(&self.kind, name))?;
        let stored = to_stored(&self.kind, new)?;
        let Ok(seen) = old.metadata().resource_version().parse() else { return Ok(None) };
        match self.registry.cache().commit(Txn::new().update(key, stored.clone(), Revision::new(seen))).await {
            Ok(revision) => self.read(&to_served(&self.kind, name, &stored, Some(revision.get()))?).map(Some),
            Err(storage::Error::Conflict(_)) => Ok(None),
            Err(error) => Err(failed("update", &self.kind, error)),
        }
    }

    /// Serves what a definition defines, if it is established and has changed.
    fn serve(&self, known: &mut Known, changes: &mut Changes) {
        if !known.definition.is("Established") || self.registry.serves_natively(&known.definition.spec.group) {
            changes.remove(known.served.take());
            return;
        }
        let fingerprint = made::fingerprint(&known.object);
        if known.served.as_ref().is_some_and(|served| served.fingerprint() == Some(&fingerprint)) {
            return;
        }
        match made::kind(&known.object, &known.definition) {
            Ok(kind) => {
                changes.remove(known.served.take());
                let kind = Arc::new(kind);
                changes.come.push(kind.clone());
                known.served = Some(kind);
            }
            Err(error) => {
                tracing::error!(%error, definition = known.definition.name, "a definition cannot be served");
            }
        }
    }

    /// Forgets a definition. Others of its group may want the names that are free now.
    async fn forget(&mut self, name: &str, changes: &mut Changes) -> Result<()> {
        let Some(gone) = self.known.remove(name) else { return Ok(()) };
        changes.remove(gone.served);
        let is_waiting = |known: &&Known| {
            known.definition.spec.group == gone.definition.spec.group
                && known.definition.spec.names != known.definition.status.accepted_names
        };
        let waiting: Vec<Object> = self.known.values().filter(is_waiting).map(|known| known.object.clone()).collect();
        for object in waiting {
            self.take(object, changes).await?;
        }
        Ok(())
    }
}
