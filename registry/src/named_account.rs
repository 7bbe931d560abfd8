//! Service accounts that users' objects name, as whom everything is done that follows: whoever writes such an object may act as
//! the account, it is there, and this server may act as it. What is refused is refused with the command that allows it.

use bailiwick_api::{Grant, Grantee, NotActing, PinnedAccount, ServiceAccountRef};
use bailiwick_machinery::{Cause, FieldError, FieldPath};

use crate::authorization::{Authorizer, Resource};
use crate::context::User;
use crate::error::{Error, Result};
use crate::host::{Host, HostError, HostKind};
use crate::organizations::Memberships;
use crate::ruled_write::RuledWrite;

/// The account of this name, if whoever writes may act as it.
pub(crate) async fn named(authorizer: &dyn Authorizer, write: RuledWrite<'_>, name: &str) -> Result<ServiceAccountRef> {
    let account = ServiceAccountRef::new(write.namespace, name)
        .map_err(|error| write.invalid([FieldError::invalid(path(), name, error.to_string())]))?;
    let (user, namespace) = (write.ctx.user, write.namespace);
    let resource = Resource { version: "v1", resource: "serviceaccounts", namespace, name, ..Resource::default() };
    if authorizer.may(user, "impersonate", resource).await? {
        return Ok(account);
    }
    let user = &user.name;
    let message = format!("user \"{user}\" may not impersonate serviceaccounts \"{name}\" in \"{namespace}\"");
    let grant = Grant {
        role: &format!("act-as-{name}"),
        namespace,
        verbs: "impersonate",
        resource: "serviceaccounts",
        resource_name: Some(name),
        to: Grantee::User(user),
    };
    Err(refused(write, "ActAsForbidden", message, &grant.to_string()))
}

/// The account as it is there.
pub(crate) async fn pinned(
    host: &dyn Host,
    write: RuledWrite<'_>,
    account: &ServiceAccountRef,
) -> Result<PinnedAccount> {
    let (name, namespace) = (account.name(), account.namespace());
    let Some(found) = host.get_own(&HostKind::service_accounts(), namespace, name).await? else {
        let why = format!(
            "there is no such service account in the namespace; make one for this alone: kubectl create serviceaccount {name} \
             -n {namespace}"
        );
        return Err(write.invalid([FieldError::invalid(path(), name, why)]));
    };
    Ok(PinnedAccount { name: name.to_owned(), uid: found.metadata().uid().to_owned() })
}

/// Refuses a write if this server may not act as the account.
pub(crate) async fn check_acting(host: &dyn Host, write: RuledWrite<'_>, account: &ServiceAccountRef) -> Result<()> {
    let (kind, namespace) = (HostKind::service_accounts(), account.namespace());
    match host.get(account, &kind, namespace, account.name()).await {
        // Whether it may read itself does not matter: it was the one who asked.
        Ok(_) | Err(HostError::Forbidden(_)) => Ok(()),
        Err(HostError::NotActing(why)) => Err(not_acting(write, &why, path())),
        Err(error @ HostError::Unavailable(_)) => Err(error.into()),
    }
}

/// The refusal of a write, because of a field, that this server may not act for.
pub(crate) fn not_acting(write: RuledWrite<'_>, why: &NotActing, field: FieldPath) -> Error {
    let message = why.to_string();
    let cause = Cause { reason: "NotActing".to_owned(), message: message.clone(), field: field.as_str().to_owned() };
    write.forbidden(message, vec![cause])
}

/// The refusal of a write whose account, or whoever names it, lacks a right that this command gives.
pub(crate) fn refused(write: RuledWrite<'_>, reason: &str, message: String, remedy: &str) -> Error {
    let why = format!("{message}. Whoever administers the namespace allows it with: {remedy}");
    let cause = Cause { reason: reason.to_owned(), message, field: path().as_str().to_owned() };
    write.forbidden(why, vec![cause])
}

/// A service account as someone whose rights can be asked for: in all groups in which its own requests find it.
pub(crate) fn user_of(memberships: &dyn Memberships, account: &ServiceAccountRef) -> User {
    memberships.in_groups(User { name: account.username(), groups: account.groups().to_vec(), ..User::default() })
}

fn path() -> FieldPath {
    FieldPath::new("spec").child("serviceAccountName")
}
