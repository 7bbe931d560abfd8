//! What is left of a definition that is deleted: its objects are removed first.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bailiwick_machinery::Object;
use bailiwick_storage::At;

use super::conditions::{Condition, set_condition};
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
            tokio::spawn(async move { this.run(&name, was_established).await });
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
        let condition = if was_established {
            self.tell(name, IN_PROGRESS).await?;
            self.remove_objects(name).await?;
            COMPLETED
        } else {
            NEVER_ESTABLISHED
        };
        self.release(name, condition).await
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
    async fn tell(&self, name: &str, condition: Condition<'_>) -> Result<()> {
        self.write(name, &|object, now| set_condition(object, condition, now)).await
    }

    /// Lets the definition go.
    async fn release(&self, name: &str, condition: Condition<'_>) -> Result<()> {
        let change = |object: &mut Object, now: &str| {
            set_condition(object, condition, now);
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

const IN_PROGRESS: Condition<'_> = Condition {
    name: "Terminating",
    status: "True",
    reason: "InstanceDeletionInProgress",
    message: "CustomResource deletion is in progress",
};
const COMPLETED: Condition<'_> = Condition {
    name: "Terminating",
    status: "False",
    reason: "InstanceDeletionCompleted",
    message: "removed all instances",
};
const NEVER_ESTABLISHED: Condition<'_> = Condition {
    name: "Terminating",
    status: "False",
    reason: "NeverEstablished",
    message: "resource was never established",
};

/// The server itself.
fn server() -> User {
    User { name: "system:apiserver".to_owned(), groups: vec!["system:masters".to_owned()], ..User::default() }
}
