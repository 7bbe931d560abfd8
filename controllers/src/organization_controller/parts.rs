//! The RoleBindings that an OrgRoleBinding becomes, and what is to be done so that there are these and no others.
//!
//! One holds at most [`MAX_SUBJECTS`], so there may be several. Who is in one of them stays in it, so that a change of one
//! person is a change of one RoleBinding. Example, with room for two:
//!
//! ```text
//! there are             org-role-binding:dev [ann, bob]   org-role-binding:dev:1 [carol]
//! wanted                ann, carol, dan, eve
//! first, what ends      org-role-binding:dev [ann]
//! then, what begins     org-role-binding:dev [ann, dan]   org-role-binding:dev:1 [carol, eve]
//! ```

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_api::{DERIVED_LABEL, OrgRoleBinding, OrgRoleRef};
use k8s_openapi::Resource;
use k8s_openapi::api::rbac::v1::{RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// The value of the label of RoleBindings that were made here.
const DERIVED_FROM: &str = OrgRoleBinding::URL_PATH_SEGMENT;
/// How many subjects a RoleBinding has at most.
pub(super) const MAX_SUBJECTS: usize = 1_000;
/// What their names begin with.
const PREFIX: &str = OrgRoleBinding::DERIVED_PREFIX;

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Takes a RoleBinding away.
    Remove(String),
    /// Leaves only these in a RoleBinding.
    Keep(String, Vec<Subject>),
    /// Leaves nobody in a RoleBinding that is being deleted: its role counts for as long as a finalizer keeps it.
    Empty(String),
    /// Gives a RoleBinding these subjects, among whom are all that it has.
    Extend(String, Vec<Subject>),
    /// Makes a RoleBinding.
    Make(String, Vec<Subject>),
}

// === impl Step ===

impl Step {
    /// Whether someone loses something by it, and nobody gains anything.
    pub(super) fn is_end(&self) -> bool {
        matches!(self, Self::Remove(_) | Self::Keep(..) | Self::Empty(_))
    }
}

/// A subject of this kind.
pub(super) fn subject(kind: &str, name: &str) -> Subject {
    Subject {
        api_group: Some(OrgRoleRef::GROUP.to_owned()),
        kind: kind.to_owned(),
        name: name.to_owned(),
        namespace: None,
    }
}

/// The name of the OrgRoleBinding that a RoleBinding was made for, if it was made here: its label and its owner say so. Whoever
/// may edit it can take one of them away, but not its name, by which it is known then.
pub(super) fn binding_of(role_binding: &RoleBinding) -> Option<&str> {
    match (is_labelled(role_binding), owner(role_binding)) {
        (true, Some(owner)) => Some(&owner.name),
        (true, None) | (false, Some(_)) => binding_by_name(role_binding.metadata.name.as_deref()?),
        (false, None) => None,
    }
}

/// The RoleBinding of this name, with these subjects, for an OrgRoleBinding.
pub(super) fn role_binding(binding: &OrgRoleBinding, name: String, subjects: Vec<Subject>) -> RoleBinding {
    let owner = OwnerReference {
        api_version: OrgRoleBinding::API_VERSION.to_owned(),
        kind: OrgRoleBinding::KIND.to_owned(),
        name: binding.metadata.name.clone().unwrap_or_default(),
        uid: binding.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    };
    RoleBinding {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: binding.metadata.namespace.clone(),
            labels: Some(BTreeMap::from([(DERIVED_LABEL.to_owned(), DERIVED_FROM.to_owned())])),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        role_ref: RoleRef {
            api_group: Some(binding.role_ref.api_group.clone()),
            kind: binding.role_ref.kind.clone(),
            name: binding.role_ref.name.clone(),
        },
        subjects: Some(subjects),
    }
}

/// Whether a RoleBinding is being deleted.
pub(super) fn is_going(role_binding: &RoleBinding) -> bool {
    role_binding.metadata.deletion_timestamp.is_some()
}

/// What is to be done so that these subjects, and no others, have the role: first what ends, then what begins. What is being
/// deleted is to give nothing any more, and has its name until it is gone.
pub(super) fn steps(
    binding: Option<&OrgRoleBinding>,
    wanted: &[Subject],
    derived: &BTreeMap<String, RoleBinding>,
) -> Vec<Step> {
    let Some(binding) = binding else { return derived.iter().filter_map(end_of).collect() };
    let mut missing: BTreeMap<_, &Subject> = wanted.iter().map(|subject| (key(subject), subject)).collect();
    let mut steps = Vec::new();
    let mut parts: BTreeMap<String, Vec<Subject>> = BTreeMap::new();
    for (name, found) in derived {
        let there = found.subjects.as_deref().unwrap_or_default();
        let kept: Vec<Subject> = match is_of(found, binding) && !is_going(found) {
            true => there.iter().filter(|subject| missing.remove(&key(subject)).is_some()).cloned().collect(),
            false => Vec::new(),
        };
        if kept.is_empty() {
            steps.extend(end_of((name, found)));
            continue;
        }
        if kept.len() < there.len() {
            steps.push(Step::Keep(name.clone(), kept.clone()));
        }
        parts.insert(name.clone(), kept);
    }
    let mut missing = missing.into_values().cloned();
    for (name, subjects) in &mut parts {
        let room = MAX_SUBJECTS.saturating_sub(subjects.len());
        let added: Vec<Subject> = missing.by_ref().take(room).collect();
        if !added.is_empty() {
            subjects.extend(added);
            steps.push(Step::Extend(name.clone(), subjects.clone()));
        }
    }
    let going = derived.iter().filter(|(_, found)| is_going(found)).map(|(name, _)| name);
    let taken: BTreeSet<&String> = parts.keys().chain(going).collect();
    let name = binding.metadata.name.as_deref().unwrap_or_default();
    let mut names = (0..).map(|number| part_name(name, number)).filter(|name| !taken.contains(name));
    let rest: Vec<Subject> = missing.collect();
    steps.extend(rest.chunks(MAX_SUBJECTS).zip(&mut names).map(|(part, name)| Step::Make(name, part.to_vec())));
    steps
}

/// What is to be done so that a RoleBinding gives nothing any more.
fn end_of((name, found): (&String, &RoleBinding)) -> Option<Step> {
    match (is_going(found), found.subjects.as_ref().is_none_or(Vec::is_empty)) {
        (false, _) => Some(Step::Remove(name.clone())),
        (true, false) => Some(Step::Empty(name.clone())),
        (true, true) => None,
    }
}

fn part_name(binding: &str, number: usize) -> String {
    match number {
        0 => format!("{PREFIX}{binding}"),
        number => format!("{PREFIX}{binding}:{number}"),
    }
}

/// The name of the OrgRoleBinding that a RoleBinding of this name would be for.
pub(super) fn binding_by_name(part: &str) -> Option<&str> {
    let rest = part.strip_prefix(PREFIX)?;
    Some(rest.split_once(':').map_or(rest, |(binding, _)| binding))
}

/// Whether a RoleBinding is one of this very OrgRoleBinding, and of its role, and says so. There may have been another
/// OrgRoleBinding of the same name, and someone may have edited it.
fn is_of(role_binding: &RoleBinding, binding: &OrgRoleBinding) -> bool {
    is_labelled(role_binding)
        && owner(role_binding).is_some_and(|owner| Some(&owner.uid) == binding.metadata.uid.as_ref())
        && has_role_of(role_binding, binding)
}

/// Whether a RoleBinding gives the role that an OrgRoleBinding gives. Neither can be changed.
pub(super) fn has_role_of(role_binding: &RoleBinding, binding: &OrgRoleBinding) -> bool {
    let (role, wanted) = (&role_binding.role_ref, &binding.role_ref);
    (role.kind.as_str(), role.name.as_str()) == (wanted.kind.as_str(), wanted.name.as_str())
}

fn is_labelled(role_binding: &RoleBinding) -> bool {
    let label = role_binding.metadata.labels.as_ref().and_then(|labels| labels.get(DERIVED_LABEL));
    label.is_some_and(|label| label == DERIVED_FROM)
}

fn owner(role_binding: &RoleBinding) -> Option<&OwnerReference> {
    let is_ours = |owner: &&OwnerReference| {
        owner.kind == OrgRoleBinding::KIND && owner.api_version == OrgRoleBinding::API_VERSION
    };
    role_binding.metadata.owner_references.iter().flatten().find(is_ours)
}

fn key(subject: &Subject) -> (&str, &str, Option<&str>) {
    (subject.kind.as_str(), subject.name.as_str(), subject.namespace.as_deref())
}

#[cfg(test)]
mod tests;
