//! A server, and the people who use it.

use bytes::Bytes;
use http::{HeaderValue, Method};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Answer, Client, Endpoint, Events, JSON, MERGE_PATCH, request};
use crate::process::{Server, folder};

/// A server.
pub(crate) struct Site {
    _server: Server,
    client: Client,
    _folder: TempDir,
}

/// Someone who asks.
#[derive(Clone)]
pub(crate) struct Person {
    client: Client,
    /// Whom to act as; the administrator of the server if there is none.
    name: Option<String>,
}

// === impl Site ===

impl Site {
    /// An empty one.
    pub(crate) async fn open() -> Self {
        let folder = folder();
        let server = Server::start(folder.path(), &[]).await;
        let client = Endpoint::of(&server).connect().await.unwrap();
        Self { _server: server, client, _folder: folder }
    }

    /// The administrator of the server.
    pub(crate) fn root(&self) -> Person {
        Person { client: self.client.clone(), name: None }
    }

    /// A user.
    pub(crate) fn user(&self, name: &str) -> Person {
        Person { client: self.client.clone(), name: Some(name.to_owned()) }
    }
}

// === impl Person ===

impl Person {
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "", None).await
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> Answer {
        self.send(Method::POST, path, JSON, Some(object)).await
    }

    pub(crate) async fn put(&self, path: &str, object: &Value) -> Answer {
        self.send(Method::PUT, path, JSON, Some(object)).await
    }

    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Answer {
        self.send(Method::PATCH, path, MERGE_PATCH, Some(patch)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, "", None).await
    }

    pub(crate) async fn send(&self, method: Method, path: &str, content_type: &str, body: Option<&Value>) -> Answer {
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let mut request = request(method, path, content_type, body);
        if let Some(name) = &self.name {
            let headers = request.headers_mut();
            headers.insert("impersonate-user", HeaderValue::from_str(name).unwrap());
            headers.insert("impersonate-group", HeaderValue::from_static("system:authenticated"));
        }
        self.client.send(request).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Follows objects, as the administrator of the server.
    pub(crate) async fn watch(&self, path: &str) -> Events {
        self.client.watch(path).await.unwrap()
    }

    /// Whether they may do something in a namespace.
    pub(crate) async fn can(&self, verb: &str, resource: &str, namespace: &str) -> bool {
        let attributes = json!({ "verb": verb, "resource": resource, "namespace": namespace });
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": attributes },
        });
        let answer = self.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review).await.expect(201);
        answer["status"]["allowed"].as_bool().unwrap()
    }
}

/// What a refusal says in particular: the fields, and why.
pub(crate) fn causes(refusal: &Value) -> Vec<(String, String)> {
    let causes = refusal["details"]["causes"].as_array().cloned().unwrap_or_default();
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    causes.iter().map(|cause| (text(cause, "field"), text(cause, "message"))).collect()
}
