//! The namespaces that are there before anyone makes one, and come back if someone removes them.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_storage::At;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::error::{Error, Result};
use crate::own_writes::create;
use crate::registry::Registry;

/// Those of kube-apiserver, which has them with and without nodes, and the one that our own objects are in.
const SYSTEM_NAMESPACES: [&str; 5] = ["default", "kube-node-lease", "kube-public", "kube-system", "bailiwick-system"];

/// How often it is looked whether one is missing.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Makes the namespaces that are missing of those which every server has.
pub async fn make_system_namespaces(registry: &Registry) -> Result<()> {
    let Some(kind) = registry.find(&GroupVersion::new("", "v1"), "namespaces") else { return Ok(()) };
    for name in SYSTEM_NAMESPACES {
        match registry.get(&kind, "", name, At::Latest).await {
            Err(Error::NotFound { .. }) => {}
            found => {
                found?;
                continue;
            }
        }
        let metadata: Value = json!({ "name": name });
        create(registry, &kind, Object::new(Map::from_iter([("metadata".to_owned(), metadata)]))).await?;
    }
    Ok(())
}

/// Makes them again when they are missing, for as long as it is awaited.
pub async fn keep_system_namespaces(registry: Arc<Registry>) {
    loop {
        sleep(LOOK_EVERY).await;
        if let Err(error) = make_system_namespaces(&registry).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "namespaces that every server has cannot be made");
        }
    }
}
