use std::collections::HashSet;

use bailiwick_machinery::decode::FieldValidation;
use bailiwick_registry::{DeleteOptions, Error, WriteOptions};
use serde_json::{Value, json};

use super::support::{NOW, World, invalid, version, widget};
use crate::assert_error;

fn dry_run() -> WriteOptions {
    WriteOptions { dry_run: true, ..WriteOptions::default() }
}

#[tokio::test]
async fn the_server_alone_decides_about_birth() {
    let world = World::start().await;
    let mut sent = widget("default", "first", 1);
    sent["metadata"]["uid"] = "chosen".into();
    sent["metadata"]["creationTimestamp"] = "1999-01-01T00:00:00Z".into();
    sent["metadata"]["deletionTimestamp"] = "1999-01-01T00:00:00Z".into();
    sent["metadata"]["generation"] = 7.into();
    sent["status"] = json!({"seen": 3});
    let made = world.create(sent).await;
    let metadata = made.metadata();
    assert_eq!((metadata.generation(), metadata.creation_timestamp()), (1, NOW));
    assert_eq!(metadata.uid().len(), 36);
    assert_eq!(metadata.deletion_timestamp(), None);
    assert_eq!(made.fields().get("status"), None, "status is written on its own");
    assert_eq!(made.as_value()["spec"], json!({"size": 1, "color": "grey"}), "with its defaults");
    assert_eq!(made, world.get("default", "first").await.unwrap());
    assert!(version(&made) > 0);
}

#[tokio::test]
async fn names_are_generated() {
    let world = World::start().await;
    let mut names = HashSet::new();
    for _ in 0..50 {
        let made = world.create(json!({"metadata": {"namespace": "default", "generateName": "w-"}})).await;
        let name = made.metadata().name().to_owned();
        assert!(name.len() == 7 && name.starts_with("w-"), "{name}");
        assert!(names.insert(name));
    }
    let named = world.create(json!({"metadata": {"namespace": "default", "generateName": "w-", "name": "own"}})).await;
    assert_eq!(named.metadata().name(), "own");
}

#[tokio::test]
async fn names_are_checked() {
    let world = World::start().await;
    let refused = async |metadata: Value| {
        invalid(world.try_create(json!({"metadata": metadata}), &WriteOptions::default()).await)
    };
    for name in ["Upper", "a_b", "a/b", "-a", "..", &"a".repeat(254)] {
        let why = refused(json!({"namespace": "default", "name": name})).await;
        assert!(why.contains("metadata.name"), "{name}: {why}");
    }
    let none = refused(json!({"namespace": "default"})).await;
    assert!(none.contains("metadata.name: Required value: name or generateName is required"), "{none}");
    let homeless = refused(json!({"name": "a"})).await;
    assert!(homeless.contains("metadata.namespace: Required value"), "{homeless}");
    assert_eq!(world.list(None, &world.everything(), bailiwick_storage::At::Latest).await.objects.len(), 0);
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let world = World::start().await;
    let made = world.create(widget("default", "first", 1)).await;
    for options in [WriteOptions::default(), dry_run()] {
        let again = world.try_create(widget("default", "first", 2), &options).await;
        assert_error!(again, Error::AlreadyExists { name, deleting: false, .. } if name == "first");
    }
    assert_eq!(world.get("default", "first").await.unwrap(), made);
    world.create(widget("other", "first", 1)).await;
}

#[tokio::test]
async fn the_name_of_an_object_that_goes_is_taken_until_it_is_gone() {
    let world = World::start().await;
    let mut sent = widget("default", "first", 1);
    sent["metadata"]["finalizers"] = json!(["example.dev/hold"]);
    world.create(sent).await;
    world.delete("default", "first", &DeleteOptions::default()).await.unwrap();
    for options in [WriteOptions::default(), dry_run()] {
        let again = world.try_create(widget("default", "first", 2), &options).await;
        assert_error!(again, Error::AlreadyExists { deleting: true, .. });
    }
}

#[tokio::test]
async fn a_dry_run_tells_what_would_be_and_stores_nothing() {
    let world = World::start().await;
    let before = world.revision().await;
    let would_be = world.decode(world.try_create(widget("default", "first", 1), &dry_run()).await.unwrap());
    assert_eq!((would_be.metadata().generation(), would_be.metadata().resource_version()), (1, ""));
    assert_eq!(would_be.metadata().uid().len(), 36);
    assert_error!(world.get("default", "first").await, Error::NotFound { .. });
    assert_eq!(world.revision().await, before);
    let wrong = json!({"metadata": {"namespace": "default", "name": "x"}, "spec": {"size": -1}});
    assert!(invalid(world.try_create(wrong, &dry_run()).await).contains("spec.size"));
}

#[tokio::test]
async fn a_new_object_has_no_version_yet() {
    let world = World::start().await;
    let mut sent = widget("default", "first", 1);
    sent["metadata"]["resourceVersion"] = "5".into();
    assert_error!(world.try_create(sent.clone(), &WriteOptions::default()).await, Error::ResourceVersionSet);
    sent["metadata"]["resourceVersion"] = "0".into();
    world.create(sent).await;
}

#[tokio::test]
async fn unknown_fields_are_dropped_told_or_refused() {
    let world = World::start().await;
    let sent = |name: &str| {
        let mut sent = widget("default", name, 1);
        sent["spec"]["weight"] = 3.into();
        sent
    };
    let options = |validation| WriteOptions { validation, ..WriteOptions::default() };
    let warned = world.try_create(sent("warned"), &options(FieldValidation::Warn)).await.unwrap();
    assert_eq!(warned.warnings, ["unknown field \"spec.weight\""]);
    let quiet = world.try_create(sent("quiet"), &options(FieldValidation::Ignore)).await.unwrap();
    assert_eq!(quiet.warnings, Vec::<String>::new());
    assert_error!(world.try_create(sent("strict"), &options(FieldValidation::Strict)).await, Error::Strict(_));
    assert_error!(world.get("default", "strict").await, Error::NotFound { .. });
    for name in ["warned", "quiet"] {
        let stored = world.get("default", name).await.unwrap();
        assert_eq!(stored.as_value()["spec"], json!({"size": 1, "color": "grey"}));
    }
}

/// Of many that create one name at the same time, one succeeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_wins() {
    let world = World::start().await;
    for round in 0..20 {
        let name = format!("w{round}");
        let options = WriteOptions::default();
        let attempts = (0..8).map(|size| world.try_create(widget("default", &name, size), &options));
        let results = futures::future::join_all(attempts).await;
        let (made, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        assert_eq!((made.len(), lost.len()), (1, 7));
        assert!(lost.iter().all(|lost| matches!(lost, Err(Error::AlreadyExists { .. }))));
        let made = world.decode(made.into_iter().next().unwrap().unwrap());
        assert_eq!(made, world.get("default", &name).await.unwrap());
    }
}
