//! Which claims are satisfied by which definition, and use which class.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::{Key, Touched, key_of};
use crate::claim_controller::Work;
use crate::claim_controller::claim_status::ClaimStatus;

/// Who uses what, as the claims say.
#[derive(Default)]
pub(super) struct Uses {
    /// The claims that a definition satisfies, by its UID.
    definitions: HashMap<String, BTreeSet<Key>>,
    /// The claims that use a class.
    classes: HashMap<Key, BTreeSet<Key>>,
}

// === impl Uses ===

impl Uses {
    /// Notes what a claim uses.
    pub(super) fn note(&mut self, key: &Key, claim: &Value, touched: &mut Touched) {
        let status = ClaimStatus::of(claim);
        if let Some(definition) = &status.definition
            && self.definitions.entry(definition.uid.clone()).or_default().insert(key.clone())
        {
            touched.counted.insert(definition.name.clone());
        }
        for class in status.bindings.iter().filter_map(|binding| binding.class_ref.as_ref()) {
            self.classes.entry(key_of(class)).or_default().insert(key.clone());
        }
    }

    /// Forgets what a claim used.
    pub(super) fn forget(&mut self, key: &Key, claim: &Value, touched: &mut Touched) {
        let status = ClaimStatus::of(claim);
        if let Some(definition) = &status.definition
            && let Some(users) = self.definitions.get_mut(&definition.uid)
        {
            users.remove(key);
            if users.is_empty() {
                self.definitions.remove(&definition.uid);
            }
            touched.counted.insert(definition.name.clone());
        }
        for class in status.bindings.iter().filter_map(|binding| binding.class_ref.as_ref()) {
            let class = key_of(class);
            if let Some(users) = self.classes.get_mut(&class) {
                users.remove(key);
                if users.is_empty() {
                    self.classes.remove(&class);
                    touched.work.push(Work::Class(class));
                }
            }
        }
    }

    pub(super) fn of_definition(&self, uid: &str) -> Vec<Key> {
        self.definitions.get(uid).into_iter().flatten().cloned().collect()
    }

    pub(super) fn of_class(&self, class: &Key) -> Vec<Key> {
        self.classes.get(class).into_iter().flatten().cloned().collect()
    }
}
