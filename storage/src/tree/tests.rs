//! The tree against a `BTreeMap`, with its form checked after every change.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Ordered by the first, with the second to tell replaced items apart.
type Pair = (u32, u32);

impl Item for Pair {
    type Key = u32;

    fn key(&self) -> &u32 {
        &self.0
    }
}

/// A tree and what it should hold.
#[derive(Clone)]
struct Twins {
    tree: Tree<Pair>,
    map: BTreeMap<u32, u32>,
}

impl Twins {
    fn new() -> Self {
        Self { tree: Tree::new(), map: BTreeMap::new() }
    }

    fn insert(&mut self, key: u32, value: u32) {
        assert_eq!(self.tree.insert((key, value)), self.map.insert(key, value).map(|old| (key, old)), "insert {key}");
        check_form(&self.tree);
    }

    fn remove(&mut self, key: u32) {
        assert_eq!(self.tree.remove(&key), self.map.remove(&key).map(|old| (key, old)), "remove {key}");
        check_form(&self.tree);
    }

    fn check_contents(&self) {
        assert_eq!(self.tree.len(), self.map.len());
        assert!(self.tree.iter().copied().eq(self.map.iter().map(|(k, v)| (*k, *v))), "same items in the same order");
    }

    fn check_lookups(&self, key: u32) {
        assert_eq!(self.tree.get(&key), self.map.get_key_value(&key).map(|(k, v)| (*k, *v)).as_ref());
        assert_eq!(self.tree.find(&key, |item| item.0 % 7 == key % 7), self.tree.get(&key), "find {key}");
        assert!(self.tree.seek(|k| *k < key).map(|item| item.0).eq(self.map.range(key..).map(|(k, _)| *k)));
        assert_eq!(self.tree.rank(|k| *k < key), self.map.range(..key).count());
        assert_eq!(self.tree.rank(|k| *k <= key), self.map.range(..=key).count());
    }
}

/// All leaves lie at the same depth; no node but a root leaf is empty, none is overfull, and a root has two children;
/// counts are right; upper keys are in order and hold for what lies below.
fn check_form(tree: &Tree<Pair>) {
    if let Node::Inner(children) = &*tree.root {
        assert!(children.len() > 1, "a root with one child is one level too many");
    }
    let (_, count) = check_node(&tree.root, None, u32::MAX, true);
    assert_eq!(count, tree.len, "the length is right");
}

/// Checks that all keys lie above `lower` and up to `upper`; returns depth and number of items.
fn check_node(node: &Node<Pair>, lower: Option<u32>, upper: u32, is_root: bool) -> (usize, usize) {
    assert!(node.size() <= MAX, "a node has {} entries", node.size());
    match node {
        Node::Leaf(items) => {
            assert!(is_root || !items.is_empty(), "a leaf is empty");
            assert!(items.is_sorted_by(|a, b| a.0 < b.0), "a leaf is out of order");
            assert!(items.iter().all(|item| lower.is_none_or(|lower| item.0 > lower) && item.0 <= upper));
            (1, items.len())
        }
        Node::Inner(children) => {
            assert!(!children.is_empty(), "an inner node is empty");
            let mut lower = lower;
            let mut depths = Vec::new();
            let mut total = 0;
            for child in children {
                assert!(lower.is_none_or(|lower| child.upper > lower) && child.upper <= upper, "uppers are in order");
                let (depth, count) = check_node(&child.node, lower, child.upper, false);
                assert_eq!(count, child.count, "a count is wrong");
                depths.push(depth);
                total += count;
                lower = Some(child.upper);
            }
            assert!(depths.iter().all(|depth| *depth == depths[0]), "leaves lie at different depths: {depths:?}");
            (depths[0] + 1, total)
        }
    }
}

fn depth(tree: &Tree<Pair>) -> usize {
    check_node(&tree.root, None, u32::MAX, true).0
}

/// A cheap shuffle: `n` different keys, far from sorted.
fn scattered(n: u32) -> impl Iterator<Item = u32> {
    (0..n).map(move |i| i.wrapping_mul(2_654_435_761) >> 8)
}

#[test]
fn an_empty_tree() {
    let mut twins = Twins::new();
    twins.check_contents();
    twins.check_lookups(0);
    twins.remove(7);
    twins.insert(7, 1);
    twins.remove(7);
    twins.check_contents();
    check_form(&Tree::from_sorted(Vec::new()));
}

#[test]
fn keys_in_order_leave_full_nodes() {
    let mut twins = Twins::new();
    for key in 0..3_000 {
        twins.insert(key, key);
    }
    twins.check_contents();
    assert_eq!((count_leaves(&twins.tree.root), depth(&twins.tree)), (94, 3), "3,000 items fill 94 leaves of 32");
    for key in 0..3_000 {
        twins.remove(key);
        if key % 250 == 0 {
            twins.check_contents();
            twins.check_lookups(key + 1);
        }
    }
    assert_eq!(depth(&twins.tree), 1);
}

#[test]
fn keys_in_reverse_order() {
    let mut twins = Twins::new();
    for key in (0..3_000).rev() {
        twins.insert(key, key);
    }
    twins.check_contents();
    for key in (0..3_000).rev() {
        twins.remove(key);
        if key % 250 == 0 {
            twins.check_contents();
            twins.check_lookups(key / 2);
        }
    }
}

/// Deleting most of a large tree leaves a small one, however the deletions are spread.
#[test]
fn mass_deletion_shrinks() {
    for keep_every in [2, 7, 64, 500] {
        let mut twins = Twins::new();
        for key in scattered(4_000) {
            twins.insert(key, 0);
        }
        let keys: Vec<_> = twins.map.keys().copied().collect();
        for (index, key) in keys.iter().enumerate() {
            if index % keep_every != 0 {
                twins.remove(*key);
            }
        }
        twins.check_contents();
        let kept = 4_000_usize.div_ceil(keep_every);
        assert_eq!(twins.tree.len(), kept);
        let leaves = count_leaves(&twins.tree.root);
        assert!(leaves <= 1 + kept.div_ceil(SMALL) * 2, "{leaves} leaves for {kept} items");
        for key in keys {
            twins.insert(key, 1);
        }
        twins.check_contents();
    }
}

fn count_leaves(node: &Node<Pair>) -> usize {
    match node {
        Node::Leaf(_) => 1,
        Node::Inner(children) => children.iter().map(|child| count_leaves(&child.node)).sum(),
    }
}

#[test]
fn from_sorted_is_the_same_as_inserting() {
    for n in [0, 1, 31, 32, 33, 64, 1_023, 1_024, 1_025, 3_000, 32_769] {
        let tree = Tree::from_sorted((0..n).map(|key| (2 * key, key)).collect());
        check_form(&tree);
        let mut inserted = Twins::new();
        inserted.map = (0..n).map(|key| (2 * key, key)).collect();
        inserted.tree = tree;
        inserted.check_contents();
        for key in [0, 1, n, n + 1, 2 * n] {
            inserted.check_lookups(key);
        }
        inserted.insert(n / 2 * 2 + 1, 0);
        inserted.remove(0);
        inserted.check_contents();
    }
}

/// A clone is a snapshot: whatever is done to the tree later, it still holds what it held.
#[test]
fn snapshots_stay() {
    let mut twins = Twins::new();
    let mut kept = Vec::new();
    for (step, key) in scattered(2_000).enumerate() {
        if step % 3 == 2 {
            let victim = *twins.map.range(key / 2..).next().unwrap_or((&key, &0)).0;
            twins.remove(victim);
        }
        twins.insert(key, u32::try_from(step).unwrap());
        if step % 100 == 0 {
            kept.push(twins.clone());
        }
    }
    for key in twins.map.keys().copied().collect::<Vec<_>>() {
        twins.remove(key);
    }
    for snapshot in kept {
        check_form(&snapshot.tree);
        snapshot.check_contents();
        snapshot.check_lookups(1 << 20);
    }
}

/// A change copies its path only.
#[test]
fn versions_share_what_did_not_change() {
    let old = Tree::from_sorted((0..3_000).map(|key| (key, 0)).collect());
    let mut new = old.clone();
    new.insert((1_500, 1));
    let (Node::Inner(old), Node::Inner(new)) = (&*old.root, &*new.root) else { panic!("the tree has levels") };
    let copied = old.iter().zip(new).filter(|(old, new)| !Arc::ptr_eq(&old.node, &new.node)).count();
    assert_eq!(copied, 1);
}

/// A miss changes nothing, so it copies nothing.
#[test]
fn a_miss_copies_nothing() {
    let old = Tree::from_sorted((0..100).map(|key| (2 * key, 0)).collect());
    let mut new = old.clone();
    assert_eq!(new.remove(&7), None);
    assert!(Arc::ptr_eq(&old.root, &new.root));
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u32),
    Remove(u32),
    RemoveRange(u32, u32),
    InsertRange(u32, u32),
    Keep,
    LookUp(u32),
}

fn any_step(keys: u32) -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..keys).prop_map(Step::Insert),
        8 => (0..keys).prop_map(Step::Remove),
        1 => (0..keys, 1..200_u32).prop_map(|(from, n)| Step::RemoveRange(from, n)),
        1 => (0..keys, 1..200_u32).prop_map(|(from, n)| Step::InsertRange(from, n)),
        1 => Just(Step::Keep),
        2 => (0..keys).prop_map(Step::LookUp),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn behaves_like_a_btree_map(
        start in 0..2_500_u32,
        steps in (200..3_000_u32).prop_flat_map(|keys| prop::collection::vec(any_step(keys), 1..200)),
    ) {
        let mut twins = Twins::new();
        twins.map = (0..start).map(|key| (key, 0)).collect();
        twins.tree = Tree::from_sorted((0..start).map(|key| (key, 0)).collect());
        let mut kept = Vec::new();
        for (index, step) in (1..).zip(steps) {
            match step {
                Step::Insert(key) => twins.insert(key, index),
                Step::Remove(key) => twins.remove(key),
                Step::RemoveRange(from, n) => (from..from + n).for_each(|key| twins.remove(key)),
                Step::InsertRange(from, n) => (from..from + n).for_each(|key| twins.insert(key, index)),
                Step::Keep => kept.push(twins.clone()),
                Step::LookUp(key) => twins.check_lookups(key),
            }
        }
        twins.check_contents();
        for snapshot in kept {
            check_form(&snapshot.tree);
            snapshot.check_contents();
        }
    }
}
