//! What the host says, asked through clients of it: its kinds, their forms, and objects as service accounts see them.
//!
//! The host is this server itself, in process, or the cluster that it stands behind. Who it is makes no difference here.

mod documents;
mod kinds;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_api::{NotActing, ServiceAccountRef};
use bailiwick_machinery::Object;
use bailiwick_machinery::name::in_path;
use bailiwick_machinery::openapi::HostSchema;
use bailiwick_registry::{Host, HostError, HostKind};
use http::Request;
use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use self::documents::Documents;
use self::kinds::Kinds;

/// How long whoever asks waits for an answer, and for others who ask for the same.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Who makes clients of the host. `None` while it cannot be reached because the server starts or stops.
pub trait HostClients: Send + Sync + 'static {
    /// One that is the server itself.
    fn own(&self) -> Option<Client>;

    /// One that is a service account.
    fn acting_as(&self, account: &ServiceAccountRef) -> Option<Client>;
}

/// The host, asked through its clients.
pub struct HostApi<C> {
    clients: C,
    kinds: Kinds,
    documents: Documents,
}

// === impl HostApi ===

impl<C: HostClients> HostApi<C> {
    /// The host of these clients.
    pub fn new(clients: C) -> Self {
        Self { clients, kinds: Kinds::default(), documents: Documents::default() }
    }

    fn own(&self) -> Result<Client, HostError> {
        self.clients.own().ok_or_else(out_of_reach)
    }
}

#[async_trait]
impl<C: HostClients> Host for HostApi<C> {
    async fn kind(&self, api_version: &str, kind: &str) -> Result<Option<HostKind>, HostError> {
        in_time(self.kinds.find(&self.own()?, |served| served.is(api_version, kind))).await
    }

    async fn resource(&self, word: &str) -> Result<Option<HostKind>, HostError> {
        in_time(self.kinds.find(&self.own()?, |served| served.is_called(word))).await
    }

    async fn get(
        &self,
        account: &ServiceAccountRef,
        kind: &HostKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, HostError> {
        let client = self.clients.acting_as(account).ok_or_else(out_of_reach)?;
        in_time(get(&client, kind, namespace, name)).await.map_err(|error| match error {
            HostError::Forbidden(why) => match NotActing::of(&why, account) {
                Some(refused) => HostError::NotActing(refused),
                None => HostError::Forbidden(why),
            },
            error => error,
        })
    }

    async fn get_own(&self, kind: &HostKind, namespace: &str, name: &str) -> Result<Option<Object>, HostError> {
        in_time(get(&self.own()?, kind, namespace, name)).await
    }

    async fn schema(&self, kind: &HostKind) -> Result<Option<Arc<HostSchema>>, HostError> {
        in_time(self.documents.schema(&self.own()?, kind)).await
    }
}

/// What the host answers, if it does in time.
async fn in_time<T>(asking: impl Future<Output = Result<T, HostError>>) -> Result<T, HostError> {
    let late = || HostError::Unavailable(format!("the host does not answer within {} s", ANSWER_LIMIT.as_secs()));
    timeout(ANSWER_LIMIT, asking).await.unwrap_or_else(|_| Err(late()))
}

async fn get(client: &Client, kind: &HostKind, namespace: &str, name: &str) -> Result<Option<Object>, HostError> {
    let Some(path) = path(kind, namespace, name) else { return Ok(None) };
    match read::<Value>(client, &path).await? {
        Some(Value::Object(fields)) => Ok(Some(Object::new(fields))),
        Some(_) => Err(HostError::Unavailable(format!("the host's answer to {path} is no object"))),
        None => Ok(None),
    }
}

/// What there is at a path; `None` if there is nothing.
async fn read<T: DeserializeOwned>(client: &Client, path: &str) -> Result<Option<T>, HostError> {
    let request = Request::get(path).body(Vec::new());
    let request = request.map_err(|error| HostError::Unavailable(format!("{path} cannot be asked for: {error}")))?;
    match client.request(request).await {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(kube::Error::Api(status)) if status.code == 403 => Err(HostError::Forbidden(status.message)),
        Err(kube::Error::Api(status)) => Err(HostError::Unavailable(format!(
            "the host answers {path} with {}: {}",
            status.code,
            status.message.trim()
        ))),
        Err(error) => Err(HostError::Unavailable(format!("the host does not answer: {error}"))),
    }
}

fn out_of_reach() -> HostError {
    HostError::Unavailable("the server is starting or stopping".to_owned())
}

/// Where an object is; `None` if nothing can be there.
fn path(kind: &HostKind, namespace: &str, name: &str) -> Option<String> {
    let group = match kind.group.as_str() {
        "" => format!("/api/{}", kind.version),
        group => format!("/apis/{group}/{}", kind.version),
    };
    let (plural, name) = (&kind.plural, in_path(name)?);
    Some(match kind.namespaced {
        true => format!("{group}/namespaces/{}/{plural}/{name}", in_path(namespace)?),
        false => format!("{group}/{plural}/{name}"),
    })
}

#[cfg(test)]
mod tests;
