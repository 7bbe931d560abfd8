//! What is done to a Bundle's objects: always as its service account, and never as anyone else.

use bailiwick_api::{NotActing, ServiceAccountRef};
use kube::api::{
    DeleteParams, DynamicObject, ListParams, PartialObjectMeta, Patch, PatchParams, Preconditions, PropagationPolicy,
};
use kube::core::response::StatusCause;
use kube::{Api, Client};
use serde_json::Value;

use super::FIELD_MANAGER;
use super::host_kinds::HostKind;
use crate::disown::disown;
use crate::host::ActAs;

/// Who acts.
#[derive(Clone)]
pub(super) struct Hands {
    client: Client,
    account: ServiceAccountRef,
}

/// Whether fields are taken from others who have set them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Force {
    No,
    Yes,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// The account may not.
    #[error("{0}")]
    Forbidden(String),
    /// The object is refused.
    #[error("{message}")]
    Invalid {
        message: String,
        /// Which fields are wrong, for those who must not know what is in them.
        fields: Vec<String>,
    },
    /// Others have set some of its fields: who, and which.
    #[error("{}", .0.join("; "))]
    Conflict(Vec<String>),
    /// The kind is not served, or the namespace is gone.
    #[error("{0}")]
    NotFound(String),
    /// It may go well another time.
    #[error("{0}")]
    Again(String),
}

// === impl Hands ===

impl Hands {
    pub(super) fn new(act_as: &dyn ActAs, account: ServiceAccountRef) -> Self {
        Self { client: act_as.client(&account), account }
    }

    /// Who acts.
    pub(super) fn account(&self) -> &ServiceAccountRef {
        &self.account
    }

    /// The same, of which only the metadata is told.
    pub(super) fn metadata(&self, kind: &HostKind) -> Api<PartialObjectMeta<DynamicObject>> {
        Api::namespaced_with(self.client.clone(), self.account.namespace(), &kind.resource)
    }

    /// The objects of a kind in the Bundle's namespace, which is the account's.
    fn api(&self, kind: &HostKind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), self.account.namespace(), &kind.resource)
    }

    pub(super) async fn get(&self, kind: &HostKind, name: &str) -> Result<Option<Value>, Trouble> {
        let found = self.api(kind).get_opt(name).await.map_err(|error| self.trouble(error))?;
        Ok(found.map(value))
    }

    /// The names of objects that this one owns.
    pub(super) async fn owned_by(&self, kind: &HostKind, owner: &str) -> Result<Vec<String>, Trouble> {
        let found = self.metadata(kind).list(&ListParams::default()).await.map_err(|error| self.trouble(error))?;
        let is_owned = |object: &&PartialObjectMeta<DynamicObject>| {
            object.metadata.owner_references.iter().flatten().any(|reference| reference.uid == owner)
        };
        Ok(found.items.iter().filter(is_owned).filter_map(|object| object.metadata.name.clone()).collect())
    }

    pub(super) async fn apply(
        &self,
        kind: &HostKind,
        name: &str,
        object: &Value,
        force: Force,
    ) -> Result<Value, Trouble> {
        let params = PatchParams { force: force == Force::Yes, ..PatchParams::apply(FIELD_MANAGER) };
        self.api(kind).patch(name, &params, &Patch::Apply(object)).await.map(value).map_err(|error| self.trouble(error))
    }

    /// Removes this very object, after what it owns.
    pub(super) async fn delete(&self, kind: &HostKind, name: &str, uid: &str) -> Result<(), Trouble> {
        let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Foreground),
            preconditions: Some(preconditions),
            ..DeleteParams::default()
        };
        match self.api(kind).delete(name, &params).await.map_err(|error| self.trouble(error)) {
            Ok(_) | Err(Trouble::NotFound(_)) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Takes the Bundle out of the owners of this very object.
    pub(super) async fn disown(&self, kind: &HostKind, name: &str, uid: &str, owner: &str) -> Result<(), Trouble> {
        disown(&self.api(kind), (name, uid), owner, FIELD_MANAGER).await.map_err(|error| self.trouble(error))
    }

    /// Why the host did not do it, in words for whoever wrote the Bundle.
    fn trouble(&self, error: kube::Error) -> Trouble {
        match trouble(error) {
            Trouble::Forbidden(said) => match NotActing::of(&said, &self.account) {
                Some(refused) => Trouble::Forbidden(refused.to_string()),
                None => Trouble::Forbidden(said),
            },
            other => other,
        }
    }
}

/// An object without the records of who owns which field, which are nobody's values.
fn value(object: DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    value
}

fn trouble(error: kube::Error) -> Trouble {
    let kube::Error::Api(status) = error else { return Trouble::Again(error.to_string()) };
    let causes = || status.details.iter().flat_map(|details| &details.causes);
    let message = status.message.clone();
    match status.code {
        401 | 403 => Trouble::Forbidden(message),
        404 => Trouble::NotFound(message),
        400 | 415 | 422 => Trouble::Invalid { message, fields: causes().map(|cause| cause.field.clone()).collect() },
        409 if causes().any(is_field_conflict) => {
            Trouble::Conflict(causes().filter(|cause| is_field_conflict(cause)).map(conflict).collect())
        }
        _ => Trouble::Again(message),
    }
}

fn is_field_conflict(cause: &StatusCause) -> bool {
    cause.reason == "FieldManagerConflict"
}

/// `conflict with "scaler" using apps/v1` becomes who it is and what it sets.
fn conflict(cause: &StatusCause) -> String {
    let who = cause.message.strip_prefix("conflict with ").unwrap_or(&cause.message);
    let who = who.split(" using ").next().unwrap_or(who);
    format!("{who} also sets {}", cause.field)
}
