use bailiwick_machinery::Object;
use bailiwick_machinery::metadata::{FINALIZER_FOREGROUND, FINALIZER_ORPHAN};
use bailiwick_machinery::watch::EventType;
use bailiwick_registry::{
    DeleteOptions, Deleted, Error, ListRequest, Part, Preconditions, PropagationPolicy, Selection, Tracking, Update,
    WatchFrom,
};
use bailiwick_storage::At;
use serde_json::{Value, json};

use super::support::{NOW, World, edited, invalid, read_until, told, version, widget};
use crate::assert_error;

fn held(name: &str, finalizers: &[&str]) -> Value {
    let mut held = widget("default", name, 1);
    held["metadata"]["finalizers"] = json!(finalizers);
    held
}

fn waiting(world: &World, deleted: Deleted) -> Object {
    match deleted {
        Deleted::Waiting(object) => object.to_object(world.widgets.gvk()).unwrap(),
        gone => panic!("{gone:?}"),
    }
}

fn finalizers(object: &Object) -> Vec<&str> {
    object.metadata().finalizers().collect()
}

#[tokio::test]
async fn without_finalizers_it_is_gone_at_once() {
    let world = World::start().await;
    let made = world.create(widget("default", "w", 1)).await;
    let deleted = world.delete("default", "w", &DeleteOptions::default()).await.unwrap();
    assert!(matches!(deleted, Deleted::Gone { uid } if uid == made.metadata().uid()));
    assert_error!(world.get("default", "w").await, Error::NotFound { .. });
    assert_error!(world.delete("default", "w", &DeleteOptions::default()).await, Error::NotFound { name, .. } if name == "w");
    let again = world.create(widget("default", "w", 1)).await;
    assert_ne!(again.metadata().uid(), made.metadata().uid());
    assert!(version(&again) > version(&made) + 1, "the deletion has a version of its own");
}

#[tokio::test]
async fn finalizers_are_waited_for() {
    let world = World::start().await;
    let made = world.create(held("w", &["example.dev/a", "example.dev/b"])).await;
    let marked = waiting(&world, world.delete("default", "w", &DeleteOptions::default()).await.unwrap());
    assert_eq!(marked.metadata().deletion_timestamp(), Some(NOW));
    assert_eq!(marked.as_value()["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(marked.metadata().generation(), made.metadata().generation() + 1);
    assert_eq!(marked, world.get("default", "w").await.unwrap());

    let again = waiting(&world, world.delete("default", "w", &DeleteOptions::default()).await.unwrap());
    assert_eq!(again, marked, "to delete it again changes nothing");

    let more =
        world.patch("default", "w", |w| w.set_finalizers(&["example.dev/a".into(), "example.dev/c".into()])).await;
    assert!(invalid(more).contains("no new finalizers can be added if the object is being deleted"));
    let revived = world.patch("default", "w", |w| drop(w.metadata_mut().remove("deletionTimestamp"))).await.unwrap();
    assert_eq!(revived, marked, "who is to go cannot be called back");

    let one = world.patch("default", "w", |w| w.set_finalizers(&["example.dev/b".into()])).await.unwrap();
    assert_eq!(finalizers(&one), ["example.dev/b"]);
    let before = world.revision().await;
    let watch = WatchFrom::After(before);
    let mut watch = world.watch(None, world.everything(), watch).await.unwrap();
    let last = world.patch("default", "w", |w| w.set_finalizers(&[])).await.unwrap();
    assert_eq!(finalizers(&last), Vec::<&str>::new());
    assert_error!(world.get("default", "w").await, Error::NotFound { .. });
    let events = read_until(&mut watch, world.revision().await).await;
    assert_eq!(told(&world, &events), [(EventType::Deleted, "w".to_owned(), before + 1)]);
}

#[tokio::test]
async fn the_last_finalizer_is_not_removed_in_a_dry_run() {
    let world = World::start().await;
    world.create(held("w", &["example.dev/a"])).await;
    world.delete("default", "w", &DeleteOptions::default()).await.unwrap();
    let release = |w: &mut Object| w.set_finalizers(&[]);
    let update = Update {
        part: Part::Main,
        change: &edited(&world.widgets, &release),
        tracking: &Tracking::default(),
        dry_run: true,
    };
    world.registry.update(&world.ctx(), &world.widgets, "default", "w", update).await.unwrap();
    assert_eq!(finalizers(&world.get("default", "w").await.unwrap()), ["example.dev/a"]);
    world.patch("default", "w", release).await.unwrap();
    assert_error!(world.get("default", "w").await, Error::NotFound { .. });
}

/// What the garbage collector does is told to it by finalizers; an option that says otherwise replaces them.
#[tokio::test]
async fn propagation() {
    use PropagationPolicy::{Background, Foreground, Orphan};
    let world = World::start().await;
    let policy = |policy| DeleteOptions { propagation_policy: Some(policy), ..DeleteOptions::default() };
    let orphan = |orphan| DeleteOptions { orphan_dependents: Some(orphan), ..DeleteOptions::default() };
    let cases: [(&[&str], DeleteOptions, &[&str]); 10] = [
        (&[], policy(Background), &[]),
        (&[], policy(Foreground), &[FINALIZER_FOREGROUND]),
        (&[], policy(Orphan), &[FINALIZER_ORPHAN]),
        (&[], orphan(true), &[FINALIZER_ORPHAN]),
        (&[], orphan(false), &[]),
        (&["a.dev/x"], policy(Foreground), &["a.dev/x", FINALIZER_FOREGROUND]),
        (&[FINALIZER_ORPHAN], DeleteOptions::default(), &[FINALIZER_ORPHAN]),
        (&[FINALIZER_ORPHAN], policy(Background), &[]),
        (&[FINALIZER_ORPHAN, "a.dev/x"], policy(Foreground), &["a.dev/x", FINALIZER_FOREGROUND]),
        (&[FINALIZER_FOREGROUND], DeleteOptions::default(), &[FINALIZER_FOREGROUND]),
    ];
    for (number, (before, options, after)) in cases.into_iter().enumerate() {
        let name = format!("w{number}");
        world.create(held(&name, before)).await;
        let deleted = world.delete("default", &name, &options).await.unwrap();
        match after {
            [] => assert!(matches!(deleted, Deleted::Gone { .. }), "case {number}"),
            after => assert_eq!(finalizers(&waiting(&world, deleted)), after, "case {number}"),
        }
    }
}

#[tokio::test]
async fn preconditions() {
    let world = World::start().await;
    let made = world.create(widget("default", "w", 1)).await;
    let only = |uid: Option<&str>, version: Option<&str>| DeleteOptions {
        preconditions: Some(Preconditions {
            uid: uid.map(str::to_owned),
            resource_version: version.map(str::to_owned),
        }),
        ..DeleteOptions::default()
    };
    let (uid, now) = (made.metadata().uid(), made.metadata().resource_version());
    for options in [only(Some("other"), None), only(Some(uid), Some("1")), only(None, Some("999999"))] {
        assert_error!(world.delete("default", "w", &options).await, Error::Conflict { .. });
    }
    assert_eq!(world.get("default", "w").await.unwrap(), made);
    world.delete("default", "w", &only(Some(uid), Some(now))).await.unwrap();
    assert_error!(world.get("default", "w").await, Error::NotFound { .. });
}

#[tokio::test]
async fn a_dry_run_removes_nothing() {
    let world = World::start().await;
    let plain = world.create(widget("default", "plain", 1)).await;
    let kept = world.create(held("held", &["example.dev/a"])).await;
    let before = world.revision().await;
    let options = DeleteOptions { dry_run: true, ..DeleteOptions::default() };
    let gone = world.delete("default", "plain", &options).await.unwrap();
    assert!(matches!(gone, Deleted::Gone { uid } if uid == plain.metadata().uid()));
    let marked = waiting(&world, world.delete("default", "held", &options).await.unwrap());
    assert_eq!(marked.metadata().deletion_timestamp(), Some(NOW));
    assert_eq!(world.get("default", "plain").await.unwrap(), plain);
    assert_eq!(world.get("default", "held").await.unwrap(), kept);
    assert_eq!(world.revision().await, before);
}

#[tokio::test]
async fn a_collection_goes_as_far_as_its_selection() {
    let world = World::start().await;
    for number in 0..6 {
        let mut sent = widget(if number < 4 { "default" } else { "other" }, &format!("w{number}"), number % 2);
        if number == 1 {
            sent["metadata"]["finalizers"] = json!(["example.dev/a"]);
        }
        world.create(sent).await;
    }
    let odd = Selection::parse(&world.widgets, "", "spec.size=1").unwrap();
    let request = ListRequest { namespace: Some("default"), selection: &odd, at: At::Latest, after: None, limit: None };
    let options = DeleteOptions::default();
    let list = world.registry.delete_collection(&world.ctx(), &world.widgets, &request, &options).await.unwrap();
    assert_eq!(list.objects.len(), 2);
    let left = world.list(None, &world.everything(), At::Latest).await;
    let names: Vec<_> = left.objects.iter().map(|object| object.key().name()).collect();
    assert_eq!(names, ["w0", "w1", "w2", "w4", "w5"]);
    assert_eq!(world.get("default", "w1").await.unwrap().metadata().deletion_timestamp(), Some(NOW));
}

/// Of many that delete one object, one does, and the others find it gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_deleted_once() {
    let world = World::start().await;
    for round in 0..20 {
        let name = format!("w{round}");
        world.create(widget("default", &name, 1)).await;
        let options = DeleteOptions::default();
        let results = futures::future::join_all((0..6).map(|_| world.delete("default", &name, &options))).await;
        let (gone, late): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        assert_eq!(gone.len(), 1);
        assert!(late.iter().all(|late| matches!(late, Err(Error::NotFound { .. }))));
    }
}
