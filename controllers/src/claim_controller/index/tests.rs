use std::sync::Arc;

use bailiwick_api::claims::{ClaimRefPlace, KindFacts};

use super::{Followed, Index, Wanted};

/// Whoever was stopped has nothing to tell any more, also when someone else follows the same kind by then.
#[test]
fn what_someone_who_was_stopped_has_seen_does_not_count() {
    let facts = Arc::new(KindFacts {
        group: "p.example".to_owned(),
        version: "v1".to_owned(),
        kind: "Server".to_owned(),
        plural: "servers".to_owned(),
        namespaced: false,
        claim_ref: ClaimRefPlace::Field,
        has_conditions: false,
        has_phase: false,
        missing: Vec::new(),
        going: false,
    });
    let followed = Followed::of(&facts);
    let wanted = Wanted { facts, claims: false, classes: false, resources: true };
    let mut index = Index::default();
    index.begin_to_follow(&followed, 1);
    assert!(index.is_followed_by(&followed, 1));
    index.forget(&followed, &wanted);
    assert!(!index.is_followed_by(&followed, 1));
    index.begin_to_follow(&followed, 2);
    assert!(!index.is_followed_by(&followed, 1) && index.is_followed_by(&followed, 2));
}
