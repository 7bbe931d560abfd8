//! Groups of the Kubernetes community: kinds in them must say who approved of them.

use super::definition::{APPROVAL_ANNOTATION, Definition};
use crate::schema::is_absolute_url;
use crate::{FieldError, FieldErrors, FieldPath, go};

/// What a definition says of its approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Nothing.
    Missing,
    /// Nothing that could be understood.
    Invalid,
    /// That it has none.
    Bypassed,
    /// Where it was given.
    Approved,
}

// === impl Approval ===

impl Approval {
    /// What the annotation says.
    pub fn of(annotation: &str) -> Self {
        match annotation {
            "" => Self::Missing,
            text if text.starts_with("unapproved") => Self::Bypassed,
            text if is_absolute_url(text) => Self::Approved,
            _ => Self::Invalid,
        }
    }

    /// The same in upstream's words.
    pub fn message(self, annotation: &str) -> String {
        let wanted = format!("protected groups must have approval annotation {}", go::quote(APPROVAL_ANNOTATION));
        let see = "see https://github.com/kubernetes/enhancements/pull/1111";
        match self {
            Self::Missing => format!("{wanted}, {see}"),
            Self::Invalid => format!("{wanted} with either a URL or a reason starting with \"unapproved\", {see}"),
            Self::Bypassed => format!("not approved: {}", go::quote(annotation)),
            Self::Approved => format!("approved in {annotation}"),
        }
    }
}

/// Whether a group belongs to the Kubernetes community.
pub fn is_protected_group(group: &str) -> bool {
    let below = |domain: &str| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    below("k8s.io") || below("kubernetes.io")
}

/// Notes that an approval is missing or cannot be understood. What was so before may stay so.
pub(super) fn validate_approval(new: &Definition, old: Option<&Definition>, errors: &mut FieldErrors) {
    let approval = Approval::of(&new.approval);
    if !is_protected_group(&new.spec.group) || old.is_some_and(|old| Approval::of(&old.approval) == approval) {
        return;
    }
    let field = FieldPath::new("metadata").child("annotations").key(APPROVAL_ANNOTATION);
    let message = approval.message(&new.approval);
    match approval {
        Approval::Missing => errors.push(FieldError::required(field, message)),
        Approval::Invalid => errors.push(FieldError::invalid(field, new.approval.as_str(), message)),
        Approval::Bypassed | Approval::Approved => {}
    }
}
