//! The files that keys are in, which others replace while the server runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_apiserver::{KeySet, OpenIdDocuments, ServiceAccountKeys, ServiceAccountTokens};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::ServiceAccountError;
use super::key::{PublicKey, Signer};
use crate::followed_files::FollowedFiles;
use crate::private_file;

/// Where the keys are.
#[derive(Clone)]
pub(super) struct KeyFiles {
    /// The one that signs.
    pub(super) signing: PathBuf,
    /// More that tokens are verified with.
    pub(super) more: Vec<PathBuf>,
}

/// The keys, as they were read.
pub(super) struct Keys {
    signer: Signer,
    /// Each once, in the order of their names.
    public: Vec<PublicKey>,
}

/// Which keys there are. No two that differ are called the same.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct KeyNames {
    signing: String,
    public: Vec<String>,
}

// === impl KeyFiles ===

impl KeyFiles {
    pub(super) fn read(&self) -> Result<Keys, ServiceAccountError> {
        let text = |path: &Path| private_file::read(path)?.ok_or_else(|| ServiceAccountError::Missing(path.to_owned()));
        let unusable = |path: &Path| {
            let path = path.to_owned();
            move |problem| ServiceAccountError::Key { path, problem }
        };
        let signer = Signer::read(&text(&self.signing)?).map_err(unusable(&self.signing))?;
        let mut public = vec![signer.public().clone()];
        for path in &self.more {
            public.extend(PublicKey::read_all(&text(path)?).map_err(unusable(path))?);
        }
        public.sort_by(|one, other| one.id().cmp(other.id()));
        public.dedup_by(|one, other| one.id() == other.id());
        Ok(Keys { signer, public })
    }

    /// Goes on with what the files say, until dropped. What cannot be used changes nothing in any of them, so that no token is
    /// signed with a key that is not published.
    pub(super) async fn follow(
        self,
        mut used: KeyNames,
        tokens: Arc<ServiceAccountTokens>,
        documents: Arc<OpenIdDocuments>,
    ) {
        let mut files = FollowedFiles::new("keys for tokens of service accounts");
        loop {
            files.turn().await;
            let (this, last) = (self.clone(), used.clone());
            // Disks can be slow, and a panic in a parser is not worth the server.
            let found = match spawn_blocking(move || this.read_anew(&last)).await {
                Ok(found) => found.map_err(|error| error.to_string()),
                Err(panic) => Err(panic.to_string()),
            };
            if let Some((names, published, keys)) = files.tell(found) {
                // First, so that whoever gets a new token finds its key.
                documents.set_keys(&published);
                tokens.set_keys(keys);
                used = names;
            }
        }
    }

    /// The keys, if they are not the last ones: what they are called, how they are published, and how they are used.
    fn read_anew(
        &self,
        last: &KeyNames,
    ) -> Result<Option<(KeyNames, Vec<Value>, ServiceAccountKeys)>, ServiceAccountError> {
        let keys = self.read()?;
        let names = keys.names();
        if names == *last {
            return Ok(None);
        }
        Ok(Some((names, keys.published(), keys.into_parts()?)))
    }
}

// === impl Keys ===

impl Keys {
    pub(super) fn names(&self) -> KeyNames {
        let id = |key: &PublicKey| key.id().to_owned();
        KeyNames { signing: id(self.signer.public()), public: self.public.iter().map(id).collect() }
    }

    /// As others are told of them.
    pub(super) fn published(&self) -> Vec<Value> {
        self.public.iter().map(PublicKey::to_json).collect()
    }

    pub(super) fn into_parts(self) -> Result<ServiceAccountKeys, ServiceAccountError> {
        let set = json!({ "keys": self.published() }).to_string();
        let public = KeySet::from_json(set.as_bytes()).map_err(|error| ServiceAccountError::Set(error.to_string()))?;
        Ok(ServiceAccountKeys { signer: Box::new(self.signer), public })
    }
}
