//! What a transaction may hold: each limit one below and one above.

use super::*;
use crate::key::{Ledger, Resource};

const SEEN: Revision = Revision::new(7);

fn object(resource: &str, name: &str) -> Key {
    Resource::new("example.dev", resource).unwrap().object(name).unwrap()
}

fn row(number: usize) -> Key {
    Ledger::new("counts").unwrap().row(&["a"], &format!("{number:04}")).unwrap()
}

fn rows(count: usize) -> Txn {
    (0..count).fold(Txn::new(), |txn, number| txn.create(row(number), "x"))
}

fn value(bytes: usize) -> Bytes {
    vec![b'x'; bytes].into()
}

#[track_caller]
fn check(txn: &Txn, expected: InvalidTxn, message: &str) {
    let error = txn.validate().unwrap_err();
    assert_eq!(error, expected);
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_transaction_writes_something() {
    let empty = "the transaction writes nothing";
    check(&Txn::new(), InvalidTxn::Empty, empty);
    check(&Txn::new().require(row(1), Expected::Absent), InvalidTxn::Empty, empty);
    assert_eq!(Txn::new().create(row(1), "").validate(), Ok(()));
    assert_eq!(Txn::new().delete(row(1), SEEN).validate(), Ok(()));
}

#[test]
fn at_most_100_operations() {
    assert_eq!(rows(100).validate(), Ok(()));
    let message = "the transaction has 101 operations, more than the 100 allowed: split it";
    check(&rows(101), InvalidTxn::TooManyOperations { operations: 101 }, message);
}

/// A condition costs an engine as much as a write.
#[test]
fn conditions_are_operations() {
    let with_conditions = |count| (1..=count).fold(rows(1), |txn, n| txn.require(row(n), Expected::Absent));
    assert_eq!(with_conditions(99).validate(), Ok(()));
    let error = with_conditions(100).validate().unwrap_err();
    assert_eq!(error, InvalidTxn::TooManyOperations { operations: 101 });
}

#[test]
fn a_value_has_at_most_1_mib() {
    assert_eq!(Txn::new().create(row(1), value(MAX_VALUE_BYTES)).validate(), Ok(()));
    let message = "the value for l/counts/a/0001 has 1048577 bytes, more than the 1048576 allowed: make it smaller";
    let too_large = || InvalidTxn::ValueTooLarge { key: row(1), bytes: MAX_VALUE_BYTES + 1 };
    check(&Txn::new().create(row(1), value(MAX_VALUE_BYTES + 1)), too_large(), message);
    check(&Txn::new().update(row(1), value(MAX_VALUE_BYTES + 1), SEEN), too_large(), message);
}

/// Keys count, those of the conditions too: each write has a condition of its own on the same key.
#[test]
fn a_transaction_has_at_most_1_25_mib() {
    let keys = 4 * row(1).as_str().len() + row(3).as_str().len();
    let rest = MAX_TXN_BYTES - MAX_VALUE_BYTES - keys;
    let sized = |rest| {
        Txn::new()
            .create(row(1), value(MAX_VALUE_BYTES))
            .update(row(2), value(rest), SEEN)
            .require(row(3), Expected::At(SEEN))
    };
    assert_eq!(sized(rest).bytes(), MAX_TXN_BYTES);
    assert_eq!(sized(rest).validate(), Ok(()));
    let message = "the transaction has 1310721 bytes, more than the 1310720 allowed: split it";
    check(&sized(rest + 1), InvalidTxn::TooManyBytes { bytes: MAX_TXN_BYTES + 1 }, message);
}

#[test]
fn a_key_is_named_once() {
    let message = "the transaction names l/counts/a/0001 twice";
    let repeated = || InvalidTxn::RepeatedKey { key: row(1) };
    check(&rows(2).delete(row(1), SEEN), repeated(), message);
    check(&rows(2).require(row(1), Expected::Absent), repeated(), message);
    check(&rows(1).require(row(1), Expected::Absent).require(row(1), Expected::At(SEEN)), repeated(), message);
    assert_eq!(rows(2).require(row(2), Expected::Absent).validate(), Ok(()));
}

#[test]
fn one_object_of_each_resource() {
    let txn = Txn::new().create(object("widgets", "b"), "").create(object("gadgets", "a"), "").create(row(1), "");
    assert_eq!(txn.validate(), Ok(()));
    assert_eq!(txn.clone().require(object("widgets", "a"), Expected::Absent).validate(), Ok(()));
    check(
        &txn.delete(object("widgets", "a"), SEEN),
        InvalidTxn::TwoObjectsOfOneResource { first: object("widgets", "a"), second: object("widgets", "b") },
        "the transaction writes two objects of one resource, o/example.dev/widgets/a and o/example.dev/widgets/b: use \
         one transaction for each",
    );
}

/// Namespaces do not matter: a watch of all namespaces would lose the second one.
#[test]
fn namespaces_share_their_resource() {
    let widgets = Resource::new("", "widgets").unwrap();
    let (a, b) = (widgets.namespaced("a", "x").unwrap(), widgets.namespaced("b", "x").unwrap());
    let error = Txn::new().create(b.clone(), "").create(a.clone(), "").validate().unwrap_err();
    assert_eq!(error, InvalidTxn::TwoObjectsOfOneResource { first: a, second: b });
}

#[test]
fn knows_whether_it_only_deletes() {
    assert!(Txn::new().delete(row(1), SEEN).delete(row(2), SEEN).require(row(3), Expected::Absent).only_deletes());
    assert!(!Txn::new().delete(row(1), SEEN).create(row(2), "").only_deletes());
}

#[test]
fn expectations_read_well() {
    assert_eq!(Expected::Absent.to_string(), "absent");
    assert_eq!(Expected::At(SEEN).to_string(), "at revision 7");
}
