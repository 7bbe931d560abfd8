//! Sets up who is believed, as the flags say.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_apiserver::{
    Algorithms, Anonymous, Authentication, AuthenticationConfiguration, AuthenticationError, AuthenticationFile,
    AuthenticationFileError, AuthenticationParts, ClaimMappings, ClaimValidationRule, ConfigurationError, Issuer,
    JwtAuthenticator, JwtConfiguration, JwtOptions, JwtSetupError, PrefixedClaim, RequestHeaderOptions, Tls,
    TokenAuthenticator, TokenAuthenticatorChain, UnsupportedAlgorithm,
};
use bailiwick_registry::Clock;

use crate::flags::{AuthenticationFlags, OidcFlags, RequestHeaderFlags};
use crate::followed_files::FollowedFiles;
use crate::mode::Tokens;
use crate::private_file::{self, PrivateFileError};

/// How often the configuration file is looked at.
const FILE_POLL: Duration = Duration::from_secs(2);
/// Stands for "no prefix".
const NO_PREFIX: &str = "-";

/// Why authentication cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthenticationSetupError {
    #[error("oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set")]
    Incomplete,
    #[error("authentication-config file and oidc-* flags are mutually exclusive")]
    Exclusive,
    #[error("--oidc-required-claim {0:?} has no value: write it like claim=value")]
    RequiredClaim(String),
    #[error("--oidc-ca-file {} does not exist", .0.display())]
    NoAuthority(PathBuf),
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error(transparent)]
    Algorithm(#[from] UnsupportedAlgorithm),
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error(transparent)]
    ConfigurationFile(#[from] AuthenticationFileError),
    #[error(transparent)]
    Issuer(#[from] JwtSetupError),
    #[error(transparent)]
    Authentication(#[from] AuthenticationError),
}

/// Everything that finds out who asks. Issuers are asked for their keys from now on, in the background.
pub(crate) fn authentication(
    flags: &AuthenticationFlags,
    known: Tokens,
    tls: Arc<Tls>,
    clock: Arc<dyn Clock>,
) -> Result<Arc<Authentication>, AuthenticationSetupError> {
    let flagged = match flags.anonymous_auth {
        None => Anonymous::health(),
        Some(true) => Anonymous::Everywhere,
        Some(false) => Anonymous::Off,
    };
    let issuers = Arc::new(JwtAuthenticator::new(JwtOptions::default(), clock.clone()));
    let file = flags.authentication_config.as_deref();
    let file = file.map(|path| AuthenticationFile::new(path, known.own_issuers.clone()));
    let mut anonymous = flagged.clone();
    if let Some(file) = &file {
        if flags.oidc.is_set() {
            return Err(AuthenticationSetupError::Exclusive);
        }
        if let Some(configured) = file.load(&issuers)? {
            if flags.anonymous_auth.is_some() {
                return Err(AuthenticationFileError::Anonymous.into());
            }
            anonymous = configured;
        }
    } else if flags.oidc.is_set() {
        let own = known.own_issuers.clone();
        let used = believe(&flags.oidc, &own, None, &issuers)?;
        if flags.oidc.oidc_ca_file.is_some() {
            tokio::spawn(follow_authority(flags.oidc.clone(), own, used, issuers.clone()));
        }
    }
    let mut tokens: Vec<Arc<dyn TokenAuthenticator>> = vec![issuers.clone()];
    tokens.extend(known.others);
    let authentication = Arc::new(Authentication::new(AuthenticationParts {
        tls,
        request_header: request_header(&flags.request_header),
        revocable_tokens: known.revocable,
        tokens: Arc::new(TokenAuthenticatorChain::new(tokens)),
        audiences: known.audiences,
        token_cache: known.cache,
        anonymous,
        clock,
    })?);
    if let Some(file) = file {
        tokio::spawn(file.follow(issuers, authentication.clone(), flagged, FILE_POLL));
    }
    Ok(authentication)
}

/// Believes the issuer that the flags name, unless that is the one that is believed.
fn believe(
    flags: &OidcFlags,
    own: &[String],
    used: Option<&JwtConfiguration>,
    issuers: &JwtAuthenticator,
) -> Result<Option<JwtConfiguration>, AuthenticationSetupError> {
    let found = issuer(flags)?;
    if used == Some(&found) {
        return Ok(None);
    }
    let configuration = AuthenticationConfiguration { jwt: vec![found], ..Default::default() };
    configuration.check(own)?;
    issuers.set_issuers(&configuration.jwt, &algorithms(flags)?)?;
    Ok(configuration.jwt.into_iter().next())
}

/// Goes on with what the file says that names the issuer's authority.
async fn follow_authority(
    flags: OidcFlags,
    own: Vec<String>,
    mut used: Option<JwtConfiguration>,
    issuers: Arc<JwtAuthenticator>,
) {
    let mut files = FollowedFiles::new("authorities of --oidc-ca-file");
    loop {
        files.turn().await;
        if let Some(found) = files.tell(believe(&flags, &own, used.as_ref(), &issuers)) {
            used = Some(found);
        }
    }
}

fn request_header(flags: &RequestHeaderFlags) -> RequestHeaderOptions {
    RequestHeaderOptions {
        username_headers: flags.requestheader_username_headers.clone(),
        uid_headers: flags.requestheader_uid_headers.clone(),
        group_headers: flags.requestheader_group_headers.clone(),
        extra_header_prefixes: flags.requestheader_extra_headers_prefix.clone(),
        allowed_names: flags.requestheader_allowed_names.clone(),
    }
}

fn algorithms(flags: &OidcFlags) -> Result<Algorithms, UnsupportedAlgorithm> {
    match flags.oidc_signing_algs.as_slice() {
        [] => Algorithms::named(["RS256"]),
        named => Algorithms::named(named.iter().map(String::as_str)),
    }
}

/// The issuer that the flags name, as a file would have it.
fn issuer(flags: &OidcFlags) -> Result<JwtConfiguration, AuthenticationSetupError> {
    let given = |flag: &Option<String>| flag.clone().filter(|text| !text.is_empty());
    let (url, audience) =
        given(&flags.oidc_issuer_url).zip(given(&flags.oidc_client_id)).ok_or(AuthenticationSetupError::Incomplete)?;
    let certificate_authority = match &flags.oidc_ca_file {
        None => String::new(),
        Some(path) => private_file::read(path)?.ok_or_else(|| AuthenticationSetupError::NoAuthority(path.clone()))?,
    };
    let claim = given(&flags.oidc_username_claim).unwrap_or_else(|| "sub".to_owned());
    let prefix = match given(&flags.oidc_username_prefix) {
        Some(prefix) if prefix == NO_PREFIX => String::new(),
        Some(prefix) => prefix,
        None if claim == "email" => String::new(),
        None => format!("{url}#"),
    };
    let groups = given(&flags.oidc_groups_claim).map(|claim| PrefixedClaim {
        claim,
        prefix: Some(flags.oidc_groups_prefix.clone().unwrap_or_default()),
        ..PrefixedClaim::default()
    });
    Ok(JwtConfiguration {
        issuer: Issuer { url, audiences: vec![audience], certificate_authority, ..Issuer::default() },
        claim_validation_rules: required_claims(&flags.oidc_required_claim)?,
        claim_mappings: ClaimMappings {
            username: PrefixedClaim { claim, prefix: Some(prefix), ..PrefixedClaim::default() },
            groups: groups.unwrap_or_default(),
            ..ClaimMappings::default()
        },
        ..JwtConfiguration::default()
    })
}

fn required_claims(flags: &[String]) -> Result<Vec<ClaimValidationRule>, AuthenticationSetupError> {
    let rule = |flag: &String| {
        let (claim, value) =
            flag.split_once('=').ok_or_else(|| AuthenticationSetupError::RequiredClaim(flag.clone()))?;
        Ok(ClaimValidationRule {
            claim: claim.trim().to_owned(),
            required_value: value.trim().to_owned(),
            ..ClaimValidationRule::default()
        })
    };
    flags.iter().map(rule).collect()
}

#[cfg(test)]
mod tests;
