//! A server to compare, with the kinds and namespaces that the cases use.

use std::path::Path;
use std::time::Duration;

use bailiwick_test_host::Kubectl;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use tokio::time::Instant;
use tokio::time::sleep;

use crate::client::Answer;
use crate::client::Client;
use crate::error::Error;
use crate::kubeconfig::Kubeconfig;

/// The kinds of the cases, as any Kubernetes can be taught them.
const SHAPES: [&str; 5] = [
    include_str!("../crds/groups.yaml"),
    include_str!("../crds/organizations.yaml"),
    include_str!("../crds/orggroups.yaml"),
    include_str!("../crds/orgrolebindings.yaml"),
    include_str!("../crds/resourcecatalogentries.yaml"),
];

/// Kinds in the shapes of well-known projects, which every server has to be taught.
pub(crate) const CORPUS: [&str; 5] = [
    include_str!("../crds/corpus/certificates.yaml"),
    include_str!("../crds/corpus/claims.yaml"),
    include_str!("../crds/corpus/databases.yaml"),
    include_str!("../crds/corpus/monitors.yaml"),
    include_str!("../crds/corpus/routes.yaml"),
];

/// A path of each kind, to see whether it is served.
const COLLECTIONS: [&str; 10] = [
    "/apis/catalog.bailiwick.dev/v1alpha1/resourcecatalogentries",
    "/apis/org.bailiwick.dev/v1alpha1/groups",
    "/apis/org.bailiwick.dev/v1alpha1/organizations",
    "/apis/org.bailiwick.dev/v1alpha1/orggroups",
    "/apis/org.bailiwick.dev/v1alpha1/orgrolebindings",
    "/apis/certs.example.com/v1/certificates",
    "/apis/gateway.example.com/v1beta1/httproutes",
    "/apis/infra.example.com/v1/databases",
    "/apis/samples.example.com/v1alpha1/claims",
    "/apis/watch.example.com/v1/monitors",
];

/// How long a server may take to serve a kind it was just taught.
const SERVED_LIMIT: Duration = Duration::from_secs(60);

/// How often to ask meanwhile.
const SERVED_POLL: Duration = Duration::from_millis(100);

/// A server to compare.
#[derive(Debug)]
pub struct Target {
    name: &'static str,
    client: Client,
}

// === impl Target ===

impl Target {
    /// A server that has the kinds built in, as the administrator of its kubeconfig.
    pub async fn native(name: &'static str, kubeconfig: &Path) -> Result<Self, Error> {
        Kubectl::new(kubeconfig).await?.apply(&CORPUS.join("\n---\n")).await?;
        Self::prepared(name, kubeconfig).await
    }

    /// A server that has all the kinds, as a user of it.
    pub async fn prepared(name: &'static str, kubeconfig: &Path) -> Result<Self, Error> {
        let target = Self { name, client: Client::new(&Kubeconfig::read(kubeconfig)?)? };
        for path in COLLECTIONS {
            target.wait_served(path).await?;
        }
        Ok(target)
    }

    /// A server that has to be taught the kinds: a real kube-apiserver.
    pub async fn taught(name: &'static str, kubeconfig: &Path) -> Result<Self, Error> {
        Kubectl::new(kubeconfig).await?.apply(&SHAPES.join("\n---\n")).await?;
        Self::native(name, kubeconfig).await
    }

    /// What reports call it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) async fn create_namespace(&self, name: &str) -> Result<(), Error> {
        let path = "/api/v1/namespaces";
        let body = format!(r#"{{"apiVersion": "v1", "kind": "Namespace", "metadata": {{"name": "{name}"}}}}"#);
        match self.ask("POST", path, body).await? {
            Answer { status: 201, .. } => Ok(()),
            answer => Err(self.unprepared(path, &answer)),
        }
    }

    async fn wait_served(&self, path: &str) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            match self.ask("GET", path, String::new()).await? {
                Answer { status: 200, .. } => return Ok(()),
                answer if start.elapsed() > SERVED_LIMIT => return Err(self.unprepared(path, &answer)),
                _ => sleep(SERVED_POLL).await,
            }
        }
    }

    async fn ask(&self, method: &str, path: &str, body: String) -> Result<Answer, Error> {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.body(Full::new(Bytes::from(body)));
        let request = request.map_err(|source| Error::Request { step: path.to_owned(), source })?;
        self.client.connection().send(path, request).await
    }

    fn unprepared(&self, path: &str, answer: &Answer) -> Error {
        Error::Prepare {
            target: self.name.to_owned(),
            path: path.to_owned(),
            status: answer.status,
            body: String::from_utf8_lossy(&answer.body).into_owned(),
        }
    }
}
