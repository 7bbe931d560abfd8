//! Reading one key in the newest state, in an old one, and in one that has not come yet.

use std::sync::Arc;
use std::time::Duration;

use super::fixtures::{gadget, key, soon};
use super::session::Session;
use crate::error::Error;
use crate::key::Prefix;
use crate::revision::Revision;
use crate::store::{At, ListOptions, Store};

/// A get of the newest state sees each write that returned before, as of a revision not older than it.
pub(super) async fn latest_sees_every_write(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    for round in 0..20 {
        let revision = session.put(&key("ns", "a"), format!("{round}")).await;
        assert!(session.check_get(&key("ns", "a"), At::Latest).await >= revision);
        if round % 7 == 6 {
            session.delete(&key("ns", "a")).await;
            session.check_get(&key("ns", "a"), At::Latest).await;
        }
    }
}

/// That a key is absent is an answer with a revision like any other.
pub(super) async fn an_absent_key_has_a_revision(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    assert!(session.check_get(&key("ns", "a"), At::Latest).await >= session.start);
    let revision = session.put(&gadget("a"), "").await;
    assert!(session.check_get(&key("ns", "a"), At::Latest).await >= revision);
    // Neighbours in the order of keys are not mistaken for it.
    session.put(&key("ns", "ab"), "").await;
    session.put(&key("ns", "a-b"), "").await;
    session.check_get(&key("ns", "a"), At::Latest).await;
}

/// A get of an old state shows the key as it was: before its creation, at each version, while deleted, and when
/// other keys were written.
pub(super) async fn exact_shows_the_past(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let mut revisions = vec![session.start, session.put(&gadget("other"), "").await];
    for value in ["one", "two", "three"] {
        revisions.push(session.put(&key("ns", "a"), value).await);
        revisions.push(session.put(&gadget("other"), value).await);
    }
    revisions.push(session.delete(&key("ns", "a")).await);
    revisions.push(session.put(&gadget("other"), "").await);
    revisions.push(session.put(&key("ns", "a"), "four").await);
    revisions.push(session.store.revision().await.unwrap());
    for revision in revisions {
        session.check_get(&key("ns", "a"), At::Exact(revision)).await;
    }
}

/// A get of a state not older than a revision has that revision or a newer one.
pub(super) async fn not_older_than_is_at_least_as_new(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    for value in ["one", "two", "three"] {
        session.put(&key("ns", "a"), value).await;
    }
    session.delete(&key("ns", "a")).await;
    session.put(&key("ns", "b"), "one").await;
    let newest = session.store.revision().await.unwrap();
    for revision in session.model.revisions().into_iter().chain([session.start, Revision::ZERO, newest]) {
        for name in ["a", "b"] {
            session.check_get(&key("ns", name), At::NotOlderThan(revision)).await;
        }
    }
}

/// A read that wants a revision which is about to come waits for it and then answers.
pub(super) async fn a_revision_about_to_come_is_waited_for(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    for round in 0..5 {
        let soon_to_come = Revision::new(session.store.revision().await.unwrap().get() + 1);
        let waiting = tokio::spawn({
            let store = session.store.clone();
            async move {
                let (wanted, everything) = (At::NotOlderThan(soon_to_come), Prefix::everything());
                let read = key("ns", "a");
                tokio::join!(store.get(&read, wanted), store.list(&everything, ListOptions::at(wanted)))
            }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        session.put(&key("ns", "a"), format!("{round}")).await;
        let (lookup, page) = soon("the answer", waiting).await.unwrap();
        let (lookup, page) = (lookup.unwrap(), page.unwrap());
        assert!(lookup.revision >= soon_to_come && page.revision >= soon_to_come);
        assert_eq!(lookup.record, session.model.get(&key("ns", "a"), lookup.revision));
        assert_eq!(page.records, session.model.state(&Prefix::everything(), page.revision));
    }
}

/// A read that wants a revision far ahead gives up after a while, and says how far the store is.
pub(super) async fn a_revision_far_ahead_is_an_error(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    session.put(&key("ns", "a"), "one").await;
    let newest = session.store.revision().await.unwrap();
    let wanted = Revision::new(newest.get() + 1_000_000);
    let store = &session.store;
    let get = |at| async move { store.get(&key("ns", "a"), at).await.map(|lookup| lookup.revision) };
    let list =
        |at| async move { store.list(&Prefix::everything(), ListOptions::at(at)).await.map(|page| page.revision) };
    let (at_least, exact) = (At::NotOlderThan(wanted), At::Exact(wanted));
    let all = async { tokio::join!(get(at_least), get(exact), list(at_least), list(exact)) };
    let answers = soon("giving up", all).await;
    for answer in [answers.0, answers.1, answers.2, answers.3] {
        match answer {
            Err(Error::FutureRevision { requested, current }) => {
                assert_eq!(requested, wanted);
                assert!(current >= newest && current < wanted, "{current} is not where the store is");
            }
            other => panic!("expected a future revision, not {other:?}"),
        }
    }
    session.check_get(&key("ns", "a"), At::Latest).await;
}

/// Whatever is at hand may be old, but it was true at the revision it claims, and it does not run ahead.
pub(super) async fn any_state_was_true_once(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    for round in 0..20 {
        session.put(&key("ns", "a"), format!("{round}")).await;
        let read = session.check_get(&key("ns", "a"), At::Any).await;
        let listed = session.check_list(&Prefix::everything(), At::Any).await;
        let newest = session.store.revision().await.unwrap();
        assert!(read <= newest && listed <= newest);
    }
}
