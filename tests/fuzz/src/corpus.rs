//! The committed inputs of a target: `corpus/<target>/*`.

use std::fs;
use std::path::{Path, PathBuf};

/// An input from the corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub data: Vec<u8>,
}

/// Where the inputs of all targets are.
pub fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// All inputs of a target, in the order of their names.
pub fn corpus(target: &str) -> Vec<Seed> {
    let folder = corpus_folder().join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("no corpus in {}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| Seed { data: fs::read(&path).unwrap(), path }).collect()
}
