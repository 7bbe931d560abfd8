use bailiwick_machinery::Object;
use bailiwick_registry::{DeleteOptions, Part, Tracking, Update, WatchFrom, WriteOptions};
use bailiwick_storage::At;
use serde_json::{Value, json};

use super::support::{ALIAS, HOME, World, accept, edited, object, read_until, version, widget};

/// An object is one, whichever group it is written in or read through: same UID, same version, other `apiVersion`.
#[tokio::test]
async fn one_object_in_two_groups() {
    let world = World::start().await;
    let (home, alias) = (&*world.kind(HOME, "v1", "widgets"), &*world.kind(ALIAS, "v1", "widgets"));
    let start = world.revision().await;
    let mut watches = Vec::new();
    for kind in [home, alias] {
        let everything = world.everything();
        watches.push((kind, world.registry.watch(kind, None, everything, WatchFrom::After(start)).await.unwrap()));
    }
    let options = WriteOptions::default();
    let sent = accept(alias, object(widget("default", "w", 1)), &options).unwrap();
    let made = world.registry.create(&world.ctx(), alias, sent, &options).await.unwrap().object;
    let through_alias = made.to_object(alias.gvk()).unwrap();
    assert_eq!(through_alias.api_version(), "alias.example.dev/v1");
    let through_home = world.get("default", "w").await.unwrap();
    assert_eq!(through_home.api_version(), "example.dev/v1");
    let rest = |object: &Object| {
        let mut rest = object.clone();
        rest.fields_mut().remove("apiVersion");
        rest
    };
    assert_eq!(rest(&through_home), rest(&through_alias));
    assert_eq!(&*alias.head().clone(), b"{\"apiVersion\":\"alias.example.dev/v1\",\"kind\":\"Widget\",");

    // What is unchanged is so through either.
    let keep = |_: &mut Object| ();
    let update =
        Update { part: Part::Main, change: &edited(alias, &keep), tracking: &Tracking::default(), dry_run: false };
    let kept = world.registry.update(&world.ctx(), alias, "default", "w", update).await.unwrap();
    assert_eq!(kept.object, made);

    let grow = |w: &mut Object| drop(w.fields_mut().insert("spec".to_owned(), json!({"size": 2})));
    let update =
        Update { part: Part::Main, change: &edited(alias, &grow), tracking: &Tracking::default(), dry_run: false };
    world.registry.update(&world.ctx(), alias, "default", "w", update).await.unwrap();
    assert_eq!(world.get("default", "w").await.unwrap().as_value()["spec"]["size"], 2);
    world.registry.delete(&world.ctx(), alias, "default", "w", &DeleteOptions::default()).await.unwrap();
    assert_eq!(world.list(None, &world.everything(), At::Latest).await.objects.len(), 0);

    let end = world.revision().await;
    let mut told = Vec::new();
    for (kind, watch) in &mut watches {
        let events = read_until(watch, end).await;
        assert_eq!(events.len(), 3);
        let group = |object: &Object| Value::from(object.api_version());
        let last = events[2].object.to_object(kind.gvk()).unwrap();
        assert_eq!(group(&last), kind.gvk().group_version().to_string());
        assert_eq!(version(&last), end);
        told.push(events);
    }
    assert_eq!(told[0], told[1], "the same bytes are told to both");
}
