//! What is done to a Bundle's objects: always as its service account, and never as anyone else.

use bailiwick_api::{Bundle, NotActing, ServiceAccountRef, is_object_name};
use k8s_openapi::Resource as _;
use kube::api::{
    DeleteParams, DynamicObject, ListParams, PartialObjectMeta, Patch, PatchParams, PostParams, Preconditions,
    PropagationPolicy,
};
use kube::core::Request;
use kube::core::response::StatusCause;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::FIELD_MANAGER;
use crate::absence::{is_path_absent, look_up};
use crate::disown::{Tie, disown};
use crate::host::ActAs;
use crate::host_kinds::HostKind;
use crate::managers::taken_over;

/// Who acts.
#[derive(Clone)]
pub(super) struct Hands {
    client: Client,
    account: ServiceAccountRef,
}

/// An object that is there.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) object: Value,
    /// Who should own its fields, if some still belong to its creation.
    managers: Option<Value>,
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
    /// The account may not. The words are those of rights, and quote nothing.
    #[error("{0}")]
    Forbidden(String),
    /// Somebody whom the host asks does not want it.
    #[error("{0}")]
    Refused(String),
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
    /// It is not there, or the namespace is gone.
    #[error("{0}")]
    NotFound(String),
    /// The kind is not served: whether anything is there is not known.
    #[error("{0}")]
    NotServed(String),
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

    /// An object. What no object can be called is not there, and is not asked for: it may be another path.
    pub(super) async fn get(&self, kind: &HostKind, name: &str) -> Result<Option<Value>, Trouble> {
        if !is_object_name(name) {
            return Ok(None);
        }
        let found = look_up(&self.api(kind), name).await.map_err(|error| self.trouble(error))?;
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

    /// The same to write it.
    pub(super) async fn find(&self, kind: &HostKind, name: &str) -> Result<Option<Found>, Trouble> {
        if !is_object_name(name) {
            return Ok(None);
        }
        let found = look_up(&self.api(kind), name).await.map_err(|error| self.trouble(error))?;
        Ok(found.map(|found| Found { managers: taken_over(&found, FIELD_MANAGER), object: value(found) }))
    }

    /// Makes an object; none if there is one of its name. Nothing but a creation tells the two apart for certain.
    pub(super) async fn create(&self, kind: &HostKind, object: &Value) -> Result<Option<Value>, Trouble> {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let request = Request::new(self.api(kind).resource_url()).create(&params, object.to_string().into_bytes());
        let request = request.map_err(|error| self.trouble(kube::Error::BuildRequest(error)))?;
        match self.client.request::<DynamicObject>(request).await {
            Ok(made) => {
                let (name, managers) = (made.name_any(), taken_over(&made, FIELD_MANAGER));
                let made = Found { object: value(made), managers };
                // If that fails, whoever applies something else does it first.
                let taken = self.take_over(kind, &name, made.clone()).await;
                Ok(Some(taken.unwrap_or(made.object)))
            }
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(None),
            Err(error) => Err(self.trouble(error)),
        }
    }

    /// Makes the fields that belong to an object's creation those of an apply, so that what is not applied any more goes.
    pub(super) async fn take_over(&self, kind: &HostKind, name: &str, found: Found) -> Result<Value, Trouble> {
        let Found { object, managers: Some(managers) } = found else { return Ok(found.object) };
        let metadata = object.get("metadata");
        let known = |field: &str| metadata.and_then(|metadata| metadata.get(field));
        let metadata = json!({
            "uid": known("uid"), "resourceVersion": known("resourceVersion"), "managedFields": managers,
        });
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patched = self.api(kind).patch(name, &params, &Patch::Merge(json!({ "metadata": metadata }))).await;
        patched.map(value).map_err(|error| self.trouble(error))
    }

    /// Makes an object that is there what it should be.
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
        // A Bundle stays until what it made is gone, and knows better than the garbage collector what goes, and in which order.
        let policy = if is_bundle(kind) { PropagationPolicy::Background } else { PropagationPolicy::Foreground };
        let params = DeleteParams {
            propagation_policy: Some(policy),
            preconditions: Some(preconditions),
            ..DeleteParams::default()
        };
        match self.api(kind).delete(name, &params).await.map_err(|error| self.trouble(error)) {
            Ok(_) | Err(Trouble::NotFound(_)) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Takes from this very object what makes it the Bundle's.
    pub(super) async fn disown(&self, kind: &HostKind, name: &str, uid: &str, tie: Tie<'_>) -> Result<(), Trouble> {
        disown(&self.api(kind), (name, uid), tie, FIELD_MANAGER).await.map_err(|error| self.trouble(error))
    }

    /// Why the host did not do it, in words for whoever wrote the Bundle.
    fn trouble(&self, error: kube::Error) -> Trouble {
        trouble(error, &self.account)
    }
}

// === impl Trouble ===

impl Trouble {
    /// The same about an object that may have values of Secrets in it: whoever has seen it may quote it, and is not quoted.
    pub(super) fn unquoted(self, kind: &str) -> Self {
        let told =
            |what: &str| format!("the {kind} {what}; what is wrong is not shown, as it may contain values of Secrets");
        match self {
            Self::Forbidden(_) | Self::Conflict(_) => self,
            Self::Refused(_) => Self::Refused(told("is refused")),
            Self::Invalid { fields, .. } => {
                let which = if fields.is_empty() { String::new() } else { format!(": {}", fields.join(", ")) };
                Self::Invalid { message: told(&format!("is refused{which}")), fields }
            }
            Self::NotFound(_) => Self::NotFound(told("could not be written")),
            Self::NotServed(_) => Self::NotServed(told("could not be written, as its kind is not served")),
            Self::Again(_) => Self::Again(told("could not be written")),
        }
    }
}

/// Whether the objects of a kind are Bundles, by whichever name.
fn is_bundle(kind: &HostKind) -> bool {
    kind.resource.kind == Bundle::KIND && [Bundle::GROUP, Bundle::ALIAS_GROUP].contains(&&*kind.resource.group)
}

/// An object without the records of who owns which field, which are nobody's values.
fn value(object: DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    value
}

fn trouble(error: kube::Error, account: &ServiceAccountRef) -> Trouble {
    let kube::Error::Api(status) = error else { return Trouble::Again(error.to_string()) };
    let causes = || status.details.iter().flat_map(|details| &details.causes);
    let message = status.message.clone();
    match status.code {
        401 | 403 => match NotActing::of(&message, account) {
            Some(refused) => Trouble::Forbidden(refused.to_string()),
            None if lacks_right(&message, account) => Trouble::Forbidden(message),
            None => Trouble::Refused(message),
        },
        404 if is_path_absent(&status) && !is_of_webhook(&message) => {
            Trouble::NotServed(format!("the host does not serve it: {message}"))
        }
        404 => Trouble::NotFound(message),
        400 | 405 | 413 | 415 | 422 => {
            Trouble::Invalid { message, fields: causes().map(|cause| cause.field.clone()).collect() }
        }
        409 if causes().any(is_field_conflict) => {
            Trouble::Conflict(causes().filter(|cause| is_field_conflict(cause)).map(conflict).collect())
        }
        _ => Trouble::Again(message),
    }
}

/// Whether this is how a host says that an account may not do something.
fn lacks_right(message: &str, account: &ServiceAccountRef) -> bool {
    let lacks = format!(" is forbidden: User \"{}\" cannot ", account.username());
    message.contains(&lacks) && !is_of_webhook(message)
}

/// Whether a webhook says this, which may choose any code and any words.
fn is_of_webhook(message: &str) -> bool {
    message.starts_with("admission webhook ")
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

#[cfg(test)]
mod tests;
