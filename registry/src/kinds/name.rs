//! Names of organizations and groups, which users choose and other systems' rules do not fit: they keep their capitals.

use std::borrow::Cow;

use bailiwick_api::OrgGroupName;
use bailiwick_machinery::NameForm;
use bailiwick_machinery::name::{Messages, path_segment, path_segment_prefix};

/// The longest name of an organization: with `organizations__` before it, it is a label's value.
pub(super) const MAX_ORGANIZATION_BYTES: usize = 48;
/// The longest name of a group of an organization, without the organization's.
const MAX_GROUP_BYTES: usize = 63;

const FORM: &str = "must consist of letters, digits, '-', '_' or '.', and must start and end with a letter or digit (e.g. 'Acme' or 'research.emea')";

/// The name of an organization.
pub(super) fn organization(name: &str, form: NameForm) -> Messages {
    let mut messages = plain(name, form, MAX_ORGANIZATION_BYTES);
    if form == NameForm::Whole && name.eq_ignore_ascii_case("system") {
        messages.push(Cow::Borrowed("must not be \"system\", which Kubernetes' own names begin with"));
    }
    messages
}

/// The name of a group of an organization: `Acme:developers`.
pub(super) fn org_group(name: &str, form: NameForm) -> Messages {
    let parts = match form {
        NameForm::Whole => OrgGroupName::parse(name).map(|name| (name.organization, name.group)),
        NameForm::Prefix => name.split_once(OrgGroupName::SEPARATOR),
    };
    let Some((organization_name, group)) = parts else {
        return vec![Cow::Borrowed("must be of the form \"<organization>:<group>\" (e.g. 'Acme:developers')")];
    };
    let mut messages = organization(organization_name, NameForm::Whole);
    if !(form == NameForm::Prefix && group.is_empty()) {
        messages.extend(plain(group, form, MAX_GROUP_BYTES));
    }
    messages
}

/// The name of a group of the cluster. None is the name of a group of an organization.
pub(super) fn group(name: &str, form: NameForm) -> Messages {
    let mut messages = match form {
        NameForm::Whole => path_segment(name),
        NameForm::Prefix => path_segment_prefix(name),
    };
    if name.contains(OrgGroupName::SEPARATOR) {
        messages.push(Cow::Borrowed("may not contain ':', which is for groups of organizations"));
    }
    messages
}

fn plain(name: &str, form: NameForm, most: usize) -> Messages {
    let mut messages = Messages::new();
    let body = match form {
        NameForm::Whole => name,
        // What is generated ends in a letter or a digit, whatever precedes it.
        NameForm::Prefix => name.trim_end_matches(['-', '_', '.']),
    };
    let edges = [body.chars().next(), body.chars().next_back()];
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !(edges.iter().all(|edge| edge.is_some_and(|c| c.is_ascii_alphanumeric())) && body.chars().all(allowed)) {
        messages.push(Cow::Borrowed(FORM));
    }
    if name.len() > most {
        messages.push(Cow::Owned(format!("must be no more than {most} bytes")));
    }
    messages
}
