use super::*;
use crate::key::Resource;

#[test]
fn a_root_is_names_with_slashes_between_them() {
    for root in ["bailiwick", "a/b", "team-1/stage_2", "v1.2"] {
        assert!(Layout::new(root).is_ok(), "{root:?}");
    }
    for root in ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "ä", "a b", "a\0", "a/d"] {
        assert!(Layout::new(root).is_err(), "{root:?}");
    }
    assert!(Layout::new(&"r".repeat(MAX_ROOT_BYTES)).is_ok());
    assert!(Layout::new(&"r".repeat(MAX_ROOT_BYTES + 1)).is_err());
}

#[test]
fn bookkeeping_lies_outside_every_range() {
    let layout = Layout::new("bailiwick").unwrap();
    let range = layout.range(&Prefix::everything());
    let inside = |place: &str| *range.start <= *place.as_bytes() && *place.as_bytes() < *range.end;
    assert!(!inside(layout.meta()));
    assert!(!inside(layout.compaction()));
    let key = Resource::new("", "configmaps").unwrap().namespaced("ns", "name").unwrap();
    assert!(inside(&layout.place(&key)));
    assert_eq!(layout.key(layout.place(&key).as_bytes()).unwrap(), key);
}

#[test]
fn a_range_ends_with_its_prefix() {
    let layout = Layout::new("bailiwick").unwrap();
    let range = layout.range(Resource::new("", "widgets").unwrap().all());
    assert_eq!(range.start, b"/bailiwick/d/o/-/widgets/");
    assert_eq!(range.end, b"/bailiwick/d/o/-/widgets0");
}

#[test]
fn going_on_never_leaves_the_range_at_its_start() {
    let layout = Layout::new("bailiwick").unwrap();
    let mut range = layout.range(Resource::new("", "widgets").unwrap().all());
    let whole = range.clone();
    range.behind(b"/bailiwick/d/o/-/gadgets/a");
    assert_eq!(range, whole);
    range.behind(b"/bailiwick/d/o/-/widgets/a");
    assert_eq!(range.start, b"/bailiwick/d/o/-/widgets/a\0");
}
