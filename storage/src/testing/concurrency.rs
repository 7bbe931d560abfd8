//! Many tasks at once: nothing is lost, nobody sees what was not, and time does not go back.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::fixtures::{Random, conflict, gadget, key, ledger, row, soon, widgets};
use super::follower::Follower;
use super::history::History;
use super::session::Session;
use crate::error::Error;
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::store::{At, Change, ListOptions, Record, Store};
use crate::txn::Txn;

const TASKS: usize = 8;

fn number(record: &Record) -> u64 {
    std::str::from_utf8(&record.value).unwrap().parse().unwrap()
}

/// Reads a key and writes it back changed, until nobody else was faster.
async fn modify(store: &dyn Store, key: &Key, change: impl Fn(u64) -> u64) -> (Revision, Txn) {
    loop {
        let record = store.get(key, At::Latest).await.unwrap().record.unwrap();
        let txn = Txn::new().update(key.clone(), change(number(&record)).to_string(), record.revision);
        match store.commit(txn.clone()).await {
            Ok(revision) => return (revision, txn),
            Err(Error::Conflict(_)) => {}
            Err(other) => panic!("expected success or a conflict, not {other:?}"),
        }
    }
}

/// Tasks that count up one key, each reading and writing it back, lose no step.
pub(super) async fn counting_is_exact(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    session.put(&key("ns", "counter"), "0").await;
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let store = session.store.clone();
        tasks.spawn(async move {
            let mut done = Vec::new();
            for _ in 0..15 {
                done.push(modify(&*store, &key("ns", "counter"), |number| number + 1).await);
            }
            done
        });
    }
    for (revision, txn) in tasks.join_all().await.into_iter().flatten() {
        session.model.record(revision, &txn);
    }
    let counter = session.latest(&key("ns", "counter")).await.unwrap();
    assert_eq!(number(&counter), u64::try_from(TASKS * 15).unwrap());
    session.check_watch(&Prefix::everything(), session.start).await;
}

/// Of many that create one key, exactly one does; the others learn when.
pub(super) async fn only_one_creates(store: Arc<dyn Store>) {
    for round in 0..10 {
        let created = key("ns", &format!("{round}"));
        let mut tasks = JoinSet::new();
        for task in 0..TASKS {
            let (store, created) = (store.clone(), created.clone());
            tasks.spawn(async move { store.commit(Txn::new().create(created, format!("{task}"))).await });
        }
        let (won, lost): (Vec<_>, Vec<_>) = tasks.join_all().await.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        let won = won.into_iter().next().unwrap().unwrap();
        for lost in lost {
            assert_eq!(conflict(lost).actual, Some(won));
        }
    }
}

/// Of one update and one delete with the same revision, exactly one happens.
pub(super) async fn only_one_of_update_and_delete(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    for round in 0..20 {
        let contested = key("ns", &format!("{round}"));
        let seen = session.put(&contested, "one").await;
        let commit = |txn: Txn| {
            let store = session.store.clone();
            tokio::spawn(async move { (store.commit(txn.clone()).await, txn) })
        };
        let updating = commit(Txn::new().update(contested.clone(), "two", seen));
        let deleting = commit(Txn::new().delete(contested.clone(), seen));
        let answers = [updating.await.unwrap(), deleting.await.unwrap()];
        assert_eq!(answers.iter().filter(|(answer, _)| answer.is_ok()).count(), 1, "{answers:?}");
        for (answer, txn) in answers {
            if let Ok(revision) = answer {
                session.model.record(revision, &txn);
            }
        }
    }
    session.check_list(&Prefix::everything(), At::Latest).await;
    session.check_watch(&Prefix::everything(), session.start).await;
}

/// What one task has written, another that hears of it sees: by get, by list, and in the store's revision.
pub(super) async fn others_see_what_was_written(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let (heard_tx, mut heard_rx) = mpsc::channel::<Revision>(1);
    let store = session.store.clone();
    let reading = tokio::spawn(async move {
        while let Some(written) = heard_rx.recv().await {
            assert!(store.revision().await.unwrap() >= written);
            let lookup = store.get(&key("ns", "a"), At::Latest).await.unwrap();
            assert!(lookup.revision >= written && lookup.record.unwrap().revision >= written);
            let page = store.list(widgets().all(), ListOptions::latest()).await.unwrap();
            assert!(page.revision >= written && page.records[0].revision >= written);
            let lookup = store.get(&key("ns", "a"), At::NotOlderThan(written)).await.unwrap();
            assert!(lookup.record.unwrap().revision >= written);
        }
    });
    for round in 0..150 {
        let written = session.put(&key("ns", "a"), format!("{round}")).await;
        heard_tx.send(written).await.unwrap();
    }
    drop(heard_tx);
    soon("the reader's end", reading).await.unwrap();
}

/// Revisions follow real time across all tasks: no call that begins later comes back with less than was seen.
pub(super) async fn revisions_follow_time(store: Arc<dyn Store>) {
    let history = Arc::new(History::default());
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (store, history) = (store.clone(), history.clone());
        tasks.spawn(async move {
            for round in 0..20 {
                let call = history.begin();
                let txn = Txn::new().create(key(&format!("{task}"), &format!("{round}")), "");
                history.committed(call, store.commit(txn).await.unwrap());
                let call = history.begin();
                history.read(call, store.get(&key("ns", "a"), At::Latest).await.unwrap().revision);
                let call = history.begin();
                history.read(call, store.list(widgets().all(), ListOptions::latest()).await.unwrap().revision);
                let call = history.begin();
                history.read(call, store.revision().await.unwrap());
            }
        });
    }
    tasks.join_all().await;
    history.check();
}

/// A list shows one state: while amounts move between keys, one transaction each, their sum never changes.
pub(super) async fn a_list_is_one_state(store: Arc<dyn Store>) {
    const ACCOUNTS: usize = 6;
    let mut session = Session::new(store).await;
    session.commit((0..ACCOUNTS).fold(Txn::new(), |txn, account| txn.create(row(account), "100"))).await;
    let mut random = Random::default();
    let mut tasks = JoinSet::new();
    for _ in 0..4 {
        let (store, mut random) = (session.store.clone(), random.fork());
        tasks.spawn(async move {
            for _ in 0..25 {
                let from = random.below(ACCOUNTS);
                let to = (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
                let get = async |account| store.get(&row(account), At::Latest).await.unwrap().record.unwrap();
                let (source, target) = (get(from).await, get(to).await);
                let txn = Txn::new()
                    .update(row(from), number(&source).saturating_sub(1).to_string(), source.revision)
                    .update(row(to), (number(&target) + number(&source).min(1)).to_string(), target.revision);
                match store.commit(txn).await {
                    Ok(_) | Err(Error::Conflict(_)) => {}
                    Err(other) => panic!("expected success or a conflict, not {other:?}"),
                }
            }
        });
    }
    let check = async |at| {
        let page = session.store.list(ledger().all(), ListOptions::at(at)).await.unwrap();
        let sum: u64 = page.records.iter().map(number).sum();
        assert_eq!(sum, 100 * u64::try_from(ACCOUNTS).unwrap(), "as of {}: {:?}", page.revision, page.records);
        page
    };
    while !tasks.is_empty() {
        let page = check(At::Latest).await;
        assert_eq!(check(At::Exact(page.revision)).await, page, "a state does not change any more");
        check(At::Any).await;
        // Out of step with the writers, or on one thread each look would fall between the same two of their steps.
        for _ in 0..random.below(4) {
            tokio::task::yield_now().await;
        }
        while let Some(finished) = tasks.try_join_next() {
            finished.unwrap();
        }
    }
}

/// A list and the watch from its revision are the whole story, whenever they are taken: the way of every informer.
pub(super) async fn list_then_watch_is_the_whole_story(store: Arc<dyn Store>) {
    let mut random = Random::default();
    let mut writers = JoinSet::new();
    for task in 0..4 {
        let (store, mut random) = (store.clone(), random.fork());
        writers.spawn(async move {
            let mut session = Session::new(store).await;
            for round in 0..40 {
                let written = key(&format!("{task}"), &format!("{}", random.below(4)));
                if session.model.written(&written).is_some() && random.below(3) == 0 {
                    session.delete(&written).await;
                } else {
                    session.put(&written, format!("{round}")).await;
                }
            }
        });
    }
    let mut stories = Vec::new();
    while !writers.is_empty() {
        if stories.len() < 30 {
            let page = store.list(widgets().all(), ListOptions::latest()).await.unwrap();
            stories.push((page.records, Follower::open(&*store, widgets().all(), page.revision).await));
        }
        tokio::task::yield_now().await;
        while let Some(finished) = writers.try_join_next() {
            finished.unwrap();
        }
    }
    let end = store.list(widgets().all(), ListOptions::latest()).await.unwrap();
    for (records, mut follower) in stories {
        follower.until(end.revision).await;
        assert_eq!(replay(records, &follower), end.records);
    }
}

/// The replay of the watch from any revision over the list as of that revision is the list at the end, for a random
/// history of one writer and for every range.
pub(super) async fn replay_from_any_revision(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    random_history(&mut session, &mut Random::default(), 120).await;
    let ranges = [Prefix::everything(), widgets().all().clone(), widgets().namespace("a").unwrap()];
    for range in ranges {
        let end = session.check_list(&range, At::Latest).await;
        for revision in session.model.revisions().into_iter().chain([session.start]) {
            session.check_list(&range, At::Exact(revision)).await;
            let page = session.store.list(&range, ListOptions::at(At::Exact(revision))).await.unwrap();
            let mut follower = Follower::open(&*session.store, &range, revision).await;
            follower.until(end).await;
            assert_eq!(replay(page.records, &follower), session.model.state(&range, end), "{range:?} after {revision}");
        }
    }
}

/// Any read of any kept state by any means is what the model says, for a random history with compactions.
pub(super) async fn random_reads_match_the_model(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let mut random = Random::default();
    let mut oldest = session.start;
    for _ in 0..12 {
        random_history(&mut session, &mut random, 12).await;
        let revisions = session.model.revisions();
        for _ in 0..10 {
            let revision = random.one_of(&revisions).max(oldest);
            let at = random.one_of(&[At::Exact(revision), At::NotOlderThan(revision), At::Latest, At::Any]);
            let range = random.one_of(&[Prefix::everything(), widgets().all().clone()]);
            match random.below(4) {
                0 => drop(session.check_get(&random_key(&mut random), at).await),
                1 => drop(session.check_list(&range, at).await),
                2 => session.check_watch(&range, revision).await,
                _ => {
                    let pages = session.pages(&range, at, 1 + random.below(5)).await.unwrap();
                    let state = session.model.state(&range, pages[0].revision);
                    assert!(pages.iter().flat_map(|page| &page.records).eq(&state), "{range:?} {at:?}");
                }
            }
        }
        if random.below(3) == 0 {
            oldest = random.one_of(&revisions).max(oldest);
            session.store.compact(oldest).await.unwrap();
        }
    }
}

fn random_key(random: &mut Random) -> Key {
    match random.below(8) {
        0 => gadget(random.one_of(&["a", "ab"])),
        1 => row(random.below(4)),
        _ => key(random.one_of(&["a", "a-b", "ab"]), random.one_of(&["x", "x.y", "xy"])),
    }
}

/// Creations, updates and deletions, alone and together.
async fn random_history(session: &mut Session, random: &mut Random, writes: usize) {
    for _ in 0..writes {
        let mut txn = Txn::new();
        let mut named: Vec<Key> = Vec::new();
        for _ in 0..=random.below(3) {
            let written = random_key(random);
            let taken =
                |other: &Key| *other == written || other.resource().is_some_and(|r| Some(r) == written.resource());
            if named.iter().any(taken) {
                continue;
            }
            named.push(written.clone());
            let value = format!("{written} {}", random.below(1_000));
            txn = match session.model.written(&written) {
                None => txn.create(written, value),
                Some(seen) if random.below(3) == 0 => txn.delete(written, seen),
                Some(seen) => txn.update(written, value, seen),
            };
        }
        session.commit(txn).await;
    }
}

/// What a list becomes by the events of a watch.
fn replay(records: Vec<Record>, follower: &Follower) -> Vec<Record> {
    let mut state: BTreeMap<Key, Record> = records.into_iter().map(|record| (record.key.clone(), record)).collect();
    for event in follower.events.iter().cloned() {
        let (key, revision) = (event.key, event.revision);
        match event.change {
            Change::Put(value) => state.insert(key.clone(), Record { key, revision, value }),
            Change::Delete => state.remove(&key),
            Change::Corrupt(fault) => panic!("{key} is damaged: {fault}"),
        };
    }
    state.into_values().collect()
}
