//! Who is told of what, and how often.

use super::*;

const NAMES: [&str; 2] = ["a", "b"];

fn names(changes: &Changes) -> Vec<&str> {
    changes.names.iter().map(String::as_str).collect()
}

fn one<'k>(namespace: &'k str, name: &'k str) -> Touched<'k> {
    Touched::One { namespace, name }
}

#[test]
fn a_change_is_noted_for_those_it_concerns() {
    let mut seats = Seats::default();
    let (here, _) = seats.join("here", NAMES.into_iter(), Revision::ZERO);
    let (there, _) = seats.join("there", ["b"].into_iter(), Revision::ZERO);
    seats.note(one("here", "c"));
    seats.note(Touched::Named("b"));
    seats.note(Touched::Named("unknown"));
    seats.note(one("elsewhere", "a"));
    assert_eq!(names(&seats.take(here)), ["b", "c"]);
    assert_eq!(names(&seats.take(there)), ["b"]);
    assert!(!seats.has_changed(here) && !seats.has_changed(there));
    // Both go on being told.
    seats.note(Touched::Named("b"));
    seats.note(Touched::Named("c"));
    assert_eq!(names(&seats.take(here)), ["b", "c"]);
    assert_eq!(names(&seats.take(there)), ["b"]);
}

#[test]
fn a_name_costs_nothing_until_those_who_know_it_have_looked() {
    let mut seats = Seats::default();
    let all: Vec<Seat> = (0..100).map(|_| seats.join("n", NAMES.into_iter(), Revision::ZERO).0).collect();
    seats.note(Touched::Named("a"));
    assert!(!seats.by_name.contains_key("a"), "nobody is left to be told");
    seats.note(Touched::Named("a"));
    assert_eq!(names(&seats.take(all[0])), ["a"]);
    assert_eq!(seats.by_name["a"].len(), 1);
}

#[test]
fn who_comes_late_looks_at_everything() {
    let mut seats = Seats::from(Revision::new(3));
    seats.reach(Revision::new(7));
    let (late, _) = seats.join("n", NAMES.into_iter(), Revision::new(6));
    let (timely, _) = seats.join("n", NAMES.into_iter(), Revision::new(7));
    assert!(seats.has_changed(late) && !seats.has_changed(timely));
    assert!(seats.take(late).all);
    // What it finds then, and what has changed since.
    seats.reach(Revision::new(9));
    seats.found(late, ["c"].into_iter(), Revision::new(8));
    assert_eq!(names(&seats.take(late)), ["c"]);
    seats.found(late, ["d"].into_iter(), Revision::new(9));
    assert!(!seats.has_changed(late));
    seats.note(Touched::Named("d"));
    assert_eq!(names(&seats.take(late)), ["d"]);
}

#[test]
fn nothing_is_left_of_who_has_gone() {
    let mut seats = Seats::default();
    let (seat, _) = seats.join("n", NAMES.into_iter(), Revision::ZERO);
    seats.note(one("n", "c"));
    seats.take(seat);
    seats.missed(seat, "c");
    assert!(!seats.by_name.contains_key("c"));
    seats.leave(seat);
    assert!(seats.all.is_empty() && seats.by_namespace.is_empty() && seats.by_name.is_empty());
    seats.leave(seat);
}
