//! Every object as of one revision. It never changes, and holding it blocks nobody.

use std::sync::Arc;

use super::object::{Entry, Object};
use super::ring::ObjectEvent;
use super::term::{Posting, Term};
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::tree::Tree;

/// The state of the store at one revision.
#[derive(Clone)]
pub struct Snapshot {
    revision: Revision,
    objects: Tree<Entry>,
    postings: Tree<Posting>,
}

// === impl Snapshot ===

impl Snapshot {
    /// A state made of objects in key order.
    pub(super) fn new(revision: Revision, objects: Vec<Arc<Object>>) -> Self {
        let mut postings = Vec::with_capacity(objects.iter().map(|object| object.terms().len()).sum());
        postings.extend(objects.iter().flat_map(|object| self::postings(object)));
        postings.sort_unstable();
        let objects = objects.into_iter().map(Entry::new).collect();
        Self { revision, objects: Tree::from_sorted(objects), postings: Tree::from_sorted(postings) }
    }

    /// The revision it shows.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// One object.
    pub fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        let digest = key.digest();
        self.objects.find(key, |entry| entry.digest == digest).map(|entry| &entry.object)
    }

    /// The objects of a range in key order, behind `after`.
    pub fn range<'s>(
        &'s self,
        prefix: &'s Prefix,
        after: Option<&Key>,
    ) -> impl Iterator<Item = &'s Arc<Object>> + use<'s> {
        let entries = self.objects.seek(|key| precedes(key, prefix, after));
        entries.map(|entry| &entry.object).take_while(|object| prefix.contains(object.key()))
    }

    /// How many objects of a range lie behind `after`.
    pub fn count(&self, prefix: &Prefix, after: Option<&Key>) -> usize {
        let start = self.objects.rank(|key| precedes(key, prefix, after));
        let end = self.objects.rank(|key| precedes(key, prefix, after) || prefix.contains(key));
        end - start
    }

    /// The objects of a range that have a term, in key order, behind `after`.
    pub fn having<'s>(
        &'s self,
        term: &'s Term,
        prefix: &'s Prefix,
        after: Option<&Key>,
    ) -> impl Iterator<Item = &'s Arc<Object>> + use<'s> {
        self.postings
            .seek(|posting| comes_before(posting, term, prefix, after))
            .take_while(|posting| posting.term == *term && prefix.contains(&posting.key))
            .filter_map(|posting| self.get(&posting.key))
    }

    /// How many objects of a range have a term: which of several terms narrows a list the most.
    pub fn count_having(&self, term: &Term, prefix: &Prefix) -> usize {
        let before = |posting: &Posting| comes_before(posting, term, prefix, None);
        let within = |posting: &Posting| posting.term == *term && prefix.contains(&posting.key);
        self.postings.rank(|posting| before(posting) || within(posting)) - self.postings.rank(before)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.objects.iter().map(|entry| &entry.object)
    }

    pub(super) fn put(&mut self, object: Arc<Object>) -> Option<Arc<Object>> {
        let previous = self.objects.insert(Entry::new(object.clone())).map(|entry| entry.object);
        let old_terms = previous.as_ref().map_or(&[][..], |previous| previous.terms());
        for posting in postings(&object).filter(|posting| old_terms.binary_search(&posting.term).is_err()) {
            self.postings.insert(posting);
        }
        if let Some(previous) = &previous {
            let gone = |posting: &Posting| object.terms().binary_search(&posting.term).is_err();
            postings(previous).filter(gone).for_each(|posting| drop(self.postings.remove(&posting)));
        }
        previous
    }

    pub(super) fn delete(&mut self, key: &Key) -> Option<Arc<Object>> {
        let previous = self.objects.remove(key)?.object;
        postings(&previous).for_each(|posting| drop(self.postings.remove(&posting)));
        Some(previous)
    }

    /// Takes back an event, the latest one of its key.
    pub(super) fn undo(&mut self, event: &ObjectEvent) {
        match (&event.previous, &event.object) {
            (Some(previous), _) => drop(self.put(previous.clone())),
            (None, Some(object)) => drop(self.delete(object.key())),
            (None, None) => {}
        }
    }

    /// The revision it shows after events have been taken back.
    pub(super) fn rewind(&mut self, revision: Revision) {
        self.revision = revision;
    }

    pub(super) fn advance(&mut self, revision: Revision) {
        self.revision = self.revision.max(revision);
    }
}

fn postings(object: &Object) -> impl Iterator<Item = Posting> {
    object.terms().iter().map(|term| Posting { term: term.clone(), key: object.key().clone() })
}

/// Whether a key lies before what a range shows behind `after`.
fn precedes(key: &Key, prefix: &Prefix, after: Option<&Key>) -> bool {
    key.as_str() < prefix.as_str() || after.is_some_and(|after| key <= after)
}

fn comes_before(posting: &Posting, term: &Term, prefix: &Prefix, after: Option<&Key>) -> bool {
    match posting.term.cmp(term) {
        std::cmp::Ordering::Equal => precedes(&posting.key, prefix, after),
        order => order.is_lt(),
    }
}
