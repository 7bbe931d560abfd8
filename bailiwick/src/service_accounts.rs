//! The keys that tokens of service accounts are signed and verified with: from files, or made at the first start.

mod files;
mod key;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_apiserver::{OpenIdDocuments, ServiceAccountParts, ServiceAccountTokens};
use bailiwick_registry::Clock;
use rcgen::KeyPair;
use serde_json::Value;

use self::files::{KeyFiles, KeyNames};
use self::key::KeyError;
use crate::flags::ServiceAccountFlags;
use crate::private_file::{self, PrivateFileError};

/// The issuer unless another is named: where programs inside a cluster look for the API.
const USUAL_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
const FILE: &str = "service-account.key";

/// Tokens of service accounts, and how others verify them.
pub(crate) struct ServiceAccounts {
    pub(crate) tokens: Arc<ServiceAccountTokens>,
    /// What this server is called in tokens.
    pub(crate) audiences: Vec<String>,
    /// Whom tokens name that are believed. The first is named in new ones.
    pub(crate) issuers: Vec<String>,
    keys_url: Option<String>,
    files: KeyFiles,
    names: KeyNames,
    /// The public keys, as others are told of them.
    published: Vec<Value>,
}

/// Why tokens of service accounts cannot be signed or verified.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceAccountError {
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error("{} does not exist: name a file with a key, PEM", .0.display())]
    Missing(PathBuf),
    #[error("{} cannot be used for tokens of service accounts: {problem}", path.display())]
    Key { path: PathBuf, problem: KeyError },
    #[error("a key for tokens of service accounts cannot be made: {0}")]
    Making(rcgen::Error),
    #[error("the keys for tokens of service accounts cannot be used: {0}")]
    Set(String),
}

// === impl ServiceAccounts ===

impl ServiceAccounts {
    /// As the flags say; what they do not name is in the folder, or made there.
    pub(crate) fn open(
        flags: &ServiceAccountFlags,
        folder: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ServiceAccountError> {
        let files = KeyFiles {
            signing: flags.service_account_signing_key_file.clone().unwrap_or_else(|| folder.join(FILE)),
            more: flags.service_account_key_file.clone(),
        };
        if flags.service_account_signing_key_file.is_none() && private_file::read(&files.signing)?.is_none() {
            make(folder, &files.signing)?;
        }
        let keys = files.read()?;
        let (names, published) = (keys.names(), keys.published());
        let issuers = match flags.service_account_issuer.as_slice() {
            [] => vec![USUAL_ISSUER.to_owned()],
            named => named.to_vec(),
        };
        let audiences = if flags.api_audiences.is_empty() { issuers.clone() } else { flags.api_audiences.clone() };
        let tokens = ServiceAccountTokens::new(ServiceAccountParts {
            issuers: issuers.clone(),
            audiences: audiences.clone(),
            keys: keys.into_parts()?,
            clock,
        });
        let keys_url = flags.service_account_jwks_uri.clone();
        Ok(Self { tokens: Arc::new(tokens), audiences, issuers, keys_url, files, names, published })
    }

    /// How others verify tokens.
    pub(crate) fn documents(&self, server_url: &str) -> OpenIdDocuments {
        let issuer = self.issuers.first().map(String::as_str).unwrap_or_default();
        OpenIdDocuments::new(issuer, self.keys_url.as_deref(), server_url, &self.published)
    }

    /// Goes on with the keys that the files hold, and tells them in these documents, until dropped.
    pub(crate) fn follow_keys(&self, documents: &Arc<OpenIdDocuments>) -> impl Future<Output = ()> + Send + use<> {
        self.files.clone().follow(self.names.clone(), self.tokens.clone(), documents.clone())
    }
}

fn make(folder: &Path, path: &Path) -> Result<(), ServiceAccountError> {
    private_file::make_folder(folder)?;
    let pem = KeyPair::generate().map_err(ServiceAccountError::Making)?.serialize_pem();
    Ok(private_file::write(path, &pem)?)
}

#[cfg(test)]
mod tests;
