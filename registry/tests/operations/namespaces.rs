//! Objects and the namespaces they are in.

use bailiwick_registry::kinds::{NamespaceLifecycle, make_system_namespaces};
use bailiwick_registry::{DeleteOptions, Error, PropagationPolicy, Result, WriteOptions, Written};
use bailiwick_storage::At;
use futures::future::join;
use serde_json::{Value, json};

use super::support::{World, accept, object, widget};

async fn world() -> World {
    World::in_memory().await.with_admission(NamespaceLifecycle)
}

async fn make_namespace(world: &World, name: &str) {
    let namespaces = &*world.kind("", "v1", "namespaces");
    let body: Value = json!({"metadata": {"name": name}});
    let accepted = accept(namespaces, object(body), &WriteOptions::default()).unwrap();
    world.registry.create(&world.ctx(), namespaces, accepted, &WriteOptions::default()).await.unwrap();
}

async fn end_namespace(world: &World, name: &str, options: &DeleteOptions) {
    let namespaces = &*world.kind("", "v1", "namespaces");
    world.registry.delete(&world.ctx(), namespaces, "", name, options).await.unwrap();
}

/// Kept by a finalizer, as a namespace is as long as it is being emptied.
fn slowly() -> DeleteOptions {
    DeleteOptions { propagation_policy: Some(PropagationPolicy::Foreground), ..DeleteOptions::default() }
}

fn at_once() -> DeleteOptions {
    DeleteOptions { propagation_policy: Some(PropagationPolicy::Background), ..DeleteOptions::default() }
}

async fn try_widget(world: &World, namespace: &str, name: &str) -> Result<Written> {
    world.try_create(widget(namespace, name, 0), &WriteOptions::default()).await
}

#[tokio::test]
async fn objects_are_made_only_where_there_is_a_namespace_that_stays() {
    let world = world().await;
    let refused = try_widget(&world, "nowhere", "w").await;
    let Err(Error::NotFound { resource, name }) = refused else { panic!("{refused:?}") };
    assert_eq!((resource.to_string().as_str(), name.as_str()), ("namespaces", "nowhere"));

    make_namespace(&world, "here").await;
    try_widget(&world, "here", "w").await.unwrap();
    end_namespace(&world, "here", &slowly()).await;
    let refused = try_widget(&world, "here", "v").await;
    let Err(Error::Forbidden { why, causes, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(why, "unable to create new content in namespace here because it is being terminated");
    assert_eq!((&*causes[0].reason, &*causes[0].field), ("NamespaceTerminating", "metadata.namespace"));
    world.patch("here", "w", |widget| widget.set_finalizers(&["example.com/x".to_owned()])).await.unwrap();
    world.delete("here", "w", &DeleteOptions::default()).await.unwrap();
}

#[tokio::test]
async fn some_namespaces_are_there_from_the_beginning_and_come_back() {
    let world = world().await;
    let namespaces = world.kind("", "v1", "namespaces");
    make_system_namespaces(&world.registry).await.unwrap();
    let made = world.registry.get(&namespaces, "", "default", At::Latest).await.unwrap();
    make_system_namespaces(&world.registry).await.unwrap();
    assert_eq!(world.registry.get(&namespaces, "", "default", At::Latest).await.unwrap(), made);
    try_widget(&world, "bailiwick-system", "w").await.unwrap();
    end_namespace(&world, "kube-node-lease", &at_once()).await;
    make_system_namespaces(&world.registry).await.unwrap();
    try_widget(&world, "kube-node-lease", "w").await.unwrap();
}

/// Whoever marks a namespace as ending, finds it empty and lets it go never leaves an object behind, however late others
/// began to write.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_behind_by_a_namespace_that_goes() {
    let world = world().await;
    let (mut kept, mut refused) = (0, 0);
    for round in 0..100 {
        let name = format!("ns-{round}");
        make_namespace(&world, &name).await;
        let remove = async {
            end_namespace(&world, &name, &slowly()).await;
            let listed = world.list(Some(&name), &world.everything(), At::Latest).await;
            if listed.objects.is_empty() {
                end_namespace(&world, &name, &at_once()).await;
            }
        };
        let (made, ()) = join(try_widget(&world, &name, "w"), remove).await;
        let namespaces = &*world.kind("", "v1", "namespaces");
        let stays = world.registry.get(namespaces, "", &name, At::Latest).await.is_ok();
        match made {
            Ok(_) if stays => kept += 1,
            Ok(_) => panic!("an object of {name} is left behind"),
            Err(Error::NotFound { .. } | Error::Forbidden { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    println!("{kept} kept, {refused} refused");
}
