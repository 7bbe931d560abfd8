//! What a kind tells about itself.

use std::sync::Arc;

use bailiwick_machinery::{GroupVersionKind, NameRule, Scope};
use bailiwick_storage::Resource;

use super::{Definition, Difference, Kind, Names, Version};
use crate::strategy::Strategy;
use crate::subresource::Subresource;
use crate::virtual_kind::Virtual;

impl Kind {
    /// How it is called.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Where its objects live.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// What its objects may be called.
    pub fn name_rule(&self) -> NameRule {
        self.name_rule
    }

    /// Whether its status is written on its own.
    pub fn has_status(&self) -> bool {
        self.status
    }

    /// Whether changes of its objects are counted.
    pub(crate) fn has_generation(&self) -> bool {
        self.habits.generation
    }

    /// Whether an object can be replaced by someone who does not say which state of it they have seen.
    pub(crate) fn allows_unconditional_update(&self) -> bool {
        self.habits.unconditional_update
    }

    /// Whether the status of its objects says who asked for them.
    pub(crate) fn stamps_requester(&self) -> bool {
        self.stamps_requester
    }

    /// Whether those who may view are shown its objects, although these are of the cluster.
    pub fn is_shown_to_viewers(&self) -> bool {
        self.shown_to_viewers
    }

    /// Whether its objects give rights to others.
    pub fn hands_out_rights(&self) -> bool {
        self.hands_out_rights
    }

    /// Whether its objects carry secrets.
    pub fn is_secret_bearing(&self) -> bool {
        self.secret_bearing
    }

    /// Whether replacing an object that is not there makes it.
    pub fn allows_create_on_update(&self) -> bool {
        self.habits.create_on_update
    }

    /// Whether many objects can be removed at once.
    pub fn allows_delete_collection(&self) -> bool {
        self.habits.delete_collection
    }

    /// Whether who removes an object is told what it was.
    pub fn tells_deleted(&self) -> bool {
        self.habits.tells_deleted
    }

    /// Whether its objects are what Go's types make of them.
    pub(crate) fn is_typed(&self) -> bool {
        self.habits.typed
    }

    /// The versions it is served in; the first is the one it is stored in.
    pub fn versions(&self) -> &[Version] {
        &self.versions
    }

    /// What can be reached below its objects, beside the status.
    pub fn subresources(&self) -> &[Arc<dyn Subresource>] {
        &self.subresources
    }

    /// Who makes its objects, if they are not stored.
    pub fn maker(&self) -> Option<&dyn Virtual> {
        self.maker.as_deref()
    }

    /// Differs between any two kinds that were defined by data and are not the same; other kinds have none.
    pub fn fingerprint(&self) -> Option<&str> {
        self.definition.as_ref().map(|definition| definition.fingerprint.as_str())
    }

    /// Whether no objects of it can be made any more, because it is about to go.
    pub fn is_terminating(&self) -> bool {
        self.definition.as_ref().is_some_and(|definition| definition.is_terminating)
    }

    /// Whether it was defined by data, and so can change and go while the program runs.
    pub fn is_defined(&self) -> bool {
        self.definition.is_some()
    }

    pub(crate) fn definition(&self) -> Option<&Definition> {
        self.definition.as_ref()
    }

    pub(crate) fn differences(&self) -> &[Difference] {
        &self.differences
    }

    /// What is written on its own beside the status.
    pub(crate) fn parts(&self) -> &[&'static str] {
        &self.parts
    }

    /// Where its objects are stored.
    pub(crate) fn keys(&self) -> &Resource {
        &self.keys
    }

    pub(crate) fn rules(&self) -> &dyn Strategy {
        &*self.strategy
    }

    /// The kind of what is stored.
    pub fn stored_gvk(&self) -> Option<GroupVersionKind> {
        Some(self.versions.first()?.group_version.kind(self.names.kind.clone()))
    }

    /// The group and the kind that it is stored as, by whatever other names it is served too.
    pub(crate) fn home(&self) -> Option<(&str, &str)> {
        Some((&self.versions.first()?.group_version.group, &self.names.kind))
    }
}
