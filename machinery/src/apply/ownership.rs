//! Who owns which fields after a write, and what an applied object makes of the one there is.
//!
//! The rules are those of `structured-merge-diff`: a write takes what it changes from all others; an applied object may
//! only do so by force. What someone applied before and applies no longer goes away, unless someone else owns it too.

use std::collections::BTreeMap;

use serde_json::Value;

use super::compare::{Comparison, compare};
use super::managed::{Manager, Owned, Owners};
use super::merge::merge;
use super::order::same;
use super::reconcile::{reconcile, with_named_fields};
use super::remove::remove;
use super::set::FieldSet;
use super::to_set::to_set;
use super::types::Type;
use super::versions::{Typed, VersionError, Versions};

/// What all writes in one version of a kind have in common.
pub(super) struct Ownership<'v> {
    pub(super) versions: &'v Versions,
    pub(super) api_version: &'v str,
    /// Fields that a write does not change, whatever it says, by the version they are written in.
    pub(super) reset: Option<&'v BTreeMap<String, FieldSet>>,
}

/// An applied object, and who applies it.
pub(super) struct Applied<'a> {
    pub(super) object: &'a Typed<'a>,
    pub(super) manager: &'a Manager,
    /// Whether fields that others own are taken from them.
    pub(super) force: bool,
}

/// Fields that would change, and who owns them, in the order of their owners.
pub(super) type Conflicting = Vec<(Manager, FieldSet)>;

/// Why an object was not applied.
pub(super) enum Refused {
    /// Others own fields that would change.
    Conflicts(Conflicting),
    /// What others own cannot be looked at.
    Version(VersionError),
}

// === impl Refused ===

impl From<VersionError> for Refused {
    fn from(error: VersionError) -> Self {
        Self::Version(error)
    }
}

// === impl Ownership ===

impl Ownership<'_> {
    /// Takes what a write has changed from its owners. Returns what that is.
    pub(super) fn update(
        &self,
        live: &Typed<'_>,
        new: &Typed<'_>,
        owners: Owners,
    ) -> Result<(Owners, FieldSet), VersionError> {
        let mut owners = self.reconciled(live, owners)?;
        let mut changes = self.changes(live, new, &owners)?;
        for owned in owners.values_mut() {
            if let Some(changes) = changes.get(&owned.api_version) {
                owned.lose(changes);
            }
        }
        owners.retain(|_, owned| !owned.fields.is_empty());
        let written = changes.remove(self.api_version).map(|changes| changes.written).unwrap_or_default();
        Ok((owners, self.without_reset(written)))
    }

    /// Applies an object. The object is `None` if it is as it was.
    pub(super) fn apply(
        &self,
        live: &Typed<'_>,
        applied: &Applied<'_>,
        owners: Owners,
    ) -> Result<(Option<Value>, Owners), Refused> {
        let mut owners = self.reconciled(live, owners)?;
        let merged = merge(live.kind, &live.value, &applied.object.value).unwrap_or_default();
        let fields = self.without_reset(to_set(applied.object.kind, &applied.object.value));
        let owned = Owned { fields, api_version: self.api_version.to_owned() };
        let last = owners.insert(applied.manager.clone(), owned);
        let new = live.with(merged);
        let new = match last {
            Some(last) if !last.fields.is_empty() => self.pruned(&new, &owners, last)?,
            _ => new,
        };
        let changes = self.changes(live, &new, &owners)?;
        let mut conflicts = Conflicting::new();
        for (manager, owned) in owners.iter_mut().filter(|(manager, _)| *manager != applied.manager) {
            let Some(changes) = changes.get(&owned.api_version) else { continue };
            let taken = owned.fields.intersection(&changes.written);
            if !taken.is_empty() && !applied.force {
                conflicts.push((manager.clone(), taken));
            }
            owned.lose(changes);
        }
        if !conflicts.is_empty() {
            return Err(Refused::Conflicts(conflicts));
        }
        owners.retain(|_, owned| !owned.fields.is_empty());
        let changed = !same(&live.value, &new.value);
        Ok((changed.then(|| new.value.into_value()), owners))
    }

    /// The owners without those of versions that are no longer there, and with what their fields mean by now.
    fn reconciled(&self, live: &Typed<'_>, owners: Owners) -> Result<Owners, VersionError> {
        let mut types: BTreeMap<String, Option<&Type>> = BTreeMap::new();
        let mut all = Owners::new();
        for (manager, mut owned) in owners {
            let kind = match types.get(&owned.api_version) {
                Some(known) => *known,
                None => {
                    let kind = self.versions.convert(live, &owned.api_version, format_args!(""))?.map(|live| live.kind);
                    types.insert(owned.api_version.clone(), kind);
                    kind
                }
            };
            if let Some(kind) = kind {
                reconcile(kind, &mut owned.fields);
                all.insert(manager, owned);
            }
        }
        Ok(all)
    }

    /// What a write changes, in its own version and in all in which someone owns something.
    fn changes(
        &self,
        live: &Typed<'_>,
        new: &Typed<'_>,
        owners: &Owners,
    ) -> Result<BTreeMap<String, Changes>, VersionError> {
        let own = compare(live.kind, &live.value, &new.value).without(self.reset(self.api_version));
        let mut by_version = BTreeMap::from([(self.api_version.to_owned(), Changes::of(own))]);
        for version in owners.values().map(|owned| &owned.api_version) {
            if by_version.contains_key(version) {
                continue;
            }
            let old = self.versions.convert(live, version, format_args!("failed to convert old object: "))?;
            let new = self.versions.convert(new, version, format_args!("failed to convert new object: "))?;
            if let (Some(old), Some(new)) = (old, new) {
                let comparison = compare(old.kind, &old.value, &new.value).without(self.reset(version));
                by_version.insert(version.clone(), Changes::of(comparison));
            }
        }
        Ok(by_version)
    }

    fn reset(&self, api_version: &str) -> Option<&FieldSet> {
        self.reset?.get(api_version)
    }

    fn without_reset(&self, fields: FieldSet) -> FieldSet {
        match self.reset(self.api_version) {
            Some(reset) => fields.recursive_difference(reset),
            None => fields,
        }
    }

    /// The merged object without what its applier applied last time, does not apply now, and nobody else owns.
    fn pruned<'o>(&'o self, merged: &Typed<'o>, owners: &Owners, last: Owned) -> Result<Typed<'o>, VersionError> {
        let doing = format_args!("failed to prune fields: failed to convert merged object to last applied version: ");
        let Some(merged_then) = self.versions.convert(merged, &last.api_version, doing)? else {
            return Ok(merged.clone());
        };
        let applied_then = with_named_fields(merged_then.kind, last.fields);
        let bare = merged_then.with(remove(merged_then.kind, &merged_then.value, &applied_then));
        let with_owned = self.with_owned(&merged_then, bare, &last.api_version, owners)?;
        let doing = format_args!(
            "failed to prune fields: failed add back dangling items: \
             failed to convert pruned object to last applied version: "
        );
        let pruned = match self.versions.convert(&with_owned, &last.api_version, doing)? {
            Some(pruned) => with_unowned(&merged_then, &pruned, &applied_then),
            None => merged_then,
        };
        let converted = self.versions.convert(&pruned, self.api_version, format_args!("failed to prune fields: "))?;
        Ok(converted.unwrap_or_else(|| merged.clone()))
    }

    /// Puts back what someone owns, in each version in which someone owns something.
    fn with_owned<'o>(
        &'o self,
        merged: &Typed<'o>,
        pruned: Typed<'o>,
        pruned_version: &str,
        owners: &Owners,
    ) -> Result<Typed<'o>, VersionError> {
        let mut by_version: BTreeMap<&str, Vec<&FieldSet>> = BTreeMap::new();
        for owned in owners.values() {
            by_version.entry(&owned.api_version).or_default().push(&owned.fields);
        }
        // The version that is at hand comes first: what a conversion needs must be back before it.
        let first = by_version.remove_entry(pruned_version);
        let (mut merged, mut pruned) = (merged.clone(), pruned);
        for (version, owned) in first.into_iter().chain(by_version) {
            let doing = "failed to prune fields: failed add back owned items: failed to convert";
            let doing_merged = format_args!("{doing} merged object at version {version}: ");
            let Some(converted) = self.versions.convert(&merged, version, doing_merged)? else { continue };
            merged = converted;
            let doing_pruned = format_args!("{doing} pruned object at version {version}: ");
            let Some(converted) = self.versions.convert(&pruned, version, doing_pruned)? else { continue };
            let owned = with_named_fields(merged.kind, FieldSet::union_of(&owned));
            let gone = merged.fields().missing_from(converted.fields()).missing_from(&owned);
            pruned = merged.with(remove(merged.kind, &merged.value, &gone));
        }
        Ok(pruned)
    }
}

/// Puts back what was removed although it had not been applied: what nobody owns stays.
fn with_unowned<'o>(merged: &Typed<'o>, pruned: &Typed<'o>, applied_then: &FieldSet) -> Typed<'o> {
    let gone = merged.fields().missing_from(pruned.fields()).intersection(applied_then);
    merged.with(remove(merged.kind, &merged.value, &gone))
}

/// What a write changes, as owners see it.
struct Changes {
    /// What has another value now.
    written: FieldSet,
    /// What is gone.
    removed: FieldSet,
}

// === impl Changes ===

impl Changes {
    fn of(comparison: Comparison) -> Self {
        Self { written: comparison.modified.union(comparison.added), removed: comparison.removed }
    }
}

// === impl Owned ===

impl Owned {
    fn lose(&mut self, changes: &Changes) {
        self.fields = std::mem::take(&mut self.fields).difference(&changes.written).difference(&changes.removed);
    }
}
