//! Clients of the host: as the server itself, and as service accounts of the host's namespaces.
//!
//! In process an identity is given with the client, and no header can say another. In a cluster it is a layer over the one
//! client that there is: the cluster decides whether this server may act as that account.

use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};

use bailiwick_api::ServiceAccountRef;
use bailiwick_apiserver::{HostClients, InProcess, Server};
use bailiwick_controllers::ActAs;
use bailiwick_registry::User;
use http::{HeaderMap, HeaderValue, Request, Response};
use kube::Client;
use kube::client::Body;
use tower_service::Service;

/// The server itself, as its rules over objects look something up.
const READER: &str = "admission-controller";

/// Clients for rules that are part of the server they ask. It is there once it is said where, and until it stops.
#[derive(Clone, Default)]
pub(crate) struct OwnHost(Arc<OnceLock<Weak<Server>>>);

/// Clients of this server for its controllers, which end before it does.
pub(crate) struct ActInProcess(pub(crate) Arc<Server>);

/// Clients of a cluster.
#[derive(Clone)]
pub(crate) struct ClusterHost(pub(crate) Client);

/// A client whose every request is made as a service account.
#[derive(Clone)]
struct Impersonating {
    client: Client,
    headers: Arc<HeaderMap>,
}

// === impl OwnHost ===

impl OwnHost {
    /// From now on it is this one.
    pub(crate) fn is(&self, server: &Arc<Server>) {
        // There is one server, and whoever starts it says so once.
        let _ = self.0.set(Arc::downgrade(server));
    }

    fn client(&self, user: User) -> Option<Client> {
        Some(in_process(self.0.get()?.upgrade()?, user))
    }
}

impl HostClients for OwnHost {
    fn own(&self) -> Option<Client> {
        self.client(super::controllers::service_account(READER))
    }

    fn acting_as(&self, account: &ServiceAccountRef) -> Option<Client> {
        self.client(user(account))
    }
}

// === impl ActInProcess ===

impl ActAs for ActInProcess {
    fn client(&self, account: &ServiceAccountRef) -> Client {
        in_process(self.0.clone(), user(account))
    }
}

// === impl ClusterHost ===

impl HostClients for ClusterHost {
    fn own(&self) -> Option<Client> {
        Some(self.0.clone())
    }

    fn acting_as(&self, account: &ServiceAccountRef) -> Option<Client> {
        Some(self.client(account))
    }
}

impl ActAs for ClusterHost {
    fn client(&self, account: &ServiceAccountRef) -> Client {
        let namespace = self.0.default_namespace().to_owned();
        Client::new(Impersonating { client: self.0.clone(), headers: Arc::new(headers(account)) }, namespace)
    }
}

// === impl Impersonating ===

impl Service<Request<Body>> for Impersonating {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = kube::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<kube::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let Self { client, headers } = self.clone();
        let all = request.headers_mut();
        for (name, value) in headers.iter() {
            all.append(name, value.clone());
        }
        Box::pin(async move { client.send(request).await })
    }
}

fn in_process(server: Arc<Server>, user: User) -> Client {
    Client::new(InProcess::new(server, user), "default")
}

fn user(account: &ServiceAccountRef) -> User {
    User { name: account.username(), groups: account.groups().to_vec(), ..User::default() }
}

/// kube-apiserver adds the groups of a service account by itself. A name that is no header would be nobody's, and is refused.
fn headers(account: &ServiceAccountRef) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let name = HeaderValue::from_str(&account.username());
    headers.append("impersonate-user", name.unwrap_or_else(|_| HeaderValue::from_static("system:serviceaccount::")));
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_named_by_its_header_alone() {
        let headers = headers(&ServiceAccountRef::new("shop", "deployer").unwrap());
        assert_eq!(headers.len(), 1);
        assert_eq!(headers.get("impersonate-user").unwrap(), "system:serviceaccount:shop:deployer");
    }
}
