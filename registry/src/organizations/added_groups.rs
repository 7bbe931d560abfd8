//! What the audit log says of groups that were added to those that a user came with: an entry shows in which groups someone was,
//! and this is why.

use std::collections::HashSet;

use crate::context::Annotations;

/// How long it becomes at most, in bytes; beyond that the groups are only counted.
const MAX_TOLD: usize = 1_024;

/// Whom they were added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddedTo {
    /// Whoever sent the request.
    Sender,
    /// Whom the sender acts as.
    Impersonated,
}

/// Tells which groups someone has, beside those that came with them.
pub fn tell_added_groups(annotations: &Annotations, to: AddedTo, came: &[String], has: &[String]) {
    let came: HashSet<&String> = came.iter().collect();
    let added: Vec<&String> = has.iter().filter(|group| !came.contains(group)).collect();
    if !added.is_empty() {
        annotations.add(to.key(), listed(&added));
    }
}

// === impl AddedTo ===

impl AddedTo {
    fn key(self) -> &'static str {
        match self {
            Self::Sender => "org.bailiwick.dev/added-groups",
            Self::Impersonated => "org.bailiwick.dev/impersonated-added-groups",
        }
    }
}

fn listed(groups: &[&String]) -> String {
    let mut text = String::new();
    for (count, group) in groups.iter().enumerate() {
        let separator = if count == 0 { "" } else { "," };
        if text.len() + separator.len() + group.len() > MAX_TOLD {
            return format!("{text} and {} more", groups.len() - count).trim_start().to_owned();
        }
        text += separator;
        text += group;
    }
    text
}

#[cfg(test)]
mod tests;
