//! Whose names are whose, and what is to be known of a definition.
//!
//! Names of one group belong to the definition that was granted them first. A definition whose names are all granted is
//! served, and then established; it stays so even if it wants others later that it cannot have.

use std::collections::HashSet;

use super::approval::{Approval, is_protected_group};
use super::definition::{Condition, Definition, Names};
use crate::go;

/// The names of a group that were granted.
#[derive(Debug, Default)]
pub struct TakenNames<'n> {
    resources: HashSet<&'n str>,
    kinds: HashSet<&'n str>,
}

/// What becomes of the names that a definition wants.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptedNames {
    /// Those that it has.
    pub names: Names,
    /// `NamesAccepted`.
    pub accepted: Condition,
    /// `Established`, as it is before the kind is served.
    pub established: Condition,
}

// === impl TakenNames ===

impl<'n> TakenNames<'n> {
    /// Adds names that were granted to a definition; also those of the definition that asks.
    pub fn add(&mut self, names: &'n Names) {
        self.resources.extend([names.plural.as_str(), &names.singular]);
        self.resources.extend(names.short_names.iter().map(String::as_str));
        self.kinds.extend([names.kind.as_str(), &names.list_kind]);
    }
}

// === impl Condition ===

impl Condition {
    fn new(condition_type: &str, status: &str, reason: &str, message: impl Into<String>) -> Self {
        Self {
            condition_type: condition_type.to_owned(),
            status: status.to_owned(),
            last_transition_time: None,
            reason: reason.to_owned(),
            message: message.into(),
        }
    }

    /// The condition of a definition whose kind is served.
    pub fn established() -> Self {
        Self::new("Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
    }

    /// The condition of a definition that is to be deleted.
    pub fn terminating() -> Self {
        let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        Self::new("Terminating", "True", "InstanceDeletionPending", message)
    }

    /// What is to be known of the approval of a kind, if its group asks for one.
    pub fn approval(definition: &Definition) -> Option<Self> {
        if !is_protected_group(&definition.spec.group) {
            return None;
        }
        let approval = Approval::of(&definition.approval);
        let (status, reason) = match approval {
            Approval::Invalid => ("False", "InvalidAnnotation"),
            Approval::Missing => ("False", "MissingAnnotation"),
            Approval::Approved => ("True", "ApprovedAnnotation"),
            Approval::Bypassed => ("False", "UnapprovedAnnotation"),
        };
        let message = approval.message(&definition.approval);
        Some(Self::new("KubernetesAPIApprovalPolicyConformant", status, reason, message))
    }

    /// Whether two conditions say the same, since whenever.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        (&self.status, &self.reason, &self.message) == (&other.status, &other.reason, &other.message)
    }
}

/// Says something of a definition, from `now` on, or since it was said first.
pub fn set_condition(conditions: &mut Vec<Condition>, condition: Condition, now: &str) {
    let known = conditions.iter_mut().find(|known| known.condition_type == condition.condition_type);
    let since = known.as_ref().filter(|known| known.status == condition.status);
    let since = since.and_then(|known| known.last_transition_time.clone()).unwrap_or_else(|| now.to_owned());
    let said = Condition { last_transition_time: Some(since), ..condition };
    match known {
        Some(known) => *known = said,
        None => conditions.push(said),
    }
}

/// Grants a definition the names that it wants and can have. None if that changes nothing.
pub fn accept_names(definition: &Definition, taken: &TakenNames<'_>) -> Option<AcceptedNames> {
    let (wanted, held) = (&definition.spec.names, &definition.status.accepted_names);
    if wanted == held {
        return None;
    }
    let (names, refusal) = grant(wanted, held, taken);
    let accepted = match refusal {
        Some((reason, message)) => Condition::new("NamesAccepted", "False", reason, message),
        None => Condition::new("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
    };
    let known = |name: &str| definition.status.conditions.iter().find(|known| known.condition_type == name);
    if names == *held && known("NamesAccepted").is_some_and(|known| known.says_the_same_as(&accepted)) {
        return None;
    }
    let established = match known("Established") {
        Some(known) if known.status == "True" => known.clone(),
        _ if accepted.status == "True" => {
            Condition::new("Established", "False", "Installing", "the initial names have been accepted")
        }
        Some(known) => known.clone(),
        None => Condition::new("Established", "False", "NotAccepted", "not all names are accepted"),
    };
    Some(AcceptedNames { names, accepted, established })
}

type Refusal = (&'static str, String);

/// The names that are granted, and why others are not. Of several reasons, the last one is told.
fn grant(wanted: &Names, held: &Names, taken: &TakenNames<'_>) -> (Names, Option<Refusal>) {
    let mut granted = Names { categories: wanted.categories.clone(), ..held.clone() };
    let resources = &taken.resources;
    let refusals = [
        grant_one(&wanted.plural, &mut granted.plural, resources, "PluralConflict"),
        grant_one(&wanted.singular, &mut granted.singular, resources, "SingularConflict"),
        grant_short(&wanted.short_names, &mut granted.short_names, resources),
        grant_one(&wanted.kind, &mut granted.kind, &taken.kinds, "KindConflict"),
        grant_one(&wanted.list_kind, &mut granted.list_kind, &taken.kinds, "ListKindConflict"),
    ];
    let last = refusals.into_iter().flatten().next_back();
    (granted, last)
}

fn grant_one(wanted: &str, held: &mut String, taken: &HashSet<&str>, reason: &'static str) -> Option<Refusal> {
    if wanted != held && taken.contains(wanted) {
        return Some((reason, in_use(wanted)));
    }
    wanted.clone_into(held);
    None
}

/// Short names are granted all or none.
fn grant_short(wanted: &[String], held: &mut Vec<String>, taken: &HashSet<&str>) -> Option<Refusal> {
    let refused = wanted.iter().filter(|name| !held.contains(name) && taken.contains(name.as_str()));
    let refused: Vec<String> = refused.map(|name| in_use(name)).collect();
    let why = match refused.as_slice() {
        [] => {
            wanted.clone_into(held);
            return None;
        }
        [why] => why.clone(),
        all => format!("[{}]", all.join(", ")),
    };
    Some(("ShortNamesConflict", why))
}

fn in_use(name: &str) -> String {
    format!("{} is already in use", go::quote(name))
}
