//! Lists narrowed by labels, and states of the past, against a plain search.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;

use bailiwick_storage::cache::{Snapshot, Term};
use bailiwick_storage::testing::{Random, key, widgets};
use bailiwick_storage::{At, Key, ListOptions, Prefix, Revision, Store, Txn};

use super::meddler::{Meddler, cache, options};

const NAMESPACES: [&str; 4] = ["a", "a-b", "a.b", "ab"];
const LABELS: [&str; 3] = ["app", "tier", "team"];
const VALUES: [&str; 3] = ["x", "y", "xy"];

/// Some labels, as the extractor reads them.
fn labels(random: &mut Random) -> String {
    let lines = (0..random.below(4)).map(|_| format!("{}={}\n", random.one_of(&LABELS), random.one_of(&VALUES)));
    lines.collect()
}

/// Writes or deletes something.
async fn change(store: &dyn Store, random: &mut Random) -> Revision {
    let key = key(random.one_of(&NAMESPACES), &random.below(12).to_string());
    let found = store.get(&key, At::Latest).await.unwrap().record;
    let txn = match (found, random.below(3)) {
        (None, _) => Txn::new().create(key, labels(random)),
        (Some(found), 0) => Txn::new().delete(key, found.revision),
        (Some(found), _) => Txn::new().update(key, labels(random), found.revision),
    };
    store.commit(txn).await.unwrap()
}

fn prefixes() -> Vec<Prefix> {
    let namespaces = NAMESPACES.iter().map(|namespace| widgets().namespace(namespace).unwrap());
    namespaces.chain([widgets().all().clone(), Prefix::everything()]).collect()
}

/// Compares what the index finds with what a search over everything finds.
fn check_index(snapshot: &Snapshot) {
    for prefix in prefixes() {
        assert_eq!(snapshot.count(&prefix, None), snapshot.range(&prefix, None).count());
        for term in LABELS.iter().flat_map(|name| VALUES.map(|value| Term::label(*name, value))) {
            let having = |term: &Term| -> Vec<Key> {
                let matching = snapshot.range(&prefix, None).filter(|object| object.terms().iter().any(|t| t == term));
                matching.map(|object| object.key().clone()).collect()
            };
            let expected = having(&term);
            let found: Vec<Key> = snapshot.having(&term, &prefix, None).map(|object| object.key().clone()).collect();
            assert_eq!(found, expected, "{term:?} in {prefix}");
            assert_eq!(snapshot.count_having(&term, &prefix), expected.len());
            for (passed, after) in expected.iter().enumerate() {
                let rest: Vec<Key> =
                    snapshot.having(&term, &prefix, Some(after)).map(|object| object.key().clone()).collect();
                assert_eq!(rest, expected[passed + 1..]);
            }
        }
    }
}

#[tokio::test]
async fn labels_find_what_a_search_finds() {
    let store = Meddler::open().await;
    let cache = cache(&store, options()).await;
    let mut random = Random::default();
    for _ in 0..300 {
        change(&*store, &mut random).await;
        check_index(&*cache.snapshot(At::Latest).await.unwrap());
    }
}

#[tokio::test]
async fn a_state_of_the_past_is_made_in_memory_with_its_indexes() {
    let store = Meddler::open().await;
    let cache = cache(&store, options()).await;
    let mut random = Random::default();
    let mut kept = Vec::new();
    for _ in 0..200 {
        let revision = change(&*store, &mut random).await;
        kept.push((revision, cache.snapshot(At::Latest).await.unwrap()));
    }
    store.set_down(true);
    for (revision, then) in kept {
        let past = cache.snapshot(At::Exact(revision)).await.unwrap();
        assert_eq!(past.revision(), revision);
        let bodies = |snapshot: &Snapshot| -> Vec<_> {
            let everything = Prefix::everything();
            let objects = snapshot.range(&everything, None);
            objects.map(|object| (object.key().clone(), object.body().unwrap().clone())).collect()
        };
        assert_eq!(bodies(&past), bodies(&then));
        check_index(&past);
    }
}

#[tokio::test]
async fn what_the_ring_has_forgotten_comes_from_the_store() {
    let store = Meddler::open().await;
    let mut options = options();
    options.ring.events = 10;
    let cache = cache(&store, options).await;
    let mut random = Random::default();
    let mut history = Vec::new();
    for _ in 0..60 {
        let revision = change(&*store, &mut random).await;
        let now = cache.list(&Prefix::everything(), ListOptions::latest()).await.unwrap();
        assert_eq!(now.revision, revision);
        history.push(now);
    }
    let lists = store.lists.load(Ordering::SeqCst);
    for then in history {
        let again = ListOptions::at(At::Exact(then.revision));
        assert_eq!(cache.list(&Prefix::everything(), again.clone()).await.unwrap(), then);
        // Page by page it is the same, wherever the pages come from.
        let mut pages = Vec::new();
        let mut options = again.limit(NonZeroUsize::new(7).unwrap());
        loop {
            let page = cache.list(&Prefix::everything(), options.clone()).await.unwrap();
            pages.extend(page.records.clone());
            assert_eq!(page.remaining, then.records.len() - pages.len());
            match page.records.last() {
                Some(last) if page.remaining > 0 => options.after = Some(last.key.clone()),
                _ => break,
            }
        }
        assert_eq!(pages, then.records);
        for record in &then.records {
            let found = cache.get(&record.key, At::Exact(then.revision)).await.unwrap();
            assert_eq!(found.record.as_ref(), Some(record));
        }
    }
    assert!(store.lists.load(Ordering::SeqCst) > lists, "the store was asked for the older ones");
}

#[tokio::test]
async fn readers_that_wait_share_the_question() {
    let store = Meddler::open().await;
    let cache = std::sync::Arc::new(cache(&store, options()).await);
    let before = store.revision_checks.load(Ordering::SeqCst);
    let reads: Vec<_> = (0..1_000)
        .map(|_| {
            tokio::spawn({
                let cache = cache.clone();
                async move { cache.snapshot(At::Latest).await.map(|snapshot| snapshot.revision()) }
            })
        })
        .collect();
    for read in reads {
        read.await.unwrap().unwrap();
    }
    let asked = store.revision_checks.load(Ordering::SeqCst) - before;
    assert!(asked < 100, "1,000 readers asked {asked} times");
}
