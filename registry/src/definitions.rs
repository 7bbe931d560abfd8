//! Kinds that are defined by data: what becomes of `CustomResourceDefinition` objects.
//!
//! ```text
//! definitions ──watch──▶ follower ──conditions, accepted names──▶ status of the definition
//!                                └──kinds that come, change, go──▶ registry
//! ```
//!
//! A definition is served once its status says that it is established, so that all servers on one store agree on whose names
//! are whose. Whoever writes a definition is answered when that has happened. A definition that is deleted waits for its
//! objects to be gone, and none are made meanwhile.

use crate::served_kind::ServedKind;

mod cleanup;
mod follow;
mod guard;
mod lifecycle;
mod load;
mod made;
mod room;
mod status;

pub use follow::follow;

pub(crate) use guard::NoShadowing;
pub(crate) use lifecycle::DefinitionLifecycle;
pub(crate) use load::load;
pub(crate) use room::RoomForStatus;
pub(crate) use status::{set_condition, status};

/// The group of definitions.
pub(crate) const GROUP: &str = "apiextensions.k8s.io";
/// The version of definitions.
pub(crate) const VERSION: &str = "v1";
/// Definitions, in paths.
pub(crate) const PLURAL: &str = "customresourcedefinitions";
/// Holds a definition until its objects are gone.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Who writes the status of definitions, as Kubernetes calls it.
const MANAGER: &str = "kube-apiserver";

fn is_definition(kind: &ServedKind) -> bool {
    kind.gvk().group == GROUP && kind.kind().names().plural == PLURAL
}
