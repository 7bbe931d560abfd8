use bailiwick_machinery::watch::EventType;
use bailiwick_registry::{Error, Selection, WatchEvent, WatchFrom};
use bailiwick_storage::testing::{Random, SimDisk};
use bailiwick_storage::{At, Error as StorageError};

use super::selectors::{CASES, meddle};
use super::support::{World, read_until, told, version, widget};
use crate::assert_error;

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

/// what the server cannot tell any more it does not pass over.
#[tokio::test]
async fn a_revision_that_is_forgotten_is_expired() {
    let disk = SimDisk::default();
    let early = {
        let world = World::on_disk(disk.clone()).await;
        let first = world.create(widget("a", "w0", 0)).await;
        world.create(widget("a", "w1", 0)).await;
        version(&first)
    };
    let world = World::on_disk(SimDisk::from_image(disk.image())).await;
    match world.watch(None, world.everything(), WatchFrom::After(early)).await {
        Err(error) => assert_error!(Err::<(), _>(error), Error::Storage { source: StorageError::Expired { .. }, .. }),
        Ok(mut watch) => {
            let events = read_until(&mut watch, world.revision().await).await;
            assert_eq!(told(&world, &events), [(EventType::Added, "w1".to_owned(), early + 1)]);
        }
    }
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
