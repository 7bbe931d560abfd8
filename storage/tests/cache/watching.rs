//! Events as the cache tells them: with the object before and after, and with initial states that fit.

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_storage::cache::{Cache, Watcher};
use bailiwick_storage::testing::{Random, SimDisk, key, soon, widgets};
use bailiwick_storage::{At, Error, Key, Prefix, Revision, Store, Txn};

use super::meddler::{Meddler, cache, options};

async fn put(store: &dyn Store, key: &Key, value: &str) -> Revision {
    let txn = match store.get(key, At::Latest).await.unwrap().record {
        None => Txn::new().create(key.clone(), value.to_owned()),
        Some(found) => Txn::new().update(key.clone(), value.to_owned(), found.revision),
    };
    store.commit(txn).await.unwrap()
}

async fn delete(store: &dyn Store, key: &Key) -> Revision {
    let found = store.get(key, At::Latest).await.unwrap().record.unwrap();
    store.commit(Txn::new().delete(key.clone(), found.revision)).await.unwrap()
}

#[tokio::test]
async fn an_event_has_both_sides_of_a_change() {
    let store = Meddler::open().await;
    let cache = cache(&store, options()).await;
    let key = key("a", "one");
    let mut watcher =
        cache.watch_objects(widgets().all(), cache.snapshot(At::Latest).await.unwrap().revision()).unwrap();
    let created = put(&*store, &key, "app=x").await;
    let updated = put(&*store, &key, "app=y").await;
    let deleted = delete(&*store, &key).await;
    let mut events = Vec::new();
    while events.len() < 3 {
        events.extend(soon("an event", watcher.next()).await.unwrap().events);
    }
    let sides: Vec<_> = events
        .iter()
        .map(|event| {
            let body = |object: &Option<_>| {
                object.as_ref().map(|object: &Arc<bailiwick_storage::cache::Object>| {
                    String::from_utf8(object.body().unwrap().to_vec()).unwrap()
                })
            };
            (event.revision, body(&event.previous), body(&event.object))
        })
        .collect();
    let (first, second) = (format!("{created}\napp=x"), format!("{updated}\napp=y"));
    assert_eq!(
        sides,
        [
            (created, None, Some(first.clone())),
            (updated, Some(first), Some(second.clone())),
            (deleted, Some(second), None),
        ]
    );
    assert_eq!(watcher.position(), deleted);
}

/// Follows a watch on top of the state it began with.
struct Mirror {
    state: BTreeMap<Key, Revision>,
    watcher: Watcher,
}

impl Mirror {
    async fn start(cache: &Cache, at: At) -> Self {
        let snapshot = cache.snapshot(at).await.unwrap();
        let everything = Prefix::everything();
        let objects = snapshot.range(&everything, None);
        let state = objects.map(|object| (object.key().clone(), object.revision())).collect();
        let watcher = cache.watch_objects(&everything, snapshot.revision()).unwrap();
        Self { state, watcher }
    }

    /// Takes events until the watch has come to `revision`.
    async fn follow(&mut self, revision: Revision) {
        while self.watcher.position() < revision {
            self.watcher.request_progress();
            let delivery = soon("a delivery", self.watcher.next()).await.unwrap();
            for event in delivery.events {
                let key = event.key().unwrap().clone();
                let before = event.previous.as_ref().map(|object| object.revision());
                assert_eq!(self.state.get(&key).copied(), before, "the event does not fit the state");
                match &event.object {
                    Some(object) => drop(self.state.insert(key, object.revision())),
                    None => drop(self.state.remove(&key)),
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_and_the_watch_after_it_fit_together() {
    let store = Meddler::open().await;
    let cache = Arc::new(cache(&store, options()).await);
    let writer = tokio::spawn({
        let store = store.clone();
        async move {
            let mut random = Random::default();
            let mut last = Revision::ZERO;
            for n in 0..400 {
                let key = key("a", &random.below(20).to_string());
                let exists = store.get(&key, At::Latest).await.unwrap().record.is_some();
                last = if exists && random.below(3) == 0 {
                    delete(&*store, &key).await
                } else {
                    put(&*store, &key, &format!("n={n}")).await
                };
            }
            last
        }
    });
    let mut mirrors = Vec::new();
    while !writer.is_finished() {
        let at = if mirrors.len() % 2 == 0 { At::Any } else { At::Latest };
        mirrors.push(Mirror::start(&cache, at).await);
        tokio::task::yield_now().await;
        if mirrors.len() > 500 {
            break;
        }
    }
    let last = writer.await.unwrap();
    let end = cache.snapshot(At::Latest).await.unwrap();
    let everything = Prefix::everything();
    let expected: BTreeMap<_, _> =
        end.range(&everything, None).map(|object| (object.key().clone(), object.revision())).collect();
    for mut mirror in mirrors {
        mirror.follow(last).await;
        assert_eq!(mirror.state, expected);
    }
}

/// R-06, in small: after a restart a watch resumes where it was, without a gap and without listing again.
#[tokio::test]
async fn a_watch_resumes_after_a_restart() {
    let disk = SimDisk::default();
    let mut mirror_state = BTreeMap::new();
    let mut position = Revision::new(1);
    for round in 0..5 {
        let store = Meddler::over(&disk).await;
        let cache = cache(&store, options()).await;
        let everything = Prefix::everything();
        let mut mirror = Mirror {
            state: std::mem::take(&mut mirror_state),
            watcher: cache.watch_objects(&everything, position).unwrap(),
        };
        let mut last = position;
        for n in 0..20 {
            last = put(&*store, &key("a", &(n % 7).to_string()), &format!("n={round}.{n}")).await;
            if n == 10 {
                mirror.follow(last).await;
            }
        }
        let _ = last;
        position = mirror.watcher.position();
        mirror_state = mirror.state;
    }
}

#[tokio::test]
async fn a_cache_that_ends_ends_its_watches() {
    let store = Meddler::open().await;
    let cache = cache(&store, options()).await;
    let mut watcher =
        cache.watch_objects(widgets().all(), Revision::ZERO.max(cache.revision().await.unwrap())).unwrap();
    drop(cache);
    assert!(matches!(soon("the end", watcher.next()).await, Err(Error::Closed)));
}
