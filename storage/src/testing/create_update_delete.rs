//! Writes: what they change, what they refuse, and that they do so as a whole.

use std::sync::Arc;

use bytes::Bytes;

use super::fixtures::{before, conflict, gadget, key, row};
use super::session::Session;
use crate::error::Conflict;
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::store::{At, Store};
use crate::txn::{Expected, Txn};

/// What was created is there, under the revision the commit returned.
pub(super) async fn create_stores_a_record(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let revision = session.put(&key("ns", "a"), "one").await;
    let record = session.latest(&key("ns", "a")).await.unwrap();
    assert_eq!((record.key, record.revision, &record.value[..]), (key("ns", "a"), revision, &b"one"[..]));
}

/// A key that exists is not created again, and the conflict says when it was written.
pub(super) async fn create_refuses_a_key_that_exists(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let first = session.put(&key("ns", "a"), "one").await;
    let error = conflict(session.store.commit(Txn::new().create(key("ns", "a"), "two")).await);
    assert_eq!(error, Conflict { key: key("ns", "a"), expected: Expected::Absent, actual: Some(first) });
    assert_eq!(
        error.to_string(),
        format!("o/example.dev/widgets/ns/a was expected to be absent, but it is at revision {first}")
    );
    session.check_get(&key("ns", "a"), At::Latest).await;
}

/// An update with the revision that was seen replaces the value and moves the key to a new revision.
pub(super) async fn update_replaces_the_value(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let first = session.put(&key("ns", "a"), "one").await;
    let second = session.put(&key("ns", "a"), "two").await;
    assert!(second > first);
    session.check_get(&key("ns", "a"), At::Latest).await;
}

/// A writer that saw an older state does not overwrite a newer one: a lost update cannot happen.
pub(super) async fn update_refuses_a_stale_revision(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let first = session.put(&key("ns", "a"), "one").await;
    let second = session.put(&key("ns", "a"), "two").await;
    for stale in [first, before(first), before(second), Revision::new(second.get() + 1), Revision::ZERO] {
        if stale == second {
            continue;
        }
        let error = conflict(session.store.commit(Txn::new().update(key("ns", "a"), "three", stale)).await);
        assert_eq!(error, Conflict { key: key("ns", "a"), expected: Expected::At(stale), actual: Some(second) });
    }
    session.check_get(&key("ns", "a"), At::Latest).await;
}

/// A key that does not exist is not updated into being.
pub(super) async fn update_refuses_an_absent_key(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let seen = session.put(&key("ns", "other"), "one").await;
    for seen in [seen, Revision::ZERO] {
        let error = conflict(session.store.commit(Txn::new().update(key("ns", "a"), "two", seen)).await);
        assert_eq!(error, Conflict { key: key("ns", "a"), expected: Expected::At(seen), actual: None });
    }
    session.check_list(&Prefix::everything(), At::Latest).await;
}

/// What was deleted is gone, and nothing else is.
pub(super) async fn delete_removes_the_key(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    for name in ["a", "b"] {
        session.put(&key("ns", name), name).await;
    }
    let deleted = session.delete(&key("ns", "a")).await;
    assert_eq!(session.latest(&key("ns", "a")).await, None);
    assert!(session.check_list(&Prefix::everything(), At::Latest).await >= deleted);
}

/// A deleter that saw an older state does not delete a newer one.
pub(super) async fn delete_refuses_a_stale_revision(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let first = session.put(&key("ns", "a"), "one").await;
    let second = session.put(&key("ns", "a"), "two").await;
    let error = conflict(session.store.commit(Txn::new().delete(key("ns", "a"), first)).await);
    assert_eq!(error, Conflict { key: key("ns", "a"), expected: Expected::At(first), actual: Some(second) });
    session.check_get(&key("ns", "a"), At::Latest).await;
}

/// What does not exist is not deleted: not what never was, and not what was deleted before.
pub(super) async fn delete_refuses_an_absent_key(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let seen = session.put(&key("ns", "a"), "one").await;
    session.delete(&key("ns", "a")).await;
    for name in ["a", "b"] {
        let error = conflict(session.store.commit(Txn::new().delete(key("ns", name), seen)).await);
        assert_eq!(error, Conflict { key: key("ns", name), expected: Expected::At(seen), actual: None });
        assert_eq!(
            error.to_string(),
            format!("o/example.dev/widgets/ns/{name} was expected to be at revision {seen}, but it is absent")
        );
    }
    session.check_watch(&Prefix::everything(), session.start).await;
}

/// A key that was deleted can be created again, and is then another one: what was seen before is stale.
pub(super) async fn create_after_delete(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let first = session.put(&key("ns", "a"), "one").await;
    let deleted = session.delete(&key("ns", "a")).await;
    let second = session.put(&key("ns", "a"), "one").await;
    for stale in [first, deleted] {
        let error = conflict(session.store.commit(Txn::new().update(key("ns", "a"), "two", stale)).await);
        assert_eq!(error.actual, Some(second));
    }
    session.put(&key("ns", "a"), "two").await;
    session.check_get(&key("ns", "a"), At::Latest).await;
    session.check_watch(&Prefix::everything(), session.start).await;
}

/// Creations, updates and deletions of one transaction happen at one revision, which every record carries.
pub(super) async fn a_transaction_has_one_revision(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let updated = session.put(&gadget("a"), "one").await;
    let deleted = session.put(&row(1), "one").await;
    let revision = session
        .commit(
            Txn::new()
                .create(key("ns", "a"), "two")
                .update(gadget("a"), "two", updated)
                .delete(row(1), deleted)
                .create(row(2), "two"),
        )
        .await;
    for written in [key("ns", "a"), gadget("a"), row(2)] {
        assert_eq!(session.latest(&written).await.unwrap().revision, revision, "{written}");
    }
    session.check_list(&Prefix::everything(), At::Latest).await;
    session.check_list(&Prefix::everything(), At::Exact(before(revision))).await;
}

/// Wherever in a transaction the conflict is, nothing of it happens, and the key it is about is named.
pub(super) async fn a_conflict_anywhere_writes_nothing(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let a = session.put(&key("ns", "a"), "one").await;
    let b = session.put(&gadget("b"), "one").await;
    let c = session.put(&row(3), "one").await;
    let stale = before(a);
    for position in 0..5 {
        let txn = (0..5).fold(Txn::new(), |txn, step| match (step + 5 - position) % 5 {
            0 => txn.delete(row(5), stale),
            1 => txn.update(key("ns", "a"), "two", a),
            2 => txn.update(gadget("b"), "two", b),
            3 => txn.delete(row(3), c),
            _ => txn.create(row(4), "two"),
        });
        let error = conflict(session.store.commit(txn).await);
        assert_eq!(error, Conflict { key: row(5), expected: Expected::At(stale), actual: None });
        session.check_list(&Prefix::everything(), At::Latest).await;
    }
    let two = conflict(session.store.commit(Txn::new().create(gadget("b"), "two").create(row(3), "two")).await);
    assert!(two.key == gadget("b") || two.key == row(3), "the conflict names {}, which is as expected", two.key);
    session.check_watch(&Prefix::everything(), session.start).await;
}

/// A condition that a key is absent holds while it is, and stops the transaction once it exists.
pub(super) async fn a_condition_guards_absence(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let guarded = |name| Txn::new().create(key("ns", name), "one").require(gadget("guard"), Expected::Absent);
    session.commit(guarded("a")).await;
    let guard = session.put(&gadget("guard"), "").await;
    let error = conflict(session.store.commit(guarded("b")).await);
    assert_eq!(error, Conflict { key: gadget("guard"), expected: Expected::Absent, actual: Some(guard) });
    session.delete(&gadget("guard")).await;
    session.commit(guarded("c")).await;
    session.check_list(&Prefix::everything(), At::Latest).await;
}

/// A condition that a key is at a revision holds until it is written again or deleted, and does not write the key.
pub(super) async fn a_condition_guards_a_revision(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let guard = session.put(&gadget("guard"), "one").await;
    let guarded = |name, seen| Txn::new().create(key("ns", name), "one").require(gadget("guard"), Expected::At(seen));
    session.commit(guarded("a", guard)).await;
    session.commit(guarded("b", guard)).await;
    assert_eq!(session.latest(&gadget("guard")).await.unwrap().revision, guard);
    let second = session.put(&gadget("guard"), "two").await;
    let error = conflict(session.store.commit(guarded("c", guard)).await);
    assert_eq!(error, Conflict { key: gadget("guard"), expected: Expected::At(guard), actual: Some(second) });
    session.delete(&gadget("guard")).await;
    let error = conflict(session.store.commit(guarded("c", second)).await);
    assert_eq!(error, Conflict { key: gadget("guard"), expected: Expected::At(second), actual: None });
    session.check_list(&Prefix::everything(), At::Latest).await;
}

/// One counter for all keys: each write, of whichever key, gets a higher revision than all before.
pub(super) async fn revisions_increase_across_keys(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let keys = [key("a", "x"), gadget("x"), row(1), key("b", "x")];
    for round in 0..5 {
        for key in &keys {
            let newest = session.store.revision().await.unwrap();
            let revision = session.put(key, format!("{round}")).await;
            assert!(revision > newest, "a write got {revision} when the store was at {newest} already");
            assert!(session.store.revision().await.unwrap() >= revision);
            assert_eq!(session.latest(key).await.unwrap().revision, revision);
        }
        session.delete(&keys[round % keys.len()]).await;
    }
}

/// Refused writes and reads leave everything as it was: no key moves, and watchers hear nothing.
pub(super) async fn refused_writes_leave_no_trace(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let seen = session.put(&key("ns", "a"), "one").await;
    for _ in 0..5 {
        conflict(session.store.commit(Txn::new().create(key("ns", "a"), "two")).await);
        conflict(session.store.commit(Txn::new().delete(key("ns", "b"), seen)).await);
        session.store.commit(Txn::new()).await.unwrap_err();
        session.check_get(&key("ns", "a"), At::Latest).await;
        session.check_list(&Prefix::everything(), At::Latest).await;
    }
    assert_eq!(session.latest(&key("ns", "a")).await.unwrap().revision, seen);
    session.check_watch(&Prefix::everything(), session.start).await;
}

/// Writing the bytes that are there already is a write like any other: whoever wants to spare it compares first.
pub(super) async fn an_equal_value_is_still_a_write(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let first = session.put(&key("ns", "a"), "same").await;
    let second = session.put(&key("ns", "a"), "same").await;
    assert!(second > first);
    session.check_get(&key("ns", "a"), At::Latest).await;
    session.check_watch(&Prefix::everything(), session.start).await;
}

/// Values are bytes: empty ones, every byte there is, and what looks like a store's own marks come back unchanged.
pub(super) async fn values_are_kept_byte_for_byte(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let all_bytes: Vec<u8> = (0..=u8::MAX).collect();
    let values: [Bytes; 6] = [
        Bytes::new(),
        all_bytes.into(),
        Bytes::from_static(b"\0"),
        Bytes::from_static(&[0xff; 300]),
        Bytes::from_static(b"\x01\0\0\0\0\0\0\0\0\0\x05o/a/b"),
        Bytes::from_static("{\"kind\":\"Ä\"}\r\n".as_bytes()),
    ];
    let keys: Vec<Key> = (0..values.len()).map(|index| key("ns", &index.to_string())).collect();
    for (key, value) in keys.iter().zip(values) {
        session.put(key, value).await;
        session.check_get(key, At::Latest).await;
    }
    session.check_list(&Prefix::everything(), At::Latest).await;
    session.check_watch(&Prefix::everything(), session.start).await;
}
