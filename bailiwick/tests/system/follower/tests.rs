//! The comparison notices what it is for.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;

use super::{Begin, Followed, Place};
use crate::history::{Event, History, State, Told, Wanted};

#[test]
fn what_was_seen_as_it_happened_is_taken() {
    for (wanted, begin) in sorts() {
        assert!(check(followed(&wanted, begin)), "{wanted:?} from {begin:?}");
    }
}

#[test]
fn every_mistake_is_noticed() {
    for (wanted, begin) in sorts() {
        let right = followed(&wanted, begin).events;
        for at in 0..right.len() {
            let wrong = |change: fn(&mut Vec<Event>, usize)| {
                let mut wrong = followed(&wanted, begin);
                change(&mut wrong.events, at);
                wrong.events != right && check(wrong)
            };
            let tried = format!("{wanted:?} from {begin:?}, event {at}");
            assert!(!wrong(|events, at| drop(events.remove(at))), "lost: {tried}");
            assert!(!wrong(|events, at| events.insert(at, events[at].clone())), "twice: {tried}");
            assert!(!wrong(|events, at| events[at..].reverse()), "out of order: {tried}");
            assert!(!wrong(|events, at| events[at].state.tier.push('x')), "another state: {tried}");
            assert!(!wrong(|events, at| events[at].told = Told::Deleted), "another type: {tried}");
        }
    }
}

#[test]
fn an_event_before_a_bookmark_is_noticed() {
    let event =
        |revision: u64| json!({"type": "ADDED", "object": {"metadata": {"resourceVersion": revision.to_string()}}});
    let bookmark = json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}});
    for (revision, fits) in [(8, true), (7, false), (6, false)] {
        let mut followed = followed(&Wanted::default(), Begin::After(0));
        let mut place = Place { event: 0, bookmark: 0 };
        followed.note(&bookmark, &mut place);
        let noting = catch_unwind(AssertUnwindSafe(|| followed.note(&event(revision), &mut place)));
        assert_eq!(noting.is_ok(), fits, "{revision}");
    }
}

/// Whether it passes.
fn check(followed: Followed) -> bool {
    followed.check(&history()).is_ok()
}

fn sorts() -> Vec<(Wanted, Begin)> {
    let gold = Wanted { tier: Some("gold".to_owned()), ..Wanted::default() };
    let mut sorts = Vec::new();
    for wanted in [Wanted::default(), gold] {
        for begin in [Begin::After(0), Begin::After(3), Begin::StreamedList, Begin::AnyState] {
            sorts.push((wanted.clone(), begin));
        }
    }
    sorts
}

fn followed(wanted: &Wanted, begin: Begin) -> Followed {
    let state_at = 4;
    let events = match begin {
        Begin::After(after) => history().seen_after(wanted, after),
        Begin::StreamedList | Begin::AnyState => history().seen_from_state(wanted, state_at),
    };
    let initial_end = (begin == Begin::StreamedList).then_some(state_at);
    Followed { wanted: wanted.clone(), begin, events, initial_end, bookmarks: 0, watches: 1 }
}

/// Objects that come, change, leave the selection, come back and go.
fn history() -> History {
    let event = |revision: u64, told, name: &str, tier: &str| {
        let state = State {
            namespace: "north".to_owned(),
            name: name.to_owned(),
            tier: tier.to_owned(),
            catalog: "tools".to_owned(),
            value: revision.to_string(),
        };
        Event { told, revision, state }
    };
    let mut events = vec![
        event(1, Told::Added, "a", "gold"),
        event(2, Told::Added, "b", "silver"),
        event(4, Told::Modified, "a", "gold"),
        event(5, Told::Modified, "b", "gold"),
        event(6, Told::Modified, "a", "silver"),
        event(8, Told::Modified, "a", "gold"),
        event(9, Told::Deleted, "b", "gold"),
    ];
    // A deletion shows the object as it was.
    events[6].state.value = "5".to_owned();
    History { events }
}
