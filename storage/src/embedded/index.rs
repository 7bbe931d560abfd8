//! Which record holds the value of a key at a revision. Kept in memory and rebuilt from the log when it is opened: the
//! log alone is durable, so there is nothing the two could disagree about after a crash.
//!
//! Each version of a key is an item of its own, newest first. After `a` was written at 3 and 7 and deleted at 9, and
//! `b` written at 5:
//!
//! ```text
//! (a, 9, deleted) (a, 7) (a, 3) (b, 5)
//! ```
//!
//! The value of `a` at revision 8 is the first item at or behind `(a, 8)`: the one of 7.

use std::cmp::Ordering;
use std::collections::VecDeque;

use super::record::Position;
use crate::key::{Key, Prefix};
use crate::revision::Revision;
use crate::tree::{Item, Tree};

/// A key's state from one revision on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) key: Key,
    pub(super) position: Position,
    pub(super) deleted: bool,
    /// The length of its record.
    pub(super) bytes: u32,
}

/// All versions that are kept.
#[derive(Clone)]
pub(super) struct Index {
    versions: Tree<Version>,
}

/// Versions that nobody needs once history up to a revision is forgotten, in the order in which that comes.
#[derive(Debug, Default)]
pub(super) struct History {
    superseded: VecDeque<Superseded>,
    bytes: u64,
}

#[derive(Debug)]
struct Superseded {
    /// The revision from which on the version is not the newest.
    by: Revision,
    version: Version,
}

// === impl Index ===

impl Index {
    /// Builds the index of versions in any order, and the history among them.
    pub(super) fn build(mut versions: Vec<Version>) -> (Self, History) {
        versions.sort_unstable();
        let mut superseded = Vec::new();
        for (at, version) in versions.iter().enumerate() {
            let newer = at.checked_sub(1).map(|newer| &versions[newer]).filter(|newer| newer.key == version.key);
            let by = match newer {
                _ if version.deleted => version.position.revision,
                Some(newer) => newer.position.revision,
                None => continue,
            };
            superseded.push(Superseded { by, version: version.clone() });
        }
        superseded.sort_unstable_by_key(|superseded| superseded.by);
        let mut history = History::default();
        superseded.into_iter().for_each(|superseded| history.push(superseded));
        (Self { versions: Tree::from_sorted(versions) }, history)
    }

    /// The record that holds `key` as of `revision`; none if it did not exist then.
    pub(super) fn find(&self, key: &Key, revision: Revision) -> Option<&Version> {
        let version = self.newest_at(key, revision)?;
        (!version.deleted).then_some(version)
    }

    /// The records of a range as of `revision`, in key order, behind `after`.
    pub(super) fn range<'i>(
        &'i self,
        prefix: &Prefix,
        after: Option<&Key>,
        revision: Revision,
    ) -> impl Iterator<Item = &'i Version> + use<'i> {
        let start = match after {
            Some(key) if key.as_str() >= prefix.as_str() => key.as_str(),
            _ => prefix.as_str(),
        };
        let behind = after.cloned();
        let prefix = prefix.clone();
        let mut current: Option<&Key> = None;
        self.versions
            .seek(|version| version.key.as_str() < start)
            .skip_while(move |version| behind.as_ref() == Some(&version.key))
            .take_while(move |version| prefix.contains(&version.key))
            .filter(move |version| {
                let decided = current == Some(&version.key);
                let visible = !decided && version.position.revision <= revision;
                if visible {
                    current = Some(&version.key);
                }
                visible && !version.deleted
            })
    }

    /// The index's own copy of a key, so that all who hold it share one allocation; the given one if there is none.
    pub(super) fn share(&self, key: Key) -> Key {
        match self.versions.seek(|version| version.key < key).next() {
            Some(version) if version.key == key => version.key.clone(),
            _ => key,
        }
    }

    /// Adds a version newer than all others and notes in `history` what it supersedes.
    pub(super) fn push(&mut self, mut version: Version, history: &mut Vec<(Revision, Version)>) {
        let by = version.position.revision;
        if let Some(older) = self.newest_at(&version.key, by) {
            version.key = older.key.clone();
            // A deletion was noted when it was made: it supersedes itself.
            if !older.deleted {
                history.push((by, older.clone()));
            }
        }
        if version.deleted {
            history.push((by, version.clone()));
        }
        self.versions.insert(version);
    }

    pub(super) fn remove(&mut self, version: &Version) {
        self.versions.remove(version);
    }

    /// How many versions are kept.
    pub(super) fn len(&self) -> usize {
        self.versions.len()
    }

    fn newest_at(&self, key: &Key, revision: Revision) -> Option<&Version> {
        let before =
            |version: &Version| version.key.cmp(key).then(revision.cmp(&version.position.revision)) == Ordering::Less;
        self.versions.seek(before).next().filter(|version| version.key == *key)
    }
}

// === impl History ===

impl History {
    /// Adds versions that a commit superseded; revisions only grow.
    pub(super) fn extend(&mut self, superseded: Vec<(Revision, Version)>) {
        for (by, version) in superseded {
            self.push(Superseded { by, version });
        }
    }

    /// The next version to drop, if it is not needed to show any revision from `oldest` on.
    pub(super) fn peek(&self, nth: usize, oldest: Revision) -> Option<&Version> {
        self.superseded.get(nth).filter(|superseded| superseded.by <= oldest).map(|superseded| &superseded.version)
    }

    /// Forgets the first `count` versions: they have been dropped.
    pub(super) fn pop(&mut self, count: usize) {
        for superseded in self.superseded.drain(..count) {
            self.bytes -= u64::from(superseded.version.bytes);
        }
    }

    /// How many bytes of records are kept for history only.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The revision to forget up to so that no more than `bytes` are kept for history.
    pub(super) fn oldest_within(&self, bytes: u64) -> Option<Revision> {
        let mut excess = self.bytes.checked_sub(bytes).filter(|excess| *excess > 0)?;
        for superseded in &self.superseded {
            excess = excess.saturating_sub(u64::from(superseded.version.bytes));
            if excess == 0 {
                return Some(superseded.by);
            }
        }
        None
    }

    fn push(&mut self, superseded: Superseded) {
        self.bytes += u64::from(superseded.version.bytes);
        self.superseded.push_back(superseded);
    }
}

// === impl Version ===

impl Item for Version {
    type Key = Self;

    fn key(&self) -> &Self {
        self
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key).then(other.position.cmp(&self.position))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
