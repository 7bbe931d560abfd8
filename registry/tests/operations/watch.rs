use bailiwick_machinery::watch::EventType;
use bailiwick_registry::{Error, Selection, WatchEvent, WatchFrom};
use bailiwick_storage::testing::Random;
use bailiwick_storage::{At, Error as StorageError, Revision};

use super::selectors::{CASES, meddle};
use super::support::{World, read_until, told, version, widget};

const OBJECTS: usize = 12;

async fn meddled(world: &World, random: &mut Random, writes: usize) {
    let mut exists = [false; OBJECTS];
    for _ in 0..writes {
        let number = random.below(OBJECTS);
        exists[number] = meddle(world, random, number, exists[number]).await.is_some();
    }
}

/// R-06, at the level of objects: from whichever revision a watch goes on, with whichever selector, it tells what came
/// after it: nothing twice, nothing lost.
#[tokio::test]
async fn a_watch_goes_on_from_any_revision() {
    let world = World::in_memory().await;
    let start = world.revision().await;
    meddled(&world, &mut Random::default(), 150).await;
    let end = world.revision().await;
    let after = |events: &[WatchEvent], revision: u64| -> Vec<WatchEvent> {
        let late = |event: &&WatchEvent| version(&event.object.to_object(world.widgets.gvk()).unwrap()) > revision;
        events.iter().filter(late).cloned().collect()
    };
    for case in &CASES {
        let mut first = world.watch(case.namespace, case.selection(&world), WatchFrom::After(start)).await.unwrap();
        let all = read_until(&mut first, end).await;
        for revision in start..=end {
            let from = WatchFrom::After(revision);
            let mut watch = world.watch(case.namespace, case.selection(&world), from).await.unwrap();
            assert_eq!(watch.position(), revision);
            assert_eq!(read_until(&mut watch, end).await, after(&all, revision), "{} after {revision}", case.name());
        }
    }
}

#[tokio::test]
async fn a_watch_begins_with_what_there_is_if_asked() {
    let world = World::in_memory().await;
    for number in 0..5 {
        world.create(widget("a", &format!("w{number}"), number % 2)).await;
    }
    let odd = || Selection::parse(&world.widgets, "", "spec.size=1").unwrap();
    let revision = world.revision().await;
    let mut state = world.watch(None, odd(), WatchFrom::State(At::Latest)).await.unwrap();
    let mut now = world.watch(None, odd(), WatchFrom::Now(At::Latest)).await.unwrap();
    assert_eq!((state.position(), now.position()), (revision, revision));
    // Written before the initial objects are read, and told after them.
    world.create(widget("a", "w9", 1)).await;
    let mut initial = Vec::new();
    loop {
        let some = state.initial(1).unwrap();
        assert!(some.len() <= 1);
        if some.is_empty() {
            break;
        }
        initial.extend(some);
    }
    let names: Vec<_> = told(&world, &initial).into_iter().map(|(event_type, name, _)| (event_type, name)).collect();
    assert_eq!(names, [(EventType::Added, "w1".to_owned()), (EventType::Added, "w3".to_owned())]);
    assert_eq!(now.initial(usize::MAX).unwrap(), []);
    for watch in [&mut state, &mut now] {
        let events = read_until(watch, revision + 1).await;
        assert_eq!(told(&world, &events), [(EventType::Added, "w9".to_owned(), revision + 1)]);
    }
}

/// what the store has forgotten is not passed over, and what it still has is told, also from before the start.
#[tokio::test]
async fn a_revision_that_is_forgotten_is_expired() {
    let before = World::in_memory().await;
    let early = version(&before.create(widget("a", "w0", 0)).await);
    for name in ["w1", "w2"] {
        before.create(widget("a", name, 0)).await;
    }
    let world = World::over(before.store.clone()).await;
    let mut watch = world.watch(None, world.everything(), WatchFrom::After(early + 1)).await.unwrap();
    let events = read_until(&mut watch, early + 2).await;
    assert_eq!(told(&world, &events), [(EventType::Added, "w2".to_owned(), early + 2)]);

    before.store.compact(Revision::new(early + 2)).await.unwrap();
    let world = World::over(before.store.clone()).await;
    let mut expired = match world.watch(None, world.everything(), WatchFrom::After(early)).await {
        Ok(watch) => watch,
        Err(error) => return assert_expired(&error),
    };
    // Whether it begins or goes on with that is the same to a client, as long as nothing is told before.
    assert_expired(&expired.next().await.unwrap_err());
}

fn assert_expired(error: &Error) {
    assert!(matches!(error, Error::Storage { source: StorageError::Expired { .. }, .. }), "{error:?}");
}

/// A namespace that no object can be in selects nothing, in a watch as in a list.
#[tokio::test]
async fn a_namespace_that_cannot_be() {
    let world = World::in_memory().await;
    for fields in ["metadata.namespace=", "metadata.namespace=..", "metadata.namespace=a/b"] {
        let none = Selection::parse(&world.widgets, "", fields).unwrap();
        assert_eq!(world.list(None, &none, At::Latest).await.objects.len(), 0);
        let from = WatchFrom::State(At::Latest);
        let mut watch = world.watch(None, none, from).await.unwrap_or_else(|error| panic!("{fields}: {error}"));
        world.create(serde_json::json!({"metadata": {"namespace": "a", "generateName": "w-"}})).await;
        assert_eq!(read_until(&mut watch, world.revision().await).await, []);
    }
}

/// A watch of one namespace is not told of one whose name only begins alike.
#[tokio::test]
async fn namespaces_are_whole_names() {
    let world = World::in_memory().await;
    let from = WatchFrom::State(At::Latest);
    let mut watch = world.watch(Some("a"), world.everything(), from).await.unwrap();
    for namespace in ["a-b", "ab", "a", "aa", "b"] {
        world.create(widget(namespace, &format!("in-{namespace}"), 0)).await;
    }
    let events = read_until(&mut watch, world.revision().await).await;
    assert_eq!(told(&world, &events).into_iter().map(|(_, name, _)| name).collect::<Vec<_>>(), ["in-a"]);
}
