//! A controller as people write them with kube-rs: informers, leader election, finalizers, server-side apply, and a kind of its
//! own that it installs. `tests/clients/controller` is the same with controller-runtime.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_controllers::{LeaderElection, LeaderElectionOptions};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, Object, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Error as FinalizerError, Event, finalizer};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::process::{PATIENCE, Server, folder};
use crate::turn::turn;

const NAMESPACE: &str = "default";
const FINALIZER: &str = "example.dev/farewell";
const OWNER: &str = "greeter";
const ELECTION: LeaderElectionOptions = LeaderElectionOptions {
    lease_duration: Duration::from_secs(4),
    renew_deadline: Duration::from_secs(3),
    retry_period: Duration::from_millis(200),
};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct GreetingSpec {
    text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GreetingStatus {
    observed_generation: i64,
    by: String,
}

type Greeting = Object<GreetingSpec, GreetingStatus>;

/// A process that runs the controller, as far as the server can tell.
struct Replica {
    stop: CancellationToken,
    running: JoinHandle<()>,
}

/// What the controller works with.
struct Context {
    client: Client,
    /// Which replica it is.
    name: &'static str,
}

/// Two replicas: the first works, and when it ends the other goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_controller_of_kube_rs_does_its_work() {
    let _turn = turn().await;
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let client = connect(&server).await;
    install(&client).await;
    let first = Replica::start(&client, "first");
    greets(&client, "hello", "first").await;
    let second = Replica::start(&client, "second");
    greets(&client, "good-morning", "first").await;
    first.stop().await;
    greets(&client, "good-day", "second").await;
    second.stop().await;
    server.stop().await;
}

/// A Greeting's life: it is made, changed, interfered with, and deleted, and each time the controller does its work.
async fn greets(client: &Client, name: &str, replica: &str) {
    let greetings = greetings(client);
    let mut greeting = Greeting::new(name, &kind(), GreetingSpec { text: "hello".to_owned() });
    greeting.metadata.namespace = Some(NAMESPACE.to_owned());
    greetings.create(&PostParams::default(), &greeting).await.unwrap();
    let mut greeting = is_greeted(client, name, replica, "hello").await;
    assert_eq!(greeting.finalizers(), [FINALIZER]);
    greeting.spec.text = "welcome".to_owned();
    greetings.replace(name, &PostParams::default(), &greeting).await.unwrap();
    is_greeted(client, name, replica, "welcome").await;
    survives_others(client, name).await;

    let uid = greeting.metadata.uid.unwrap();
    greetings.delete(name, &DeleteParams::default()).await.unwrap();
    let gone = await_condition(greetings, name, conditions::is_deleted(&uid));
    timeout(PATIENCE, gone).await.expect("a Greeting to go").unwrap();
    let maps = config_maps(client);
    assert_eq!(text(&maps.get(&format!("{name}-farewell")).await.unwrap(), "text"), "farewell");
    assert!(maps.get_opt(name).await.unwrap().is_none());
}

/// Waits until the `ConfigMap` and the status say what they should.
async fn is_greeted(client: &Client, name: &str, replica: &str, wanted: &str) -> Greeting {
    let began = Instant::now();
    loop {
        let (map, greeting) =
            (config_maps(client).get_opt(name).await.unwrap(), greetings(client).get(name).await.unwrap());
        let status = GreetingStatus {
            observed_generation: greeting.metadata.generation.unwrap_or_default(),
            by: replica.to_owned(),
        };
        let is_owned = |map: &ConfigMap| {
            map.owner_references().iter().any(|owner| Some(&owner.uid) == greeting.metadata.uid.as_ref())
        };
        if map.as_ref().is_some_and(|map| text(map, "text") == wanted && is_owned(map))
            && greeting.status.as_ref() == Some(&status)
        {
            return greeting;
        }
        assert!(began.elapsed() < PATIENCE, "not greeted: {greeting:?} {map:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Who changes what the controller owns is put right, by the event of that change; what is someone else's stays.
async fn survives_others(client: &Client, name: &str) {
    let maps = config_maps(client);
    let change = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": "go away", "note": "mine"},
    });
    let refused = maps.patch(name, &PatchParams::apply("other"), &Patch::Apply(&change)).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.is_conflict()), "{refused}");
    maps.patch(name, &PatchParams::apply("other").force(), &Patch::Apply(&change)).await.unwrap();
    let began = Instant::now();
    loop {
        let map = maps.get(name).await.unwrap();
        if text(&map, "text") == "welcome" && text(&map, "note") == "mine" {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "not put right: {map:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

// === impl Replica ===

impl Replica {
    fn start(client: &Client, name: &'static str) -> Self {
        let (client, stop) = (client.clone(), CancellationToken::new());
        let election = LeaderElection::new(client.clone(), NAMESPACE, "greeter", name, ELECTION);
        let until = stop.clone();
        let running = tokio::spawn(async move { election.run(until, || control(client.clone(), name)).await });
        Self { stop, running }
    }

    async fn stop(self) {
        self.stop.cancel();
        timeout(PATIENCE, self.running).await.expect("an end in time").unwrap();
    }
}

async fn control(client: Client, name: &'static str) {
    let controller = Controller::new_with(greetings(&client), watcher::Config::default(), kind());
    let controller = controller.owns(config_maps(&client), watcher::Config::default());
    let again = |_: Arc<Greeting>, _: &FinalizerError<kube::Error>, _: Arc<Context>| {
        Action::requeue(Duration::from_millis(100))
    };
    controller.run(reconcile, again, Arc::new(Context { client, name })).for_each(async |_| {}).await;
}

async fn reconcile(greeting: Arc<Greeting>, context: Arc<Context>) -> Result<Action, FinalizerError<kube::Error>> {
    let event = async |event| match event {
        Event::Apply(greeting) => greet(&greeting, &context).await,
        Event::Cleanup(greeting) => say_farewell(&greeting, &context).await,
    };
    finalizer(&greetings(&context.client), FINALIZER, greeting, event).await
}

async fn greet(greeting: &Greeting, context: &Context) -> Result<Action, kube::Error> {
    let owner = greeting.controller_owner_ref(&kind());
    let mut map = config_map(&greeting.name_any(), &greeting.spec.text);
    map.metadata.owner_references = Some(owner.into_iter().collect());
    apply(&map, context).await?;
    let status = json!({"status": {"observedGeneration": greeting.metadata.generation, "by": context.name}});
    let patch = Patch::Merge(status);
    greetings(&context.client).patch_status(&greeting.name_any(), &PatchParams::default(), &patch).await?;
    Ok(Action::await_change())
}

async fn say_farewell(greeting: &Greeting, context: &Context) -> Result<Action, kube::Error> {
    let name = greeting.name_any();
    apply(&config_map(&format!("{name}-farewell"), "farewell"), context).await?;
    match config_maps(&context.client).delete(&name, &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        other => drop(other?),
    }
    Ok(Action::await_change())
}

async fn apply(map: &ConfigMap, context: &Context) -> Result<(), kube::Error> {
    let params = PatchParams::apply(OWNER).force();
    config_maps(&context.client).patch(&map.name_any(), &params, &Patch::Apply(map)).await.map(drop)
}

fn config_map(name: &str, text: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        data: Some([("text".to_owned(), text.to_owned())].into()),
        ..ConfigMap::default()
    }
}

fn text<'m>(map: &'m ConfigMap, key: &str) -> &'m str {
    map.data.as_ref().and_then(|data| data.get(key)).map_or("", String::as_str)
}

fn greetings(client: &Client) -> Api<Greeting> {
    Api::namespaced_with(client.clone(), NAMESPACE, &kind())
}

fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), NAMESPACE)
}

fn kind() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.dev", "v1", "Greeting"), "greetings")
}

/// Makes the definition, and waits until the kind is served.
async fn install(client: &Client) {
    let text = json!({"type": "string"});
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"text": text}},
        "status": {"type": "object", "properties": {"observedGeneration": {"type": "integer"}, "by": text}},
    }});
    let definition = json!({
        "metadata": {"name": "greetings.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Namespaced", "names": {"plural": "greetings", "kind": "Greeting"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}},
            }],
        },
    });
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &serde_json::from_value(definition).unwrap()).await.unwrap();
    let established = await_condition(definitions, "greetings.example.dev", conditions::is_crd_established());
    timeout(PATIENCE, established).await.expect("an established kind").unwrap();
}

pub(crate) async fn connect(server: &Server) -> Client {
    let kubeconfig = Kubeconfig::read_from(server.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}
