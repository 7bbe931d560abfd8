//! Sets of fields: who owns what.
//!
//! A set is a tree that follows the object. A node says whether the field itself is a member and which fields below it
//! are; there is no node that says neither. `spec.a` and `spec.b.c` make
//!
//! ```text
//! .spec
//!   .a      member
//!   .b
//!     .c    member
//! ```
//!
//! Nodes are sorted, so that two sets are combined by one walk through both.

use std::cmp::Ordering;

use super::element::PathElement;

/// A set of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    nodes: Vec<Node>,
}

/// A field, and what of it is in the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) element: PathElement,
    /// Whether the field itself is in the set.
    pub(super) member: bool,
    /// What below the field is in the set.
    pub(super) below: FieldSet,
}

/// A node of one set or of both.
enum Pair<'n> {
    Left(&'n Node),
    Right(&'n Node),
    Both(&'n Node, &'n Node),
}

// === impl FieldSet ===

impl FieldSet {
    /// The set of these paths of named fields.
    pub(super) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let mut below = Self::default();
            for (i, name) in path.iter().enumerate().rev() {
                let node = Node { element: PathElement::Field((*name).to_owned()), member: i + 1 == path.len(), below };
                below = Self { nodes: vec![node] };
            }
            set = set.union(&below);
        }
        set
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(super) fn get(&self, element: &PathElement) -> Option<&Node> {
        self.nodes.binary_search_by(|node| node.element.cmp(element)).ok().and_then(|found| self.nodes.get(found))
    }

    /// Adds what is in the set of a field. A node that says nothing is left out.
    pub(super) fn put(&mut self, element: PathElement, member: bool, below: Self) {
        if !member && below.is_empty() {
            return;
        }
        // Fields come in order most of the time.
        if self.nodes.last().is_none_or(|last| last.element < element) {
            self.nodes.push(Node { element, member, below });
            return;
        }
        match self.nodes.binary_search_by(|node| node.element.cmp(&element)) {
            Err(place) => self.nodes.insert(place, Node { element, member, below }),
            Ok(found) => {
                if let Some(node) = self.nodes.get_mut(found) {
                    node.member |= member;
                    node.below = node.below.union(&below);
                }
            }
        }
    }

    /// Whether a path is a member.
    pub(super) fn has(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.get(last).is_some_and(|node| node.member),
            [first, rest @ ..] => self.get(first).is_some_and(|node| node.below.has(rest)),
        }
    }

    /// What is in either.
    pub(super) fn union(&self, other: &Self) -> Self {
        let nodes = pairs(&self.nodes, &other.nodes).map(|pair| match pair {
            Pair::Left(node) | Pair::Right(node) => node.clone(),
            Pair::Both(left, right) => Node {
                element: left.element.clone(),
                member: left.member || right.member,
                below: left.below.union(&right.below),
            },
        });
        Self { nodes: nodes.collect() }
    }

    /// What is in both.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut both = Self::default();
        for pair in pairs(&self.nodes, &other.nodes) {
            if let Pair::Both(left, right) = pair {
                let below = left.below.intersection(&right.below);
                both.put(left.element.clone(), left.member && right.member, below);
            }
        }
        both
    }

    /// What is in this one and not in the other. A field that is taken away leaves what is below it.
    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut rest = Self::default();
        for pair in pairs(&self.nodes, &other.nodes) {
            match pair {
                Pair::Left(node) => rest.nodes.push(node.clone()),
                Pair::Right(_) => {}
                Pair::Both(left, right) => {
                    let below = left.below.difference(&right.below);
                    rest.put(left.element.clone(), left.member && !right.member, below);
                }
            }
        }
        rest
    }

    /// What is in this one and not in the other. A field that is taken away takes all below it with it.
    pub(super) fn recursive_difference(&self, other: &Self) -> Self {
        let mut rest = Self::default();
        for pair in pairs(&self.nodes, &other.nodes) {
            match pair {
                Pair::Left(node) => rest.nodes.push(node.clone()),
                Pair::Right(_) => {}
                Pair::Both(_, right) if right.member => {}
                Pair::Both(left, right) => {
                    rest.put(left.element.clone(), left.member, left.below.recursive_difference(&right.below));
                }
            }
        }
        rest
    }

    /// All members, each level before those below it: the order in which conflicts are told.
    pub(super) fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut paths = Vec::new();
        self.add_paths(&mut Vec::new(), &mut paths);
        paths
    }

    fn add_paths(&self, prefix: &mut Vec<PathElement>, paths: &mut Vec<Vec<PathElement>>) {
        for node in self.nodes.iter().filter(|node| node.member) {
            let mut path = prefix.clone();
            path.push(node.element.clone());
            paths.push(path);
        }
        for node in &self.nodes {
            prefix.push(node.element.clone());
            node.below.add_paths(prefix, paths);
            prefix.pop();
        }
    }
}

/// The nodes of two sets, in order.
fn pairs<'n>(mut left: &'n [Node], mut right: &'n [Node]) -> impl Iterator<Item = Pair<'n>> {
    std::iter::from_fn(move || {
        let order = match (left.first(), right.first()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => left.element.cmp(&right.element),
        };
        let from_left = if order.is_le() { take_first(&mut left) } else { None };
        let from_right = if order.is_ge() { take_first(&mut right) } else { None };
        match (from_left, from_right) {
            (Some(left), Some(right)) => Some(Pair::Both(left, right)),
            (Some(left), None) => Some(Pair::Left(left)),
            (None, Some(right)) => Some(Pair::Right(right)),
            (None, None) => None,
        }
    })
}

fn take_first<'n>(nodes: &mut &'n [Node]) -> Option<&'n Node> {
    let (first, rest) = nodes.split_first()?;
    *nodes = rest;
    Some(first)
}
