//! `differences.yaml`: what is meant to differ, and why.
//!
//! An entry that nothing matches any more is an error, so that the file tells the truth; but for those that say that they
//! depend on what other scenarios do at the same time.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use bailiwick_machinery::decode::from_yaml;
use serde::Deserialize;

use crate::compare;
use crate::compare::Difference;
use crate::error::Error;

/// What is meant to differ.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Fields that are taken out of all answers before anything is compared.
    #[serde(default)]
    pub stripped: Vec<Stripped>,
    /// Differences between single answers.
    #[serde(default)]
    pub differences: Vec<Entry>,
}

/// A field that is not compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stripped {
    /// Its path from the top of an object: `metadata.managedFields`.
    pub field: String,
    /// Why.
    pub reason: String,
}

/// A difference between answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Which steps, as `file/scenario/number` or `file/scenario/number,number`; a `*` stands for any text.
    pub step: String,
    /// Which places, as reports name them; a `*` stands for any text.
    pub place: String,
    /// What the real server has there, as a report shows it; any value if it is left out.
    #[serde(default = "anything")]
    pub real: String,
    /// What the other has there.
    #[serde(default = "anything")]
    pub ours: String,
    /// Why.
    pub reason: String,
    /// Whether it need not occur, because other scenarios decide about it.
    #[serde(default)]
    pub varies: bool,
}

// === impl Accepted ===

impl Accepted {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read(path).map_err(Error::file(path))?;
        let decoded = from_yaml(&text).map_err(|source| Error::Yaml { path: path.to_owned(), source })?;
        serde_json::from_value(decoded.value).map_err(|source| Error::Shape { path: path.to_owned(), source })
    }

    /// Splits off what is accepted. Gives the differences that are left and the entries that match none.
    pub fn judge(&self, differences: Vec<Difference>) -> (Vec<Difference>, Vec<&Entry>) {
        let mut used = BTreeSet::new();
        let mut left = Vec::new();
        for difference in differences {
            let entries = self.differences.iter().enumerate().filter(|(_, entry)| entry.matches(&difference));
            let indices: Vec<usize> = entries.map(|(index, _)| index).collect();
            if indices.is_empty() {
                left.push(difference);
            }
            used.extend(indices);
        }
        let unused =
            self.differences.iter().enumerate().filter(|(index, entry)| !entry.varies && !used.contains(index));
        (left, unused.map(|(_, entry)| entry).collect())
    }
}

// === impl Entry ===

impl Entry {
    fn matches(&self, difference: &Difference) -> bool {
        let shown = [&difference.left, &difference.right].map(|value| compare::shown(value.as_ref()));
        self.matches_step(&difference.step)
            && matches(&self.place, &difference.place)
            && matches(&self.real, &shown[0])
            && matches(&self.ours, &shown[1])
    }

    fn matches_step(&self, step: &str) -> bool {
        let is_one_of = |((pattern, numbers), (scenario, number)): ((&str, &str), (&str, &str))| {
            matches(pattern, scenario) && numbers.split(',').any(|one| one == number)
        };
        matches(&self.step, step) || self.step.rsplit_once('/').zip(step.rsplit_once('/')).is_some_and(is_one_of)
    }
}

fn anything() -> String {
    "*".to_owned()
}

/// Whether `text` is what `pattern` says, in which a `*` stands for any text.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(start) = rest.find(part) else { return false };
        rest = &rest[start + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests;
