//! A server under load, and the objects it is loaded with. Everything that differs between the contenders is in here; adding
//! one is making one more of these.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::client::{Client, Endpoint, Outgoing};
use crate::error::Error;
use crate::process::Process;

/// How long the JSON of an object is when it is created. Servers add to that.
pub(crate) const OBJECT_BYTES: usize = 1_126;

/// The namespace of all objects.
const NAMESPACE: &str = "default";

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A server under load.
pub(crate) struct Target {
    /// What the report calls it.
    pub(crate) name: &'static str,
    pub(crate) process: Process,
    /// The store it shares with others. None if its store is part of it.
    pub(crate) etcd: Option<Process>,
    pub(crate) endpoint: Endpoint,
    pub(crate) kind: Kind,
}

/// A kind of objects.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    /// The spec of the nth object.
    pub(crate) spec: fn(usize) -> Value,
}

/// Entries of catalogs: what our server serves, and what the custom resource is shaped after.
pub(crate) const ENTRY: Kind = Kind {
    group: "catalog.bailiwick.dev",
    version: "v1alpha1",
    kind: "ResourceCatalogEntry",
    plural: "resourcecatalogentries",
    spec: |nth| {
        let extension =
            json!({"apiVersion": "bench.example.com/v1", "kind": "Database", "name": format!("entry-{nth:06}")});
        json!({"description": "team-catalog", "extension": extension})
    },
};

/// sample-apiserver's kind.
pub(crate) const FLUNDER: Kind = Kind {
    group: "wardle.example.com",
    version: "v1alpha1",
    kind: "Flunder",
    plural: "flunders",
    spec: |nth| json!({"reference": format!("entry-{nth:06}"), "referenceType": "Flunder"}),
};

// === impl Target ===

impl Target {
    /// Creates an object. `batch` is the value of its label.
    pub(crate) fn create(&self, name: &str, nth: usize, batch: &str) -> Outgoing {
        self.request(Method::POST, "", JSON, self.kind.object(name, nth, batch))
    }

    /// Reads one object.
    pub(crate) fn get(&self, name: &str) -> Outgoing {
        self.request(Method::GET, &format!("/{name}"), JSON, Bytes::new())
    }

    /// Reads the collection, as a query says.
    pub(crate) fn list(&self, query: &str) -> Outgoing {
        self.request(Method::GET, query, JSON, Bytes::new())
    }

    /// Sets an annotation of one object.
    pub(crate) fn patch(&self, name: &str, touched: &str) -> Outgoing {
        let body = json!({"metadata": {"annotations": {"bench.bailiwick.dev/touched": touched}}});
        self.request(Method::PATCH, &format!("/{name}"), MERGE_PATCH, body.to_string().into())
    }

    /// Applies one object whole, with a label of this value.
    pub(crate) fn apply(&self, name: &str, nth: usize, batch: &str, touched: &str) -> Outgoing {
        let object = self.kind.object_with(name, nth, batch, Some(touched));
        self.request(Method::PATCH, &format!("/{name}?fieldManager=bench&force=true"), APPLY, object)
    }

    /// Deletes one object.
    pub(crate) fn delete(&self, name: &str) -> Outgoing {
        self.request(Method::DELETE, &format!("/{name}"), JSON, Bytes::new())
    }

    /// Reads the collection and makes sense of it.
    pub(crate) async fn read_list(&self, client: &mut Client, query: &str) -> Result<Value, Error> {
        let body = client.fetch(self.list(query)).await?;
        serde_json::from_slice(&body).map_err(|error| self.unequal(format!("its list is no JSON: {error}")))
    }

    /// The resourceVersion of the whole collection, now.
    pub(crate) async fn revision(&self, client: &mut Client) -> Result<String, Error> {
        let list = self.read_list(client, "?limit=1").await?;
        let revision = list["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        revision.ok_or_else(|| self.unequal("its list has no resourceVersion".to_owned()))
    }

    /// For a server that does less, or something else.
    pub(crate) fn unequal(&self, what: String) -> Error {
        Error::Unequal { target: self.name, what }
    }

    fn request(&self, method: Method, rest: &str, content_type: &'static str, body: Bytes) -> Outgoing {
        let uri = format!("https://{}{}{rest}", self.endpoint.authority, self.kind.collection());
        let request = Request::builder().method(method).uri(uri).header(ACCEPT, JSON);
        let request = if body.is_empty() { request } else { request.header(CONTENT_TYPE, content_type) };
        request.body(Full::new(body)).expect("names, queries and tokens of lists have no characters that URIs forbid")
    }
}

// === impl Kind ===

impl Kind {
    /// The path of the collection.
    pub(crate) fn collection(&self) -> String {
        format!("/apis/{}/{}/namespaces/{NAMESPACE}/{}", self.group, self.version, self.plural)
    }

    /// The JSON of an object: four labels, a spec, and an annotation that makes all objects of all kinds equally long.
    fn object(&self, name: &str, nth: usize, batch: &str) -> Bytes {
        self.object_with(name, nth, batch, None)
    }

    /// The same, with one more label.
    fn object_with(&self, name: &str, nth: usize, batch: &str, touched: Option<&str>) -> Bytes {
        let make = |padding: &str| {
            let mut labels = json!({"app": format!("app-{:02}", nth % 50), "tier": "backend", "team": format!("team-{:02}", nth % 20), "batch": batch});
            if let Some(touched) = touched {
                labels["touched"] = touched.into();
            }
            let annotations = json!({"bench.bailiwick.dev/padding": padding});
            let metadata = json!({"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": annotations});
            let api_version = format!("{}/{}", self.group, self.version);
            let object =
                json!({"apiVersion": api_version, "kind": self.kind, "metadata": metadata, "spec": (self.spec)(nth)});
            object.to_string()
        };
        let missing = OBJECT_BYTES.saturating_sub(make("").len());
        make(&"x".repeat(missing)).into()
    }
}

#[cfg(test)]
mod tests;
