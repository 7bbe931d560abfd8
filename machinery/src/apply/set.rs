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
            set = set.union(below);
        }
        set
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes, to add to. Their elements must stay as they are, and each must go on to say something.
    pub(super) fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
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
                    node.below = std::mem::take(&mut node.below).union(below);
                }
            }
        }
    }

    /// The same, where most nodes say nothing.
    pub(super) fn put_ref(&mut self, element: &PathElement, member: bool, below: Self) {
        if member || !below.is_empty() {
            self.put(element.clone(), member, below);
        }
    }

    /// What is in either.
    pub(super) fn union(self, other: Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return if self.is_empty() { other } else { self };
        }
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let (mut left, mut right) = (self.nodes.into_iter().peekable(), other.nodes.into_iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return Self { nodes },
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(left), Some(right)) => left.element.cmp(&right.element),
            };
            let from_left = if order.is_le() { left.next() } else { None };
            let from_right = if order.is_ge() { right.next() } else { None };
            match (from_left, from_right) {
                (Some(left), Some(right)) => nodes.push(Node {
                    element: left.element,
                    member: left.member || right.member,
                    below: left.below.union(right.below),
                }),
                (one, other) => nodes.extend(one.or(other)),
            }
        }
    }

    /// What is in any of them. Halves are united first, so that many sets do not cost the square of their number.
    pub(super) fn union_of(sets: &[&Self]) -> Self {
        match sets {
            [] => Self::default(),
            [only] => (*only).clone(),
            many => {
                let (left, right) = many.split_at(many.len() / 2);
                Self::union_of(left).union(Self::union_of(right))
            }
        }
    }

    /// What is in both.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut both = Self::default();
        let mut put = |left: &Node, right: &Node| {
            let below = left.below.intersection(&right.below);
            both.put_ref(&left.element, left.member && right.member, below);
        };
        if self.nodes.len() <= other.nodes.len() {
            let mut others = Search(&other.nodes);
            self.nodes
                .iter()
                .for_each(|left| others.find(&left.element).into_iter().for_each(|right| put(left, right)));
        } else {
            let mut own = Search(&self.nodes);
            other.nodes.iter().for_each(|right| own.find(&right.element).into_iter().for_each(|left| put(left, right)));
        }
        both
    }

    /// What is in this one and not in the other. A field that is taken away leaves what is below it.
    pub(super) fn difference(mut self, other: &Self) -> Self {
        let mut others = Search(&other.nodes);
        self.nodes.retain_mut(|node| {
            if let Some(other) = others.find(&node.element) {
                node.member &= !other.member;
                node.below = std::mem::take(&mut node.below).difference(&other.below);
            }
            node.member || !node.below.is_empty()
        });
        self
    }

    /// The same, where little is left.
    pub(super) fn missing_from(&self, other: &Self) -> Self {
        let mut rest = Self::default();
        let mut others = Search(&other.nodes);
        for node in &self.nodes {
            match others.find(&node.element) {
                None => rest.nodes.push(node.clone()),
                Some(other) => {
                    let below = node.below.missing_from(&other.below);
                    rest.put_ref(&node.element, node.member && !other.member, below);
                }
            }
        }
        rest
    }

    /// What is in this one and not in the other. A field that is taken away takes all below it with it.
    pub(super) fn recursive_difference(mut self, other: &Self) -> Self {
        let mut others = Search(&other.nodes);
        self.nodes.retain_mut(|node| match others.find(&node.element) {
            None => true,
            Some(other) if other.member => false,
            Some(other) => {
                node.below = std::mem::take(&mut node.below).recursive_difference(&other.below);
                node.member || !node.below.is_empty()
            }
        });
        self
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

/// Looks for one field after the other, in order. Costs little if there are many more nodes than are looked for.
struct Search<'n>(&'n [Node]);

// === impl Search ===

impl<'n> Search<'n> {
    fn find(&mut self, element: &PathElement) -> Option<&'n Node> {
        // Most of the time, the next one is it.
        if self.0.first().is_some_and(|next| next.element < *element) {
            let before = self.0.partition_point(|node| node.element < *element);
            self.0 = self.0.get(before..).unwrap_or_default();
        }
        self.0.first().filter(|next| next.element == *element)
    }
}
