//! The file is looked at while the server runs. A bad one is logged, and what was in use stays in use.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{AuthenticationConfiguration, ConfigurationError};
use crate::authentication::Authentication;
use crate::authentication::anonymous::Anonymous;
use crate::authentication::jwt::{Algorithms, JwtAuthenticator, JwtSetupError};
use crate::tls::{FileError, WatchedFile};

/// A file with an [`AuthenticationConfiguration`].
pub struct AuthenticationFile {
    file: Mutex<WatchedFile>,
    disallowed_issuers: Vec<String>,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationFileError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// What is in it.
    #[error("failed to load authentication configuration: {0}")]
    Configuration(#[from] ConfigurationError),
    /// It tells two things at once.
    #[error(
        "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file"
    )]
    Anonymous,
    /// An issuer in it.
    #[error(transparent)]
    Issuer(#[from] JwtSetupError),
}

// === impl AuthenticationFile ===

impl AuthenticationFile {
    /// The file at `path`, which is not read yet, and must not name these issuers.
    pub fn new(path: &Path, disallowed_issuers: Vec<String>) -> Self {
        Self { file: Mutex::new(WatchedFile::new(path)), disallowed_issuers }
    }

    /// Reads it, has its issuers known to `tokens`, and says where requests need no credentials, if it says so.
    pub fn load(&self, tokens: &JwtAuthenticator) -> Result<Option<Anonymous>, AuthenticationFileError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let text = file.read()?;
        let configuration = AuthenticationConfiguration::from_yaml(&text, &self.disallowed_issuers)?;
        tokens.set_issuers(&configuration.jwt, &Algorithms::all())?;
        file.accept(&text);
        Ok(configuration.anonymous())
    }

    /// Looks at it again and again, until dropped. `flagged` says where requests need no credentials if the file does not.
    pub async fn follow(
        self,
        tokens: Arc<JwtAuthenticator>,
        authentication: Arc<Authentication>,
        flagged: Anonymous,
        every: Duration,
    ) {
        let file = Arc::new(self);
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let (file, tokens) = (file.clone(), tokens.clone());
            // Disks can be slow, and a panic in a parser is not worth the server.
            match tokio::task::spawn_blocking(move || file.reload(&tokens)).await {
                Ok(Some(anonymous)) => authentication.set_anonymous(anonymous.unwrap_or_else(|| flagged.clone())),
                Ok(None) => {}
                Err(_panic) => tracing::error!("looking at the authentication configuration failed: the old one stays"),
            }
        }
    }

    /// Looks at it again: what it says about anonymous requests, if it holds something new that can be used.
    fn reload(&self, tokens: &JwtAuthenticator) -> Option<Option<Anonymous>> {
        let change = self.file.lock().unwrap_or_else(PoisonError::into_inner).changed();
        if !change.any() {
            return None;
        }
        match self.load(tokens) {
            Ok(anonymous) => {
                tracing::info!("took the new authentication configuration");
                Some(anonymous)
            }
            Err(error) => {
                if change.is_news() {
                    tracing::error!(%error, "the new authentication configuration cannot be used: the old one stays");
                }
                None
            }
        }
    }
}
