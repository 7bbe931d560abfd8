//! What is known of a Bundle's objects from having looked at them, so that only what has changed is looked at again.

use std::collections::HashMap;
use std::sync::Arc;

use bailiwick_api::bundle::{Plan, Problem};
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::update_loop::Written;
use super::watches::News;
use crate::host_kinds::HostKind;

/// The plan of a Bundle, or what is wrong with it.
pub(super) type Planned = Arc<Result<Plan, Vec<Problem>>>;

/// What is remembered of a Bundle between two looks at it. All of it can be found out again.
#[derive(Default)]
pub(super) struct Memory {
    /// The UID of the Bundle that it is about.
    pub(super) bundle: String,
    /// The plan, and the generation that it is for.
    pub(super) plan: Option<(i64, Planned)>,
    /// What was seen of those resources that were looked at last time. Nobody tells of others.
    pub(super) observed: HashMap<String, Observed>,
    pub(super) written: HashMap<String, Written>,
    /// Looks at the Bundle again after some time.
    pub(super) timer: Option<AbortOnDropHandle<()>>,
}

/// A resource of a Bundle, as it was seen last.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) object: Seen,
    /// The object whose existence makes it ready.
    pub(super) binding: Option<Seen>,
    /// What it has put out.
    pub(super) output: Option<Seen>,
}

/// An object, as it was seen last.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) kind: HostKind,
    pub(super) name: String,
    pub(super) object: Value,
}

// === impl Seen ===

impl Seen {
    pub(super) fn uid(&self) -> &str {
        self.object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether something has happened to it since.
    pub(super) fn is_outdated(&self, news: &News) -> bool {
        let version: Option<u64> =
            self.object.pointer("/metadata/resourceVersion").and_then(Value::as_str).and_then(|text| text.parse().ok());
        match news.get(&(self.kind.clone(), self.name.clone())) {
            None => false,
            Some(now) => now.is_none() || *now > version,
        }
    }
}

/// The UID of who controls an object, and who that is.
pub(super) fn controller(object: &Value) -> Option<(&str, String)> {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array)?;
    let owner = owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
    let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
    Some((text("uid"), format!("{} \"{}\"", text("kind"), text("name"))))
}

/// Whether an object is being deleted.
pub(super) fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|deleted| !deleted.is_null())
}
