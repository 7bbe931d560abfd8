//! The host's OpenAPI documents: asked for when someone needs one, and again when the host says that it has changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bailiwick_machinery::GroupVersion;
use bailiwick_machinery::openapi::HostSchema;
use bailiwick_registry::{HostError, HostKind};
use kube::Client;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant};

use super::read;

/// How long it is believed which documents there are.
const FRESH: Duration = Duration::from_secs(2);
/// How many documents are kept. Those of Kubernetes' own groups take megabytes.
const MAX_DOCUMENTS: usize = 8;

#[derive(Default)]
pub(super) struct Documents(Mutex<Known>);

#[derive(Default)]
struct Known {
    index: Option<(Instant, Index)>,
    documents: HashMap<GroupVersion, Document>,
}

#[derive(Clone)]
struct Document {
    /// Where it was, which says what was in it.
    url: String,
    content: Arc<Value>,
}

/// Which documents there are.
#[derive(Default, Deserialize)]
struct Index {
    #[serde(default)]
    paths: BTreeMap<String, Place>,
}

#[derive(Deserialize)]
struct Place {
    #[serde(rename = "serverRelativeURL")]
    server_relative_url: String,
}

// === impl Documents ===

impl Documents {
    /// What the host tells of a kind.
    pub(super) async fn schema(&self, client: &Client, kind: &HostKind) -> Result<Option<Arc<HostSchema>>, HostError> {
        let version = kind.group_version();
        let mut known = self.0.lock().await;
        let Some(url) = known.url(client, &version).await? else { return Ok(None) };
        let content = match known.documents.get(&version).filter(|document| document.url == url) {
            Some(document) => document.content.clone(),
            None => {
                // Asked for by a hash that is not the newest any more, a host only says where to look instead.
                let newest = url.split('?').next().unwrap_or(&url);
                let Some(content) = read::<Value>(client, newest).await? else { return Ok(None) };
                let content = Arc::new(content);
                if known.documents.len() >= MAX_DOCUMENTS {
                    known.documents.clear();
                }
                known.documents.insert(version, Document { url, content: content.clone() });
                content
            }
        };
        Ok(HostSchema::find(&content, &kind.gvk()).map(Arc::new))
    }
}

// === impl Known ===

impl Known {
    /// Where the document of a group and version is.
    async fn url(&mut self, client: &Client, version: &GroupVersion) -> Result<Option<String>, HostError> {
        let path = match &*version.group {
            "" => format!("api/{}", version.version),
            group => format!("apis/{group}/{}", version.version),
        };
        let is_fresh = self.index.as_ref().is_some_and(|(when, _)| when.elapsed() < FRESH);
        if !is_fresh {
            let index = read::<Index>(client, "/openapi/v3").await?.unwrap_or_default();
            self.index = Some((Instant::now(), index));
        }
        let place = self.index.as_ref().and_then(|(_, index)| index.paths.get(&path));
        Ok(place.map(|place| place.server_relative_url.clone()))
    }
}
