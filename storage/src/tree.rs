//! An ordered set that can be kept: a B+tree whose nodes are shared between versions.
//!
//! Cloning a [`Tree`] is one reference count. A change copies only the nodes on its path that another clone still
//! holds, so a reader keeps an unchanging snapshot for as long as it likes while the one writer goes on, and neither
//! waits for the other. Each inner node knows how many items lie below each child, which makes "how many follow?" as
//! cheap as a look-up.
//!
//! Worked example, at most 4 to a node, after inserting 1 to 6 and keeping a clone `old`:
//!
//! ```text
//! old:   [≤:4 n=4 | ≤:6 n=2]          insert 7 into new:      new:   [≤:4 n=4 | ≤:7 n=3]
//!           │         └─ [5 6]                                          │         └─ [5 6 7]   (copied)
//!           └─ [1 2 3 4]                                                └─ [1 2 3 4]           (shared with old)
//! ```
//!
//! All leaves lie at the same depth. Nodes are never empty, except a root leaf. A node that becomes small is merged
//! into a neighbour where the two fit into one.

use std::cmp::Ordering;
use std::sync::Arc;

/// Large enough to keep the tree flat, small enough that copying a path stays cheap.
const MAX: usize = 32;
/// Below this a node looks for a neighbour to merge with.
const SMALL: usize = MAX / 4;
/// How much a full vector of a node grows. A node is copied at its exact size whenever a reader holds it, so that
/// doubling would leave most nodes half empty.
const GROWTH: usize = 4;

/// Something with a place in the order.
pub(crate) trait Item: Clone {
    /// What it is ordered by. Cloned into inner nodes, so it must be cheap to clone.
    type Key: Ord + Clone;

    /// Its place.
    fn key(&self) -> &Self::Key;
}

/// A persistent ordered set of items, unique by key.
pub(crate) struct Tree<T: Item> {
    root: Arc<Node<T>>,
    len: usize,
}

/// Items in order, from some place on.
pub(crate) struct Iter<'t, T: Item> {
    /// The inner nodes above the current leaf, each with the children still to come.
    above: Vec<std::slice::Iter<'t, Child<T>>>,
    leaf: std::slice::Iter<'t, T>,
}

#[derive(Clone)]
enum Node<T: Item> {
    Leaf(Vec<T>),
    Inner(Vec<Child<T>>),
}

#[derive(Clone)]
struct Child<T: Item> {
    /// The greatest key below, or, after removals, one between it and the next child's first.
    upper: T::Key,
    /// How many items lie below.
    count: usize,
    node: Arc<Node<T>>,
}

// === impl Tree ===

impl<T: Item> Tree<T> {
    pub(crate) fn new() -> Self {
        Self { root: Arc::new(Node::Leaf(Vec::new())), len: 0 }
    }

    /// Builds a tree from items in strictly increasing order, with full nodes.
    pub(crate) fn from_sorted(items: Vec<T>) -> Self {
        let len = items.len();
        debug_assert!(items.is_sorted_by(|a, b| a.key() < b.key()), "items are in strictly increasing order");
        let mut level: Vec<Child<T>> = Vec::with_capacity(len.div_ceil(MAX));
        let mut items = items.into_iter().peekable();
        while items.peek().is_some() {
            level.extend(Child::above(Node::Leaf(items.by_ref().take(MAX).collect())));
        }
        while level.len() > 1 {
            let mut children = level.into_iter().peekable();
            let mut parents = Vec::new();
            while children.peek().is_some() {
                parents.extend(Child::above(Node::Inner(children.by_ref().take(MAX).collect())));
            }
            level = parents;
        }
        match level.pop() {
            Some(root) => Self { root: root.node, len },
            None => Self::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, key: &T::Key) -> Option<&T> {
        let items = self.leaf(key)?;
        items.binary_search_by(|item| item.key().cmp(key)).ok().and_then(|at| items.get(at))
    }

    /// The item at `key`, which is among those for which `may_be` is true. Where each key lies somewhere else in memory,
    /// a test that needs none of them is cheaper than a search that compares several.
    pub(crate) fn find(&self, key: &T::Key, may_be: impl Fn(&T) -> bool) -> Option<&T> {
        self.leaf(key)?.iter().find(|item| may_be(item) && item.key() == key)
    }

    /// The leaf in which `key` lies if it is there.
    fn leaf(&self, key: &T::Key) -> Option<&[T]> {
        let mut node = &*self.root;
        loop {
            match node {
                Node::Leaf(items) => return Some(items),
                Node::Inner(children) => {
                    node = &children.get(children.partition_point(|child| child.upper < *key))?.node;
                }
            }
        }
    }

    /// The items from the first for which `before` is false. `before` must be true for a front part of the order and
    /// false for the rest.
    pub(crate) fn seek(&self, before: impl Fn(&T::Key) -> bool) -> Iter<'_, T> {
        let mut above = Vec::with_capacity(6);
        let mut node = &*self.root;
        loop {
            match node {
                Node::Leaf(items) => {
                    let from = items.partition_point(|item| before(item.key()));
                    return Iter { above, leaf: items[from..].iter() };
                }
                Node::Inner(children) => {
                    let mut rest = children[children.partition_point(|child| before(&child.upper))..].iter();
                    match rest.next() {
                        Some(child) => {
                            node = &child.node;
                            above.push(rest);
                        }
                        None => return Iter { above, leaf: [].iter() },
                    }
                }
            }
        }
    }

    /// How many items lie before the first for which `before` is false.
    pub(crate) fn rank(&self, before: impl Fn(&T::Key) -> bool) -> usize {
        let mut rank = 0;
        let mut node = &*self.root;
        loop {
            match node {
                Node::Leaf(items) => return rank + items.partition_point(|item| before(item.key())),
                Node::Inner(children) => {
                    let passed = children.partition_point(|child| before(&child.upper));
                    rank += children[..passed].iter().map(|child| child.count).sum::<usize>();
                    match children.get(passed) {
                        Some(child) => node = &child.node,
                        None => return rank,
                    }
                }
            }
        }
    }

    pub(crate) fn iter(&self) -> Iter<'_, T> {
        self.seek(|_| false)
    }

    /// Puts an item in its place and returns the one that was there.
    pub(crate) fn insert(&mut self, item: T) -> Option<T> {
        let (replaced, split) = insert(Arc::make_mut(&mut self.root), item);
        if let Some(right) = split {
            let left = std::mem::replace(&mut self.root, Arc::new(Node::Leaf(Vec::new())));
            let children = Child::of(left).into_iter().chain(Child::above(right)).collect();
            self.root = Arc::new(Node::Inner(children));
        }
        self.len += usize::from(replaced.is_none());
        replaced
    }

    /// Takes out the item at `key`.
    pub(crate) fn remove(&mut self, key: &T::Key) -> Option<T> {
        // Looking first keeps a miss from copying a path.
        self.get(key)?;
        let removed = remove(Arc::make_mut(&mut self.root), key)?;
        self.len -= 1;
        while let Node::Inner(children) = &*self.root {
            match children.as_slice() {
                [] => self.root = Arc::new(Node::Leaf(Vec::new())),
                [only] => self.root = only.node.clone(),
                _ => break,
            }
        }
        Some(removed)
    }
}

impl<T: Item> Clone for Tree<T> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), len: self.len }
    }
}

// === impl Node ===

impl<T: Item> Node<T> {
    fn size(&self) -> usize {
        match self {
            Self::Leaf(items) => items.len(),
            Self::Inner(children) => children.len(),
        }
    }

    /// Appends what a neighbour to the right holds.
    fn absorb(&mut self, right: &Self) {
        match (self, right) {
            (Self::Leaf(left), Self::Leaf(right)) => left.extend_from_slice(right),
            (Self::Inner(left), Self::Inner(right)) => left.extend_from_slice(right),
            _ => unreachable!("siblings lie at the same depth"),
        }
    }
}

// === impl Child ===

impl<T: Item> Child<T> {
    /// The entry for a node; none for an empty one.
    fn of(node: Arc<Node<T>>) -> Option<Self> {
        let (upper, count) = match &*node {
            Node::Leaf(items) => (items.last()?.key().clone(), items.len()),
            Node::Inner(children) => (children.last()?.upper.clone(), children.iter().map(|child| child.count).sum()),
        };
        Some(Self { upper, count, node })
    }

    fn above(node: Node<T>) -> Option<Self> {
        Self::of(Arc::new(node))
    }
}

// === impl Iter ===

impl<'t, T: Item> Iterator for Iter<'t, T> {
    type Item = &'t T;

    fn next(&mut self) -> Option<&'t T> {
        loop {
            if let Some(item) = self.leaf.next() {
                return Some(item);
            }
            let mut node = loop {
                match self.above.last_mut()?.next() {
                    Some(child) => break &*child.node,
                    None => self.above.pop(),
                };
            };
            while let Node::Inner(children) = node {
                let mut rest = children.iter();
                node = &rest.next()?.node;
                self.above.push(rest);
            }
            if let Node::Leaf(items) = node {
                self.leaf = items.iter();
            }
        }
    }
}

/// Returns what was replaced, and the right part if the node had to be split.
fn insert<T: Item>(node: &mut Node<T>, item: T) -> (Option<T>, Option<Node<T>>) {
    match node {
        Node::Leaf(items) => match items.binary_search_by(|probe| probe.key().cmp(item.key())) {
            Ok(at) => (Some(std::mem::replace(&mut items[at], item)), None),
            Err(at) => {
                make_room(items);
                items.insert(at, item);
                (None, split(items, at).map(Node::Leaf))
            }
        },
        Node::Inner(children) => {
            let at = children.partition_point(|child| child.upper < *item.key()).min(children.len() - 1);
            let child = &mut children[at];
            if child.upper < *item.key() {
                child.upper = item.key().clone();
            }
            let (replaced, right) = insert(Arc::make_mut(&mut child.node), item);
            child.count += usize::from(replaced.is_none());
            let Some(right) = right.and_then(Child::above) else {
                return (replaced, None);
            };
            if let Some(left) = Child::of(child.node.clone()) {
                *child = left;
            }
            make_room(children);
            children.insert(at + 1, right);
            (replaced, split(children, at + 1).map(Node::Inner))
        }
    }
}

fn make_room<E>(entries: &mut Vec<E>) {
    if entries.len() == entries.capacity() {
        entries.reserve_exact(GROWTH);
    }
}

/// Cuts an overfull node in two. After an append it stays full and the newcomer starts the next one, so that keys that
/// arrive in order leave full nodes behind.
fn split<E>(entries: &mut Vec<E>, inserted_at: usize) -> Option<Vec<E>> {
    if entries.len() <= MAX {
        return None;
    }
    let at = if inserted_at + 1 == entries.len() { inserted_at } else { entries.len() / 2 };
    let right = entries.split_off(at);
    entries.shrink_to_fit();
    Some(right)
}

fn remove<T: Item>(node: &mut Node<T>, key: &T::Key) -> Option<T> {
    match node {
        Node::Leaf(items) => {
            let at = items.binary_search_by(|probe| probe.key().cmp(key)).ok()?;
            Some(items.remove(at))
        }
        Node::Inner(children) => {
            let at = children.partition_point(|child| child.upper.cmp(key) == Ordering::Less);
            let child = children.get_mut(at)?;
            let removed = remove(Arc::make_mut(&mut child.node), key)?;
            child.count -= 1;
            if child.count == 0 {
                children.remove(at);
            } else if child.node.size() < SMALL {
                merge(children, at);
            }
            Some(removed)
        }
    }
}

/// Merges the child at `at` with a neighbour, if the two fit into one node.
fn merge<T: Item>(children: &mut Vec<Child<T>>, at: usize) {
    let fits = |left: usize| {
        let (a, b) = (children.get(left)?, children.get(left + 1)?);
        (a.node.size() + b.node.size() <= MAX).then_some(left)
    };
    let Some(left) = fits(at).or_else(|| fits(at.checked_sub(1)?)) else {
        return;
    };
    let right = children.remove(left + 1);
    let child = &mut children[left];
    Arc::make_mut(&mut child.node).absorb(&right.node);
    child.upper = right.upper;
    child.count += right.count;
}

#[cfg(test)]
mod tests;
