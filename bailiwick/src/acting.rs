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
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use kube::Client;
use kube::client::Body;
use tower_service::Service;

use crate::legible::legible;

/// The server itself, as its rules over objects look something up.
const READER: &str = "admission-controller";

/// How headers begin that say whose a request is.
const IDENTITY: [&str; 2] = ["impersonate-", "x-remote-"];
const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");

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
    /// The account, as it is called among users.
    name: HeaderValue,
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
        Client::new(Impersonating { client: self.0.clone(), name: name(account) }, namespace)
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
        let Self { client, name } = self.clone();
        say_who(request.headers_mut(), name);
        Box::pin(async move { client.send(request).await })
    }
}

/// A client of this server itself, as this user.
pub(crate) fn in_process(server: Arc<Server>, user: User) -> Client {
    legible(Client::new(InProcess::new(server, user), "default"))
}

fn user(account: &ServiceAccountRef) -> User {
    User { name: account.username(), groups: account.groups().to_vec(), ..User::default() }
}

/// The name of an account in a header. One that is no header would be nobody's, and is refused.
fn name(account: &ServiceAccountRef) -> HeaderValue {
    let name = HeaderValue::from_str(&account.username());
    name.unwrap_or_else(|_| HeaderValue::from_static("system:serviceaccount::"))
}

/// Has a request be an account's, whatever else it says. kube-apiserver adds the groups of a service account by itself.
fn say_who(headers: &mut HeaderMap, name: HeaderValue) {
    let says_who = |header: &&HeaderName| IDENTITY.iter().any(|beginning| header.as_str().starts_with(beginning));
    let others: Vec<HeaderName> = headers.keys().filter(says_who).cloned().collect();
    for header in others {
        headers.remove(header);
    }
    headers.insert(IMPERSONATE_USER, name);
}

#[cfg(test)]
mod tests;
