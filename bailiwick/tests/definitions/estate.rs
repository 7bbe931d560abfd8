//! A server with kinds of a provider: servers and rules, with classes to make them from. Each test has kinds of its own, as a
//! cluster is shared by several.

use serde_json::{Value, json};

use crate::site::{Mode, Person, Site, eventually};

pub(crate) const API: &str = "/apis/claim.bailiwick.dev/v1alpha1";
pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A server, with the kinds of one test.
pub(crate) struct Estate {
    pub(crate) site: Site,
    pub(crate) root: Person,
    /// The group of the test's kinds.
    pub(crate) group: String,
    /// The namespace of the test's claims.
    pub(crate) namespace: String,
}

// === impl Estate ===

impl Estate {
    pub(crate) async fn alone(test: &str) -> Self {
        Self::at(Site::alone().await, test).await
    }

    pub(crate) async fn behind(test: &str) -> Self {
        Self::at(Site::behind().await, test).await
    }

    pub(crate) async fn at(site: Site, test: &str) -> Self {
        let root = site.root();
        let name = test.replace('_', "-");
        let estate = Self { site, root, group: format!("{name}.example.org"), namespace: name };
        eventually("definitions are served", async || {
            estate.root.get(&format!("{API}/resourceclaimdefinitions")).await.code == 200
        })
        .await;
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": estate.namespace } });
        estate.root.post("/api/v1/namespaces", &namespace).await;
        estate.allow_provisioner(&[&estate.group]).await;
        estate
    }

    /// Behind a cluster, its administrator says what the provisioner may do.
    pub(crate) async fn allow_provisioner(&self, groups: &[&str]) {
        if self.site.mode == Mode::Alone {
            return;
        }
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {
                "name": format!("provisioner-{}", self.namespace),
                "labels": { "claim.bailiwick.dev/aggregate-to-provisioner": "true" },
            },
            "rules": [
                { "apiGroups": groups, "resources": ["*"], "verbs": ["*"] },
                {
                    "apiGroups": [""], "resources": ["secrets"],
                    "verbs": ["create", "delete", "get", "list", "update", "watch"],
                },
            ],
        });
        self.root.post(&format!("{RBAC}/clusterroles"), &role).await;
    }

    /// The provider's kinds, and a kind of claims that a definition defines.
    pub(crate) async fn furnish(&self) {
        self.make_kinds().await;
        self.define_claims().await;
    }

    pub(crate) async fn make_kinds(&self) {
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let status = json!({ "type": "object", "properties": {
            "conditions": { "type": "array", "items": open }, "bindingPhase": { "type": "string" },
        } });
        let server = json!({ "spec": open, "status": status });
        self.make_kind("Server", "servers", "Cluster", server).await;
        let rule = json!({
            "spec": { "type": "object", "properties": { "region": { "type": "string" } } },
            "status": { "type": "object", "properties": { "conditions": { "type": "array", "items": open } } },
        });
        self.make_kind("Rule", "rules", "Namespaced", rule).await;
        let class = json!({
            "version": { "type": "string" }, "specTemplate": open, "claimableFrom": open,
            "reclaimPolicy": { "type": "string" },
        });
        self.make_kind("ServerClass", "serverclasses", "Cluster", class.clone()).await;
        self.make_kind("RuleClass", "ruleclasses", "Cluster", class).await;
    }

    pub(crate) async fn make_kind(&self, kind: &str, plural: &str, scope: &str, properties: Value) {
        let definition = custom_resource(&self.group, kind, plural, scope, properties);
        self.root.post(CRDS, &definition).await.expect(201);
        let path = self.cluster_path(plural);
        eventually("the kind is served", async || self.root.get(&path).await.code == 200).await;
    }

    pub(crate) fn claim_definition(&self) -> Value {
        json!({
            "apiVersion": "claim.bailiwick.dev/v1alpha1", "kind": "ResourceClaimDefinition",
            "metadata": { "name": self.namespace },
            "spec": {
                "group": self.group, "version": "v1", "names": { "kind": "Database", "plural": "databases" },
                "validation": { "openAPIV3Schema": { "properties": { "spec": { "properties": {
                    "version": { "type": "string", "description": "The version of the database." },
                    "size": { "type": "integer" },
                } } } } },
            },
        })
    }

    pub(crate) async fn define_claims(&self) {
        self.root.post(&format!("{API}/resourceclaimdefinitions"), &self.claim_definition()).await.expect(201);
        let path = self.claims();
        eventually("claims can be made", async || self.root.get(&path).await.code == 200).await;
    }

    /// A definition of bindings: for each resource its kind, and what its class does.
    pub(crate) fn binding_definition(&self, name: &str, resources: &[(&str, Value)]) -> Value {
        let version = format!("{}/v1", self.group);
        let entry = |(kind, more): &(&str, Value)| {
            let mut entry = json!({
                "resource": { "apiVersion": version, "kind": kind },
                "class": { "apiVersion": version, "kind": format!("{kind}Class") },
            });
            for (field, value) in more.as_object().into_iter().flatten() {
                match field.as_str() {
                    "strategies" => entry["class"]["strategies"] = value.clone(),
                    _ => entry[field] = value.clone(),
                }
            }
            entry
        };
        json!({
            "apiVersion": "claim.bailiwick.dev/v1alpha1", "kind": "ResourceBindingDefinition",
            "metadata": { "name": name },
            "spec": {
                "claim": { "apiVersion": version, "kind": "Database" },
                "resources": resources.iter().map(entry).collect::<Vec<_>>(),
            },
        })
    }

    /// Makes one, and waits until claims are satisfied by it.
    pub(crate) async fn bind_by(&self, resources: &[(&str, Value)]) -> String {
        let name = self.namespace.clone();
        let definition = self.binding_definition(&name, resources);
        self.root.post(&self.bindings(), &definition).await.expect(201);
        self.definition_says(&name, "Ready", "True", "Ready").await;
        name
    }

    pub(crate) fn bindings(&self) -> String {
        format!("{API}/resourcebindingdefinitions")
    }

    /// Waits until a definition of bindings says this of itself; returns what it says more.
    pub(crate) async fn definition_says(&self, name: &str, condition: &str, status: &str, reason: &str) -> String {
        self.says(&format!("{}/{name}", self.bindings()), condition, status, reason).await
    }

    /// Waits until an object says this of itself; returns what it says more.
    pub(crate) async fn says(&self, path: &str, condition: &str, status: &str, reason: &str) -> String {
        let mut last = Value::Null;
        let mut message = String::new();
        let what = format!("{path} says {condition}={status}/{reason}");
        eventually_or(&what, &mut last, async |last| {
            *last = self.root.get(path).await.json();
            let found = condition_of(last, condition);
            let is_so = found["status"] == status && found["reason"] == reason;
            if is_so {
                message = found["message"].as_str().unwrap_or_default().to_owned();
            }
            is_so
        })
        .await;
        message
    }

    pub(crate) fn cluster_path(&self, plural: &str) -> String {
        format!("/apis/{}/v1/{plural}", self.group)
    }

    pub(crate) fn path(&self, plural: &str) -> String {
        format!("/apis/{}/v1/namespaces/{}/{plural}", self.group, self.namespace)
    }

    pub(crate) fn claims(&self) -> String {
        self.path("databases")
    }

    pub(crate) fn object(&self, kind: &str, name: &str, more: Value) -> Value {
        let mut object = json!({
            "apiVersion": format!("{}/v1", self.group), "kind": kind, "metadata": { "name": name },
        });
        merge(&mut object, &more);
        object
    }

    /// A class that claims get which ask for none.
    pub(crate) async fn default_class(&self, kind: &str, name: &str, more: Value) {
        let mut class = self.object(
            kind,
            name,
            json!({ "metadata": { "annotations": { "claim.bailiwick.dev/is-default-class": "true" } } }),
        );
        merge(&mut class, &more);
        let plural = format!("{}es", kind.to_lowercase());
        self.root.post(&self.cluster_path(&plural), &class).await.expect(201);
    }

    pub(crate) async fn claim(&self, name: &str, spec: Value) -> Value {
        let claim = self.object("Database", name, json!({ "spec": spec }));
        let mut last = Value::Null;
        // A cluster lets go of what a kind was before it changed, and of what is asked of that just then.
        eventually_or("the kind takes claims", &mut last, async |last| {
            let answer = self.root.post(&self.claims(), &claim).await;
            let is_unavailable = answer.code == 503;
            *last = if is_unavailable { answer.json() } else { answer.expect(201) };
            !is_unavailable
        })
        .await;
        last
    }

    /// Waits until a claim is in a state.
    pub(crate) async fn claim_until(&self, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let path = format!("{}/{name}", self.claims());
        let mut last = Value::Null;
        eventually_or(what, &mut last, async |last| {
            *last = self.root.get(&path).await.json();
            is_so(last)
        })
        .await;
        last
    }

    pub(crate) async fn claim_says(&self, name: &str, condition: &str, status: &str, reason: &str) -> String {
        self.says(&format!("{}/{name}", self.claims()), condition, status, reason).await
    }

    /// Waits until a claim has as many resources, and returns them.
    pub(crate) async fn resources_of(&self, name: &str, count: usize) -> Vec<Value> {
        let is_there = |claim: &Value| {
            let bindings = claim["status"]["bindings"].as_array().cloned().unwrap_or_default();
            let made = bindings.iter().filter(|binding| binding["resourceRef"]["uid"].is_string());
            made.count() == count
        };
        let claim = self.claim_until(name, "the resources are there", is_there).await;
        let mut resources = Vec::new();
        for binding in claim["status"]["bindings"].as_array().unwrap() {
            if binding["resourceRef"]["uid"].is_string() {
                resources.push(self.root.get(&self.resource_path(&binding["resourceRef"])).await.expect(200));
            }
        }
        resources
    }

    pub(crate) fn resource_path(&self, named: &Value) -> String {
        let (kind, name) = (named["kind"].as_str().unwrap(), named["name"].as_str().unwrap());
        match kind {
            "Rule" => format!("{}/{name}", self.path("rules")),
            kind => format!("{}/{name}", self.cluster_path(&format!("{}s", kind.to_lowercase()))),
        }
    }

    /// Does what a provider does: says that a resource is ready, or not.
    pub(crate) async fn make_ready(&self, resource: &Value, status: &str) {
        let path = format!("{}/status", self.resource_path(&named(resource)));
        let condition = json!({
            "type": "Ready", "status": status, "reason": "Tested", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        self.root.merge(&path, &json!({ "status": { "conditions": [condition] } })).await.expect(200);
    }

    /// Waits for the resources of a claim, says that they are ready, and returns the claim when it is.
    pub(crate) async fn bound(&self, name: &str, count: usize) -> Value {
        for resource in self.resources_of(name, count).await {
            self.make_ready(&resource, "True").await;
        }
        self.claim_says(name, "Ready", "True", "Available").await;
        self.root.get(&format!("{}/{name}", self.claims())).await.expect(200)
    }

    /// Waits until something is gone.
    pub(crate) async fn gone(&self, path: &str) {
        let what = format!("{path} is gone");
        let mut last = Value::Null;
        eventually_or(&what, &mut last, async |last| {
            let answer = self.root.get(path).await;
            *last = answer.json();
            answer.code == 404
        })
        .await;
    }
}

async fn eventually_or(what: &str, last: &mut Value, mut is_so: impl AsyncFnMut(&mut Value) -> bool) {
    let began = tokio::time::Instant::now();
    while !is_so(last).await {
        assert!(began.elapsed() < crate::process::PATIENCE, "in vain: {what}; last seen: {last:#}");
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
}

// === objects ===

pub(crate) fn custom_resource(group: &str, kind: &str, plural: &str, scope: &str, properties: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": scope,
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List") },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": properties } },
            }],
        },
    })
}

pub(crate) fn condition_of(object: &Value, wanted: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == wanted).unwrap_or_default()
}

/// An object as others name it.
pub(crate) fn named(object: &Value) -> Value {
    json!({ "kind": object["kind"], "name": object["metadata"]["name"], "uid": object["metadata"]["uid"] })
}

pub(crate) fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            from.iter().for_each(|(name, value)| merge(into.entry(name.clone()).or_insert(Value::Null), value));
        }
        (into, from) => *into = from.clone(),
    }
}
