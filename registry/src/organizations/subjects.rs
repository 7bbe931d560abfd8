//! No ordinary binding names a group of an organization: it would count where the organization owns nothing.

use bailiwick_api::OrgGroupName;
use bailiwick_machinery::{Cause, Object};
use serde_json::Value;

use crate::admission::Proposal;
use crate::error::{Error, Result};

/// Refuses a binding that names one, unless it has named it before.
pub(super) fn check(proposal: &Proposal<'_>, binding: &Object) -> Result<()> {
    let before: Vec<&str> = proposal.old.map(|old| groups(old).map(|(_, name)| name).collect()).unwrap_or_default();
    let added = groups(binding).filter(|(_, name)| !before.contains(name));
    let causes: Vec<Cause> = added.map(|(index, name)| cause(index, name)).collect();
    if causes.is_empty() {
        return Ok(());
    }
    Err(Error::Forbidden {
        resource: proposal.kind.resource(),
        name: proposal.name().to_owned(),
        why: format!("{}; use an OrgRoleBinding", causes[0].message),
        causes,
    })
}

fn groups(binding: &Object) -> impl Iterator<Item = (usize, &str)> {
    let subjects = binding.fields().get("subjects").and_then(Value::as_array).into_iter().flatten().enumerate();
    subjects.filter_map(|(index, subject)| {
        let is_group = subject.get("kind").and_then(Value::as_str) == Some("Group");
        let name = subject.get("name")?.as_str()?;
        (is_group && name.starts_with(OrgGroupName::PREFIX)).then_some((index, name))
    })
}

fn cause(index: usize, name: &str) -> Cause {
    Cause {
        reason: "OrgGroupSubject".to_owned(),
        message: format!("\"{name}\" is a group of an organization, which counts in the organization's projects only"),
        field: format!("subjects[{index}].name"),
    }
}
