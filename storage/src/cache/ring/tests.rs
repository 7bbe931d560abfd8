//! The ring by itself: who sees what, and who has fallen off.

use std::sync::Arc;

use super::*;
use crate::cache::object::AsStored;
use crate::cache::term::Interner;
use crate::key::Resource;

fn event(revision: u64, name: &str, size: usize) -> Arc<ObjectEvent> {
    let key = Resource::new("", "things").unwrap().object(name).unwrap();
    let object = |revision| {
        let stored = Ok(vec![0; size].into());
        Arc::new(Object::new(&AsStored, &mut Interner::default(), key.clone(), Revision::new(revision), stored))
    };
    Arc::new(ObjectEvent {
        revision: Revision::new(revision),
        object: Some(object(revision)),
        previous: Some(object(revision - 1)),
    })
}

fn ring(events: usize, revisions: &[u64]) -> Ring {
    let mut ring = Ring::new(RingBound { events, bytes: 1 << 20 }, Revision::new(2));
    for &revision in revisions {
        ring.extend([event(revision, "a", 1)], Revision::new(revision)).spread();
    }
    ring
}

fn revisions(step: &Step) -> Vec<u64> {
    step.events.iter().map(|event| event.revision.get()).collect()
}

/// The cursor of a watcher of everything after `after`.
fn follow(ring: &mut Ring, after: u64) -> Result<u64, FellOff> {
    ring.follow(&Prefix::everything(), Revision::new(after)).map(|(cursor, _)| cursor)
}

/// What a watcher after `after` gets.
fn read(ring: &mut Ring, after: u64) -> Result<(Vec<u64>, u64), FellOff> {
    let cursor = follow(ring, after)?;
    let step = ring.read(cursor, &Prefix::everything())?;
    Ok((revisions(&step), step.through.get()))
}

#[test]
fn a_watcher_gets_what_follows() {
    let mut ring = ring(10, &[5, 7, 7, 9]);
    assert_eq!(read(&mut ring, 2), Ok((vec![5, 7, 7, 9], 9)));
    assert_eq!(read(&mut ring, 5), Ok((vec![7, 7, 9], 9)));
    assert_eq!(read(&mut ring, 6), Ok((vec![7, 7, 9], 9)));
    assert_eq!(read(&mut ring, 9), Ok((vec![], 9)));
}

#[test]
fn a_watcher_before_the_floor_has_fallen_off() {
    let oldest = |oldest| Err(FellOff { oldest: Revision::new(oldest) });
    assert_eq!(read(&mut ring(10, &[5, 7]), 1), oldest(2));
    let mut full = ring(3, &[5, 7, 7, 9]);
    assert_eq!(read(&mut full, 4), oldest(5));
    assert_eq!(read(&mut full, 5), Ok((vec![7, 7, 9], 9)));
}

#[test]
fn a_revision_that_is_half_dropped_is_gone() {
    let mut half = ring(2, &[5, 7, 7, 9]);
    assert_eq!(read(&mut half, 5), Err(FellOff { oldest: Revision::new(7) }));
    assert_eq!(read(&mut half, 7), Ok((vec![9], 9)));
}

#[test]
fn a_cursor_falls_off_when_its_event_is_dropped() {
    let mut ring = ring(3, &[5]);
    let cursor = follow(&mut ring, 2).unwrap();
    for revision in 6..=7 {
        ring.extend([event(revision, "a", 1)], Revision::new(revision)).spread();
        assert!(ring.read(cursor, &Prefix::everything()).is_ok());
    }
    ring.extend([event(8, "a", 1)], Revision::new(8)).spread();
    assert_eq!(ring.read(cursor, &Prefix::everything()).unwrap_err(), FellOff { oldest: Revision::new(5) });
}

#[test]
fn bytes_are_bounded_too() {
    let mut ring = Ring::new(RingBound { events: 1_000, bytes: 10_000 }, Revision::new(1));
    for revision in 2..100 {
        ring.extend([event(revision, "a", 1_000)], Revision::new(revision)).spread();
        assert!(ring.bytes() <= 10_000);
    }
    assert_eq!(ring.len(), 8);
}

#[test]
fn one_event_larger_than_the_bound_leaves_nothing_but_the_truth() {
    let mut ring = Ring::new(RingBound { events: 10, bytes: 500 }, Revision::new(1));
    ring.extend([event(2, "a", 1_000)], Revision::new(2)).spread();
    assert_eq!((ring.len(), ring.bytes()), (0, 0));
    assert_eq!(read(&mut ring, 1), Err(FellOff { oldest: Revision::new(2) }));
    assert_eq!(read(&mut ring, 2), Ok((vec![], 2)));
}

#[test]
fn a_step_is_bounded_and_ends_with_a_revision() {
    let mut ring = Ring::new(RingBound { events: 10_000, bytes: 1 << 30 }, Revision::new(1));
    // Revision 2 to 600 once each, but 513 has a hundred events, across the end of the first step.
    for revision in 2..600 {
        let count = if revision == 513 { 100 } else { 1 };
        ring.extend((0..count).map(|_| event(revision, "a", 1)), Revision::new(revision)).spread();
    }
    let cursor = follow(&mut ring, 1).unwrap();
    let first = ring.read(cursor, &Prefix::everything()).unwrap();
    assert_eq!(first.events.len(), MAX_STEP - 1 + 100);
    assert_eq!(first.through.get(), 513);
    let second = ring.read(first.next, &Prefix::everything()).unwrap();
    assert_eq!(revisions(&second), (514..600).collect::<Vec<_>>());
    assert_eq!(second.through.get(), 599);
}

#[test]
fn a_range_is_filtered_and_still_moves_on() {
    let mut ring = ring(10, &[]);
    ring.extend([event(3, "a", 1)], Revision::new(3)).spread();
    let other = Resource::new("", "thing").unwrap();
    let (cursor, _) = ring.follow(other.all(), Revision::new(2)).unwrap();
    let step = ring.read(cursor, other.all()).unwrap();
    assert_eq!((revisions(&step), step.through.get()), (vec![], 3));
    assert_eq!(step.next, ring.cursor(Revision::new(3)).unwrap());
}

#[test]
fn only_those_whose_range_it_is_are_told() {
    let mut ring = ring(10, &[]);
    let things = Resource::new("", "things").unwrap();
    let (_, everyone) = ring.follow(&Prefix::everything(), Revision::new(2)).unwrap();
    let (_, same) = ring.follow(things.all(), Revision::new(2)).unwrap();
    let (_, other) = ring.follow(Resource::new("", "thing").unwrap().all(), Revision::new(2)).unwrap();
    let (_, elsewhere) = ring.follow(&things.namespace("a").unwrap(), Revision::new(2)).unwrap();
    ring.extend([event(3, "a", 1)], Revision::new(3)).spread();
    let told = [&everyone, &same, &other, &elsewhere].map(|news| news.has_changed().unwrap());
    assert_eq!(told, [true, true, false, false]);
}

#[test]
fn a_quiet_range_outlives_a_busy_ring() {
    let mut ring = ring(3, &[]);
    let quiet = Resource::new("", "quiet").unwrap();
    let (cursor, _news) = ring.follow(quiet.all(), Revision::new(2)).unwrap();
    for revision in 3..100 {
        ring.extend([event(revision, "a", 1)], Revision::new(revision)).spread();
    }
    let step = ring.read(cursor, quiet.all()).unwrap();
    assert_eq!((revisions(&step), step.through.get()), (vec![], 99));
    assert_eq!(follow(&mut ring, 50), Err(FellOff { oldest: Revision::new(96) }), "who comes now comes too late");
}

#[test]
fn a_range_that_nobody_follows_is_forgotten() {
    let mut ring = ring(3, &[5]);
    let (_, one) = ring.follow(&Prefix::everything(), Revision::new(5)).unwrap();
    let (_, two) = ring.follow(&Prefix::everything(), Revision::new(5)).unwrap();
    drop(one);
    ring.unfollow(&Prefix::everything());
    assert_eq!(ring.ranges.len(), 1);
    drop(two);
    ring.unfollow(&Prefix::everything());
    assert_eq!(ring.ranges.len(), 0);
}

#[test]
fn replacing_the_ring_ends_every_cursor() {
    let mut ring = ring(10, &[5, 7]);
    let cursors = [2, 5, 7].map(|after| follow(&mut ring, after).unwrap());
    ring.replace(Ring::new(RingBound { events: 10, bytes: 1_000 }, Revision::new(9))).spread();
    for cursor in cursors {
        assert_eq!(ring.read(cursor, &Prefix::everything()).unwrap_err(), FellOff { oldest: Revision::new(9) });
    }
    assert_eq!(read(&mut ring, 9), Ok((vec![], 9)));
}

#[test]
fn forgetting_moves_the_floor() {
    let mut ring = ring(10, &[5, 7, 9]);
    ring.forget(Revision::new(7));
    assert_eq!(read(&mut ring, 6), Err(FellOff { oldest: Revision::new(7) }));
    assert_eq!(read(&mut ring, 7), Ok((vec![9], 9)));
}
