//! Clients that follow a collection through everything that happens to the server, as informers do: they begin again where
//! they were.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::claims::{collection, everywhere};
use crate::client::{Endpoint, Events, Unanswered, revision};
use crate::history::{Event, History, Wanted};

const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// A watch so short has its bookmark after a second.
const LAST_WATCH_SECONDS: u64 = 3;

/// How a follower begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// With whatever the server has.
    AnyState,
    /// With the newest state, whose end is told.
    StreamedList,
    /// After a version.
    After(u64),
}

/// A client that follows.
pub(crate) struct Follower {
    pub(crate) wanted: Wanted,
    pub(crate) begin: Begin,
    /// How long each of its watches lasts.
    pub(crate) seconds: u64,
    pub(crate) endpoint: Endpoint,
}

/// What a follower saw.
pub(crate) struct Followed {
    wanted: Wanted,
    begin: Begin,
    events: Vec<Event>,
    /// The version at the end of a streamed list.
    initial_end: Option<u64>,
    pub(crate) bookmarks: usize,
    pub(crate) watches: usize,
}

/// How far it has come, which only grows.
struct Place {
    event: u64,
    bookmark: u64,
}

// === impl Follower ===

impl Follower {
    /// Follows until it has seen everything up to the version that `until` is set to in the end.
    pub(crate) async fn run(self, mut until: watch::Receiver<Option<u64>>) -> Followed {
        let mut place = Place { event: 0, bookmark: 0 };
        let mut followed = Followed {
            wanted: self.wanted.clone(),
            begin: self.begin,
            events: Vec::new(),
            initial_end: None,
            bookmarks: 0,
            watches: 0,
        };
        loop {
            let last = *until.borrow_and_update();
            if last.is_some_and(|last| place.reached() >= last) {
                return followed;
            }
            let Ok(mut events) = self.watch(&place, last.is_some()).await else {
                sleep(RETRY_PAUSE).await;
                continue;
            };
            followed.watches += 1;
            loop {
                let next = tokio::select! {
                    next = events.next() => next,
                    _ = until.changed() => break,
                };
                let Ok(Some(event)) = next else { break };
                followed.note(&event, &mut place);
                if until.borrow().is_some_and(|last| place.reached() >= last) {
                    return followed;
                }
            }
        }
    }

    async fn watch(&self, place: &Place, is_last: bool) -> Result<Events, Unanswered> {
        let seconds = if is_last { LAST_WATCH_SECONDS } else { self.seconds };
        let path = self.wanted.namespace.as_deref().map_or_else(everywhere, collection);
        let mut query = format!("?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}");
        if let Some(tier) = &self.wanted.tier {
            query += &format!("&labelSelector=tier%3D{tier}");
        }
        let name = self.wanted.name.as_ref().map(|name| format!("metadata.name%3D{name}"));
        let catalog = self.wanted.catalog.as_ref().map(|catalog| format!("spec.catalogName%3D{catalog}"));
        let fields: Vec<_> = name.into_iter().chain(catalog).collect();
        if !fields.is_empty() {
            query += &format!("&fieldSelector={}", fields.join(","));
        }
        query += &match (place.reached(), self.begin) {
            (0, Begin::AnyState) => "&resourceVersion=0".to_owned(),
            (0, Begin::StreamedList) => "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan".to_owned(),
            (0, Begin::After(revision)) | (revision, _) => format!("&resourceVersion={revision}"),
        };
        self.endpoint.connect().await?.watch(&format!("{path}{query}")).await
    }
}

// === impl Followed ===

impl Followed {
    fn note(&mut self, told: &serde_json::Value, place: &mut Place) {
        let Some(event) = Event::of(told) else {
            let at = revision(&told["object"]);
            assert!(at >= place.reached(), "a bookmark back at {at}, after {}", place.reached());
            place.bookmark = at;
            self.bookmarks += 1;
            if told["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true" {
                assert_eq!(self.initial_end.replace(at), None, "the end of the list twice");
            }
            return;
        };
        assert!(event.revision > place.bookmark, "{event:?} after a bookmark at {}", place.bookmark);
        // Objects there were come in the order of their keys.
        place.event = place.event.max(event.revision);
        self.events.push(event);
    }

    /// Compares what was seen with what happened. Gives the number of events, or the first difference.
    pub(crate) fn check(&self, history: &History) -> Result<usize, String> {
        let Self { wanted, begin, events, initial_end, .. } = self;
        let expected = match (begin, initial_end) {
            (Begin::After(after), _) => history.seen_after(wanted, *after),
            (Begin::StreamedList, Some(end)) => history.seen_from_state(wanted, *end),
            (Begin::StreamedList, None) => return Err(format!("{wanted:?}: the end of the list was not told")),
            (Begin::AnyState, _) if self.is_explained_by_a_state(history) => return Ok(events.len()),
            (Begin::AnyState, _) => return Err(format!("{wanted:?}: no state explains {} events", events.len())),
        };
        if *events == expected {
            return Ok(events.len());
        }
        let at = events.iter().zip(&expected).take_while(|(seen, expected)| seen == expected).count();
        Err(format!(
            "{wanted:?} from {begin:?}: saw {} events of {}; the first difference is {:?} instead of {:?}",
            events.len(),
            expected.len(),
            events.get(at),
            expected.get(at)
        ))
    }

    /// Of a list without end marker the version is not told: there must be one that explains everything.
    fn is_explained_by_a_state(&self, history: &History) -> bool {
        // A list is in the order of its keys.
        let keys: Vec<_> = self.events.iter().map(|event| event.state.key()).collect();
        let longest = 1 + keys.windows(2).take_while(|pair| pair[0] < pair[1]).count();
        (0..=longest.min(self.events.len())).any(|count| {
            let (initial, live) = self.events.split_at(count);
            let newest = initial.iter().map(|event| event.revision).max().unwrap_or(0);
            let next = live.first().map_or(u64::MAX, |event| event.revision);
            let later = history.events.iter().map(|event| event.revision);
            let mut states = [newest].into_iter().chain(later.filter(|at| (newest + 1..next).contains(at)));
            newest < next && states.any(|at| self.events == history.seen_from_state(&self.wanted, at))
        })
    }
}

// === impl Place ===

impl Place {
    fn reached(&self) -> u64 {
        self.event.max(self.bookmark)
    }
}

#[cfg(test)]
mod tests;
