//! Whether a group or a binding comes to something, and if not, what to do about it.

use bailiwick_api::{ConditionStatus, OWNER_LABEL, OrgGroupName, OrgRoleBinding, Owner, some_of};
use k8s_openapi::api::rbac::v1::Subject;

use super::account::Account;

/// What the condition `Effective` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) status: ConditionStatus,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

// === impl Verdict ===

impl Verdict {
    fn effective(reason: &'static str, message: String) -> Self {
        Self { status: ConditionStatus::True, reason, message }
    }

    /// Not so, for a reason that says what to do.
    pub(super) fn ineffective(reason: &'static str, message: String) -> Self {
        Self { status: ConditionStatus::False, reason, message }
    }
}

/// Of an OrgGroup with these users who are no members.
pub(super) fn of_group(organization: &str, non_members: &[String]) -> Verdict {
    if non_members.is_empty() {
        return Verdict::effective("AllMembers", String::new());
    }
    let users = some_of(non_members.iter());
    let message = format!(
        "users who are no members of the organization \"{organization}\" have nothing by this group: {users}; remove them from \
         the group, or have them made members"
    );
    Verdict::ineffective("NonMembers", message)
}

/// Why nothing at all is bound in a namespace, where roles are bound by RoleBindings that this account makes.
pub(super) fn where_bound(namespace: &str, owner: Option<&str>, account: &Account) -> Option<Verdict> {
    if account.home() == Some(namespace) {
        let message =
            format!("\"{namespace}\" is where Bailiwick itself is, and organizations give nothing to anyone there");
        return Some(Verdict::ineffective("OwnNamespace", message));
    }
    if namespace.starts_with(OrgRoleBinding::RESERVED_NAMESPACES) {
        let message =
            format!("\"{namespace}\" is a namespace of the system, where organizations give nothing to anyone");
        return Some(Verdict::ineffective("SystemNamespace", message));
    }
    owner.is_none().then(|| no_owner(namespace))
}

/// Of an OrgRoleBinding with subjects to whom no role is bound; the others have it.
pub(super) fn of_left_out(subjects: &[Subject]) -> Option<Verdict> {
    let names: Vec<&String> = subjects.iter().map(|subject| &subject.name).collect();
    if names.is_empty() {
        return None;
    }
    let message = format!(
        "Bailiwick binds no roles to groups of the system, nor to its own accounts, which have nothing here: {}; remove them from \
         groups and users",
        some_of(names.iter())
    );
    Some(Verdict::ineffective("NotBound", message))
}

/// Of an OrgRoleBinding in a namespace of this owner; `missing` are those of its groups that are not there.
pub(super) fn of_binding(
    namespace: &str,
    owner: Option<&str>,
    binding: &OrgRoleBinding,
    missing: &[String],
) -> Verdict {
    let is_foreign = |group: &&String| OrgGroupName::parse(group).map(|name| name.organization) != owner;
    let foreign: Vec<String> = binding.org_groups.iter().filter(is_foreign).cloned().collect();
    match owner {
        None if !foreign.is_empty() => no_owner(namespace),
        Some(owner) if !foreign.is_empty() => {
            let groups = some_of(foreign.iter());
            let message = format!(
                "groups have nothing here that are not of \"{owner}\", the organization that owns the project \
                 \"{namespace}\": {groups}; remove them from orgGroups, or have their organization own the project"
            );
            Verdict::ineffective("OtherOwner", message)
        }
        _ if !missing.is_empty() => Verdict::effective(
            "GroupsMissing",
            format!("there are no such groups at present: {}", some_of(missing.iter())),
        ),
        _ => Verdict::effective("InEffect", String::new()),
    }
}

fn no_owner(namespace: &str) -> Verdict {
    let value = Owner::value_of("NAME");
    let message = format!(
        "no organization owns the project \"{namespace}\": whoever may \"own\" for the organization can label it with kubectl \
         label namespace {namespace} {OWNER_LABEL}={value}"
    );
    Verdict::ineffective("NoOwner", message)
}
