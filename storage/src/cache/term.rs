//! What objects can be found by: labels and selectable fields. Each distinct pair exists once, however many objects
//! carry it.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

use arcstr::ArcStr;
use smallvec::SmallVec;

use crate::key::Key;
use crate::tree::Item;

const LABEL: char = 'l';
const FIELD: char = 'f';

/// A fact about an object that a list can be narrowed by. Cheap to clone.
///
/// One text, because many a value belongs to a single object: the class, the name's length, the name and the value, so
/// that different terms have different texts. The label `app` with the value `shop` is `l3:appshop`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(ArcStr);

/// The kinds of facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TermClass {
    /// A label.
    Label,
    /// A selectable field.
    Field,
}

/// Collects the terms of one object.
#[derive(Debug)]
pub struct Terms<'i> {
    interner: &'i mut Interner,
    found: TermList,
}

/// The terms of an object: those of most objects fit into it without an allocation.
pub(super) type TermList = SmallVec<[Term; 4]>;

/// Every term in use.
#[derive(Debug, Default)]
pub(super) struct Interner {
    terms: HashSet<Term>,
    /// How many there may be before the unused ones are looked for.
    sweep_at: usize,
}

/// That an object has a term. Ordered by term and then by key, so that the objects with a term are one range, and those
/// of a namespace one within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    pub(super) term: Term,
    pub(super) key: Key,
}

// === impl Term ===

impl Term {
    /// A label.
    pub fn label(name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        Self::new(LABEL, name.as_ref(), value.as_ref())
    }

    /// A selectable field.
    pub fn field(name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        Self::new(FIELD, name.as_ref(), value.as_ref())
    }

    /// What kind of fact it is.
    pub fn class(&self) -> TermClass {
        if self.0.starts_with(LABEL) { TermClass::Label } else { TermClass::Field }
    }

    /// Its name: a label's key or a field's path.
    pub fn name(&self) -> &str {
        self.parts().0
    }

    /// Its value.
    pub fn value(&self) -> &str {
        self.parts().1
    }

    fn new(class: char, name: &str, value: &str) -> Self {
        Self(arcstr::format!("{class}{}:{name}{value}", name.len()))
    }

    fn parts(&self) -> (&str, &str) {
        let (head, rest) = self.0.split_once(':').unwrap_or_default();
        let length = head.get(1..).and_then(|length| length.parse().ok()).unwrap_or(0);
        rest.split_at_checked(length).unwrap_or_default()
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}={}", self.class(), self.name(), self.value())
    }
}

// === impl Terms ===

impl<'i> Terms<'i> {
    pub(super) fn new(interner: &'i mut Interner) -> Self {
        Self { interner, found: TermList::new() }
    }

    /// The object has this term.
    pub fn add(&mut self, term: Term) {
        self.found.push(self.interner.intern(term));
    }

    /// The terms in order, each once.
    pub(super) fn finish(mut self) -> TermList {
        self.found.sort_unstable();
        self.found.dedup();
        self.found.shrink_to_fit();
        self.found
    }
}

// === impl Interner ===

impl Interner {
    fn intern(&mut self, term: Term) -> Term {
        if let Some(known) = self.terms.get(&term) {
            return known.clone();
        }
        if self.terms.len() >= self.sweep_at {
            self.terms.retain(|term| ArcStr::strong_count(&term.0) > Some(1));
            self.sweep_at = (self.terms.len() * 2).max(1_024);
        }
        self.terms.insert(term.clone());
        term
    }
}

// === impl Posting ===

impl Item for Posting {
    type Key = Self;

    fn key(&self) -> &Self {
        self
    }
}

impl Ord for Posting {
    fn cmp(&self, other: &Self) -> Ordering {
        // Terms are interned: the same one is the same allocation, except between caches.
        let same = ArcStr::ptr_eq(&self.term.0, &other.term.0);
        let terms = if same { Ordering::Equal } else { self.term.cmp(&other.term) };
        terms.then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for Posting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests;
