//! What the server writes by itself, as itself: what must be there before anyone can ask for it.

use bailiwick_machinery::Object;

use crate::User;
use crate::context::{Clock, Ctx, SystemClock};
use crate::delete::{DeleteOptions, Preconditions};
use crate::error::{Error, Result};
use crate::registry::Registry;
use crate::served_kind::ServedKind;
use crate::update::{Part, Update};
use crate::write::{Tracking, WriteOptions};

const MANAGER: &str = "bailiwick";

/// Makes an object of the cluster, unless there is one of this name.
pub(crate) async fn create(registry: &Registry, kind: &ServedKind, mut object: Object) -> Result<()> {
    object.set_gvk(kind.gvk());
    let options = WriteOptions { tracking: tracking(), ..WriteOptions::default() };
    let accepted = kind.accept(object, &options)?;
    let (user, now) = (server(), SystemClock.now());
    let ctx = Ctx { user: &user, now, annotations: None };
    match registry.create(&ctx, kind, accepted, &options).await {
        Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes this very object of the cluster, and none that came after it.
pub(crate) async fn remove(registry: &Registry, kind: &ServedKind, object: &Object) -> Result<()> {
    let (user, now) = (server(), SystemClock.now());
    let ctx = Ctx { user: &user, now, annotations: None };
    let uid = Some(object.metadata().uid().to_owned());
    let preconditions = Some(Preconditions { uid, resource_version: None });
    let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
    match registry.delete(&ctx, kind, "", object.metadata().name(), &options).await {
        Ok(_) | Err(Error::NotFound { .. } | Error::Conflict { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Changes an object of the cluster, if it is there.
pub(crate) async fn write(
    registry: &Registry,
    kind: &ServedKind,
    name: &str,
    change: &(dyn Fn(&mut Object) + Send + Sync),
) -> Result<()> {
    let options = WriteOptions::default();
    let change = |found: &Object| {
        let mut object = found.clone();
        change(&mut object);
        kind.accept(object, &options)
    };
    let (user, now) = (server(), SystemClock.now());
    let ctx = Ctx { user: &user, now, annotations: None };
    let update = Update { part: Part::Main, change: &change, tracking: &tracking(), dry_run: false };
    match registry.update(&ctx, kind, "", name, update).await {
        Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The server itself.
pub(crate) fn server() -> User {
    User { name: "system:apiserver".to_owned(), groups: vec!["system:masters".to_owned()], ..User::default() }
}

fn tracking() -> Tracking {
    Tracking::Manager(MANAGER.to_owned())
}
