//! How a right is given, for messages that tell whoever lacks it: commands for someone who may give it.

use std::fmt;

use crate::service_account::ServiceAccountRef;
use crate::wording::shell_word;

/// A right in a namespace that someone is to have. Shown as the commands that give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant<'g> {
    /// What the role and its binding are called.
    pub role: &'g str,
    /// The namespace they are in.
    pub namespace: &'g str,
    /// With commas between them.
    pub verbs: &'g str,
    /// What they are about: `secrets`, `roles.rbac.authorization.k8s.io`.
    pub resource: &'g str,
    /// The one object that they are about; all of them if there is none.
    pub resource_name: Option<&'g str>,
    /// Who is to have it.
    pub to: Grantee<'g>,
}

/// Who is to have a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grantee<'g> {
    /// The user of this name.
    User(&'g str),
    /// A service account.
    Account(&'g ServiceAccountRef),
}

// === impl Grant ===

impl fmt::Display for Grant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verbs, resource, resource_name, to, .. } = self;
        let (role, namespace) = (shell_word(self.role), shell_word(self.namespace));
        write!(f, "kubectl create role {role} -n {namespace} --verb={verbs} --resource={resource}")?;
        if let Some(name) = resource_name {
            write!(f, " --resource-name={}", shell_word(name))?;
        }
        write!(f, " && kubectl create rolebinding {role} -n {namespace} --role={role}")?;
        match to {
            Grantee::User(name) => write!(f, " --user={}", shell_word(name)),
            Grantee::Account(account) => {
                write!(f, " --serviceaccount={}:{}", account.namespace(), account.name())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Grant, Grantee};
    use crate::service_account::ServiceAccountRef;

    #[test]
    fn a_right_is_given_by_a_role_and_its_binding() {
        let (verbs, resource) = ("get,list", "secrets");
        let grant = Grant {
            role: "reads",
            namespace: "shop",
            verbs,
            resource,
            resource_name: Some("creds"),
            to: Grantee::User("pat"),
        };
        assert_eq!(
            grant.to_string(),
            "kubectl create role reads -n shop --verb=get,list --resource=secrets --resource-name=creds && kubectl create \
             rolebinding reads -n shop --role=reads --user=pat"
        );
        let hostile = Grant { to: Grantee::User("x; ls"), ..grant };
        assert!(hostile.to_string().ends_with(" --user='x; ls'"), "{hostile}");
        let account = ServiceAccountRef::new("shop", "publisher").unwrap();
        let grant = Grant { resource_name: None, to: Grantee::Account(&account), ..grant };
        assert_eq!(
            grant.to_string(),
            "kubectl create role reads -n shop --verb=get,list --resource=secrets && kubectl create rolebinding reads -n shop \
             --role=reads --serviceaccount=shop:publisher"
        );
    }
}
