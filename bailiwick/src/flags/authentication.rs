//! Who is believed, and by what.

use std::path::PathBuf;

use clap::Args;

/// Who is believed, besides the holders of certificates.
#[derive(Clone, Debug, Args)]
pub(crate) struct AuthenticationFlags {
    /// Whether requests without credentials come from the user system:anonymous, or are refused. Without this flag they do
    /// for /healthz, /livez and /readyz, and are refused elsewhere.
    #[arg(
        long,
        env = "BAILIWICK_ANONYMOUS_AUTH",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(crate) anonymous_auth: Option<bool>,
    /// A file of the kind AuthenticationConfiguration, which says whose tokens are believed. It is watched. It cannot be
    /// used together with the --oidc- flags.
    #[arg(long, env = "BAILIWICK_AUTHENTICATION_CONFIG", value_name = "FILE")]
    pub(crate) authentication_config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) request_header: RequestHeaderFlags,
    #[command(flatten)]
    pub(crate) oidc: OidcFlags,
}

/// Front proxies, which name the user in headers.
#[derive(Clone, Debug, Args)]
pub(crate) struct RequestHeaderFlags {
    /// The authorities that vouch for front proxies, PEM. Only who shows a certificate of theirs can name a user in
    /// headers. It must not be the authority of ordinary clients. The file is watched.
    #[arg(long, env = "BAILIWICK_REQUESTHEADER_CLIENT_CA_FILE", value_name = "FILE")]
    pub(crate) requestheader_client_ca_file: Option<PathBuf>,
    /// The common names of front proxies' certificates, with commas between them. Without it, every certificate of the
    /// authorities will do.
    #[arg(long, env = "BAILIWICK_REQUESTHEADER_ALLOWED_NAMES", value_name = "NAMES", value_delimiter = ',')]
    pub(crate) requestheader_allowed_names: Vec<String>,
    /// The headers that hold the user's name; the first that is there counts.
    #[arg(
        long,
        env = "BAILIWICK_REQUESTHEADER_USERNAME_HEADERS",
        value_name = "HEADERS",
        value_delimiter = ',',
        default_value = "X-Remote-User"
    )]
    pub(crate) requestheader_username_headers: Vec<String>,
    /// The headers that hold the user's UID; the first that is there counts.
    #[arg(
        long,
        env = "BAILIWICK_REQUESTHEADER_UID_HEADERS",
        value_name = "HEADERS",
        value_delimiter = ',',
        default_value = "X-Remote-Uid"
    )]
    pub(crate) requestheader_uid_headers: Vec<String>,
    /// The headers that hold the user's groups; all count.
    #[arg(
        long,
        env = "BAILIWICK_REQUESTHEADER_GROUP_HEADERS",
        value_name = "HEADERS",
        value_delimiter = ',',
        default_value = "X-Remote-Group"
    )]
    pub(crate) requestheader_group_headers: Vec<String>,
    /// What the headers begin with that hold more about the user.
    #[arg(
        long,
        env = "BAILIWICK_REQUESTHEADER_EXTRA_HEADERS_PREFIX",
        value_name = "PREFIXES",
        value_delimiter = ',',
        default_value = "X-Remote-Extra-"
    )]
    pub(crate) requestheader_extra_headers_prefix: Vec<String>,
}

/// One issuer of tokens. For several there is --authentication-config.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OidcFlags {
    /// The URL of an OpenID Connect issuer whose tokens are believed. Only https.
    #[arg(long, env = "BAILIWICK_OIDC_ISSUER_URL", value_name = "URL")]
    pub(crate) oidc_issuer_url: Option<String>,
    /// For whom the tokens must be: one of their audiences.
    #[arg(long, env = "BAILIWICK_OIDC_CLIENT_ID", value_name = "ID")]
    pub(crate) oidc_client_id: Option<String>,
    /// The authorities that vouch for the issuer's own certificate, PEM. Without it, those of this machine.
    #[arg(long, env = "BAILIWICK_OIDC_CA_FILE", value_name = "FILE")]
    pub(crate) oidc_ca_file: Option<PathBuf>,
    /// The claim that is the user's name [default: sub]
    #[arg(long, env = "BAILIWICK_OIDC_USERNAME_CLAIM", value_name = "CLAIM")]
    pub(crate) oidc_username_claim: Option<String>,
    /// What is put before the user's name. Without it, the issuer's URL and #, unless the name is an email address; with -,
    /// nothing.
    #[arg(long, env = "BAILIWICK_OIDC_USERNAME_PREFIX", value_name = "PREFIX")]
    pub(crate) oidc_username_prefix: Option<String>,
    /// The claim that holds the user's groups, a text or a list of texts.
    #[arg(long, env = "BAILIWICK_OIDC_GROUPS_CLAIM", value_name = "CLAIM")]
    pub(crate) oidc_groups_claim: Option<String>,
    /// What is put before the names of groups.
    #[arg(long, env = "BAILIWICK_OIDC_GROUPS_PREFIX", value_name = "PREFIX")]
    pub(crate) oidc_groups_prefix: Option<String>,
    /// The algorithms that tokens may be signed with, with commas between them: RS256, RS384, RS512, PS256, PS384, PS512,
    /// ES256, ES384 [default: RS256]
    #[arg(long, env = "BAILIWICK_OIDC_SIGNING_ALGS", value_name = "ALGS", value_delimiter = ',')]
    pub(crate) oidc_signing_algs: Vec<String>,
    /// A claim that tokens must have, and its value. May be given several times.
    #[arg(long, env = "BAILIWICK_OIDC_REQUIRED_CLAIM", value_name = "CLAIM=VALUE")]
    pub(crate) oidc_required_claim: Vec<String>,
}

// === impl OidcFlags ===

impl OidcFlags {
    /// Whether any of them is set.
    pub(crate) fn is_set(&self) -> bool {
        let texts = [
            &self.oidc_issuer_url,
            &self.oidc_client_id,
            &self.oidc_username_claim,
            &self.oidc_username_prefix,
            &self.oidc_groups_claim,
            &self.oidc_groups_prefix,
        ];
        texts.iter().any(|text| text.is_some())
            || self.oidc_ca_file.is_some()
            || !self.oidc_signing_algs.is_empty()
            || !self.oidc_required_claim.is_empty()
    }
}
