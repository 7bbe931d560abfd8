//! The file `AuthenticationConfiguration`: which issuers' tokens are believed, what their claims mean, and where requests
//! need no credentials.

mod file;
mod url;
mod validate;

use bailiwick_machinery::FieldErrors;
use bailiwick_machinery::decode::{self, DecodeError, StrictDecodingError};
use serde::Deserialize;
use serde_json::Value;

pub use self::file::{AuthenticationFile, AuthenticationFileError};

use super::anonymous::Anonymous;

const KIND: &str = "AuthenticationConfiguration";
const VERSIONS: [&str; 2] = ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1"];

/// Who is believed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AuthenticationConfiguration {
    /// The version of the form.
    pub api_version: String,
    /// The name of the form.
    pub kind: String,
    /// The issuers whose tokens are believed.
    pub jwt: Vec<JwtConfiguration>,
    /// Where requests need no credentials.
    pub anonymous: Option<AnonymousConfiguration>,
}

/// An issuer, and what its tokens mean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct JwtConfiguration {
    /// The issuer.
    pub issuer: Issuer,
    /// What its tokens must claim.
    pub claim_validation_rules: Vec<ClaimValidationRule>,
    /// Which claims name the user.
    pub claim_mappings: ClaimMappings,
    /// What must be true of the user.
    pub user_validation_rules: Vec<UserValidationRule>,
}

/// Who signs tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Issuer {
    /// Its name, and where it is.
    pub url: String,
    /// Where it says where its keys are, if not below its name.
    #[serde(rename = "discoveryURL")]
    pub discovery_url: String,
    /// Who vouches for its own certificate, PEM; the machine's authorities if empty.
    pub certificate_authority: String,
    /// For whom its tokens must be.
    pub audiences: Vec<String>,
    /// How many of the audiences a token must name: `MatchAny`.
    pub audience_match_policy: String,
    /// Which network it is in. Not supported.
    pub egress_selector_type: String,
}

/// Something that tokens must claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClaimValidationRule {
    /// The claim.
    pub claim: String,
    /// Its value.
    pub required_value: String,
    /// CEL. Not supported.
    pub expression: String,
    /// What is said if the expression is false.
    pub message: String,
}

/// Which claims name the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClaimMappings {
    /// The name.
    pub username: PrefixedClaim,
    /// The groups.
    pub groups: PrefixedClaim,
    /// The UID.
    pub uid: ClaimMapping,
    /// Everything else.
    pub extra: Vec<ExtraMapping>,
}

/// A claim, and what is put before its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PrefixedClaim {
    /// The claim.
    pub claim: String,
    /// What is put before its value.
    pub prefix: Option<String>,
    /// CEL. Not supported.
    pub expression: String,
}

/// A claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClaimMapping {
    /// The claim.
    pub claim: String,
    /// CEL. Not supported.
    pub expression: String,
}

/// What else is known of a user. Kubernetes has no form of this without CEL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ExtraMapping {
    /// Under which key.
    pub key: String,
    /// CEL. Not supported.
    pub value_expression: String,
}

/// What must be true of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct UserValidationRule {
    /// CEL. Not supported.
    pub expression: String,
    /// What is said if it is false.
    pub message: String,
}

/// Where requests need no credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AnonymousConfiguration {
    /// Whether there are such places.
    pub enabled: bool,
    /// Which; everywhere, if there is none.
    pub conditions: Vec<AnonymousCondition>,
}

/// A place where requests need no credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AnonymousCondition {
    /// The whole path.
    pub path: String,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// There is nothing.
    #[error("empty config data")]
    Empty,
    /// It is neither YAML nor JSON.
    #[error("it is neither YAML nor JSON: {0}")]
    Decode(#[from] DecodeError),
    /// Something occurs twice.
    #[error(transparent)]
    Strict(#[from] StrictDecodingError),
    /// It is for something else.
    #[error(
        "no kind {kind:?} is registered for version {version:?}: expected {KIND} of apiserver.config.k8s.io/v1 or v1beta1"
    )]
    Kind {
        /// The kind it says it is of.
        kind: String,
        /// The version it says it is of.
        version: String,
    },
    /// A field is unknown, or holds something else.
    #[error("strict decoding error: {0}")]
    Fields(#[source] serde_json::Error),
    /// The fields do not make sense.
    #[error("invalid authentication configuration: {0}")]
    Invalid(FieldErrors),
}

// === impl AuthenticationConfiguration ===

impl AuthenticationConfiguration {
    /// Reads and checks a file, which must not name the issuers that are someone else's.
    pub fn from_yaml(text: &[u8], disallowed_issuers: &[String]) -> Result<Self, ConfigurationError> {
        if text.is_empty() {
            return Err(ConfigurationError::Empty);
        }
        let mut decoded = decode::from_yaml(text)?;
        decode::FieldValidation::Strict.apply(decoded.problems(), &[])?;
        let field = |name: &str| decoded.value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, version) = (field("kind"), field("apiVersion"));
        if kind != KIND || !VERSIONS.contains(&version.as_str()) {
            return Err(ConfigurationError::Kind { kind, version });
        }
        drop_nulls(&mut decoded.value);
        let configuration: Self = serde_json::from_value(decoded.value).map_err(ConfigurationError::Fields)?;
        configuration.check(disallowed_issuers)?;
        Ok(configuration)
    }

    /// Checks that the fields make sense, and that no issuer is one of these: whose own keys and rules its tokens have.
    pub fn check(&self, disallowed_issuers: &[String]) -> Result<(), ConfigurationError> {
        validate::validate(self, disallowed_issuers).into_result().map_err(ConfigurationError::Invalid)
    }

    /// Where requests need no credentials, if it says so.
    pub fn anonymous(&self) -> Option<Anonymous> {
        let anonymous = self.anonymous.as_ref()?;
        Some(match (anonymous.enabled, anonymous.conditions.as_slice()) {
            (false, _) => Anonymous::Off,
            (true, []) => Anonymous::Everywhere,
            (true, conditions) => Anonymous::Paths(conditions.iter().map(|condition| condition.path.clone()).collect()),
        })
    }
}

// === impl Issuer ===

impl Issuer {
    /// Whether both have their keys in the same place, where the same authority vouches for them.
    pub(super) fn is_reached_like(&self, other: &Self) -> bool {
        self.url == other.url
            && self.discovery_url == other.discovery_url
            && self.certificate_authority == other.certificate_authority
    }
}

/// As in Go, a field that is null is absent.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
