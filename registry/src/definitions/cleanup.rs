//! What is left of a definition that is deleted: its objects are removed first.
//!
//! Several servers may be at it, and someone may let the definition go without waiting: another one of the same name may be
//! there at any time. Nothing of that one is touched.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bailiwick_machinery::Object;
use bailiwick_machinery::crd::{Condition, Definition};
use bailiwick_storage::At;

use super::status::set_condition;
use super::{FINALIZER, MANAGER, made};
use crate::context::{Clock, Ctx, SystemClock, User};
use crate::delete::DeleteOptions;
use crate::error::{Error, Result};
use crate::read::{ListRequest, not_found};
use crate::registry::Registry;
use crate::selection::Selection;
use crate::served_kind::ServedKind;
use crate::update::{Part, Update};
use crate::write::{Tracking, WriteOptions};

/// How long to wait for objects that do not go at once, at first and at most.
const PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The definitions whose objects are being removed.
#[derive(Clone)]
pub(super) struct Cleanups {
    registry: Arc<Registry>,
    kind: Arc<ServedKind>,
    /// By UID.
    running: Arc<Mutex<HashSet<String>>>,
}

/// A definition that is to go.
struct Ending {
    name: String,
    uid: String,
    was_established: bool,
}

// === impl Cleanups ===

impl Cleanups {
    pub(super) fn new(registry: Arc<Registry>, kind: Arc<ServedKind>) -> Self {
        Self { registry, kind, running: Arc::default() }
    }

    /// Removes the objects of a definition, and then what holds it, if it is to go and waits for that. Does nothing if that
    /// is being done already.
    pub(super) fn begin(&self, definition: &Object, was_established: bool) {
        let metadata = definition.metadata();
        let ending = Ending { name: metadata.name().to_owned(), uid: metadata.uid().to_owned(), was_established };
        let is_news = || self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(ending.uid.clone());
        if ending.is(definition) && is_news() {
            let this = self.clone();
            self.registry.spawn(async move { this.run(&ending).await });
        }
    }

    async fn run(&self, ending: &Ending) {
        let mut pause = PAUSE;
        while let Err(error) = self.clean(ending).await {
            let name = &ending.name;
            tracing::debug!(error = &error as &dyn std::error::Error, name, "a definition waits for its objects to go");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&ending.uid);
    }

    async fn clean(&self, ending: &Ending) -> Result<()> {
        let progress = if ending.was_established {
            self.tell(ending, Progress::Removing).await?;
            self.remove_objects(ending).await?;
            Progress::Removed
        } else {
            Progress::NeverServed
        };
        self.release(ending, progress).await
    }

    /// Removes all objects; an error while there are some left. What is removed was there before the definition was seen to
    /// be the same: it is not another one's.
    async fn remove_objects(&self, ending: &Ending) -> Result<()> {
        let Some(definition) = self.waiting(ending).await? else { return Ok(()) };
        let kind = stored_kind(&definition).map_err(|why| Error::Failed { what: "the end of a definition", why })?;
        let selection = Selection::everything(&kind);
        let all = ListRequest { namespace: None, selection: &selection, at: At::Latest, after: None, limit: None };
        let found = self.registry.list(&kind, &all).await?;
        if self.waiting(ending).await?.is_none() {
            return Ok(());
        }
        let user = server();
        let ctx = Ctx { user: &user, now: SystemClock.now(), annotations: None };
        self.registry.delete_listed(&ctx, &kind, &found, &DeleteOptions::default()).await?;
        match self.registry.list(&kind, &all).await?.objects.len() {
            0 => Ok(()),
            left => Err(Error::Failed {
                what: "the end of a definition",
                why: format!("{left} objects wait for their finalizers to go"),
            }),
        }
    }

    /// The definition, if it is still there, and to go.
    async fn waiting(&self, ending: &Ending) -> Result<Option<Object>> {
        match self.registry.get(&self.kind, "", &ending.name, At::Latest).await {
            Err(Error::NotFound { .. }) => Ok(None),
            found => {
                let definition = self.kind.read(&found?);
                let definition = definition.map_err(|error| error.about(&self.kind.resource(), &ending.name))?;
                Ok(Some(definition).filter(|definition| ending.is(definition)))
            }
        }
    }

    /// Says in the status how far it has come.
    async fn tell(&self, ending: &Ending, progress: Progress) -> Result<()> {
        self.write(ending, &|object, now| set_condition(object, progress.condition(), now)).await
    }

    /// Lets the definition go.
    async fn release(&self, ending: &Ending, progress: Progress) -> Result<()> {
        let change = |object: &mut Object, now: &str| {
            set_condition(object, progress.condition(), now);
            let finalizers = object.metadata().finalizers().filter(|finalizer| *finalizer != FINALIZER);
            let finalizers: Vec<String> = finalizers.map(str::to_owned).collect();
            object.set_finalizers(&finalizers);
        };
        self.write(ending, &change).await
    }

    /// Changes the definition, unless it is gone.
    async fn write(&self, ending: &Ending, change: &(dyn Fn(&mut Object, &str) + Send + Sync)) -> Result<()> {
        let user = server();
        let ctx = Ctx { user: &user, now: SystemClock.now(), annotations: None };
        let now = ctx.timestamp();
        let options = WriteOptions::default();
        let change = |found: &Object| {
            if !ending.is(found) {
                return Err(not_found(&self.kind, &ending.name));
            }
            let mut object = found.clone();
            change(&mut object, &now);
            self.kind.accept(object, &options)
        };
        let tracking = Tracking::Manager(MANAGER.to_owned());
        let update = Update { part: Part::Status, change: &change, tracking: &tracking, dry_run: false };
        match self.registry.update(&ctx, &self.kind, "", &ending.name, update).await {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

// === impl Ending ===

impl Ending {
    /// Whether this is the definition, and still waits for its objects to go.
    fn is(&self, definition: &Object) -> bool {
        let metadata = definition.metadata();
        metadata.uid() == self.uid
            && metadata.deletion_timestamp().is_some()
            && metadata.finalizers().any(|finalizer| finalizer == FINALIZER)
    }
}

/// What is said of a definition that is about to go.
#[derive(Clone, Copy, Debug)]
enum Progress {
    /// Its objects are being removed.
    Removing,
    /// They are gone.
    Removed,
    /// It had none, because it was never served.
    NeverServed,
}

// === impl Progress ===

impl Progress {
    fn condition(self) -> Condition {
        let (status, reason, message) = match self {
            Self::Removing => ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"),
            Self::Removed => ("False", "InstanceDeletionCompleted", "removed all instances"),
            Self::NeverServed => ("False", "NeverEstablished", "resource was never established"),
        };
        Condition {
            condition_type: "Terminating".to_owned(),
            status: status.to_owned(),
            last_transition_time: None,
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }
}

/// What a definition defines, in the version in which objects are stored: these are there whatever is served.
fn stored_kind(definition: &Object) -> Result<ServedKind, String> {
    let defined = Definition::from_object(definition).map_err(|error| error.to_string())?;
    let kind = made::kind(definition, &defined).map_err(|error| error.to_string())?;
    ServedKind::stored(&Arc::new(kind)).ok_or_else(|| "it has no storage version".to_owned())
}

/// The server itself.
fn server() -> User {
    User { name: "system:apiserver".to_owned(), groups: vec!["system:masters".to_owned()], ..User::default() }
}
