//! A provider of databases on two clouds that are not there: whatever is asked for is ready at once, and has a Secret that says
//! how to reach it. What claims have to do with it, a provider need not know.

use std::pin::pin;
use std::time::Duration;

use futures::{StreamExt, stream};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// Whom the fields belong to that are set here.
const MANAGER: &str = "claims-provider";
/// How often a resource is tried before it is left until it changes.
const TRIES: u32 = 5;
/// After which time it is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// What the clouds have: group, version, kind, plural.
const KINDS: [(&str, &str, &str, &str); 3] = [
    ("database.gcp.crossplane.io", "v1beta1", "CloudSQLInstance", "cloudsqlinstances"),
    ("database.azure.crossplane.io", "v1beta1", "MySQLServer", "mysqlservers"),
    ("database.azure.crossplane.io", "v1alpha3", "MySQLServerVirtualNetworkRule", "mysqlservervirtualnetworkrules"),
];

/// Looks after all resources of both clouds until it is dropped.
pub async fn run(client: Client) {
    let followed = KINDS.map(|(group, version, kind, plural)| {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let events = watcher(api.clone(), watcher::Config::default()).default_backoff().applied_objects();
        events.filter_map(move |event| std::future::ready(event.ok().map(|object| (api.clone(), object)))).boxed()
    });
    let mut changed = pin!(stream::select_all(followed));
    while let Some((api, resource)) = changed.next().await {
        for _ in 0..TRIES {
            match look_at(&client, &api, &resource).await {
                Ok(()) => break,
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }
}

/// Writes the Secret of a resource, and then says that it is ready: whoever finds it ready finds the Secret.
async fn look_at(client: &Client, api: &Api<DynamicObject>, resource: &DynamicObject) -> Result<(), kube::Error> {
    if is_ready(resource) || resource.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    if let Some((namespace, secret)) = secret(resource) {
        let secrets = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Secret"));
        let secrets: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &secrets);
        let name = secret["metadata"]["name"].as_str().unwrap_or_default();
        secrets.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&secret)).await?;
    }
    let condition = json!({
        "type": "Ready", "status": "True", "reason": "Available", "message": "",
        "lastTransitionTime": Timestamp::now().to_string(),
    });
    let patch = Patch::Merge(json!({ "status": { "conditions": [condition] } }));
    api.patch_status(&resource.name_any(), &PatchParams::default(), &patch).await.map(drop)
}

fn is_ready(resource: &DynamicObject) -> bool {
    let conditions = resource.data.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// The Secret that a resource asks for, and its namespace. It says whose it is: only then it is handed on to claims.
fn secret(resource: &DynamicObject) -> Option<(String, Value)> {
    let wanted = resource.data.pointer("/spec/writeConnectionSecretToRef")?;
    let (namespace, name) = (wanted["namespace"].as_str()?, wanted["name"].as_str()?);
    let types = resource.types.as_ref()?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": name,
            "ownerReferences": [{
                "apiVersion": types.api_version, "kind": types.kind, "controller": true,
                "name": resource.name_any(), "uid": resource.uid(),
            }],
        },
        "stringData": { "endpoint": format!("{}.example.org", resource.name_any()), "username": "root", "password": "secret" },
    });
    Some((namespace.to_owned(), secret))
}
