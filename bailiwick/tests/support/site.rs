//! A server with two organizations, and the people who use it: a server that stands alone, or one behind a cluster.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::MutexGuard;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::behind::{self, AUDIT_LOG, Shared, audit_flags};
use super::client::{Answer, Client, Endpoint, Events, JSON, MERGE_PATCH, Outgoing, request};
use super::process::{PATIENCE, Server, folder};

pub(crate) const API: &str = "/apis/org.bailiwick.dev/v1alpha1";
pub(crate) const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const APPLY: &str = "application/apply-patch+yaml";
/// For how long a server behind a cluster may remember what the cluster has answered about rights, and a little more.
const A_MOMENT: Duration = Duration::from_millis(1300);

/// A server, and the way to it.
pub(crate) struct Site {
    pub(crate) mode: Mode,
    pub(crate) server: Server,
    client: Client,
    stranger: Endpoint,
    /// How the administrator's kubectl comes to it.
    pub(crate) kubeconfig: PathBuf,
    /// What it stands behind.
    cluster: Option<&'static Shared>,
    _turn: Option<MutexGuard<'static, ()>>,
    folder: TempDir,
    again: Again,
    /// Where the host writes down what is asked of it, and how much of that is of earlier tests.
    host_log: (PathBuf, usize),
}

/// How the server is started again.
struct Again {
    /// Which of those that have stood behind the cluster it is.
    number: usize,
    flags: Vec<String>,
}

/// How the server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It is all there is: what is written counts with the next request.
    Alone,
    /// Behind a cluster, through which everyone comes, and where what is written counts a moment later.
    Behind,
}

/// Someone who asks.
#[derive(Clone)]
pub(crate) struct Person {
    client: Client,
    mode: Mode,
    /// Whom to act as; the administrator of the server, or the cluster, if there is none.
    name: Option<String>,
    groups: Vec<String>,
    /// What else comes with them, as `scopes`.
    scopes: Option<String>,
    log: PathBuf,
}

// === impl Site ===

impl Site {
    /// An empty server that stands alone.
    pub(crate) async fn alone() -> Self {
        Self::alone_with(&[]).await
    }

    /// The same, with flags.
    pub(crate) async fn alone_with(flags: &[&str]) -> Self {
        let folder = folder();
        let audit = audit_flags(folder.path());
        let flags: Vec<&str> = flags.iter().copied().chain(audit.iter().map(String::as_str)).collect();
        Self::alone_in(folder, &flags).await
    }

    async fn alone_in(folder: TempDir, flags: &[&str]) -> Self {
        let server = Server::start(folder.path(), flags).await;
        let (endpoint, stranger) = (Endpoint::of(&server), Endpoint::of_stranger(&server));
        let client = endpoint.connect().await.unwrap();
        let again = Again { number: 0, flags: flags.iter().map(|flag| (*flag).to_owned()).collect() };
        let (kubeconfig, host_log) = (server.kubeconfig(), (folder.path().join(AUDIT_LOG), 0));
        let (mode, cluster, turn) = (Mode::Alone, None, None);
        Self { mode, server, client, stranger, kubeconfig, cluster, _turn: turn, folder, again, host_log }
    }

    /// Kills the server, and starts it again with what it has stored.
    pub(crate) async fn restart(&mut self) {
        self.server.signal(rustix::process::Signal::KILL);
        while self.server.is_alive() {
            sleep(Duration::from_millis(5)).await;
        }
        let flags: Vec<&str> = self.again.flags.iter().map(String::as_str).collect();
        match self.mode {
            Mode::Alone => {
                self.server = Server::start(self.folder.path(), &flags).await;
                self.client = Endpoint::of(&self.server).connect().await.unwrap();
            }
            Mode::Behind => {
                self.server = self.cluster().serve(self.folder.path(), self.again.number, &flags).await;
            }
        }
    }

    /// What the host, which is the server itself or the cluster, was asked in this test so far.
    pub(crate) fn asked_of_host(&self) -> Vec<Value> {
        let (log, earlier) = &self.host_log;
        let text = std::fs::read_to_string(log).unwrap_or_default();
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut events: Vec<Value> = events.collect();
        let asked_at = |event: &Value| event["requestReceivedTimestamp"].as_str().unwrap_or_default().to_owned();
        let began = events.iter().take(*earlier).map(asked_at).max().unwrap_or_default();
        // A watch is logged when it ends, which those of the test before may do in this one.
        events.drain(..(*earlier).min(events.len()));
        events.retain(|event| asked_at(event) > began);
        events
    }

    /// What the server has written down that was asked of it, as it is written.
    pub(crate) fn own_log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join(AUDIT_LOG)).unwrap_or_default()
    }

    /// The cluster that the server stands behind.
    pub(crate) fn cluster(&self) -> &'static Shared {
        self.cluster.expect("a server behind a cluster")
    }

    /// An empty server behind a cluster, which tests share: one has it at a time.
    pub(crate) async fn behind() -> Self {
        Self::behind_with(&[]).await
    }

    /// The same, with flags.
    pub(crate) async fn behind_with(flags: &[&str]) -> Self {
        let (turn, cluster) = behind::cluster().await;
        let folder = folder();
        let number = cluster.next();
        let log = cluster.host_log();
        let earlier = std::fs::read_to_string(&log).unwrap_or_default().lines().count();
        let server = cluster.serve(folder.path(), number, flags).await;
        let client = cluster.administrator().connect().await.unwrap();
        let (stranger, kubeconfig) = (cluster.stranger(), cluster.kubeconfig().to_owned());
        let again = Again { number, flags: flags.iter().map(|flag| (*flag).to_owned()).collect() };
        let (host_log, turn) = ((log, earlier), Some(turn));
        let (mode, cluster) = (Mode::Behind, Some(cluster));
        let site = Self { mode, server, client, stranger, kubeconfig, cluster, _turn: turn, folder, again, host_log };
        site.forget_owners().await;
        // Whoever runs controllers takes back what was given by organizations that this server has never heard of.
        let derived = format!("{RBAC}/rolebindings?labelSelector=bailiwick.dev/derived-from");
        let root = site.root();
        eventually("nothing is left of earlier tests", async || {
            root.get(&derived).await.expect(200)["items"].as_array().is_some_and(Vec::is_empty)
        })
        .await;
        site
    }

    /// Two servers behind a cluster, over one etcd. One is reached through the cluster, the other past it.
    pub(crate) async fn replicas_behind() -> [Self; 2] {
        let first = Self::behind().await;
        let (cluster, folder) = (first.cluster(), folder());
        let server = cluster.serve_beside(folder.path()).await;
        let client = cluster.past(&server).connect().await.unwrap();
        let stranger = cluster.stranger();
        let kubeconfig = cluster.kubeconfig().to_owned();
        let again = Again { number: 0, flags: Vec::new() };
        let host_log = (cluster.host_log(), 0);
        let (mode, cluster, turn) = (Mode::Behind, Some(cluster), None);
        let second = Self { mode, server, client, stranger, kubeconfig, cluster, _turn: turn, folder, again, host_log };
        [first, second]
    }

    /// Two servers that stand alone, over one etcd.
    pub(crate) async fn replicas(etcd: &bailiwick_test_host::Etcd) -> [Self; 2] {
        let servers = format!("--etcd-servers={}", etcd.endpoints().join(","));
        let start = async |folder: TempDir| Self::alone_in(folder, &[&servers]).await;
        let (first, second) = (start(folder()).await, folder());
        // They are one, so they have one authority.
        let pki = second.path().join("bailiwick-data/pki");
        std::fs::create_dir_all(&pki).unwrap();
        for file in std::fs::read_dir(first.server.data.join("pki")).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), pki.join(file.file_name())).unwrap();
        }
        let second = start(second).await;
        [first, second]
    }

    /// With two organizations. Acme is run by alice, and by the Group `acme-leads`, in which lea is; bob and carol are
    /// members, carol by the Group `engineers`. Beta is run by ben, and bella is its member. Each owns a project.
    pub(crate) async fn furnish(&self) {
        let root = self.root();
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
            self.make_project(name, owner).await;
        }
    }

    /// A namespace with this owner. A cluster may have it from another test.
    pub(crate) async fn make_project(&self, name: &str, owner: &str) {
        let root = self.root();
        let made = root.post("/api/v1/namespaces", &namespace(name, Some(owner))).await;
        if self.mode == Mode::Behind && made.code == 409 {
            self.give(name, json!(owner)).await;
        } else {
            made.expect(201);
        }
        let organization = owner.trim_start_matches("organizations__");
        let projects = root.get(&format!("{API}/organizations/{organization}/projects")).await.expect(200);
        assert!(projects["projects"].as_array().unwrap().contains(&json!(name)), "at once, in every mode: {projects}");
    }

    /// Changes the owner of a namespace.
    pub(crate) async fn give(&self, namespace: &str, owner: Value) {
        let patch = json!({ "metadata": { "labels": { "openshift.io/owner": owner } } });
        self.root().merge(&format!("/api/v1/namespaces/{namespace}"), &patch).await.expect(200);
    }

    /// What earlier tests gave to organizations that are no more.
    async fn forget_owners(&self) {
        let list = self.root().get("/api/v1/namespaces?labelSelector=openshift.io/owner").await.expect(200);
        for namespace in list["items"].as_array().unwrap() {
            self.give(namespace["metadata"]["name"].as_str().unwrap(), Value::Null).await;
        }
    }

    /// Waits until everyone knows of rights that were given or taken.
    pub(crate) async fn a_moment(&self) {
        if self.mode == Mode::Behind {
            sleep(A_MOMENT).await;
        }
    }

    /// The administrator of the server, or of the cluster.
    pub(crate) fn root(&self) -> Person {
        self.person(None, &[])
    }

    /// A user.
    pub(crate) fn user(&self, name: &str) -> Person {
        self.user_in(name, &["system:authenticated"])
    }

    /// A user who comes with groups.
    pub(crate) fn user_in(&self, name: &str, groups: &[&str]) -> Person {
        self.person(Some(name), groups)
    }

    /// The ways to the server, as its administrator: through the cluster if there is one, and past it.
    pub(crate) async fn ways(&self) -> Vec<Person> {
        let mut ways = vec![self.root()];
        if self.mode == Mode::Behind {
            let client = self.cluster().past(&self.server).connect().await.unwrap();
            ways.push(Person { client, ..self.root() });
        }
        ways
    }

    /// What someone without any credential is told. kube-apiserver ends the connection of such a one with its answer, at times
    /// before that was read; then they ask once more.
    pub(crate) async fn stranger_asks(&self, request: impl Fn() -> Request<Outgoing>) -> Answer {
        let began = Instant::now();
        loop {
            match self.stranger.connect().await.unwrap().send(request()).await {
                Ok(answer) => return answer,
                Err(unanswered) => assert!(began.elapsed() < PATIENCE, "a stranger is told nothing: {unanswered}"),
            }
        }
    }

    fn person(&self, name: Option<&str>, groups: &[&str]) -> Person {
        Person {
            client: self.client.clone(),
            mode: self.mode,
            name: name.map(str::to_owned),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            scopes: None,
            log: self.folder.path().join(AUDIT_LOG),
        }
    }
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < PATIENCE, "in vain: {what}");
        sleep(Duration::from_millis(50)).await;
    }
    began.elapsed()
}

// === impl Person ===

impl Person {
    /// A user who comes the same way.
    pub(crate) fn acting_as(&self, name: &str) -> Self {
        let (name, groups) = (Some(name.to_owned()), vec!["system:authenticated".to_owned()]);
        Self { name, groups, ..self.clone() }
    }

    /// The same, with something that authorizers may allow less for.
    pub(crate) fn with_scopes(self, scopes: &str) -> Self {
        Self { scopes: Some(scopes.to_owned()), ..self }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "", None).await
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> Answer {
        self.send(Method::POST, path, JSON, Some(object)).await
    }

    /// Makes something that takes rights which were given a moment ago.
    pub(crate) async fn post_soon(&self, path: &str, object: &Value) {
        let began = Instant::now();
        loop {
            let answer = self.post(path, object).await;
            if answer.code == 201 || self.mode == Mode::Alone || began.elapsed() > PATIENCE {
                answer.expect(201);
                return;
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Does not make something, for this reason, and gives the answer. The rights that it takes may have been given a moment ago.
    pub(crate) async fn is_refused(&self, path: &str, object: &Value, why: &str) -> Value {
        let began = Instant::now();
        loop {
            let answer = self.post(path, object).await;
            if answer.code == 403 && answer.text().contains(why) {
                return answer.json();
            }
            let is_late = self.mode == Mode::Alone || began.elapsed() > PATIENCE;
            assert!(!is_late, "{path} is not refused with {why:?}: {} {}", answer.code, answer.text());
            sleep(Duration::from_millis(200)).await;
        }
    }

    pub(crate) async fn put(&self, path: &str, object: &Value) -> Answer {
        self.send(Method::PUT, path, JSON, Some(object)).await
    }

    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Answer {
        self.send(Method::PATCH, path, MERGE_PATCH, Some(patch)).await
    }

    /// Applies fields on the server, as this field manager.
    pub(crate) async fn apply(&self, path: &str, manager: &str, object: &Value) -> Answer {
        let path = format!("{path}?fieldManager={manager}");
        self.send(Method::PATCH, &path, APPLY, Some(object)).await
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
            if let Some(scopes) = &self.scopes {
                headers.insert("impersonate-extra-scopes", HeaderValue::from_str(scopes).unwrap());
            }
        }
        self.client.send(request).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Follows objects, as the administrator.
    pub(crate) async fn watch(&self, path: &str) -> Events {
        self.client.watch(path).await.unwrap()
    }

    /// The groups that our server takes them to be in.
    pub(crate) async fn groups(&self) -> Vec<String> {
        let user = match self.mode {
            Mode::Alone => {
                let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
                let answer = self.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &review).await.expect(201);
                answer["status"]["userInfo"].clone()
            }
            // The cluster is asked who someone is, and knows nothing of organizations. Our server's audit log tells.
            Mode::Behind => {
                let event = self.audited().await;
                let impersonated = Some(&event["impersonatedUser"]).filter(|user| user.is_object());
                impersonated.unwrap_or(&event["user"]).clone()
            }
        };
        let groups = user["groups"].as_array().cloned().unwrap_or_default();
        groups.iter().map(|group| group.as_str().unwrap().to_owned()).collect()
    }

    /// What our server's audit log says of a request of theirs.
    async fn audited(&self) -> Value {
        self.audited_when(async |mark| drop(self.get(&format!("{API}/organizations/Acme/members?{mark}")).await)).await
    }

    /// What it says of a request whose query has this mark.
    pub(crate) async fn audited_when(&self, ask: impl AsyncFnOnce(&str)) -> Value {
        let mark = format!("mark={}", Uuid::new_v4());
        ask(&mark).await;
        let mut found = None;
        eventually("the request is in the log", async || {
            let text = std::fs::read_to_string(&self.log).unwrap_or_default();
            let mut events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            found = events.find(|event| event["requestURI"].as_str().is_some_and(|uri| uri.contains(&mark)));
            found.is_some()
        })
        .await;
        found.unwrap()
    }

    /// They may do something in a namespace: now, or behind a cluster within moments.
    #[track_caller]
    pub(crate) fn may(&self, verb: &str, resource: &str, namespace: &str) -> impl Future<Output = ()> {
        self.comes_to(true, verb, resource, namespace)
    }

    /// They may not, or behind a cluster not for longer than moments.
    #[track_caller]
    pub(crate) fn may_not(&self, verb: &str, resource: &str, namespace: &str) -> impl Future<Output = ()> {
        self.comes_to(false, verb, resource, namespace)
    }

    async fn comes_to(&self, allowed: bool, verb: &str, resource: &str, namespace: &str) {
        let began = Instant::now();
        while self.can(verb, resource, namespace).await != allowed {
            let is_late = self.mode == Mode::Alone || began.elapsed() > PATIENCE;
            assert!(!is_late, "{:?} may {verb} {resource} in {namespace}: not {allowed}", self.name);
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn can(&self, verb: &str, resource: &str, namespace: &str) -> bool {
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
