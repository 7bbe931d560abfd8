//! Forgetting history: what is older is refused, what is newer is whole, and in between there is no hole.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::fixtures::{Random, before, check_expired, gadget, gadgets, key, soon, watch_error, widgets};
use super::follower::Follower;
use super::session::Session;
use crate::error::Error;
use crate::key::Prefix;
use crate::revision::Revision;
use crate::store::{At, Change, ListOptions, Record, Store};

/// Updates, deletions and new keys, one after the other.
async fn write_some(session: &mut Session, rounds: usize) {
    for round in 0..rounds {
        session.put(&key("ns", "updated"), format!("{round}")).await;
        session.put(&key("ns", &format!("new-{}", session.model.newest())), "").await;
        session.put(&gadget("brief"), "").await;
        session.delete(&gadget("brief")).await;
    }
}

async fn compact(session: &Session, oldest: Revision) {
    soon("a compaction", session.store.compact(oldest)).await.unwrap();
}

/// Everything at and after `oldest` is as the model says, and everything before it is refused.
async fn check_kept(session: &Session, oldest: Revision) {
    for revision in session.model.revisions().into_iter().chain([session.start]) {
        for at in [before(revision.max(Revision::new(1))), revision] {
            if at < session.start && oldest <= session.start {
                // What was before the case began is not known.
            } else if at >= oldest {
                session.check_list(&Prefix::everything(), At::Exact(at)).await;
                session.check_get(&key("ns", "updated"), At::Exact(at)).await;
                session.check_watch(&Prefix::everything(), at).await;
            } else {
                let options = ListOptions::at(At::Exact(at));
                check_expired(session.store.list(&Prefix::everything(), options).await, at, oldest);
                check_expired(session.store.get(&key("ns", "updated"), At::Exact(at)).await, at, oldest);
                check_expired(watch_error(&*session.store, &Prefix::everything(), at).await, at, oldest);
            }
        }
    }
}

/// After a compaction older states and watches are refused with what is the oldest; newer ones are whole.
pub(super) async fn forgets_what_is_older(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    write_some(&mut session, 3).await;
    let oldest = session.put(&key("ns", "middle"), "").await;
    write_some(&mut session, 3).await;
    check_kept(&session, session.start).await;
    compact(&session, oldest).await;
    check_kept(&session, oldest).await;
}

/// Only history is forgotten: all that exists is still there, and can be updated with the old revision it has.
pub(super) async fn keeps_what_exists(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    session.put(&key("ns", "a"), "one").await;
    session.put(&key("ns", "b"), "one").await;
    write_some(&mut session, 3).await;
    compact(&session, session.model.newest()).await;
    session.check_list(&Prefix::everything(), At::Latest).await;
    session.check_get(&key("ns", "a"), At::Latest).await;
    session.check_get(&key("ns", "a"), At::Any).await;
    session.put(&key("ns", "a"), "two").await;
    session.delete(&key("ns", "b")).await;
    session.check_list(&Prefix::everything(), At::Latest).await;
}

/// A compaction at the newest revision leaves that one: it can be read, and watched from.
pub(super) async fn at_the_newest_revision(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    write_some(&mut session, 2).await;
    let oldest = session.store.revision().await.unwrap();
    compact(&session, oldest).await;
    session.check_list(&Prefix::everything(), At::Exact(oldest)).await;
    let mut follower = Follower::open(&*session.store, &Prefix::everything(), oldest).await;
    write_some(&mut session, 1).await;
    follower.until(session.model.newest()).await;
    assert_eq!(follower.events, session.model.events(&Prefix::everything(), oldest));
    session.check_list(&Prefix::everything(), At::Exact(oldest)).await;
    check_kept(&session, oldest).await;
}

/// A compaction exactly at a deletion does not swallow it: a watch from just before is refused rather than opened
/// without the event, and one from there on goes on behind it. (etcd lost such events: its issues 18089 and 19179.)
pub(super) async fn at_a_deletion(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    session.put(&key("ns", "a"), "").await;
    session.put(&key("ns", "b"), "").await;
    let deleted = session.delete(&key("ns", "a")).await;
    session.delete(&key("ns", "b")).await;
    compact(&session, deleted).await;
    check_expired(watch_error(&*session.store, widgets().all(), before(deleted)).await, before(deleted), deleted);
    session.check_watch(widgets().all(), deleted).await;
    session.check_get(&key("ns", "a"), At::Exact(deleted)).await;
    session.check_list(widgets().all(), At::Exact(deleted)).await;
}

/// The first event behind the compacted revision is delivered, also if it is the deletion of a key whose creation is
/// forgotten.
pub(super) async fn just_before_a_deletion(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    session.put(&key("ns", "a"), "").await;
    let oldest = session.put(&gadget("a"), "").await;
    session.delete(&key("ns", "a")).await;
    compact(&session, oldest).await;
    let mut follower = Follower::open(&*session.store, widgets().all(), oldest).await;
    follower.collect(1).await;
    assert_eq!(follower.events[0].change, Change::Delete);
    session.check_get(&key("ns", "a"), At::Exact(oldest)).await;
}

/// What was deleted stays deleted, at every revision that is kept, and can be created again.
pub(super) async fn the_deleted_stay_deleted(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    for name in ["a", "b", "c"] {
        session.put(&key("ns", name), "one").await;
        session.put(&key("ns", name), "two").await;
        session.delete(&key("ns", name)).await;
        compact(&session, session.model.newest()).await;
        session.check_list(&Prefix::everything(), At::Latest).await;
        session.check_list(&Prefix::everything(), At::Exact(session.model.newest())).await;
        session.check_get(&key("ns", name), At::Latest).await;
    }
    session.put(&key("ns", "a"), "three").await;
    compact(&session, session.model.newest()).await;
    session.check_list(&Prefix::everything(), At::Latest).await;
}

/// A compaction between two pages ends the paging with an expiry: the rest is not taken from another state.
pub(super) async fn pages_expire(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    write_some(&mut session, 4).await;
    let options = session.next_page(At::Latest, None, 2);
    let first = session.store.list(widgets().all(), options).await.unwrap();
    let options = session.next_page(At::Latest, Some(&first), 2);
    session.put(&key("ns", "updated"), "after the first page").await;
    compact(&session, first.revision).await;
    let second = session.store.list(widgets().all(), options.clone()).await.unwrap();
    assert_eq!(second.records, session.model.state(widgets().all(), first.revision)[2..4]);
    let oldest = session.put(&key("ns", "updated"), "after the second page").await;
    compact(&session, oldest).await;
    check_expired(session.store.list(widgets().all(), options).await, first.revision, oldest);
}

/// A state not older than one that is forgotten is the newest one: there is nothing to refuse.
pub(super) async fn not_older_than_the_forgotten(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    write_some(&mut session, 3).await;
    let forgotten = session.model.revisions()[1];
    compact(&session, session.model.newest()).await;
    session.check_list(&Prefix::everything(), At::NotOlderThan(forgotten)).await;
    session.check_get(&key("ns", "updated"), At::NotOlderThan(forgotten)).await;
}

/// Forgetting what is forgotten already is no error and brings nothing back; forgetting more moves on.
pub(super) async fn again_and_again(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    write_some(&mut session, 4).await;
    let revisions = session.model.revisions();
    for (wanted, oldest) in [(4, 4), (4, 4), (2, 4), (9, 9), (5, 9)] {
        compact(&session, revisions[wanted]).await;
        check_kept(&session, revisions[oldest]).await;
    }
}

/// What has not happened cannot be forgotten: such a compaction is refused and forgets nothing.
pub(super) async fn the_future_is_not_forgotten(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    write_some(&mut session, 2).await;
    let wanted = Revision::new(session.store.revision().await.unwrap().get() + 1_000_000);
    match session.store.compact(wanted).await {
        Err(Error::FutureRevision { requested, current }) => {
            assert_eq!(requested, wanted);
            assert!(current >= session.model.newest());
        }
        other => panic!("expected a future revision, not {other:?}"),
    }
    check_kept(&session, session.start).await;
}

/// A watch that has come to the oldest revision kept, or further, does not notice a compaction.
pub(super) async fn a_watch_that_kept_up_goes_on(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let mut busy = Follower::open(&*session.store, widgets().all(), session.start).await;
    let mut idle = Follower::open(&*session.store, &gadgets().namespace("none").unwrap(), session.start).await;
    for _ in 0..5 {
        write_some(&mut session, 2).await;
        let oldest = session.model.newest();
        busy.until(oldest).await;
        idle.until(oldest).await;
        compact(&session, oldest).await;
    }
    write_some(&mut session, 1).await;
    for follower in [&mut busy, &mut idle] {
        follower.until(session.model.newest()).await;
    }
    assert_eq!(busy.events, session.model.events(widgets().all(), session.start));
    assert_eq!(idle.events, []);
}

/// A watch that was opened in time but has not read yet gets everything or expires; it never skips what was forgotten.
pub(super) async fn a_watch_that_fell_behind(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let mut behind = Follower::open(&*session.store, widgets().all(), session.start).await;
    write_some(&mut session, 10).await;
    compact(&session, session.model.newest()).await;
    write_some(&mut session, 2).await;
    let expected = session.model.events(widgets().all(), session.start);
    while behind.events.len() < expected.len() {
        match soon("the rest", behind.next()).await {
            Ok(()) => {}
            Err(Error::Expired { .. }) => break,
            Err(other) => panic!("expected a batch or an expiry, not {other:?}"),
        }
    }
    assert!(expected.starts_with(&behind.events), "the watch skipped what was forgotten: {:?}", behind.events);
}

/// Under writes and constant compaction a client that lists again after each expiry always has the right state: from
/// list to watch and from batch to batch there is no hole.
pub(super) async fn under_load_there_is_no_hole(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    session.put(&key("ns", "updated"), "first").await;
    let client = tokio::spawn(client(session.store.clone(), Random::default()));
    for round in 0..40 {
        write_some(&mut session, 1).await;
        if round % 3 == 0 {
            compact(&session, session.model.newest()).await;
        }
    }
    session.put(&gadget("end"), "").await;
    let seen = soon("the client seeing the end", client).await.unwrap();
    for (revision, state) in seen {
        assert_eq!(state, session.model.state(&Prefix::everything(), revision), "as of {revision}");
    }
}

type Seen = Vec<(Revision, Vec<Record>)>;

/// Lists and watches until `gadget("end")` shows; what it believed the state to be after each batch.
async fn client(store: Arc<dyn Store>, mut random: Random) -> Seen {
    let mut seen = Seen::new();
    loop {
        let page = store.list(&Prefix::everything(), ListOptions::latest()).await.unwrap();
        let mut state: BTreeMap<_, _> = page.records.into_iter().map(|record| (record.key.clone(), record)).collect();
        let mut after = page.revision;
        seen.push((after, state.values().cloned().collect()));
        loop {
            if state.contains_key(&gadget("end")) {
                return seen;
            }
            // A new watch for each batch, some of them late, to be caught by compactions as often as possible.
            if random.below(2) == 0 {
                tokio::time::sleep(Duration::from_millis(random.below(10) as u64)).await;
            }
            let mut watch = match store.watch(&Prefix::everything(), after).await {
                Ok(watch) => watch,
                Err(Error::Expired { .. }) => break,
                Err(other) => panic!("expected a watch or an expiry, not {other:?}"),
            };
            let batch = match watch.next().await {
                Ok(batch) => batch,
                Err(Error::Expired { .. }) => break,
                Err(other) => panic!("expected a batch or an expiry, not {other:?}"),
            };
            for event in batch.events {
                let (key, revision) = (event.key, event.revision);
                match event.change {
                    Change::Put(value) => state.insert(key.clone(), Record { key, revision, value }),
                    Change::Delete => state.remove(&key),
                    Change::Corrupt(fault) => panic!("{key} is damaged: {fault}"),
                };
            }
            after = batch.through;
            seen.push((after, state.values().cloned().collect()));
        }
    }
}
