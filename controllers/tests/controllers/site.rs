//! A server to be a client of, and what tests ask of it.

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_apiserver::{Health, InProcess, Server, ServerOptions, ServerParts};
use bailiwick_controllers::GarbageCollector;
use bailiwick_registry::kinds::{self, Reviewers, TokenOwner, TokenReviewError, TokenReviewer};
use bailiwick_registry::rbac::{LivePolicy, Rbac};
use bailiwick_registry::{AllowGroup, Authorizer, Directory, GroupsCount, Registry, SystemClock, User, definitions};
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions, Folder};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Uri};
use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use kube::api::{DeleteParams, PostParams, PropagationPolicy};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

pub(crate) const SOON: Duration = Duration::from_secs(20);
/// Longer than a controller takes for anything here: what is still there then, stays.
pub(crate) const A_WHILE: Duration = Duration::from_millis(700);

/// A server, and controllers that end with it.
pub(crate) struct Site {
    pub(crate) client: Client,
    pub(crate) server: Arc<Server>,
    controllers: JoinSet<()>,
    _folder: TempDir,
}

/// Whether a request of this method, to this address, waits.
pub(crate) type Holds = fn(&Method, &Uri) -> bool;

/// A way to the server on which requests are counted, and some go astray.
#[derive(Clone)]
pub(crate) struct Road {
    way: InProcess,
    pub(crate) requests: Arc<AtomicUsize>,
    /// A part of the paths of requests that go astray, and how many more of them do.
    pub(crate) astray: Arc<Mutex<(&'static str, usize)>>,
    /// Which requests wait, until that is none of them.
    pub(crate) held: Arc<watch::Sender<Option<Holds>>>,
    /// How many requests have waited.
    pub(crate) waited: Arc<AtomicUsize>,
}

/// Nobody has a token here.
struct NoTokens;

#[async_trait]
impl TokenReviewer for NoTokens {
    async fn review(&self, _: &str, _: &[String]) -> Result<Option<TokenOwner>, TokenReviewError> {
        Ok(None)
    }
}

// === impl Site ===

impl Site {
    /// One on which garbage is collected, with an account in `a` as which controllers can act.
    pub(crate) async fn open_with_account() -> (Self, ServiceAccount) {
        let mut site = Self::open().await;
        site.run(GarbageCollector::new(site.client.clone()).run());
        let accounts: Api<ServiceAccount> = Api::namespaced(site.client.clone(), "a");
        let account = site.make(&accounts, json!({"metadata": {"name": "default"}})).await;
        (site, account)
    }

    /// The Secrets in `a`.
    pub(crate) fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), "a")
    }

    /// A server with the namespaces `a` and `b`, on which nothing happens by itself.
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let taken = Folder::take(folder.path()).unwrap();
        let store = Arc::new(Embedded::open(EmbeddedOptions::new(Arc::new(taken))).await.unwrap());
        let authorizer: Arc<dyn Authorizer> = Arc::new(AllowGroup::MASTERS);
        let reviewers = Reviewers {
            authorizer: authorizer.clone(),
            rules: Arc::new(Rbac::new(Arc::new(LivePolicy::default()))),
            tokens: Arc::new(NoTokens),
            memberships: Arc::new(Directory::new(GroupsCount::Yes)),
        };
        let hosted = kinds::host().unwrap().into_iter().chain(kinds::reviews(&reviewers).unwrap());
        let kinds = kinds::all().unwrap().into_iter().chain(hosted).collect();
        let registry = Registry::start(store, kinds, Default::default()).await.unwrap();
        let registry = Arc::new(registry.with_admission(kinds::NamespaceLifecycle));
        definitions::follow(&registry).await.unwrap();
        kinds::make_system_namespaces(&registry).await.unwrap();
        let parts = ServerParts {
            registry,
            health: Health::new(),
            authorizer,
            clock: Arc::new(SystemClock),
            shutdown: CancellationToken::new(),
            audit: None,
            metrics: Arc::default(),
        };
        let server = Arc::new(Server::new(parts, &ServerOptions::default()));
        let client = Client::new(InProcess::new(server.clone(), user()), "default");
        let site = Self { client, server, controllers: JoinSet::new(), _folder: folder };
        for name in ["a", "b"] {
            site.namespace(name).await;
        }
        site
    }

    /// Runs a controller as long as the site is there.
    pub(crate) fn run(&mut self, controller: impl Future<Output = ()> + Send + 'static) {
        self.controllers.spawn(controller);
    }

    pub(crate) fn road(&self) -> (Road, Client) {
        let way = InProcess::new(self.server.clone(), user());
        let held = Arc::new(watch::Sender::new(None));
        let road = Road { way, requests: Arc::default(), astray: Arc::default(), held, waited: Arc::default() };
        (road.clone(), Client::new(road, "default"))
    }

    pub(crate) fn namespaces(&self) -> Api<Namespace> {
        Api::all(self.client.clone())
    }

    pub(crate) async fn namespace(&self, name: &str) -> Namespace {
        self.make(&self.namespaces(), json!({"metadata": {"name": name}})).await
    }

    pub(crate) async fn make<K>(&self, api: &Api<K>, mut object: Value) -> K
    where
        K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
    {
        object["apiVersion"] = json!(K::api_version(&()));
        object["kind"] = json!(K::kind(&()));
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
    }
}

pub(crate) fn user() -> User {
    User { name: "controller".into(), groups: vec!["system:masters".into()], ..User::default() }
}

// === impl Road ===

impl<B> Service<Request<B>> for Road
where
    B: Send + 'static,
    InProcess: Service<Request<B>, Future: Send> + Send,
{
    type Response = <InProcess as Service<Request<B>>>::Response;
    type Error = <InProcess as Service<Request<B>>>::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.way.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let (path, left) = &mut *self.astray.lock().unwrap();
        if *left > 0 && request.uri().path().contains(*path) {
            *left -= 1;
            *request.uri_mut() = Uri::from_static("/nowhere");
        }
        let is_held = |held: &Option<Holds>| held.is_some_and(|holds| holds(request.method(), request.uri()));
        if !is_held(&self.held.borrow()) {
            return self.way.call(request).boxed();
        }
        self.waited.fetch_add(1, Ordering::Relaxed);
        let (mut held, mut way) = (self.held.subscribe(), self.way.clone());
        async move {
            held.wait_for(Option::is_none).await.unwrap();
            way.call(request).await
        }
        .boxed()
    }
}

/// Waits until an object is gone.
pub(crate) async fn gone<K: Resource + Clone + Debug + DeserializeOwned>(api: &Api<K>, name: &str) {
    let going = async {
        while api.get_opt(name).await.unwrap().is_some() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, going).await.unwrap_or_else(|_| panic!("{name} stays"));
}

/// Waits until an object is there and as expected.
pub(crate) async fn comes<K: Resource + Clone + Debug + DeserializeOwned>(
    api: &Api<K>,
    name: &str,
    is_expected: impl Fn(&K) -> bool,
) -> K {
    let mut last = None;
    let coming = async {
        loop {
            match api.get_opt(name).await.unwrap() {
                Some(found) if is_expected(&found) => return found,
                found => last = found,
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    let came = timeout(SOON, coming).await;
    came.unwrap_or_else(|_| panic!("{name} does not come to be as expected; there is {last:#?}"))
}

/// Waits long enough for whoever wanted to remove it, and gives the object.
pub(crate) async fn stays<K: Resource + Clone + Debug + DeserializeOwned>(api: &Api<K>, name: &str) -> K {
    sleep(A_WHILE).await;
    api.get(name).await.unwrap()
}

pub(crate) async fn delete<K: Resource + Clone + Debug + DeserializeOwned>(
    api: &Api<K>,
    name: &str,
    how: PropagationPolicy,
) {
    let parameters = DeleteParams { propagation_policy: Some(how), ..DeleteParams::default() };
    api.delete(name, &parameters).await.unwrap();
}

/// Removes all finalizers of an object.
pub(crate) async fn release<K>(api: &Api<K>, name: &str)
where
    K: Resource + Clone + Debug + Serialize + DeserializeOwned,
{
    let mut object = api.get(name).await.unwrap();
    object.meta_mut().finalizers = None;
    api.replace(&object.name_any(), &PostParams::default(), &object).await.unwrap();
}
