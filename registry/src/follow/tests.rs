//! Events of which some cannot be read.

use bailiwick_machinery::GroupVersion;
use bailiwick_storage::embedded::{Embedded, EmbeddedOptions};
use bailiwick_storage::testing::SimDisk;

use super::*;
use crate::{Encoded, kinds};

/// Has the names of what there is.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Picture for Names {
    fn apply(&mut self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Set(object) => self.0.insert(object.metadata().name().to_owned()),
                Change::Removed(place) => self.0.remove(&place.name),
            };
        }
    }
}

/// Of a store in which nothing is.
async fn follower() -> Follower<Names> {
    let disk = Arc::new(SimDisk::default());
    let store = Arc::new(Embedded::open(EmbeddedOptions::new(disk)).await.unwrap());
    let registry = Arc::new(Registry::start(store, kinds::host().unwrap(), Default::default()).await.unwrap());
    let kind = registry.find(&GroupVersion::new("", "v1"), "configmaps").unwrap();
    let (through_tx, _) = watch::channel(0);
    Follower { registry, kind: ServedKind::clone(&kind), picture: Names::default(), known: BTreeSet::new(), through_tx }
}

fn event(event_type: EventType, name: &str, rest: &str) -> WatchEvent {
    let stored = format!("{{\"metadata\":{{\"namespace\":\"a\",\"name\":\"{name}\"}}{rest}");
    WatchEvent { event_type, object: Encoded::from_stored(stored.as_bytes(), Some(1)).unwrap() }
}

/// What was read before something that cannot be read counts, and what is known is what the picture has: so all that is gone is
/// taken out of it when everything is read anew.
#[tokio::test]
async fn what_cannot_be_read_keeps_no_removal() {
    let mut follower = follower().await;
    let added = |name: &str| event(EventType::Added, name, "}");
    follower.take_over(&["gone", "damaged", "last"].map(added)).unwrap();
    let events = [
        event(EventType::Deleted, "gone", "}"),
        added("new"),
        event(EventType::Modified, "damaged", ",\"data\":{"),
        event(EventType::Deleted, "last", "}"),
    ];
    follower.take_over(&events).unwrap_err();
    assert_eq!(Vec::from_iter(&follower.picture.0), ["damaged", "last", "new"]);
    assert_eq!(Vec::from_iter(follower.known.iter().map(|place| &place.name)), ["damaged", "last", "new"]);
    follower.begin().await.unwrap();
    assert!(follower.picture.0.is_empty(), "nothing is stored: {:?}", follower.picture.0);
}
