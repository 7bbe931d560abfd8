//! The service account that acts for a Bundle: it is there, whoever writes the Bundle may act as it, and so may this server.

use bailiwick_api::ServiceAccountRef;
use bailiwick_machinery::{Cause, FieldError, FieldErrors, FieldPath};

use super::{BundleRules, OrInvalid, Write};
use crate::authorization::Resource;
use crate::error::{Error, Result};
use crate::host::{HostError, HostKind};

/// An account that acts.
pub(super) struct Account {
    pub(super) reference: ServiceAccountRef,
    pub(super) uid: String,
}

// === impl BundleRules ===

impl BundleRules {
    /// The account of this name, for whoever may act as it.
    pub(super) async fn account(&self, write: Write<'_>, name: &str) -> Result<Account> {
        let namespace = write.namespace;
        let reference =
            ServiceAccountRef::new(namespace, name).map_err(|error| invalid(write, name, &error.to_string()))?;
        let resource = Resource { version: "v1", resource: "serviceaccounts", namespace, name, ..Resource::default() };
        if !self.may(write.ctx.user, "impersonate", resource).await? {
            let user = &write.ctx.user.name;
            let message = format!(
                "user \"{user}\" may not impersonate the service account \"{name}\" of \"{namespace}\", which a Bundle acts as"
            );
            let command = format!(
                "kubectl create role act-as-{name} --namespace={namespace} --verb=impersonate --resource=serviceaccounts --resource-name={name} && \
                 kubectl create rolebinding act-as-{name} --namespace={namespace} --role=act-as-{name} --user={user}"
            );
            return Err(forbidden(write, "ActAsForbidden", message, &command));
        }
        let kind = HostKind::service_accounts();
        let Some(found) = self.host.get_own(&kind, namespace, name).await? else {
            let why = format!(
                "there is no such service account; make it: kubectl create serviceaccount {name} --namespace={namespace}"
            );
            return Err(invalid(write, name, &why));
        };
        match self.host.get(&reference, &kind, namespace, name).await {
            Err(HostError::NotActing { why, .. }) => {
                let message =
                    format!("Bailiwick may not act as the service account \"{name}\" of \"{namespace}\": {why}");
                let command = format!(
                    "kubectl create rolebinding bailiwick-act-as --namespace={namespace} --clusterrole=bailiwick:act-as \
                     --serviceaccount=BAILIWICK-NAMESPACE:bailiwick"
                );
                Err(forbidden(write, "NotActing", message, &command))
            }
            Err(error @ HostError::Unavailable(_)) => Err(error.into()),
            // Whether it may read itself does not matter: it was the one who asked.
            Ok(_) | Err(HostError::Forbidden(_)) => Ok(Account { reference, uid: found.metadata().uid().to_owned() }),
        }
    }
}

/// A refusal for want of a right, with how it is given.
pub(super) fn forbidden(write: Write<'_>, reason: &str, message: String, command: &str) -> Error {
    let field = path().as_str().to_owned();
    Error::Forbidden {
        resource: write.kind.resource(),
        name: write.name.to_owned(),
        why: format!("{message}. Whoever administers the namespace allows it with: {command}"),
        causes: vec![Cause { reason: reason.to_owned(), message, field }],
    }
}

fn invalid(write: Write<'_>, name: &str, why: &str) -> Error {
    let mut errors = FieldErrors::default();
    errors.push(FieldError::invalid(path(), name, why));
    let nothing = || Error::BadRequest(why.to_owned());
    errors.or_invalid(write).err().unwrap_or_else(nothing)
}

fn path() -> FieldPath {
    FieldPath::new("spec").child("serviceAccountName")
}
