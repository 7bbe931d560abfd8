//! Whether an entry is accepted into a catalog that selects it: who can be asked, and who is unless someone else is put here.

use std::collections::BTreeMap;
use std::time::Duration;

use bailiwick_api::{AcceptancePolicy, Requester, ResourceCatalog};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;

use crate::rights::{Question, Rights};

/// How long an answer is taken for true. When roles change they are all asked anew.
const REMEMBERED: Duration = Duration::from_secs(5);

/// Whether entries are accepted.
pub trait Accept: Send + Sync + 'static {
    /// Whether a catalog accepts an entry that it selects.
    fn accept<'a>(
        &'a self,
        catalog: &'a ResourceCatalog,
        entry: Candidate<'a>,
    ) -> BoxFuture<'a, Result<Acceptance, CannotTell>>;

    /// Rights have changed: what was concluded from them may not be so any more.
    fn forget(&self) {}
}

/// An entry that a catalog selects.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The namespace of the entry.
    pub namespace: &'a str,
    /// The name of the entry.
    pub name: &'a str,
    /// The labels of the namespace.
    pub namespace_labels: &'a BTreeMap<String, String>,
    /// Who last wrote what the entry publishes.
    pub publisher: Option<&'a Requester>,
}

/// Whether an entry is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// It is.
    Accepted,
    /// It is not.
    Refused {
        /// Why, as one word for programs.
        reason: String,
        /// Why, for people.
        message: String,
    },
}

/// Why it could not be found out. It is tried again.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CannotTell(pub String);

/// Accepts what each catalog's own policy accepts.
pub struct Policies {
    rights: Rights,
}

// === impl Policies ===

impl Policies {
    /// Asks this host what publishers may do.
    pub fn new(host: Client) -> Self {
        Self { rights: Rights::new(host, REMEMBERED) }
    }

    async fn decide(&self, catalog: &ResourceCatalog, entry: Candidate<'_>) -> Result<Acceptance, CannotTell> {
        let name = catalog.metadata.name.as_deref().unwrap_or_default();
        match catalog.policy() {
            AcceptancePolicy::All => Ok(Acceptance::Accepted),
            AcceptancePolicy::NamespaceSelector if catalog.accepts_namespace(entry.namespace_labels) => {
                Ok(Acceptance::Accepted)
            }
            AcceptancePolicy::NamespaceSelector => Ok(refused(
                "NamespaceNotAccepted",
                format!("the catalog \"{name}\" accepts no entries of the namespace \"{}\"", entry.namespace),
            )),
            AcceptancePolicy::Authorization => self.authorized(name, entry).await,
        }
    }

    async fn authorized(&self, catalog: &str, entry: Candidate<'_>) -> Result<Acceptance, CannotTell> {
        let Some(publisher) = entry.publisher else {
            return Ok(refused(
                "PublisherUnknown",
                "it is not known who published the entry: write it again".to_owned(),
            ));
        };
        if self.may_publish(publisher, catalog, entry.namespace).await? {
            return Ok(Acceptance::Accepted);
        }
        let (user, namespace) = (&publisher.username, entry.namespace);
        let verb = ResourceCatalog::PUBLISH;
        let remedy = ResourceCatalog::how_to_allow(verb, catalog, namespace, user);
        Ok(refused(
            "PublishForbidden",
            format!(
                "user \"{user}\" may not \"{verb}\" resourcecatalogs.catalog.bailiwick.dev \"{catalog}\" in the namespace \
                 \"{namespace}\"; {remedy}"
            ),
        ))
    }

    async fn may_publish(&self, publisher: &Requester, catalog: &str, namespace: &str) -> Result<bool, CannotTell> {
        let question = Question {
            verb: ResourceCatalog::PUBLISH,
            group: "catalog.bailiwick.dev",
            resource: "resourcecatalogs",
            namespace,
            name: catalog,
        };
        self.rights.may(publisher, question).await.map_err(|error| CannotTell(error.to_string()))
    }
}

impl Accept for Policies {
    fn accept<'a>(
        &'a self,
        catalog: &'a ResourceCatalog,
        entry: Candidate<'a>,
    ) -> BoxFuture<'a, Result<Acceptance, CannotTell>> {
        self.decide(catalog, entry).boxed()
    }

    fn forget(&self) {
        self.rights.forget();
    }
}

fn refused(reason: &str, message: String) -> Acceptance {
    Acceptance::Refused { reason: reason.to_owned(), message }
}
