//! Bounds, each from both sides, and what is as large as they allow.

use std::sync::Arc;

use bytes::Bytes;

use super::fixtures::{gadget, key, row, widgets};
use super::session::Session;
use crate::error::Error;
use crate::key::{MAX_SEGMENT_BYTES, Prefix};
use crate::limits::{MAX_TXN_BYTES, MAX_TXN_OPERATIONS, MAX_VALUE_BYTES};
use crate::store::{At, Store};
use crate::txn::{Expected, InvalidTxn, Txn};

fn rows(count: usize) -> Txn {
    (0..count).fold(Txn::new(), |txn, number| txn.create(row(number), "x"))
}

fn value(fill: u8, bytes: usize) -> Bytes {
    vec![fill; bytes].into()
}

async fn refuse(session: &Session, txn: Txn) -> InvalidTxn {
    match session.store.commit(txn).await {
        Err(Error::Invalid(invalid)) => invalid,
        other => panic!("expected the transaction to be refused, not {other:?}"),
    }
}

/// A transaction of 100 operations is done, all at one revision; one of 101 is refused.
pub(super) async fn a_hundred_operations(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let operations = MAX_TXN_OPERATIONS + 1;
    assert_eq!(refuse(&session, rows(operations)).await, InvalidTxn::TooManyOperations { operations });
    session.commit(rows(MAX_TXN_OPERATIONS)).await;
    session.check_list(&Prefix::everything(), At::Latest).await;
    session.check_watch(&Prefix::everything(), session.start).await;
}

/// Conditions are operations: one write and 99 conditions are done.
pub(super) async fn a_hundred_conditions(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let guarded = |count| (1..=count).fold(rows(1), |txn, n| txn.require(row(n), Expected::Absent));
    let operations = MAX_TXN_OPERATIONS + 1;
    assert_eq!(refuse(&session, guarded(MAX_TXN_OPERATIONS)).await, InvalidTxn::TooManyOperations { operations });
    session.commit(guarded(MAX_TXN_OPERATIONS - 1)).await;
    session.check_list(&Prefix::everything(), At::Latest).await;
}

/// A value of 1 MiB is kept, one byte more is refused.
pub(super) async fn a_value_of_a_mebibyte(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let bytes = MAX_VALUE_BYTES + 1;
    let too_large = InvalidTxn::ValueTooLarge { key: key("ns", "a"), bytes };
    assert_eq!(refuse(&session, Txn::new().create(key("ns", "a"), value(1, bytes))).await, too_large);
    let seen = session.put(&key("ns", "a"), value(2, MAX_VALUE_BYTES)).await;
    assert_eq!(refuse(&session, Txn::new().update(key("ns", "a"), value(3, bytes), seen)).await, too_large);
    session.check_get(&key("ns", "a"), At::Latest).await;
    session.check_watch(&Prefix::everything(), session.start).await;
}

/// A transaction of 1.25 MiB in all is done, one byte more is refused.
pub(super) async fn a_transaction_of_the_largest_size(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let keys = 2 * (row(1).as_str().len() + row(2).as_str().len());
    let rest = MAX_TXN_BYTES - MAX_VALUE_BYTES - keys;
    let sized = |rest| Txn::new().create(row(1), value(1, MAX_VALUE_BYTES)).create(row(2), value(2, rest));
    let bytes = MAX_TXN_BYTES + 1;
    assert_eq!(refuse(&session, sized(rest + 1)).await, InvalidTxn::TooManyBytes { bytes });
    session.commit(sized(rest)).await;
    session.check_list(&Prefix::everything(), At::Latest).await;
    session.check_watch(&Prefix::everything(), session.start).await;
}

/// What makes no sense is refused whatever is stored, and before anything is compared.
pub(super) async fn what_makes_no_sense_is_refused(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let seen = session.put(&key("ns", "a"), "one").await;
    assert_eq!(refuse(&session, Txn::new()).await, InvalidTxn::Empty);
    assert_eq!(refuse(&session, Txn::new().require(key("ns", "a"), Expected::At(seen))).await, InvalidTxn::Empty);
    let repeated = InvalidTxn::RepeatedKey { key: key("ns", "a") };
    let twice = Txn::new().update(key("ns", "a"), "two", seen).delete(key("ns", "a"), seen);
    assert_eq!(refuse(&session, twice).await, repeated);
    let checked = Txn::new().create(key("ns", "a"), "two").require(key("ns", "a"), Expected::At(seen));
    assert_eq!(refuse(&session, checked).await, repeated);
    session.check_list(&Prefix::everything(), At::Latest).await;
}

/// Two objects of one resource in one transaction are refused: a watcher that resumes after the first would miss the
/// second. Objects of different resources, and conditions on the same one, are not.
pub(super) async fn two_objects_of_one_resource_are_refused(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let two = Txn::new().create(key("b", "x"), "").create(gadget("x"), "").create(key("a", "x"), "");
    let refused = InvalidTxn::TwoObjectsOfOneResource { first: key("a", "x"), second: key("b", "x") };
    assert_eq!(refuse(&session, two).await, refused);
    let one = Txn::new().create(key("b", "x"), "").create(gadget("x"), "").require(key("a", "x"), Expected::Absent);
    session.commit(one).await;
    session.check_list(&Prefix::everything(), At::Latest).await;
}

/// One object may be written together with many rows of a ledger, and a watch of its resource sees the object only.
pub(super) async fn an_object_with_many_rows(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    session.commit(rows(MAX_TXN_OPERATIONS - 1).create(key("ns", "a"), "one")).await;
    session.check_list(&Prefix::everything(), At::Latest).await;
    session.check_watch(widgets().all(), session.start).await;
    assert_eq!(session.model.events(widgets().all(), session.start).len(), 1);
}

/// The longest names there are work like others.
pub(super) async fn the_longest_names(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    let longest = "x".repeat(MAX_SEGMENT_BYTES);
    let long_key = key(&longest, &longest);
    session.put(&long_key, "one").await;
    session.put(&key(&longest, &longest[1..]), "two").await;
    session.put(&long_key, "three").await;
    session.check_get(&long_key, At::Latest).await;
    session.check_list(&widgets().namespace(&longest).unwrap(), At::Latest).await;
    session.check_watch(widgets().all(), session.start).await;
    session.pages(widgets().all(), At::Latest, 1).await.unwrap();
}

/// A list and a watch may carry more than fits into one message between an engine and its server.
pub(super) async fn answers_larger_than_a_message(store: Arc<dyn Store>) {
    let mut session = Session::new(store).await;
    for number in 0..6_u8 {
        session.put(&key("ns", &number.to_string()), value(number, MAX_VALUE_BYTES)).await;
    }
    session.check_list(widgets().all(), At::Latest).await;
    session.check_list(widgets().all(), At::Exact(session.model.newest())).await;
    session.check_watch(widgets().all(), session.start).await;
}
