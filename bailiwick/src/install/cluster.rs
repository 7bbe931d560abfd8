//! A cluster, asked about objects of any kind.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use serde_json::Value;

use crate::flags::ClusterFlags;
use crate::legible::legible;
use crate::report;

/// How long an answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How many objects are asked for at once, where there may be many.
const PAGE: u32 = 500;

/// A cluster.
pub(super) struct Cluster {
    client: Client,
}

/// An object's place in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

/// Why a cluster could not be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterError {
    #[error("no kubeconfig can be used: give one with --kubeconfig")]
    Kubeconfig(#[source] Box<KubeconfigError>),
    #[error("no client can be made from the kubeconfig")]
    Client(#[source] Box<kube::Error>),
    #[error("the cluster does not {what}: {answer}; the kubeconfig must be that of a cluster administrator")]
    Request { what: String, answer: String },
}

// === impl Cluster ===

impl Cluster {
    /// The cluster that the flags name.
    pub(super) async fn connect(flags: &ClusterFlags) -> Result<Self, ClusterError> {
        let unusable = |error| ClusterError::Kubeconfig(Box::new(error));
        let kubeconfig = match &flags.file {
            Some(file) => Kubeconfig::read_from(file),
            None => Kubeconfig::read(),
        };
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig.map_err(unusable)?, &options).await;
        let mut config = config.map_err(unusable)?;
        config.read_timeout = Some(ANSWER_LIMIT);
        let client = Client::try_from(config).map_err(|error| ClusterError::Client(Box::new(error)))?;
        // Otherwise whoever may write an object of a kind decides whether it can be listed, and so removed.
        Ok(Self { client: legible(client) })
    }

    /// The object at a place, if there is one. Nor is there one of a kind that is not served.
    pub(super) async fn get(&self, place: &Place) -> Result<Option<Value>, ClusterError> {
        let found = match self.api(place).get_opt(&place.name).await {
            Ok(found) => found,
            Err(error) => return Err(failed(format!("get {place}"), &error)),
        };
        Ok(found.as_ref().map(whole))
    }

    /// All objects of a kind, in all namespaces, with the labels that are asked for. None if the kind is not served.
    pub(super) async fn list(&self, api_version: &str, kind: &str, labels: &str) -> Result<Vec<Value>, ClusterError> {
        self.list_by(&Api::all_with(self.client.clone(), &resource(api_version, kind)), api_version, kind, labels).await
    }

    /// The same, in one namespace.
    pub(super) async fn list_in(
        &self,
        namespace: &str,
        api_version: &str,
        kind: &str,
        labels: &str,
    ) -> Result<Vec<Value>, ClusterError> {
        let api = Api::namespaced_with(self.client.clone(), namespace, &resource(api_version, kind));
        self.list_by(&api, api_version, kind, labels).await
    }

    async fn list_by(
        &self,
        api: &Api<DynamicObject>,
        api_version: &str,
        kind: &str,
        labels: &str,
    ) -> Result<Vec<Value>, ClusterError> {
        match api.list(&ListParams::default().labels(labels)).await {
            Ok(list) => Ok(list.items.iter().map(|object| typed(whole(object), api_version, kind)).collect()),
            Err(error) if is_absent(&error) => Ok(Vec::new()),
            Err(error) => Err(failed(format!("list every {kind}"), &error)),
        }
    }

    /// Looks at the metadata of all objects of a kind, in all namespaces, some at a time. There are none if the kind is not served.
    pub(super) async fn each(
        &self,
        resource: &ApiResource,
        mut look_at: impl FnMut(&ObjectMeta),
    ) -> Result<(), ClusterError> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = match api.list_metadata(&params).await {
                Ok(page) => page,
                Err(error) if is_absent(&error) => return Ok(()),
                Err(error) => return Err(failed(format!("list every {}", resource.kind), &error)),
            };
            page.items.iter().for_each(|object| look_at(&object.metadata));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(()),
            }
        }
    }

    /// Whether a group and version serves a kind.
    pub(super) async fn serves(&self, api_version: &str, plural: &str) -> Result<bool, ClusterError> {
        match self.client.list_api_group_resources(api_version).await {
            Ok(list) => Ok(list.resources.iter().any(|resource| resource.name == plural)),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(failed(format!("tell what {api_version} serves"), &error)),
        }
    }

    /// Removes an object and, in the background, what it owns.
    pub(super) async fn delete(&self, place: &Place) -> Result<(), ClusterError> {
        match self.api(place).delete(&place.name, &DeleteParams::background()).await {
            Ok(_) => Ok(()),
            Err(error) if is_absent(&error) => Ok(()),
            Err(error) => Err(failed(format!("delete {place}"), &error)),
        }
    }

    /// Changes an object whose kind is known in full. Whether it was still there, in the version that the patch names.
    pub(super) async fn patch(
        &self,
        resource: &ApiResource,
        place: &Place,
        patch: &Value,
    ) -> Result<bool, ClusterError> {
        match self.api_of(resource, place).patch(&place.name, &PatchParams::default(), &Patch::Merge(patch)).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
            Err(error) => Err(failed(format!("change {place}"), &error)),
        }
    }

    fn api(&self, place: &Place) -> Api<DynamicObject> {
        self.api_of(&resource(&place.api_version, &place.kind), place)
    }

    fn api_of(&self, resource: &ApiResource, place: &Place) -> Api<DynamicObject> {
        match &place.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, resource),
            None => Api::all_with(self.client.clone(), resource),
        }
    }
}

// === impl Place ===

impl Place {
    /// Where an object stands that says so itself.
    pub(super) fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: metadata["namespace"].as_str().map(str::to_owned),
            name: text(&metadata["name"]),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} \"{}\" in \"{namespace}\"", self.kind, self.name),
            None => write!(f, "{} \"{}\"", self.kind, self.name),
        }
    }
}

fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

fn whole(object: &DynamicObject) -> Value {
    // It was JSON a moment ago.
    serde_json::to_value(object).unwrap_or_default()
}

/// What stands in lists of Kubernetes' own kinds does not say what it is.
fn typed(mut object: Value, api_version: &str, kind: &str) -> Value {
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    object
}

fn is_absent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

fn failed(what: String, error: &kube::Error) -> ClusterError {
    ClusterError::Request { what, answer: report::answer(error) }
}
