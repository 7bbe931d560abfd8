use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bailiwick_machinery::watch::EventType;
use bailiwick_registry::{DeleteOptions, Error, List, ListRequest, Selection, WatchFrom};
use bailiwick_storage::testing::{Random, SimDisk};
use bailiwick_storage::{At, Error as StorageError, Revision};
use serde_json::json;

use super::selectors::{CASES, meddle};
use super::support::{World, contents, object, read_until, version, widget};
use crate::assert_error;

const OBJECTS: usize = 40;

fn joined(pages: &[List]) -> BTreeMap<String, Vec<u8>> {
    pages.iter().flat_map(contents).collect()
}

fn count(pages: &[List]) -> usize {
    pages.iter().map(|page| page.objects.len()).sum()
}

/// A list with selectors is the list without them, filtered; in one piece and in pages of any size.
#[tokio::test]
async fn a_selection_is_a_filter() {
    let world = World::in_memory().await;
    let mut random = Random::default();
    let mut exists = [false; OBJECTS];
    for _ in 0..400 {
        let number = random.below(OBJECTS);
        exists[number] = meddle(&world, &mut random, number, exists[number]).await.is_some();
    }
    let everything = contents(&world.list(None, &world.everything(), At::Latest).await);
    assert!(everything.len() > OBJECTS / 2);
    for case in &CASES {
        let taken = |bytes: &[u8]| {
            let text = [b"{".as_slice(), bytes].concat();
            case.takes(&object(serde_json::from_slice(&text).unwrap()))
        };
        let expected: BTreeMap<_, _> = everything.clone().into_iter().filter(|(_, bytes)| taken(bytes)).collect();
        let selection = case.selection(&world);
        let whole = world.list(case.namespace, &selection, At::Latest).await;
        assert_eq!(contents(&whole), expected, "{}", case.name());
        assert!(whole.objects.is_sorted_by_key(|object| object.key().clone()));
        assert_eq!((whole.next, whole.remaining), (None, None));
        for limit in [1, 2, 3, 7, OBJECTS] {
            let pages = world.pages(case.namespace, &selection, At::Latest, limit).await;
            assert_eq!(
                (joined(&pages), count(&pages)),
                (expected.clone(), expected.len()),
                "{} by {limit}",
                case.name()
            );
        }
    }
}

#[tokio::test]
async fn unknown_fields_select_nothing() {
    let world = World::in_memory().await;
    assert_error!(Selection::parse(&world.widgets, "", "spec.weight=1"), Error::BadRequest(why) if why == "field label not supported: spec.weight");
    assert_error!(Selection::parse(&world.widgets, "a in", ""), Error::BadRequest(_));
    assert_error!(Selection::parse(&world.widgets, "", "spec.size"), Error::BadRequest(_));
}

#[tokio::test]
async fn pages_say_how_much_follows() {
    const COUNT: usize = 12;
    let world = World::in_memory().await;
    for number in 0..COUNT {
        world.create(widget(["a", "b"][number % 2], &format!("w{number:02}"), 1)).await;
    }
    let sized = Selection::parse(&world.widgets, "", "spec.size=1").unwrap();
    for limit in 1..COUNT + 2 {
        let pages = world.pages(None, &world.everything(), At::Latest, limit).await;
        assert_eq!(pages.len(), COUNT.div_ceil(limit));
        let mut left = COUNT;
        for page in &pages {
            assert_eq!(page.objects.len(), limit.min(left));
            left -= page.objects.len();
            assert_eq!(page.remaining, (left > 0).then_some(left), "limit {limit}");
            assert_eq!(page.next.is_some(), left > 0);
        }
        assert_eq!(left, 0);
        // How many follow is not known where each would have to be looked at.
        let selected = world.pages(None, &sized, At::Latest, limit).await;
        assert_eq!(count(&selected), COUNT);
        assert!(selected.iter().all(|page| page.remaining.is_none()));
        let in_one = world.pages(Some("a"), &world.everything(), At::Latest, limit).await;
        assert_eq!(in_one.first().unwrap().remaining, (limit < COUNT / 2).then(|| COUNT / 2 - limit));
    }
}

#[tokio::test]
async fn where_a_page_ended_need_not_be_there_any_more() {
    let world = World::in_memory().await;
    for number in 0..4 {
        world.create(widget("a", &format!("w{number}"), 1)).await;
    }
    let everything = world.everything();
    let limit = NonZeroUsize::new(2);
    let request = ListRequest { namespace: None, selection: &everything, at: At::Latest, after: None, limit };
    let first = world.registry.list(&world.widgets, &request).await.unwrap();
    for name in ["w1", "w2"] {
        world.delete("a", name, &DeleteOptions::default()).await.unwrap();
    }
    let now = ListRequest { after: first.next.as_deref(), ..request.clone() };
    let rest = world.registry.list(&world.widgets, &now).await.unwrap();
    assert_eq!(rest.objects.iter().map(|object| object.key().name()).collect::<Vec<_>>(), ["w3"]);
    let then = ListRequest { at: At::Exact(Revision::new(first.revision)), ..now };
    let rest = world.registry.list(&world.widgets, &then).await.unwrap();
    assert_eq!(rest.objects.iter().map(|object| object.key().name()).collect::<Vec<_>>(), ["w2", "w3"]);
    let named = Selection::parse(&world.widgets, "", "metadata.name=w3").unwrap();
    for (after, expected) in [("w2", 1), ("w3", 0)] {
        let (namespace, at) = (Some("a"), At::Latest);
        let request = ListRequest { namespace, selection: &named, at, after: Some(after), limit };
        assert_eq!(world.registry.list(&world.widgets, &request).await.unwrap().objects.len(), expected, "{after}");
    }
    for nonsense in ["", "/", "..", "a/../b", "a/b/c/d"] {
        let request = ListRequest { after: Some(nonsense), ..request.clone() };
        assert_error!(world.registry.list(&world.widgets, &request).await, Error::BadRequest(_));
    }
}

/// The pages of a list, read while others write, are together the list at the revision of the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_one_list_whatever_others_write() {
    let world = Arc::new(World::in_memory().await);
    let mut random = Random::default();
    let start = world.revision().await;
    let ended = Arc::new(AtomicBool::new(false));
    let writing = {
        let (world, ended, mut random) = (world.clone(), ended.clone(), random.fork());
        tokio::spawn(async move {
            let mut exists = [false; OBJECTS];
            while !ended.load(Ordering::Relaxed) {
                let number = random.below(OBJECTS);
                exists[number] = meddle(&world, &mut random, number, exists[number]).await.is_some();
            }
        })
    };
    let mut walks = Vec::new();
    let mut moved = 0;
    while moved < 100 {
        let (case, limit) = (&CASES[walks.len() % CASES.len()], 1 + random.below(3));
        let pages = world.pages(case.namespace, &case.selection(&world), At::Latest, limit).await;
        let revision = pages[0].revision;
        assert!(pages.iter().all(|page| page.revision == revision));
        let whole = world.list(case.namespace, &case.selection(&world), At::Exact(Revision::new(revision))).await;
        assert_eq!((joined(&pages), count(&pages)), (contents(&whole), whole.objects.len()), "{}", case.name());
        moved += usize::from(world.revision().await > revision);
        walks.push((case, revision, joined(&pages).into_values().collect::<Vec<_>>()));
    }
    ended.store(true, Ordering::Relaxed);
    writing.await.unwrap();

    // And it is what the history says was there.
    let mut watch = world.watch(None, world.everything(), WatchFrom::After(start)).await.unwrap();
    let events = read_until(&mut watch, world.revision().await).await;
    let mut state = BTreeMap::new();
    let mut events = events.into_iter().peekable();
    for (case, revision, listed) in walks {
        while let Some(event) =
            events.next_if(|event| version(&event.object.to_object(world.widgets.gvk()).unwrap()) <= revision)
        {
            let told = event.object.to_object(world.widgets.gvk()).unwrap();
            let key = (told.metadata().namespace().to_owned(), told.metadata().name().to_owned());
            match event.event_type {
                EventType::Deleted => drop(state.remove(&key)),
                _ => drop(state.insert(key, (told, event.object.as_bytes().to_vec()))),
            }
        }
        let expected: Vec<_> =
            state.values().filter(|(told, _)| case.takes(told)).map(|(_, bytes)| bytes.clone()).collect();
        assert_eq!(listed, expected, "{} at {revision}", case.name());
    }
}

/// A list at a revision that the store has forgotten is refused, never another list.
#[tokio::test]
async fn a_forgotten_revision_is_expired() {
    let before = World::in_memory().await;
    let early = version(&before.create(widget("a", "w0", 0)).await);
    let late = version(&before.create(widget("a", "w1", 0)).await);
    before.store.compact(Revision::new(late)).await.unwrap();
    let world = World::over(before.store.clone()).await;
    let everything = world.everything();
    let at = At::Exact(Revision::new(early));
    let request = ListRequest { namespace: None, selection: &everything, at, after: None, limit: None };
    let refused = world.registry.list(&world.widgets, &request).await;
    assert_error!(refused, Error::Storage { source: StorageError::Expired { .. }, .. });
    let newest = world.list(None, &everything, At::Exact(Revision::new(late))).await;
    assert_eq!(newest.objects.len(), 2);
}

/// A list at a revision from before the server was started comes from the store, and is no other list.
#[tokio::test]
async fn a_list_from_before_the_start() {
    const COUNT: usize = 1_100;
    let disk = SimDisk::default();
    let (then, expected, reds) = {
        let world = World::on_disk(disk.clone()).await;
        for number in 0..COUNT {
            let mut sent = widget("a", &format!("w{number:04}"), 1);
            sent["metadata"]["labels"] = json!({"color": if number % 3 == 0 { "red" } else { "blue" }});
            world.create(sent).await;
        }
        let list = world.list(None, &world.everything(), At::Latest).await;
        let red = world.list(None, &CASES[1].selection(&world), At::Latest).await;
        for number in (0..COUNT).step_by(7) {
            world.delete("a", &format!("w{number:04}"), &DeleteOptions::default()).await.unwrap();
        }
        (list.revision, contents(&list), contents(&red))
    };
    assert_eq!((expected.len(), reds.len()), (COUNT, COUNT.div_ceil(3)));
    let world = World::on_disk(SimDisk::from_image(disk.image())).await;
    let at = At::Exact(Revision::new(then));
    let now = world.list(None, &world.everything(), At::Latest).await;
    assert_eq!(now.objects.len(), COUNT - COUNT.div_ceil(7));
    assert_eq!(contents(&world.list(None, &world.everything(), at).await), expected);
    for limit in [400, 1_000, 1_099, 1_100] {
        let pages = world.pages(None, &world.everything(), at, limit).await;
        assert_eq!((joined(&pages), count(&pages)), (expected.clone(), COUNT));
        assert_eq!(pages[0].remaining, (limit < COUNT).then(|| COUNT - limit));
        let red = world.pages(None, &CASES[1].selection(&world), at, limit).await;
        assert_eq!((joined(&red), count(&red)), (reds.clone(), reds.len()));
    }
}
