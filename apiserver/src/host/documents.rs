//! The host's OpenAPI documents: asked for when someone needs one, and again when the host says that it has changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{self, Arc, PoisonError};

use bailiwick_machinery::GroupVersion;
use bailiwick_machinery::openapi::HostSchema;
use bailiwick_registry::{HostError, HostKind};
use kube::Client;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant, sleep};
use tracing::warn;

use super::read;

/// How long it is believed which documents there are.
const FRESH: Duration = Duration::from_secs(2);
/// After how long a document is asked for again that was not given. Which of several servers is asked that ever had the document is a
/// matter of luck in an aggregator, and not all of them may be there.
const PAUSES: [Duration; 3] = [Duration::from_millis(20), Duration::from_millis(60), Duration::from_millis(180)];
/// How many documents are kept. Those of Kubernetes' own groups take megabytes.
const MAX_DOCUMENTS: usize = 8;

/// The documents. Whoever asks for one holds it, so that one asks for all that wait, and those who need others do not.
#[derive(Default)]
pub(super) struct Documents {
    index: Mutex<Option<(Instant, Index)>>,
    documents: sync::Mutex<HashMap<GroupVersion, Arc<Mutex<Option<Document>>>>>,
}

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
        let Some(url) = self.url(client, &version).await? else { return Ok(None) };
        let document = self.document(version);
        let mut document = document.lock().await;
        let content = match document.as_ref().filter(|document| document.url == url) {
            Some(document) => document.content.clone(),
            None => match (ask(client, &url).await, document.as_ref()) {
                (Ok(None), _) => return Ok(None),
                (Ok(Some(content)), _) => {
                    let content = Arc::new(content);
                    *document = Some(Document { url, content: content.clone() });
                    content
                }
                // What was told last is wrong at most about what has changed since.
                (Err(error), Some(last)) => {
                    warn!(%error, document = url, "objects are checked against what the cluster told of their kinds before");
                    last.content.clone()
                }
                (Err(error), None) => return Err(error),
            },
        };
        Ok(HostSchema::find(&content, &kind.gvk()).map(Arc::new))
    }

    fn document(&self, version: GroupVersion) -> Arc<Mutex<Option<Document>>> {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        if documents.len() >= MAX_DOCUMENTS && !documents.contains_key(&version) {
            documents.clear();
        }
        documents.entry(version).or_default().clone()
    }

    /// Where the document of a group and version is.
    async fn url(&self, client: &Client, version: &GroupVersion) -> Result<Option<String>, HostError> {
        let path = match &*version.group {
            "" => format!("api/{}", version.version),
            group => format!("apis/{group}/{}", version.version),
        };
        let mut index = self.index.lock().await;
        if index.as_ref().is_none_or(|(when, _)| when.elapsed() >= FRESH) {
            let newest = read::<Index>(client, "/openapi/v3").await?.unwrap_or_default();
            *index = Some((Instant::now(), newest));
        }
        let place = index.as_ref().and_then(|(_, index)| index.paths.get(&path));
        Ok(place.map(|place| place.server_relative_url.clone()))
    }
}

/// What is in a document, from a host that may have to be asked more than once.
async fn ask(client: &Client, url: &str) -> Result<Option<Value>, HostError> {
    // Asked for by a hash that is not the newest any more, a host only says where to look instead.
    let newest = url.split('?').next().unwrap_or(url);
    for pause in PAUSES {
        match read(client, newest).await {
            Err(HostError::Unavailable(_)) => sleep(pause).await,
            answer => return answer,
        }
    }
    read(client, newest).await
}
