//! Tokens of service accounts.

use std::path::PathBuf;

use clap::Args;

/// Who issues tokens of service accounts, and with which keys.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServiceAccountFlags {
    /// The issuer that tokens of service accounts name, a URL. May be given several times: the first is named in new
    /// tokens, those of the others are believed [default: https://kubernetes.default.svc.cluster.local]
    #[arg(long, env = "BAILIWICK_SERVICE_ACCOUNT_ISSUER", value_name = "URL")]
    pub(crate) service_account_issuer: Vec<String>,
    /// The key that signs tokens of service accounts, PEM. Without it, one is made in the data folder.
    #[arg(long, env = "BAILIWICK_SERVICE_ACCOUNT_SIGNING_KEY_FILE", value_name = "FILE")]
    pub(crate) service_account_signing_key_file: Option<PathBuf>,
    /// More keys that tokens of service accounts are verified with, PEM, public or private. May be given several times.
    #[arg(long, env = "BAILIWICK_SERVICE_ACCOUNT_KEY_FILE", value_name = "FILE")]
    pub(crate) service_account_key_file: Vec<PathBuf>,
    /// Where others find the keys that tokens are verified with. Without it, at this server.
    #[arg(long, env = "BAILIWICK_SERVICE_ACCOUNT_JWKS_URI", value_name = "URL")]
    pub(crate) service_account_jwks_uri: Option<String>,
    /// What this server is called in tokens, with commas between the names [default: the issuers]
    #[arg(long, env = "BAILIWICK_API_AUDIENCES", value_name = "NAMES", value_delimiter = ',')]
    pub(crate) api_audiences: Vec<String>,
}
