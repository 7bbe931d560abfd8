use super::*;

fn identity(base: u64) -> Identity {
    let meta = Meta::fresh(base);
    let record = serde_json::to_vec(&meta).unwrap();
    Identity::new(meta, record, 7, 10)
}

#[test]
fn public_revisions_are_etcds_plus_the_base() {
    let identity = identity(1000);
    assert_eq!(identity.public(5), Revision::new(1005));
    assert_eq!(identity.physical(Revision::new(1005)), Physical::Of(5));
    assert_eq!(identity.physical(Revision::new(999)), Physical::BeforeBase);
    assert_eq!(identity.physical(Revision::new(u64::MAX)), Physical::Unreachable);
    assert_eq!(self::identity(MAX_BASE).public(i64::MAX), Revision::new(u64::MAX - 1));
}

/// a revision that goes back is not served.
#[test]
fn an_answer_older_than_the_question_fences() {
    let identity = identity(0);
    identity.observe(7, 20).unwrap();
    let floor = identity.floor();
    identity.observe_newest(floor, 20).unwrap();
    identity.observe(7, 5).unwrap();
    assert!(identity.observe_newest(identity.floor(), 19).is_err());
    let Err(Error::Replaced { reason }) = identity.check() else { panic!("not fenced") };
    assert!(reason.contains("revision 20 had been reached, and now the newest is 19"), "{reason}");
    assert!(reason.contains("--bump-revision"), "{reason}");
}

#[test]
fn another_cluster_or_another_record_fences_for_good() {
    let other = identity(0);
    let it = identity(0);
    assert!(it.observe(8, 20).is_err());
    assert!(it.observe(7, 20).is_err(), "once fenced, always fenced");

    let it = identity(0);
    it.verify(Some(&it.record)).unwrap();
    assert!(!it.matches(Some(&other.record)));
    it.check().unwrap();
    assert!(it.verify(Some(&other.record)).is_err());
    assert!(it.check().is_err());

    let it = identity(0);
    assert!(it.verify(None).is_err());
    assert!(it.check().is_err());
}
