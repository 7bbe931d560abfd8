//! What objects can be found by: labels and selectable fields. Each distinct pair exists once, however many objects
//! carry it.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use crate::key::Key;
use crate::tree::Item;

/// A fact about an object that a list can be narrowed by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// What kind of fact it is.
    pub class: TermClass,
    /// Its name: a label's key or a field's path.
    pub name: Box<str>,
    /// Its value.
    pub value: Box<str>,
}

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
    found: Vec<Arc<Term>>,
}

/// Every term in use.
#[derive(Debug, Default)]
pub(super) struct Interner {
    terms: HashSet<Arc<Term>>,
    /// How many there may be before the unused ones are looked for.
    sweep_at: usize,
}

/// That an object has a term. Ordered by term and then by key, so that the objects with a term are one range, and those
/// of a namespace one within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    pub(super) term: Arc<Term>,
    pub(super) key: Key,
}

// === impl Term ===

impl Term {
    /// A label.
    pub fn label(name: impl Into<Box<str>>, value: impl Into<Box<str>>) -> Self {
        Self { class: TermClass::Label, name: name.into(), value: value.into() }
    }

    /// A selectable field.
    pub fn field(name: impl Into<Box<str>>, value: impl Into<Box<str>>) -> Self {
        Self { class: TermClass::Field, name: name.into(), value: value.into() }
    }
}

// === impl Terms ===

impl<'i> Terms<'i> {
    pub(super) fn new(interner: &'i mut Interner) -> Self {
        Self { interner, found: Vec::new() }
    }

    /// The object has this term.
    pub fn add(&mut self, term: Term) {
        self.found.push(self.interner.intern(term));
    }

    /// The terms in order, each once.
    pub(super) fn finish(mut self) -> Box<[Arc<Term>]> {
        self.found.sort_unstable();
        self.found.dedup();
        self.found.into_boxed_slice()
    }
}

// === impl Interner ===

impl Interner {
    fn intern(&mut self, term: Term) -> Arc<Term> {
        if let Some(known) = self.terms.get(&term) {
            return known.clone();
        }
        if self.terms.len() >= self.sweep_at {
            self.terms.retain(|term| Arc::strong_count(term) > 1);
            self.sweep_at = (self.terms.len() * 2).max(1_024);
        }
        let term = Arc::new(term);
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
        let terms = if Arc::ptr_eq(&self.term, &other.term) { Ordering::Equal } else { self.term.cmp(&other.term) };
        terms.then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for Posting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
