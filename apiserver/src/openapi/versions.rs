//! The documents of version 3: one for each group and version.
//!
//! There may be hundreds of versions that are defined by data, and each of their documents is larger than all the objects
//! that most of them ever have. So theirs are known by a hash of what they are made of, made when someone asks, and only some
//! are kept; those of the program's own kinds never change, and all are.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bailiwick_machinery::GroupVersion;
use bailiwick_machinery::openapi::{root, v3};
use bailiwick_registry::{ServedKind, ServedKinds};

use super::{Document, INFO, hash, resources};

/// How many documents of versions that are defined by data are kept.
const KEPT: usize = 32;

/// The versions there are, by the path of their documents.
pub(super) struct Versions {
    by_path: BTreeMap<String, Arc<Version>>,
    /// Those that have a document and can do without it, the newest last.
    kept: Arc<Mutex<VecDeque<Arc<Version>>>>,
}

/// A version, and its document if it is made.
struct Version {
    group_version: GroupVersion,
    kinds: Vec<Arc<ServedKind>>,
    /// Its hash, if it is known without the document.
    hash: Option<String>,
    native: OnceLock<Arc<Document>>,
    defined: Mutex<Option<Arc<Document>>>,
}

// === impl Versions ===

impl Versions {
    pub(super) fn new(kinds: &ServedKinds) -> Self {
        Self { by_path: BTreeMap::new(), kept: Arc::default() }.follow(kinds)
    }

    /// The same for other kinds. What has not changed is taken over.
    pub(super) fn follow(&self, kinds: &ServedKinds) -> Self {
        let mut by_version: BTreeMap<&GroupVersion, Vec<Arc<ServedKind>>> = BTreeMap::new();
        for kind in kinds.served() {
            by_version.entry(&kind.version().group_version).or_default().push(kind.clone());
        }
        let version = |(group_version, kinds): (&GroupVersion, Vec<Arc<ServedKind>>)| {
            let path = root(group_version);
            let known = self.by_path.get(&path).filter(|known| known.is_of(&kinds)).cloned();
            (path, known.unwrap_or_else(|| Arc::new(Version::new(group_version.clone(), kinds))))
        };
        Self { by_path: by_version.into_iter().map(version).collect(), kept: self.kept.clone() }
    }

    /// The paths of all documents, with their hashes.
    pub(super) fn hashes(&self, kinds: &ServedKinds) -> impl Iterator<Item = (&str, String)> {
        let hash = |version: &Version| match &version.hash {
            Some(hash) => hash.clone(),
            None => version.native(kinds).hash().to_owned(),
        };
        self.by_path.iter().map(move |(path, version)| (path.as_str(), hash(version)))
    }

    /// The document at a path.
    pub(super) fn document(&self, kinds: &ServedKinds, path: &str) -> Option<Arc<Document>> {
        let version = self.by_path.get(path)?;
        match &version.hash {
            None => Some(version.native(kinds)),
            Some(hash) => Some(self.keep(version, version.defined(hash))),
        }
    }

    /// Keeps a document for those who ask for it again, and lets go of the one that was kept longest.
    fn keep(&self, version: &Arc<Version>, document: Arc<Document>) -> Arc<Document> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.iter().any(|kept| Arc::ptr_eq(kept, version)) {
            kept.push_back(version.clone());
        }
        let excess = kept.len().saturating_sub(KEPT);
        for version in kept.drain(..excess) {
            *version.defined.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        document
    }
}

// === impl Version ===

impl Version {
    fn new(group_version: GroupVersion, kinds: Vec<Arc<ServedKind>>) -> Self {
        let hash = input_hash(&kinds);
        Self { group_version, kinds, hash, native: OnceLock::new(), defined: Mutex::default() }
    }

    fn is_of(&self, kinds: &[Arc<ServedKind>]) -> bool {
        self.kinds.len() == kinds.len() && self.kinds.iter().zip(kinds).all(|(one, other)| Arc::ptr_eq(one, other))
    }

    /// The document of the program's own kinds, which may refer to one another across groups.
    fn native(&self, kinds: &ServedKinds) -> Arc<Document> {
        let make = || {
            let native: Vec<_> = kinds.served().iter().filter(|kind| !kind.kind().is_defined()).cloned().collect();
            Arc::new(Document::new(&v3(INFO, &self.group_version, &resources::resources(&native))))
        };
        self.native.get_or_init(make).clone()
    }

    /// The document of kinds that are defined by data.
    fn defined(&self, hash: &str) -> Arc<Document> {
        let mut made = self.defined.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let document = v3(INFO, &self.group_version, &resources::resources(&self.kinds));
            Arc::new(Document::hashed(&document, hash.to_owned()))
        };
        made.get_or_insert_with(make).clone()
    }
}

/// The hash of what a document is made of; none if that is not only kinds that are defined by data.
fn input_hash(kinds: &[Arc<ServedKind>]) -> Option<String> {
    let mut input = Vec::from(INFO.version);
    for kind in kinds {
        input.extend_from_slice(kind.kind().fingerprint()?.as_bytes());
    }
    Some(hash(&input))
}
