//! What is left of a definition that is deleted: its objects are removed first.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bailiwick_machinery::Object;
use bailiwick_machinery::crd::Condition;
use bailiwick_storage::At;

use super::status::set_condition;
use super::{FINALIZER, MANAGER};
use crate::context::{Clock, Ctx, SystemClock, User};
use crate::delete::DeleteOptions;
use crate::error::{Error, Result};
use crate::read::ListRequest;
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
    running: Arc<Mutex<HashSet<String>>>,
}

// === impl Cleanups ===

impl Cleanups {
    pub(super) fn new(registry: Arc<Registry>, kind: Arc<ServedKind>) -> Self {
        Self { registry, kind, running: Arc::default() }
    }

    /// Removes the objects of a definition, and then what holds it. Does nothing if that is being done already.
    pub(super) fn begin(&self, name: &str, was_established: bool) {
        if self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned()) {
            let (this, name) = (self.clone(), name.to_owned());
            self.registry.spawn(async move { this.run(&name, was_established).await });
        }
    }

    async fn run(&self, name: &str, was_established: bool) {
        let mut pause = PAUSE;
        while let Err(error) = self.clean(name, was_established).await {
            tracing::debug!(error = &error as &dyn std::error::Error, name, "a definition waits for its objects to go");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    async fn clean(&self, name: &str, was_established: bool) -> Result<()> {
        let progress = if was_established {
            self.tell(name, Progress::Removing).await?;
            self.remove_objects(name).await?;
            Progress::Removed
        } else {
            Progress::NeverServed
        };
        self.release(name, progress).await
    }

    /// Removes all objects; an error while there are some left.
    async fn remove_objects(&self, name: &str) -> Result<()> {
        let Some(kind) = self.registry.defined_by(name).and_then(|kind| ServedKind::all(&kind).into_iter().next())
        else {
            return Ok(());
        };
        let selection = Selection::everything(&kind);
        let all = ListRequest { namespace: None, selection: &selection, at: At::Latest, after: None, limit: None };
        let user = server();
        let ctx = Ctx { user: &user, now: SystemClock.now(), annotations: None };
        self.registry.delete_collection(&ctx, &kind, &all, &DeleteOptions::default()).await?;
        match self.registry.list(&kind, &all).await?.objects.len() {
            0 => Ok(()),
            left => Err(Error::Failed {
                what: "the end of a definition",
                why: format!("{left} objects wait for their finalizers to go"),
            }),
        }
    }

    /// Says in the status how far it has come.
    async fn tell(&self, name: &str, progress: Progress) -> Result<()> {
        self.write(name, &|object, now| set_condition(object, progress.condition(), now)).await
    }

    /// Lets the definition go.
    async fn release(&self, name: &str, progress: Progress) -> Result<()> {
        let change = |object: &mut Object, now: &str| {
            set_condition(object, progress.condition(), now);
            let finalizers = object.metadata().finalizers().filter(|finalizer| *finalizer != FINALIZER);
            let finalizers: Vec<String> = finalizers.map(str::to_owned).collect();
            object.set_finalizers(&finalizers);
        };
        self.write(name, &change).await
    }

    async fn write(&self, name: &str, change: &(dyn Fn(&mut Object, &str) + Send + Sync)) -> Result<()> {
        let user = server();
        let ctx = Ctx { user: &user, now: SystemClock.now(), annotations: None };
        let now = ctx.timestamp();
        let options = WriteOptions::default();
        let change = |found: &Object| {
            let mut object = found.clone();
            change(&mut object, &now);
            self.kind.accept(object, &options)
        };
        let tracking = Tracking::Manager(MANAGER.to_owned());
        let update = Update { part: Part::Status, change: &change, tracking: &tracking, dry_run: false };
        match self.registry.update(&ctx, &self.kind, "", name, update).await {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
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

/// The server itself.
fn server() -> User {
    User { name: "system:apiserver".to_owned(), groups: vec!["system:masters".to_owned()], ..User::default() }
}
