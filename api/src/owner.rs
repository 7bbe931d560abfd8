//! Whose a project is: the label of its namespace that says so.

/// The label. A project has at most one owner, because a label has one value.
pub const OWNER_LABEL: &str = "openshift.io/owner";

/// An owner, as the label names it: `<resource>_<namespace>_<name>`, so that `organizations__Acme` is the organization
/// Acme. (A `/` between the parts, as one would expect, is not allowed in the value of a label.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'v> {
    /// The plural of the owner's kind.
    pub resource: &'v str,
    /// The owner's namespace; empty if it has none.
    pub namespace: &'v str,
    /// The owner's name.
    pub name: &'v str,
}

// === impl Owner ===

impl<'v> Owner<'v> {
    /// The plural of the only kind that owns projects so far.
    pub const ORGANIZATIONS: &'static str = "organizations";
    /// What the label's value begins with if the owner is an organization; its name follows.
    pub const ORGANIZATION_PREFIX: &'static str = "organizations__";
    /// What separates the parts. A name may contain it; what precedes the name does not.
    const SEPARATOR: char = '_';

    /// The parts; `None` if they are not three, or if one is missing that must be there.
    pub fn parse(value: &'v str) -> Option<Self> {
        let (resource, rest) = value.split_once(Self::SEPARATOR)?;
        let (namespace, name) = rest.split_once(Self::SEPARATOR)?;
        (!resource.is_empty() && !name.is_empty()).then_some(Self { resource, namespace, name })
    }

    /// The organization; `None` if it is something else.
    pub fn organization(&self) -> Option<&'v str> {
        (self.resource == Self::ORGANIZATIONS && self.namespace.is_empty()).then_some(self.name)
    }

    /// The label's value that names an organization.
    pub fn value_of(organization: &str) -> String {
        format!("{}{organization}", Self::ORGANIZATION_PREFIX)
    }
}

#[cfg(test)]
mod tests {
    use super::Owner;

    /// ORG-36, ORG-37, ORG-39
    #[test]
    fn an_owner_has_three_parts() {
        let owner = |value| Owner::parse(value).map(|owner| (owner.resource, owner.namespace, owner.name));
        assert_eq!(owner("organizations__Acme"), Some(("organizations", "", "Acme")));
        assert_eq!(owner("organizations__research_emea"), Some(("organizations", "", "research_emea")));
        assert_eq!(owner("teams_hq_core"), Some(("teams", "hq", "core")));
        for bad in ["", "Acme", "organizations_Acme", "organizations__", "__Acme"] {
            assert_eq!(owner(bad), None, "{bad}");
        }
        let organization = |value: &str| Owner::parse(value)?.organization().map(str::to_owned);
        assert_eq!(organization(&Owner::value_of("Acme")).as_deref(), Some("Acme"));
        assert_eq!(organization("organizations_hq_Acme"), None);
        assert_eq!(organization("teams__core"), None);
    }
}
