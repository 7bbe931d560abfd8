use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{Fields, Known, News, REMEMBERED};

#[test]
fn what_all_have_copied_is_no_news() {
    let mut known = Known::default();
    let reading = known.begin_reading(Instant::now());
    assert_eq!(known.was_read(reading, &state("1")), News::No);
    assert_eq!(known.appeared(state("1")), News::No);
    assert_eq!(known.current(Instant::now()), Some(state("1")));
    assert_eq!(known.appeared(state("1")), News::No);
    assert_eq!(known.appeared(state("2")), News::Yes);
}

#[test]
fn what_went_before_it_was_followed_is_news() {
    let mut known = Known::default();
    let reading = known.begin_reading(Instant::now());
    assert_eq!(known.was_read(reading, &state("1")), News::No);
    assert_eq!(known.went(), News::Yes);
    assert_eq!(known.went(), News::No, "everyone was told");
}

#[test]
fn who_read_while_it_went_looks_again() {
    let mut known = Known::default();
    let reading = known.begin_reading(Instant::now());
    assert_eq!(known.went(), News::No, "nobody has copied it yet");
    assert_eq!(known.was_read(reading, &state("1")), News::Yes);
}

#[test]
fn who_read_an_older_state_than_others_hears_of_the_newer_one() {
    let mut known = Known::default();
    let reading = known.begin_reading(Instant::now());
    assert_eq!(known.was_read(reading, &state("1")), News::No);
    assert_eq!(known.was_read(reading, &state("2")), News::No);
    assert_eq!(known.appeared(state("2")), News::Yes);
}

#[test]
fn who_is_late_with_an_older_state_looks_again() {
    let mut known = Known::default();
    let (slow, quick) = (known.begin_reading(Instant::now()), known.begin_reading(Instant::now()));
    assert_eq!(known.was_read(quick, &state("2")), News::No);
    assert_eq!(known.appeared(state("2")), News::No);
    assert_eq!(known.was_read(slow, &state("1")), News::Yes);
}

#[test]
fn what_changes_out_of_sight_is_news_when_it_is_seen_again() {
    let mut known = Known::default();
    assert_eq!(known.appeared(state("1")), News::Yes);
    let reading = known.begin_reading(Instant::now());
    assert_eq!(known.was_read(reading, &state("1")), News::No);
    assert_eq!(known.current(Instant::now()), Some(state("1")));
    assert_eq!(known.is_out_of_sight(), News::Yes);
    assert_eq!(known.is_out_of_sight(), News::No);
    assert_eq!(known.current(Instant::now()), None);
    let reading = known.begin_reading(Instant::now());
    assert_eq!(known.was_read(reading, &state("2")), News::No);
    assert_eq!(known.appeared(state("2")), News::Yes, "not all have read it");
}

/// I5: who follows it has been asked for their right when they began; whether they have it still is known from who has read it.
#[test]
fn what_is_followed_is_told_only_while_it_can_be_read() {
    let (mut known, now) = (Known::default(), Instant::now());
    assert_eq!(known.appeared(state("1")), News::Yes);
    assert_eq!(known.current(now), None, "nobody has read it");
    let reading = known.begin_reading(now);
    assert_eq!(known.was_read(reading, &state("1")), News::No);
    assert_eq!(known.current(now), Some(state("1")));
    assert_eq!(known.appeared(state("2")), News::Yes);
    assert_eq!(known.current(now + REMEMBERED / 2), Some(state("2")));
    assert_eq!(known.current(now + REMEMBERED), None);
}

fn state(version: &str) -> Fields {
    let state = json!({ "metadata": { "resourceVersion": version } });
    Arc::new(state.as_object().cloned().unwrap_or_else(Map::<String, Value>::new))
}
