//! What a watch with a selector tells while objects come into it and leave it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bailiwick_machinery::Object;
use bailiwick_machinery::watch::EventType;
use bailiwick_registry::{WatchEvent, WatchFrom};
use bailiwick_storage::At;
use bailiwick_storage::testing::Random;

use super::selectors::{CASES, Case, meddle};
use super::support::{World, contents, read_until, version};

const WRITERS: usize = 4;
const OBJECTS_EACH: usize = 8;
const WRITES_EACH: usize = 2_500;
/// So often a watch is dropped and begun again where it ended.
const RESUME_EVERY: usize = 400;

/// What happened to one object, as the store has it.
struct Change {
    revision: u64,
    key: String,
    before: Option<State>,
    after: Option<State>,
}

#[derive(Clone)]
struct State {
    object: Object,
    bytes: Vec<u8>,
}

/// What a watch told.
struct Told {
    begin: u64,
    initial: Vec<WatchEvent>,
    events: Vec<WatchEvent>,
}

/// an object that leaves a selector is told as deleted, as it was when it was last taken but with the new version;
/// one that comes into it as added. What each watch told, replayed, is the list with its selector at the end. Each of some
/// ten thousand changes is judged by two watches for each of the selectors.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaving_is_deleted_and_entering_is_added() {
    let world = Arc::new(World::in_memory().await);
    let mut random = Random::default();
    let start = world.revision().await;
    let end = Arc::new(AtomicU64::new(u64::MAX));

    let writers: Vec<_> =
        (0..WRITERS).map(|writer| tokio::spawn(write(world.clone(), random.fork(), writer))).collect();
    let mut watches = Vec::new();
    for case in CASES.iter().chain(&CASES) {
        tokio::time::sleep(Duration::from_millis(random.below(20) as u64)).await;
        watches.push((case, tokio::spawn(follow(world.clone(), case, end.clone()))));
    }
    let (mut versions, mut deletions) = (BTreeSet::new(), 0);
    for writer in writers {
        let (own_versions, own_deletions) = writer.await.unwrap();
        versions.extend(own_versions);
        deletions += own_deletions;
    }
    let newest = world.revision().await;
    end.store(newest, Ordering::Release);

    let mut everything = world.watch(None, world.everything(), WatchFrom::After(start)).await.unwrap();
    let changes = changes(&world, read_until(&mut everything, newest).await);
    let written = changes.iter().filter(|change| change.after.is_some()).map(|change| change.revision);
    assert_eq!(written.collect::<BTreeSet<_>>(), versions, "each acknowledged write is one change");
    assert_eq!(changes.iter().filter(|change| change.after.is_none()).count(), deletions);
    assert!(changes.iter().map(|change| change.revision).is_sorted_by(|a, b| a < b));

    let mut judged = 0;
    for (case, watch) in watches {
        let told = watch.await.unwrap();
        judged += changes.iter().filter(|change| change.revision > told.begin).count();
        check(&world, case, &changes, told, newest).await;
    }
    assert!(judged >= 250_000, "{judged} changes were judged, which are too few to show anything");
}

/// Changes some objects again and again. Which versions were acknowledged, and how many deletions.
async fn write(world: Arc<World>, mut random: Random, writer: usize) -> (BTreeSet<u64>, usize) {
    let mut exists = [false; OBJECTS_EACH];
    let (mut versions, mut deletions) = (BTreeSet::new(), 0);
    for _ in 0..WRITES_EACH {
        let own = random.below(OBJECTS_EACH);
        let version = meddle(&world, &mut random, writer * OBJECTS_EACH + own, exists[own]).await;
        exists[own] = version.is_some();
        deletions += usize::from(version.is_none());
        versions.extend(version);
    }
    (versions, deletions)
}

/// Follows a selection up to the end, from whenever this is called.
async fn follow(world: Arc<World>, case: &Case, end: Arc<AtomicU64>) -> Told {
    let begin = WatchFrom::State(At::Latest);
    let mut watch = world.watch(case.namespace, case.selection(&world), begin).await.unwrap();
    let mut told = Told { begin: watch.position(), initial: watch.initial(usize::MAX).unwrap(), events: Vec::new() };
    let mut reached = told.begin;
    let mut since_begin = 0;
    while reached < end.load(Ordering::Acquire) {
        // Given up and asked again, a watch loses nothing.
        let Ok(batch) = tokio::time::timeout(Duration::from_millis(20), watch.next()).await else {
            watch.request_progress();
            continue;
        };
        let batch = batch.unwrap();
        reached = batch.through;
        since_begin += batch.events.len();
        told.events.extend(batch.events);
        if since_begin >= RESUME_EVERY {
            since_begin = 0;
            let resume = WatchFrom::After(reached);
            watch = world.watch(case.namespace, case.selection(&world), resume).await.unwrap();
        }
    }
    told
}

/// What happened, from what a watch without a selector told.
fn changes(world: &World, events: Vec<WatchEvent>) -> Vec<Change> {
    let mut states: BTreeMap<String, State> = BTreeMap::new();
    let change = |event: WatchEvent| {
        let object = event.object.to_object(world.widgets.gvk()).unwrap();
        let (revision, key) = (version(&object), key(&object));
        let after = State { object, bytes: event.object.as_bytes().to_vec() };
        let after = Some(after).filter(|_| event.event_type != EventType::Deleted);
        let before = match &after {
            Some(state) => states.insert(key.clone(), state.clone()),
            None => states.remove(&key),
        };
        let expected = match (&before, &after) {
            (None, _) => EventType::Added,
            (Some(_), Some(_)) => EventType::Modified,
            (Some(_), None) => EventType::Deleted,
        };
        assert_eq!(event.event_type, expected);
        Change { revision, key, before, after }
    };
    events.into_iter().map(change).collect()
}

fn key(object: &Object) -> String {
    format!("{}/{}", object.metadata().namespace(), object.metadata().name())
}

/// What was told is what should have been, event by event; and in the end it is the list.
async fn check(world: &World, case: &Case, changes: &[Change], told: Told, newest: u64) {
    let name = case.name();
    let mut replayed = BTreeMap::new();
    for change in changes.iter().filter(|change| change.revision <= told.begin) {
        match change.after.as_ref().filter(|state| case.takes(&state.object)) {
            Some(state) => drop(replayed.insert(change.key.clone(), state.bytes.clone())),
            None => drop(replayed.remove(&change.key)),
        }
    }
    assert!(told.initial.iter().all(|event| event.event_type == EventType::Added), "{name}");
    let initial: Vec<_> = told.initial.iter().map(|event| event.object.as_bytes().to_vec()).collect();
    assert_eq!(initial, replayed.values().cloned().collect::<Vec<_>>(), "{name}: what it began with");

    let later = changes.iter().filter(|change| change.revision > told.begin);
    let mut expected = later.filter_map(|change| Some((change, expected(case, change)?)));
    let mut counts = BTreeMap::new();
    for event in &told.events {
        let (change, (event_type, bytes)) =
            expected.next().unwrap_or_else(|| panic!("{name}: {event:?} is one too many"));
        assert_eq!(event.event_type, event_type, "{name} at {}", change.revision);
        assert_eq!(event.object.as_bytes(), &bytes, "{name} at {}", change.revision);
        *counts.entry(format!("{event_type:?}")).or_insert(0) += 1;
        match event_type {
            EventType::Deleted => drop(replayed.remove(&change.key)),
            _ => drop(replayed.insert(change.key.clone(), bytes)),
        }
    }
    assert!(expected.next().is_none(), "{name}: not everything was told");
    let kinds_of_events = if case.is_empty() { 0 } else { 3 };
    assert_eq!(counts.len(), kinds_of_events, "{name}: {counts:?}");

    let list = world.list(case.namespace, &case.selection(world), At::Latest).await;
    assert_eq!(list.revision, newest);
    assert_eq!(contents(&list).into_values().collect::<Vec<_>>(), replayed.into_values().collect::<Vec<_>>(), "{name}");
}

/// What a watch should tell of a change.
fn expected(case: &Case, change: &Change) -> Option<(EventType, Vec<u8>)> {
    let taken = |state: &Option<State>| state.clone().filter(|state| case.takes(&state.object));
    match (taken(&change.before), taken(&change.after)) {
        (None, None) => None,
        (None, Some(after)) => Some((EventType::Added, after.bytes)),
        (Some(_), Some(after)) => Some((EventType::Modified, after.bytes)),
        (Some(before), None) => {
            let text = String::from_utf8(before.bytes).unwrap();
            let version = |version: &str| format!("\"resourceVersion\":\"{version}\"");
            let (old, new) = (before.object.metadata().resource_version(), change.revision.to_string());
            Some((EventType::Deleted, text.replacen(&version(old), &version(&new), 1).into_bytes()))
        }
    }
}
