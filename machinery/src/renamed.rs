//! Fields that one version of a kind calls otherwise than all others.

use serde_json::{Map, Value};

/// The fields of an object that have names of their own in a version: these, and those that all other versions have for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Renamed(pub &'static [(&'static str, &'static str)]);

// === impl Renamed ===

impl Renamed {
    /// Gives fields the names of all other versions.
    pub fn to_others(self, fields: &mut Map<String, Value>) {
        self.0.iter().for_each(|(own, others)| rename(fields, own, others));
    }

    /// Gives fields the names of this version.
    pub fn to_own(self, fields: &mut Map<String, Value>) {
        self.0.iter().for_each(|(own, others)| rename(fields, others, own));
    }
}

fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
}
