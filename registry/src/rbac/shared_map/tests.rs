use super::*;

#[test]
fn names_are_found_across_growth() {
    let mut map = SharedMap::default();
    for number in 0..5_000_usize {
        assert_eq!(map.insert(&format!("n{number}"), number), None);
    }
    assert_eq!(map.shards.len(), 256);
    for number in 0..5_000 {
        assert_eq!(map.get(&format!("n{number}")), Some(&number));
    }
    assert_eq!(map.get("n5000"), None);
    assert_eq!(map.insert("n7", 70), Some(7));
    assert_eq!(map.len, 5_000);
}

#[test]
fn a_copy_keeps_what_it_had() {
    let mut map = SharedMap::default();
    map.insert("a", 1);
    map.insert("b", 2);
    let copy = map.clone();
    assert_eq!(map.remove("a"), Some(1));
    assert_eq!(map.remove("a"), None);
    map.insert("b", 3);
    assert_eq!((copy.get("a"), copy.get("b")), (Some(&1), Some(&2)));
    assert_eq!((map.get("a"), map.get("b"), map.len), (None, Some(&3), 1));
}

#[test]
fn a_change_copies_one_shard() {
    let mut map = SharedMap::default();
    for number in 0..1_000 {
        map.insert(&number.to_string(), number);
    }
    let copy = map.clone();
    map.insert("7", 8);
    let differing = map.shards.iter().zip(&copy.shards).filter(|(new, old)| !Arc::ptr_eq(new, old)).count();
    assert_eq!(differing, 1);
}

#[test]
fn what_becomes_empty_goes() {
    let mut map: SharedMap<Vec<u8>> = SharedMap::default();
    map.edit("a", |list| list.push(1), Vec::is_empty);
    map.edit("a", |list| list.push(2), Vec::is_empty);
    assert_eq!(map.get("a"), Some(&vec![1, 2]));
    map.edit("a", Vec::clear, Vec::is_empty);
    assert_eq!((map.get("a"), map.len), (None, 0));
}

/// There are to be no more than sixty-four names to a shard, nor many fewer.
#[test]
fn shards_grow_with_names() {
    let mut map = SharedMap::default();
    let mut grown = Vec::new();
    assert!(map.is_empty());
    for number in 1..=1_025_usize {
        let before = map.shards.len();
        map.insert(&number.to_string(), ());
        if map.shards.len() != before {
            grown.push((number, map.shards.len()));
        }
    }
    assert_eq!(grown, [(65, 4), (257, 16), (1_025, 64)]);
    assert!(!map.is_empty());
}
