//! The order in which projects are looked at.

use super::Sweep;

/// QUOTA-22: an allocation is added up when all projects have been looked at that were there when it began, not later; one
/// that could not be looked at is still missing.
#[test]
fn a_sweep_has_an_end_also_if_more_comes() {
    let mut sweep = Sweep::default();
    ["a", "b", "a"].into_iter().for_each(|name| sweep.add(name.to_owned()));
    let through = sweep.last();
    sweep.add("c".to_owned());
    let taken = sweep.take(1);
    assert_eq!(taken, [(1, "a".to_owned())]);
    assert!(sweep.first() <= Some(through));
    assert_eq!(sweep.take(1), [(2, "b".to_owned())]);
    assert!(sweep.first() > Some(through), "what came later does not count");
    sweep.put_back("b".to_owned(), 2);
    assert_eq!(sweep.first(), Some(through));
    assert_eq!(sweep.take(8), [(2, "b".to_owned()), (3, "c".to_owned())]);
    assert!(sweep.is_empty());
}
