//! Service accounts that others name: who may name one, and whether it is there.

use bailiwick_api::{PinnedAccount, ServiceAccountRef};
use bailiwick_machinery::{Cause, FieldError, FieldPath};

use super::{CatalogRules, Write};
use crate::User;
use crate::authorization::Resource;
use crate::error::Result;
use crate::host::HostKind;

// === impl CatalogRules ===

impl CatalogRules {
    /// The account of this name, if whoever writes may act as it.
    pub(super) async fn account(&self, write: Write<'_>, name: &str) -> Result<ServiceAccountRef> {
        let path = FieldPath::new("spec").child("serviceAccountName");
        let account = ServiceAccountRef::new(write.namespace, name)
            .map_err(|error| write.invalid([FieldError::invalid(path.clone(), name, error.to_string())]))?;
        let resource = Resource {
            version: "v1",
            resource: "serviceaccounts",
            namespace: write.namespace,
            name,
            ..Resource::default()
        };
        if self.exposure.may(write.ctx.user, "impersonate", resource).await? {
            return Ok(account);
        }
        let (user, namespace) = (&write.ctx.user.name, write.namespace);
        let message = format!("user \"{user}\" may not \"impersonate\" serviceaccounts \"{name}\" in \"{namespace}\"");
        let why = format!(
            "{message}; whoever administers the namespace allows it with: kubectl create role act-as-{name} -n {namespace} \
             --verb=impersonate --resource=serviceaccounts --resource-name={name} && kubectl create rolebinding \
             act-as-{name} -n {namespace} --role=act-as-{name} --user={user}"
        );
        let cause = Cause { reason: "ActAsForbidden".to_owned(), message, field: path.as_str().to_owned() };
        Err(write.forbidden(why, vec![cause]))
    }

    /// The account as it is there.
    pub(super) async fn pinned(&self, write: Write<'_>, account: &ServiceAccountRef) -> Result<PinnedAccount> {
        let kind = HostKind::service_accounts();
        let found = self.host.get_own(&kind, account.namespace(), account.name()).await?;
        let Some(found) = found else {
            let path = FieldPath::new("spec").child("serviceAccountName");
            let (name, namespace) = (account.name(), account.namespace());
            let why = format!(
                "there is no such service account in the namespace; make one for this alone: kubectl create serviceaccount \
                 {name} -n {namespace}"
            );
            return Err(write.invalid([FieldError::invalid(path, name, why)]));
        };
        Ok(PinnedAccount { name: account.name().to_owned(), uid: found.metadata().uid().to_owned() })
    }
}

/// A service account as someone whose rights can be asked for.
pub(super) fn user_of(account: &ServiceAccountRef) -> User {
    User { name: account.username(), groups: account.groups().to_vec(), ..User::default() }
}

/// How the right to read some objects is given to an account.
pub(super) fn how_to_grant(account: &ServiceAccountRef, resource: &str, name: &str) -> String {
    let (namespace, account) = (account.namespace(), account.name());
    let role = format!("{account}-reads-{name}");
    format!(
        "kubectl create role {role} -n {namespace} --verb=get,list,watch --resource={resource} --resource-name={name} && \
         kubectl create rolebinding {role} -n {namespace} --role={role} --serviceaccount={namespace}:{account}"
    )
}
