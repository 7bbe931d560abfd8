//! The namespaces that are there before anyone makes one.

use bailiwick_machinery::{GroupVersion, Object};
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::own_writes::create;
use crate::registry::Registry;

/// Those of kube-apiserver, which has them with and without nodes, and the one that our own objects are in.
const SYSTEM_NAMESPACES: [&str; 5] = ["default", "kube-node-lease", "kube-public", "kube-system", "bailiwick-system"];

/// Makes the namespaces that are missing of those which every server has.
pub async fn make_system_namespaces(registry: &Registry) -> Result<()> {
    let Some(kind) = registry.find(&GroupVersion::new("", "v1"), "namespaces") else { return Ok(()) };
    for name in SYSTEM_NAMESPACES {
        let metadata: Value = json!({ "name": name });
        create(registry, &kind, Object::new(Map::from_iter([("metadata".to_owned(), metadata)]))).await?;
    }
    Ok(())
}
