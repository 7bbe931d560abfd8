//! Watches: every change after a revision, exactly once, in order, and how far they have come. Each batch is checked by
//! the [`Follower`]; what is compared here is that nothing is missing.

use std::sync::Arc;
use std::time::Duration;

use super::fixtures::{
    Random, check_expired, gadget, gadgets, key, ledger, row, soon, watch_error, widgets, widgetsets,
};
use super::follower::Follower;
use super::session::Session;
use crate::error::Error;
use crate::key::Prefix;
use crate::revision::Revision;
use crate::store::{Change, Store};
use crate::txn::Txn;

/// A history with creations, updates, deletions and transactions over several ranges.
async fn write_some(session: &mut Session) {
    for round in 0..4 {
        let value = format!("{round}");
        session.put(&key("a", "x"), value.clone()).await;
        session.put(&key("b", &value), value.clone()).await;
        session.put(&widgetsets().object(&value).unwrap(), value.clone()).await;
        let txn = Txn::new().create(key("c", &value), value.clone()).create(gadget(&value), value.clone());
        session.commit(txn.create(row(round), value.clone()).create(row(100 + round), value)).await;
        session.delete(&key("a", "x")).await;
    }
}

/// A watch from now on delivers what comes, by itself and soon.
pub(super) async fn delivers_what_comes(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    session.put(&key("ns", "old"), "").await;
    let after = session.store.revision().await.unwrap();
    let mut follower = Follower::open(&*session.store, widgets().all(), after).await;
    for round in 1..=10 {
        session.put(&key("ns", "a"), format!("{round}")).await;
        follower.collect(round).await;
    }
    assert_eq!(follower.events, session.model.events(widgets().all(), after));
}

/// A watch from an old revision delivers what has happened since, and goes on with what comes.
pub(super) async fn replays_the_past(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    write_some(&mut session).await;
    let past = session.model.events(&Prefix::everything(), session.start).len();
    let mut follower = Follower::open(&*session.store, &Prefix::everything(), session.start).await;
    follower.collect(past).await;
    session.put(&key("ns", "new"), "").await;
    follower.collect(past + 1).await;
    assert_eq!(follower.events, session.model.events(&Prefix::everything(), session.start));
}

/// A watch from revision zero delivers all there ever was, or says that zero is no longer kept.
pub(super) async fn from_zero_on(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    write_some(&mut session).await;
    match watch_opens(&session, Revision::ZERO).await {
        Ok(()) => session.check_watch(&Prefix::everything(), Revision::ZERO).await,
        Err(Error::Expired { requested: Revision::ZERO, oldest }) => {
            session.check_watch(&Prefix::everything(), oldest).await;
        }
        Err(other) => panic!("expected a watch or an expired revision, not {other:?}"),
    }
}

async fn watch_opens(session: &Session, after: Revision) -> Result<(), Error> {
    let mut watch = session.store.watch(&Prefix::everything(), after).await?;
    watch.request_progress();
    soon("the first batch", watch.next()).await.map(drop)
}

/// A watch resumed after any revision delivers exactly the rest, and never the change of that revision again.
pub(super) async fn resumes_from_every_revision(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    write_some(&mut session).await;
    let mut revisions = session.model.revisions();
    revisions.insert(0, session.start);
    for after in revisions {
        session.check_watch(&Prefix::everything(), after).await;
        session.check_watch(widgets().all(), after).await;
    }
}

/// A watch resumed after any position it reported, batch by batch, makes up the whole.
pub(super) async fn resumes_from_every_batch(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    write_some(&mut session).await;
    let (mut through, mut events) = (session.start, Vec::new());
    let mut round = 0;
    while round < 20 || through < session.model.newest() {
        if round < 20 {
            session.put(&key("ns", "a"), format!("{round}")).await;
            round += 1;
        }
        let mut follower = Follower::open(&*session.store, widgets().all(), through).await;
        follower.request_progress();
        soon("a batch", follower.next()).await.unwrap();
        through = follower.through;
        events.append(&mut follower.events);
    }
    assert_eq!(events, session.model.events(widgets().all(), session.start));
}

/// All changes of one revision come in one batch, also when there are many and the watch is behind.
pub(super) async fn a_revision_comes_whole(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let mut live = Follower::open(&*session.store, &Prefix::everything(), session.start).await;
    for round in 0..8 {
        let txn = Txn::new().create(key("ns", &format!("{round}")), "").create(gadget(&format!("{round}")), "");
        session.commit((0..90).fold(txn, |txn, number| txn.create(row(100 * round + number), ""))).await;
    }
    let mut behind = Follower::open(&*session.store, &Prefix::everything(), session.start).await;
    for follower in [&mut live, &mut behind] {
        follower.until(session.model.newest()).await;
        assert_eq!(follower.events, session.model.events(&Prefix::everything(), session.start));
    }
}

/// A watch of a range delivers the changes of that range and no others.
pub(super) async fn filters_by_range(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let ranges = [
        widgets().all().clone(),
        widgets().namespace("a").unwrap(),
        widgets().namespace("none").unwrap(),
        widgetsets().all().clone(),
        gadgets().all().clone(),
        ledger().all().clone(),
        Prefix::everything(),
    ];
    let mut followers = Vec::new();
    for range in &ranges {
        followers.push(Follower::open(&*session.store, range, session.start).await);
    }
    write_some(&mut session).await;
    let newest = session.store.revision().await.unwrap();
    for (follower, range) in followers.iter_mut().zip(&ranges) {
        follower.until(newest).await;
        assert_eq!(follower.events, session.model.events(range, session.start), "{range:?}");
        session.check_watch(range, session.start).await;
    }
}

/// A deletion is an event with a revision of its own, also when the key is created again right away.
pub(super) async fn deletions_are_events(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let created = session.put(&key("ns", "a"), "one").await;
    let deleted = session.delete(&key("ns", "a")).await;
    session.put(&key("ns", "a"), "two").await;
    session.delete(&key("ns", "a")).await;
    let mut follower = Follower::open(&*session.store, widgets().all(), created).await;
    follower.collect(3).await;
    assert_eq!((follower.events[0].revision, &follower.events[0].change), (deleted, &Change::Delete));
    assert_eq!(follower.events, session.model.events(widgets().all(), created));
}

/// Asked for progress, a watch comes to where the store was, though nothing happens in its range.
pub(super) async fn progress_reaches_the_store(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let mut follower = Follower::open(&*session.store, gadgets().all(), session.start).await;
    for round in 0..5 {
        for name in ["a", "b", "c"] {
            session.put(&key("ns", name), format!("{round}")).await;
        }
        let newest = session.store.revision().await.unwrap();
        follower.until(newest).await;
        assert_eq!(follower.events, []);
    }
    session.put(&gadget("a"), "").await;
    follower.collect(1).await;
}

/// Each request for progress is answered, also when nothing happens in the whole store.
pub(super) async fn progress_is_answered_when_idle(store: Arc<dyn Store>) {
    let session = Session::new(store).await;
    let mut follower = Follower::open(&*session.store, widgets().all(), session.start).await;
    for _ in 0..5 {
        follower.request_progress();
        soon("progress", follower.next()).await.unwrap();
        assert_eq!(follower.events, []);
    }
}

/// Progress never runs ahead of events: under constant writing and asking, none comes after it was passed.
pub(super) async fn progress_does_not_run_ahead(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let mut follower = Follower::open(&*session.store, widgets().all(), session.start).await;
    let reading = tokio::spawn(async move {
        while follower.events.len() < 150 {
            follower.request_progress();
            soon("a batch", follower.next()).await.unwrap();
        }
        follower
    });
    for round in 0..150 {
        session.put(&key("ns", &format!("{}", round % 3)), format!("{round}")).await;
        if round % 4 == 0 {
            session.put(&gadget("a"), format!("{round}")).await;
        }
    }
    let follower = reading.await.unwrap();
    assert_eq!(follower.events, session.model.events(widgets().all(), session.start));
}

/// A watch after a revision still to come delivers nothing up to it, and everything behind it.
pub(super) async fn a_future_revision_is_waited_for(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    session.put(&key("ns", "a"), "old").await;
    let after = Revision::new(session.store.revision().await.unwrap().get() + 10);
    let mut follower = Follower::open(&*session.store, widgets().all(), after).await;
    // Asking changes nothing: a batch before that revision would go back behind where the watch was opened.
    follower.request_progress();
    let mut round = 0;
    while session.model.newest() <= after {
        session.put(&key("ns", "a"), format!("{round}")).await;
        round += 1;
    }
    session.put(&key("ns", "a"), "last").await;
    follower.until(session.model.newest()).await;
    assert_eq!(follower.events, session.model.events(widgets().all(), after));
}

/// Watches of the same range deliver the same, whenever they were opened.
pub(super) async fn watchers_agree(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let mut followers = Vec::new();
    for round in 0..30 {
        session.put(&key("ns", &format!("{}", round % 4)), format!("{round}")).await;
        followers.push(Follower::open(&*session.store, widgets().all(), session.start).await);
    }
    let expected = session.model.events(widgets().all(), session.start);
    for follower in &mut followers {
        follower.collect(expected.len()).await;
        assert_eq!(follower.events, expected);
    }
}

/// A watcher that does not read for a long time gets everything afterwards, or is told that it fell behind; there is
/// never a gap, and writers do not wait for it.
pub(super) async fn a_slow_watcher_misses_nothing(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let mut slow = Follower::open(&*session.store, widgets().all(), session.start).await;
    for round in 0..600 {
        session.put(&key("ns", &format!("{}", round % 10)), vec![0; 2_000]).await;
    }
    let expected = session.model.events(widgets().all(), session.start);
    while slow.events.len() < expected.len() {
        match soon("the rest", slow.next()).await {
            Ok(()) => {}
            Err(Error::Expired { requested, .. }) => {
                assert!(requested <= slow.through, "expiry at {requested}, having come to {}", slow.through);
                break;
            }
            Err(other) => panic!("expected a batch or an expiry, not {other:?}"),
        }
    }
    assert!(expected.starts_with(&slow.events), "the slow watcher saw a gap");
    session.check_watch(widgets().all(), slow.through).await;
}

/// The future of `next` may be dropped at any point without losing an event.
pub(super) async fn a_dropped_next_loses_nothing(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let mut follower = Follower::open(&*session.store, widgets().all(), session.start).await;
    let mut random = Random::default();
    let reading = tokio::spawn(async move {
        while follower.events.len() < 200 {
            let patience = random.below(6);
            let give_up = async {
                match patience {
                    5 => tokio::time::sleep(Duration::from_millis(1)).await,
                    turns => {
                        for _ in 0..turns {
                            tokio::task::yield_now().await;
                        }
                    }
                }
            };
            tokio::select! {
                biased;
                batch = follower.next() => batch.unwrap(),
                () = give_up => {}
            }
            if random.below(8) == 0 {
                follower.request_progress();
            }
        }
        follower
    });
    for round in 0..200 {
        session.put(&key("ns", &format!("{}", round % 3)), format!("{round}")).await;
    }
    let follower = soon("the last event", reading).await.unwrap();
    assert_eq!(follower.events, session.model.events(widgets().all(), session.start));
}

/// Watches that are dropped, read or not, leave the others and the writers alone.
pub(super) async fn dropped_watches_harm_nobody(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let mut kept = Follower::open(&*session.store, widgets().all(), session.start).await;
    for round in 0..100 {
        let mut dropped = Follower::open(&*session.store, widgets().all(), session.start).await;
        session.put(&key("ns", &format!("{}", round % 3)), format!("{round}")).await;
        if round % 2 == 0 {
            dropped.request_progress();
            soon("a batch", dropped.next()).await.unwrap();
        }
    }
    kept.collect(100).await;
    assert_eq!(kept.events, session.model.events(widgets().all(), session.start));
}

/// A watch opened while others write misses nothing of what comes after the revision it was opened at.
pub(super) async fn opening_in_the_middle_misses_nothing(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let opening = tokio::spawn({
        let store = session.store.clone();
        async move {
            let mut followers = Vec::new();
            for _ in 0..60 {
                let after = store.revision().await.unwrap();
                followers.push((after, Follower::open(&*store, widgets().all(), after).await));
                tokio::task::yield_now().await;
            }
            followers
        }
    });
    for round in 0..150 {
        session.put(&key("ns", &format!("{}", round % 3)), format!("{round}")).await;
    }
    let newest = session.store.revision().await.unwrap();
    for (after, mut follower) in opening.await.unwrap() {
        follower.until(newest).await;
        assert_eq!(follower.events, session.model.events(widgets().all(), after), "after {after}");
    }
}

/// A watch from before what is kept says so and delivers nothing.
pub(super) async fn an_expired_revision_delivers_nothing(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    write_some(&mut session).await;
    let oldest = session.model.newest();
    session.store.compact(oldest).await.unwrap();
    for range in [Prefix::everything(), widgets().all().clone(), widgets().namespace("none").unwrap()] {
        check_expired(watch_error(&*session.store, &range, session.start).await, session.start, oldest);
    }
}
