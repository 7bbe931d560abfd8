//! OpenAPI: what can be asked of a server and what objects look like, for programs.
//!
//! There is one document of version 3 for each group and version, and one of version 2 for everything. Both are written
//! as kube-apiserver writes them for custom resources, because clients read more from them than the standard says:
//! kubectl decides by the parameters of a PATCH whether the server checks fields, and by its content types how to patch.
//!
//! ```text
//! Resource ──▶ paths, operations, parameters (routes) ─┬─▶ v3
//!          └─▶ schemas of the kind and its list ───────┴─▶ v2, which has no words for some of it
//! ```

mod components;
mod kind;
mod meta;
mod names;
mod parameters;
mod routes;
mod told;
mod v2;
mod v3;

use crate::group::GroupVersion;
use crate::metadata::Scope;
use crate::schema::Schema;

pub use names::root;
pub use told::{HostSchema, Step};
pub use v2::document as v2;
pub use v3::document as v3;

/// What a document says of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info<'a> {
    /// Its name.
    pub title: &'a str,
    /// Its version.
    pub version: &'a str,
}

/// A kind in one of its versions, as far as documents tell of it.
#[derive(Clone, Debug)]
pub struct Resource<'a> {
    /// The group and version.
    pub group_version: &'a GroupVersion,
    /// One object, as `kind` states it.
    pub kind: &'a str,
    /// Many objects, as `kind` states it.
    pub list_kind: &'a str,
    /// Many objects, in paths.
    pub plural: &'a str,
    /// Where objects live.
    pub scope: Scope,
    /// What can be done with it.
    pub verbs: &'a [Verb],
    /// What objects look like.
    pub schema: &'a Schema,
    /// Whether it is one of Kubernetes' own kinds: they have protobuf, and patches that know their Go types.
    pub typed: bool,
    /// Whether who deletes an object is told what it was, rather than that it is gone.
    pub tells_deleted: bool,
    /// Fields by which objects can be selected, beside their names.
    pub selectable_fields: Vec<&'a str>,
    /// What can be reached below an object; the status is one of them.
    pub subresources: Vec<Subresource<'a>>,
}

/// What can be reached below an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource<'a> {
    /// The last part of its path.
    pub name: &'a str,
    /// The group and version of its kinds, if they are not the object's.
    pub foreign: Option<&'a GroupVersion>,
    /// The kind that is written.
    pub kind: &'a str,
    /// The kind that is read.
    pub read_kind: &'a str,
    /// What can be done with it.
    pub verbs: Vec<Verb>,
}

/// What can be done with a resource. To watch is not among them: it is a parameter of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Make an object.
    Create,
    /// Delete an object.
    Delete,
    /// Delete many objects.
    DeleteCollection,
    /// Read an object.
    Get,
    /// Read many objects.
    List,
    /// Change an object.
    Patch,
    /// Replace an object.
    Update,
}

// === impl Verb ===

impl Verb {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Create, Self::Delete, Self::DeleteCollection, Self::Get, Self::List, Self::Patch, Self::Update];
}

#[cfg(test)]
mod tests;
