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
use std::ops::ControlFlow;

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

    /// What is in any of them. Halves are united first, so that many sets do not cost the square of their number.
    pub(super) fn union_of(sets: &[&Self]) -> Self {
        match sets {
            [] => Self::default(),
            [only] => (*only).clone(),
            many => {
                let (left, right) = many.split_at(many.len() / 2);
                Self::union_of(left).union(&Self::union_of(right))
            }
        }
    }

    /// What is in both.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut both = Self::default();
        let mut put = |left: &Node, right: &Node| {
            let below = left.below.intersection(&right.below);
            both.put(left.element.clone(), left.member && right.member, below);
        };
        if self.nodes.len() <= other.nodes.len() {
            found(&self.nodes, &other.nodes)
                .for_each(|(left, right)| right.into_iter().for_each(|right| put(left, right)));
        } else {
            found(&other.nodes, &self.nodes)
                .for_each(|(right, left)| left.into_iter().for_each(|left| put(left, right)));
        }
        both
    }

    /// What is in this one and not in the other. A field that is taken away leaves what is below it.
    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut rest = Self::default();
        for (left, right) in found(&self.nodes, &other.nodes) {
            match right {
                None => rest.nodes.push(left.clone()),
                Some(right) => {
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
        for (left, right) in found(&self.nodes, &other.nodes) {
            match right {
                None => rest.nodes.push(left.clone()),
                Some(right) if right.member => {}
                Some(right) => {
                    rest.put(left.element.clone(), left.member, left.below.recursive_difference(&right.below));
                }
            }
        }
        rest
    }

    /// How many members there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.iter().map(|node| usize::from(node.member) + node.below.len()).sum()
    }

    /// Shows the members as messages have them, each level before those below it, until `show` has seen enough.
    pub(super) fn show_paths(&self, show: &mut dyn FnMut(&str) -> ControlFlow<()>) -> ControlFlow<()> {
        self.show_paths_below(&mut String::new(), show)
    }

    fn show_paths_below(&self, prefix: &mut String, show: &mut dyn FnMut(&str) -> ControlFlow<()>) -> ControlFlow<()> {
        let length = prefix.len();
        for node in self.nodes.iter().filter(|node| node.member) {
            prefix.push_str(&node.element.to_string());
            show(prefix)?;
            prefix.truncate(length);
        }
        for node in self.nodes.iter().filter(|node| !node.below.is_empty()) {
            prefix.push_str(&node.element.to_string());
            node.below.show_paths_below(prefix, show)?;
            prefix.truncate(length);
        }
        ControlFlow::Continue(())
    }
}

/// The nodes of one set, each with the node of the other for the same field. Costs little if the other is much larger.
fn found<'n>(nodes: &'n [Node], mut others: &'n [Node]) -> impl Iterator<Item = (&'n Node, Option<&'n Node>)> {
    nodes.iter().map(move |node| {
        // Most of the time, the next one is it.
        if others.first().is_some_and(|other| other.element < node.element) {
            let before = others.partition_point(|other| other.element < node.element);
            others = others.get(before..).unwrap_or_default();
        }
        (node, others.first().filter(|other| other.element == node.element))
    })
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
