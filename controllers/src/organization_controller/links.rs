//! What leads from a name to the things that mention it.

use std::collections::{BTreeSet, HashMap};

/// For each name, the things that mention it. A name that nothing mentions takes no space.
pub(super) struct Links<T>(HashMap<String, BTreeSet<T>>);

// === impl Links ===

impl<T> Default for Links<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Clone + Ord> Links<T> {
    /// What mentions a name, in order.
    pub(super) fn of(&self, name: &str) -> impl Iterator<Item = &T> {
        self.0.get(name).into_iter().flatten()
    }

    /// Takes note that a thing mentions other names than before.
    pub(super) fn change(&mut self, thing: &T, before: &BTreeSet<String>, now: &BTreeSet<String>) {
        for name in before.difference(now) {
            if let Some(things) = self.0.get_mut(name) {
                things.remove(thing);
                if things.is_empty() {
                    self.0.remove(name);
                }
            }
        }
        for name in now.difference(before) {
            self.0.entry(name.clone()).or_default().insert(thing.clone());
        }
    }
}
