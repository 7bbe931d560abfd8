//! Kinds whose objects are made when they are asked for, and never stored: reviews, and views of what others store.

mod follower;
mod seats;
mod watch;

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_machinery::{GroupVersionKind, Object, Scope};
use bailiwick_storage::cache::Snapshot;
use bailiwick_storage::{At, Key, Prefix};

use crate::accept::Accepted;
use crate::context::Ctx;
use crate::error::{Error, Result};
use crate::read::{failed, not_found};
use crate::registry::Registry;
use crate::served_kind::ServedKind;
use crate::update::Part;
use crate::write::WriteOptions;

pub(crate) use follower::Followers;
pub use seats::Touched;
pub use watch::MadeWatch;

/// What can be done with a kind whose objects are made when they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VirtualVerb {
    /// Have an answer made of what is sent.
    Create,
    /// Read one.
    Get,
    /// Read many.
    List,
    /// Follow them, in one namespace. Only what is made of what is stored can be followed.
    Watch,
}

/// Makes the objects of a kind. What is not among its verbs is refused before anyone is asked.
#[async_trait]
pub trait Virtual: Send + Sync + 'static {
    /// What can be done, in order.
    fn verbs(&self) -> &'static [VirtualVerb];

    /// What it says that it is that is sent and answered, if that is no kind of ours.
    fn foreign(&self) -> Option<GroupVersionKind> {
        None
    }

    /// Makes an answer of what was sent.
    async fn create(&self, call: VirtualCall<'_>, _sent: Object) -> Result<Object> {
        Err(call.not_supported("create"))
    }

    /// The object of a name.
    async fn get(&self, call: VirtualCall<'_>, _name: &str) -> Result<Object> {
        Err(call.not_supported("get"))
    }

    /// All objects there are, of the namespace if one is named, in the order of namespaces and names.
    async fn list(&self, call: VirtualCall<'_>) -> Result<Vec<Object>> {
        Err(call.not_supported("list"))
    }

    /// Who makes them of what is stored, if they are made of nothing else. It is then asked instead of [`Virtual::get`] and
    /// [`Virtual::list`].
    fn follows_stored(&self) -> Option<&dyn FromStored> {
        None
    }
}

/// Makes objects of what is stored in one state, and of nothing else: so they can be followed.
pub trait FromStored: Send + Sync {
    /// Where that lies of which they are made.
    fn made_of(&self) -> Result<Prefix>;

    /// The objects in a state, of the namespace if one is named, in the order of namespaces and names. Each says in which
    /// revision it became what it is.
    fn objects(&self, state: &Snapshot, namespace: &str) -> Result<Vec<Object>>;

    /// One of them, if it is there.
    fn object(&self, state: &Snapshot, namespace: &str, name: &str) -> Result<Option<Object>>;

    /// Which of them may be others when a key of what they are made of has changed.
    fn touched<'k>(&self, key: &'k Key) -> Touched<'k>;
}

/// Objects that were made together.
#[derive(Clone, Debug)]
pub struct MadeList {
    /// The objects.
    pub objects: Vec<Object>,
    /// The revision in which they are so, if they are made of what is stored.
    pub revision: Option<u64>,
}

/// What is asked for, and by whom.
#[derive(Clone, Copy)]
pub struct VirtualCall<'c> {
    /// Who asks, and when.
    pub ctx: &'c Ctx<'c>,
    /// Everything there is.
    pub registry: &'c Registry,
    /// The kind, in the version of the request.
    pub kind: &'c ServedKind,
    /// The namespace that is asked for; empty if there is none, or all are meant.
    pub namespace: &'c str,
}

/// What was made of what a client sent.
#[derive(Clone, Debug)]
pub struct Made {
    /// The answer.
    pub object: Object,
    /// What the client should know.
    pub warnings: Vec<String>,
}

// === impl Registry ===

impl Registry {
    /// What objects are made of.
    async fn made_state(&self, kind: &ServedKind, at: At) -> Result<Arc<Snapshot>> {
        self.cache().snapshot(at).await.map_err(|error| failed("get", kind, error))
    }
}

// === impl VirtualVerb ===

impl VirtualVerb {
    /// As discovery and authorization name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
        }
    }
}

// === impl VirtualCall ===

impl VirtualCall<'_> {
    /// Has an answer made of what was sent. Nothing is stored, so a dry run is no different.
    pub async fn create(self, maker: &dyn Virtual, accepted: Accepted, options: &WriteOptions) -> Result<Made> {
        let (mut sent, warnings) = accepted.into_parts();
        forget_system_fields(self.kind, &mut sent);
        // What is empty in every object of a Go type belongs to nobody; nor does anything of an object of others' kinds.
        if maker.foreign().is_none() {
            let empty = self.completed(Object::default());
            options.tracking.track(self.ctx, self.kind, Part::Main, Some(&empty), &mut sent);
        }
        let object = self.completed(maker.create(self, sent).await?);
        Ok(Made { object, warnings })
    }

    /// Reads one.
    pub async fn get(self, maker: &dyn Virtual, name: &str) -> Result<Object> {
        let Some(made) = maker.follows_stored() else { return Ok(self.completed(maker.get(self, name).await?)) };
        let state = self.registry.made_state(self.kind, At::Latest).await?;
        let found = made.object(&state, self.namespace, name)?;
        found.map(|object| self.completed(object)).ok_or_else(|| not_found(self.kind, name))
    }

    /// Reads many.
    pub async fn list(self, maker: &dyn Virtual) -> Result<MadeList> {
        let (objects, revision) = match maker.follows_stored() {
            None => (maker.list(self).await?, None),
            Some(made) => {
                let state = self.registry.made_state(self.kind, At::Latest).await?;
                (made.objects(&state, self.namespace)?, Some(state.revision().get()))
            }
        };
        let objects = objects.into_iter().map(|object| self.completed(object)).collect();
        Ok(MadeList { objects, revision })
    }

    /// With what it is, and all that its Go type always has.
    fn completed(self, mut object: Object) -> Object {
        object.set_gvk(self.kind.gvk());
        if let Some(host_type) = self.kind.host_type() {
            host_type.complete(&mut object);
        }
        object
    }

    fn not_supported(&self, action: &'static str) -> Error {
        Error::NotSupported { resource: self.kind.resource(), action }
    }
}

/// Who makes the objects of a kind of what is stored.
fn maker_of(kind: &ServedKind) -> Result<&dyn FromStored> {
    let maker = kind.kind().maker().and_then(|maker| maker.follows_stored());
    maker.ok_or_else(|| Error::NotSupported { resource: kind.resource(), action: "watch" })
}

/// Drops what only the server says of objects. Whatever else is in the metadata is for the kind to judge.
fn forget_system_fields(kind: &ServedKind, object: &mut Object) {
    let metadata = object.metadata_mut();
    for field in ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        metadata.remove(field);
    }
    if kind.kind().scope() == Scope::Cluster {
        metadata.remove("namespace");
    }
}
