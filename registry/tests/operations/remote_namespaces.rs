//! Objects in namespaces that another server keeps.

use async_trait::async_trait;
use bailiwick_registry::{
    DeleteOptions, Deleted, Error, ListRequest, NamespaceState, Namespaces, NamespacesError, RemoteNamespaceLifecycle,
    WriteOptions,
};
use bailiwick_storage::At;
use serde_json::json;

use super::support::{World, widget};

/// Knows a namespace by its name; of some it does not know.
struct Others;

#[async_trait]
impl Namespaces for Others {
    async fn find(&self, name: &str) -> Result<Option<NamespaceState>, NamespacesError> {
        match name {
            "active" => Ok(Some(NamespaceState::Active)),
            "ending" => Ok(Some(NamespaceState::Terminating)),
            "missing" => Ok(None),
            _ => Err(NamespacesError("nobody answers".to_owned())),
        }
    }
}

async fn try_widget(world: &World, namespace: &str) -> Result<(), Error> {
    world.try_create(widget(namespace, "w", 0), &WriteOptions::default()).await.map(|_| ())
}

#[tokio::test]
async fn objects_are_made_only_where_there_is_a_namespace_that_stays() {
    let world = World::in_memory().await.with_admission(RemoteNamespaceLifecycle(Others));
    try_widget(&world, "active").await.unwrap();
    let refused = try_widget(&world, "missing").await;
    let Err(Error::NotFound { resource, name }) = refused else { panic!("{refused:?}") };
    assert_eq!((resource.to_string().as_str(), name.as_str()), ("namespaces", "missing"));
    let refused = try_widget(&world, "ending").await;
    let Err(Error::Forbidden { why, causes, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(why, "unable to create new content in namespace ending because it is being terminated");
    assert_eq!((&*causes[0].reason, &*causes[0].field), ("NamespaceTerminating", "metadata.namespace"));
    // What is not known is not taken for granted.
    let refused = try_widget(&world, "unknown").await;
    assert!(matches!(&refused, Err(Error::NamespaceUnknown { name }) if name == "unknown"), "{refused:?}");
}

/// What was made while there was a namespace can be changed while that ends, and can go whatever became of it.
#[tokio::test]
async fn what_is_there_can_end() {
    let world = World::in_memory().await;
    for namespace in ["ending", "missing", "unknown"] {
        try_widget(&world, namespace).await.unwrap();
    }
    let world = world.with_admission(RemoteNamespaceLifecycle(Others));
    world.patch("ending", "w", |widget| widget.set_finalizers(&["example.com/x".to_owned()])).await.unwrap();
    let refused = world.patch("missing", "w", |widget| widget.set_finalizers(&["example.com/x".to_owned()])).await;
    assert!(matches!(&refused, Err(Error::NotFound { name, .. }) if name == "missing"), "{refused:?}");
    for namespace in ["missing", "unknown"] {
        world.delete(namespace, "w", &DeleteOptions::default()).await.unwrap();
    }
}

/// What has finalizers is marked, also with others of its kind, and goes with the last of them.
#[tokio::test]
async fn what_is_held_can_end_without_its_namespace() {
    let world = World::in_memory().await;
    for namespace in ["missing", "unknown"] {
        for name in ["one", "two"] {
            let mut held = widget(namespace, name, 0);
            held["metadata"]["finalizers"] = json!(["example.com/x"]);
            world.try_create(held, &WriteOptions::default()).await.unwrap();
        }
    }
    let world = world.with_admission(RemoteNamespaceLifecycle(Others));
    for namespace in ["missing", "unknown"] {
        let deleted = world.delete(namespace, "one", &DeleteOptions::default()).await.unwrap();
        assert!(matches!(deleted, Deleted::Waiting(_)), "{deleted:?}");
        let selection = world.everything();
        let request =
            ListRequest { namespace: Some(namespace), selection: &selection, at: At::Latest, after: None, limit: None };
        let options = DeleteOptions::default();
        world.registry.delete_collection(&world.ctx(), &world.widgets, &request, &options).await.unwrap();
        for name in ["one", "two"] {
            let marked = world.get(namespace, name).await.unwrap();
            assert!(marked.metadata().deletion_timestamp().is_some(), "{namespace}/{name}");
            world.patch(namespace, name, |widget| widget.set_finalizers(&[])).await.unwrap();
            let gone = world.get(namespace, name).await;
            assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
        }
    }
}
