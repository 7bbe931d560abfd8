//! A server with two organizations, and the people who use it.

use bytes::Bytes;
use http::{HeaderValue, Method};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Answer, Client, Endpoint, Events, JSON, MERGE_PATCH, request};
use crate::process::{Server, folder};

pub(crate) const API: &str = "/apis/org.bailiwick.dev/v1alpha1";
pub(crate) const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

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
    groups: Vec<String>,
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

    /// One with two organizations. Acme is run by alice, and by the Group `acme-leads`, in which lea is; bob and carol are
    /// members, carol by the Group `engineers`. Beta is run by ben, and bella is its member. Each owns a project.
    pub(crate) async fn with_organizations() -> Self {
        let site = Self::open().await;
        let root = site.root();
        for (name, users) in [("acme-leads", ["lea"]), ("engineers", ["carol"])] {
            root.post(&format!("{API}/groups"), &group(name, &users)).await.expect(201);
        }
        let acme = json!({
            "adminUsers": ["alice"], "adminGroups": ["acme-leads", "oidc:acme-admins"],
            "memberUsers": ["bob"], "memberGroups": ["engineers"],
        });
        root.post(&format!("{API}/organizations"), &organization("Acme", acme)).await.expect(201);
        let beta = json!({ "adminUsers": ["ben"], "memberUsers": ["bella"] });
        root.post(&format!("{API}/organizations"), &organization("Beta", beta)).await.expect(201);
        for (name, owner) in [("acme-web", "organizations__Acme"), ("beta-web", "organizations__Beta")] {
            root.post("/api/v1/namespaces", &namespace(name, Some(owner))).await.expect(201);
        }
        site
    }

    /// The administrator of the server.
    pub(crate) fn root(&self) -> Person {
        Person { client: self.client.clone(), name: None, groups: Vec::new() }
    }

    /// A user.
    pub(crate) fn user(&self, name: &str) -> Person {
        self.user_in(name, &["system:authenticated"])
    }

    /// A user who comes with groups.
    pub(crate) fn user_in(&self, name: &str, groups: &[&str]) -> Person {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        Person { client: self.client.clone(), name: Some(name.to_owned()), groups }
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
            for group in &self.groups {
                headers.append("impersonate-group", HeaderValue::from_str(group).unwrap());
            }
        }
        self.client.send(request).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Follows objects, as the administrator of the server.
    pub(crate) async fn watch(&self, path: &str) -> Events {
        self.client.watch(path).await.unwrap()
    }

    /// The groups that the server takes them to be in.
    pub(crate) async fn groups(&self) -> Vec<String> {
        let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
        let answer = self.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &review).await.expect(201);
        let groups = answer["status"]["userInfo"]["groups"].as_array().cloned().unwrap_or_default();
        groups.iter().map(|group| group.as_str().unwrap().to_owned()).collect()
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

// === objects ===

pub(crate) fn organization(name: &str, people: Value) -> Value {
    let mut object = json!({
        "apiVersion": "org.bailiwick.dev/v1alpha1", "kind": "Organization", "metadata": { "name": name },
    });
    object.as_object_mut().unwrap().extend(people.as_object().unwrap().clone());
    object
}

pub(crate) fn group(name: &str, users: &[&str]) -> Value {
    json!({
        "apiVersion": "org.bailiwick.dev/v1alpha1", "kind": "Group", "metadata": { "name": name }, "users": users,
    })
}

pub(crate) fn org_group(name: &str, users: &[&str]) -> Value {
    json!({
        "apiVersion": "org.bailiwick.dev/v1alpha1", "kind": "OrgGroup", "metadata": { "name": name }, "users": users,
    })
}

pub(crate) fn namespace(name: &str, owner: Option<&str>) -> Value {
    let mut object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    if let Some(owner) = owner {
        object["metadata"]["labels"] = json!({ "openshift.io/owner": owner });
    }
    object
}

pub(crate) fn binding(name: &str, role: &str, org_groups: &[&str]) -> Value {
    json!({
        "apiVersion": "org.bailiwick.dev/v1alpha1", "kind": "OrgRoleBinding", "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "orgGroups": org_groups,
    })
}

/// What a refusal says in particular: the fields, and why.
pub(crate) fn causes(refusal: &Value) -> Vec<(String, String)> {
    let causes = refusal["details"]["causes"].as_array().cloned().unwrap_or_default();
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    causes.iter().map(|cause| (text(cause, "field"), text(cause, "message"))).collect()
}
