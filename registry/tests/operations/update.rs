use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bailiwick_machinery::Object;
use bailiwick_registry::{Error, Part, Tracking, Update};
use serde_json::{Value, json};

use super::support::{World, edited, invalid, version, widget};
use crate::assert_error;

fn set(object: &mut Object, part: &str, content: Value) {
    object.fields_mut().insert(part.to_owned(), content);
}

fn size(object: &Object) -> u64 {
    object.as_value()["spec"]["size"].as_u64().unwrap()
}

#[tokio::test]
async fn generation_follows_what_is_wanted() {
    let world = World::start().await;
    let made = world.create(widget("default", "w", 1)).await;

    let mut labelled = made.clone();
    labelled.metadata_mut().insert("labels".to_owned(), json!({"a": "b"}));
    let labelled = world.put(Part::Main, &labelled).await.unwrap();
    assert_eq!(labelled.metadata().generation(), 1, "metadata is not what is wanted");
    assert!(version(&labelled) > version(&made));

    let mut grown = labelled.clone();
    set(&mut grown, "spec", json!({"size": 2}));
    grown.set_generation(40);
    let grown = world.put(Part::Main, &grown).await.unwrap();
    assert_eq!(grown.metadata().generation(), 2);
    assert_eq!(grown.as_value()["spec"], json!({"size": 2, "color": "grey"}), "defaults are there again");
    assert_eq!(grown.metadata().uid(), made.metadata().uid());
}

#[tokio::test]
async fn status_and_the_rest_are_written_apart() {
    let world = World::start().await;
    let made = world.create(widget("default", "w", 1)).await;

    let mut both = made.clone();
    set(&mut both, "spec", json!({"size": 9}));
    set(&mut both, "status", json!({"seen": 1}));
    both.metadata_mut().insert("labels".to_owned(), json!({"a": "b"}));
    let seen = world.put(Part::Status, &both).await.unwrap();
    assert_eq!((size(&seen), &seen.as_value()["status"]), (1, &json!({"seen": 1})));
    assert_eq!(seen.metadata().generation(), 1, "status is not what is wanted");
    assert_eq!(seen.metadata().label("a"), None);

    set(&mut both, "status", json!({"seen": 2}));
    both.set_metadata_text("resourceVersion", seen.metadata().resource_version());
    let main = world.put(Part::Main, &both).await.unwrap();
    assert_eq!((size(&main), &main.as_value()["status"]), (9, &json!({"seen": 1})));

    let mut without = main.clone();
    without.fields_mut().remove("status");
    let kept = world.put(Part::Main, &without).await.unwrap();
    assert_eq!(kept, main, "who does not send a status does not remove it");
    let gone = world.put(Part::Status, &without).await.unwrap();
    assert_eq!(gone.fields().get("status"), None);
}

/// Whoever reads objects as types finds whole numbers where they belong, however those were written.
#[tokio::test]
async fn whole_numbers_are_stored_as_such() {
    let world = World::start().await;
    let made = json!({"metadata": {"namespace": "default", "name": "w"}, "spec": {"size": 2.0}});
    let made = world.create(made).await;
    assert_eq!(made.as_value()["spec"]["size"], json!(2));
    let mut seen = made.clone();
    set(&mut seen, "status", json!({"seen": -0.0}));
    let seen = world.put(Part::Status, &seen).await.unwrap();
    assert_eq!(seen.as_value()["status"], json!({"seen": 0}));
    let refused = world.patch("default", "w", |w| set(w, "spec", json!({"size": 2.5}))).await;
    assert!(invalid(refused).contains("spec.size"));
}

#[tokio::test]
async fn what_changes_nothing_writes_nothing() {
    let world = World::start().await;
    let made = world.create(widget("default", "w", 1)).await;
    let before = world.revision().await;
    for part in [Part::Main, Part::Status] {
        assert_eq!(world.put(part, &made).await.unwrap(), made);
    }
    let unchanged = world.patch("default", "w", |_| ()).await.unwrap();
    assert_eq!(version(&unchanged), version(&made));
    assert_eq!(world.revision().await, before);
}

#[tokio::test]
async fn conflicts() {
    let world = World::start().await;
    let made = world.create(widget("default", "w", 1)).await;
    let grown = world.patch("default", "w", |w| set(w, "spec", json!({"size": 2}))).await.unwrap();

    for part in [Part::Main, Part::Status] {
        assert_error!(world.put(part, &made).await, Error::Modified { name, .. } if name == "w");
    }
    let mut other = grown.clone();
    other.set_metadata_text("uid", "11111111-1111-4111-8111-111111111111");
    let why = invalid(world.put(Part::Main, &other).await);
    assert!(why.contains("metadata.uid") && why.contains("field is immutable"), "{why}");
    for missing in ["", "0"] {
        let mut blind = grown.clone();
        blind.set_metadata_text("resourceVersion", missing);
        let why = invalid(world.put(Part::Main, &blind).await);
        assert!(why.contains("metadata.resourceVersion") && why.contains("must be specified for an update"), "{why}");
    }
    let mut nobody = grown.clone();
    nobody.set_metadata_text("name", "nobody");
    assert_error!(world.put(Part::Main, &nobody).await, Error::NotFound { .. });
    assert_eq!(world.get("default", "w").await.unwrap(), grown);
}

#[tokio::test]
async fn what_breaks_rules_is_refused() {
    let world = World::start().await;
    let made = world.create(widget("default", "w", 1)).await;
    let patched = world.patch("default", "w", |w| set(w, "spec", json!({"size": -1}))).await;
    assert!(invalid(patched).contains("spec.size"));
    let renamed = world.patch("default", "w", |w| w.set_metadata_text("name", "v")).await;
    assert!(invalid(renamed).contains("metadata.name"));
    assert_eq!(world.get("default", "w").await.unwrap(), made);
}

#[tokio::test]
async fn a_dry_run_tells_what_would_be_and_stores_nothing() {
    let world = World::start().await;
    let made = world.create(widget("default", "w", 1)).await;
    let grow = |w: &mut Object| set(w, "spec", json!({"size": 2}));
    let update = Update {
        part: Part::Main,
        change: &edited(&world.widgets, &grow),
        tracking: &Tracking::default(),
        dry_run: true,
    };
    let written = world.registry.update(&world.ctx(), &world.widgets, "default", "w", update).await.unwrap();
    let would_be = world.decode(written);
    assert_eq!((size(&would_be), would_be.metadata().generation()), (2, 2));
    assert_eq!(version(&would_be), version(&made));
    assert_eq!(world.get("default", "w").await.unwrap(), made);
}

/// R-01, at the level of objects: patches of one object from many sides are all applied, each once, none upon a state
/// that was not the newest. Nobody has to try again, and those who wait cost no work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_patches_are_all_applied_once() {
    const TASKS: usize = 120;
    const EACH: usize = 6;
    let world = Arc::new(World::start().await);
    world.create(widget("default", "w", 0)).await;
    let attempts = Arc::new(AtomicUsize::new(0));
    let patching = |_| {
        let (world, attempts) = (world.clone(), attempts.clone());
        tokio::spawn(async move {
            let mut told = Vec::new();
            for _ in 0..EACH {
                let patched = world.patch("default", "w", |w| {
                    attempts.fetch_add(1, Ordering::Relaxed);
                    let next = size(w) + 1;
                    set(w, "spec", json!({"size": next}));
                });
                let patched = patched.await.unwrap();
                told.push((size(&patched), version(&patched), patched.metadata().generation()));
            }
            told
        })
    };
    let tasks: Vec<_> = (0..TASKS).map(patching).collect();
    let mut told = BTreeSet::new();
    for task in tasks {
        let own = task.await.unwrap();
        assert!(own.is_sorted(), "nobody sees the object go back");
        told.extend(own);
    }
    let sizes: Vec<u64> = told.iter().map(|(size, ..)| *size).collect();
    assert_eq!(sizes, (1..=(TASKS * EACH) as u64).collect::<Vec<_>>(), "each patch has a state of its own");
    assert!(told.iter().map(|(_, version, _)| *version).is_sorted_by(|a, b| a < b));
    assert!(told.iter().all(|(size, _, generation)| *generation == *size as i64 + 1));
    assert_eq!(size(&world.get("default", "w").await.unwrap()), (TASKS * EACH) as u64);
    let attempts = attempts.load(Ordering::Relaxed);
    assert!(attempts <= 2 * TASKS * EACH, "{attempts} attempts");
}

/// Of many that replace the same state, one succeeds and the others are told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_those_who_replace_the_same_state_one_wins() {
    let world = World::start().await;
    let mut current = world.create(widget("default", "w", 0)).await;
    for round in 1..20 {
        let attempts = (0..6).map(|writer| {
            let mut next = current.clone();
            set(&mut next, "spec", json!({"size": round * 10 + writer}));
            let world = &world;
            async move { world.put(Part::Main, &next).await }
        });
        let (won, lost): (Vec<_>, Vec<_>) =
            futures::future::join_all(attempts).await.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        assert!(lost.iter().all(|lost| matches!(lost, Err(Error::Modified { .. }))));
        current = world.get("default", "w").await.unwrap();
        assert_eq!(&current, won[0].as_ref().unwrap());
    }
}
