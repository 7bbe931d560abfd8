//! What counts of a ResourceQuota.

use bailiwick_machinery::QuantityFormat;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::amounts::Amounts;
use super::scopes::ScopeSet;

/// How many digits of a hash are kept: enough that nobody finds two specs that share one.
const HASH_DIGITS: usize = 32;

/// About how many bytes a resource takes beside its name, and a ResourceQuota beside its name and its resources.
const ENTRY_BYTES: usize = 24;
const FACTS_BYTES: usize = 160;

/// What counts of a ResourceQuota.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QuotaFacts {
    /// Its name.
    pub name: String,
    /// Its UID; empty before it is made.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Its resource version; later ones are larger. Zero before it is made.
    pub version: u64,
    /// Differs between specs that are not the same.
    pub spec_hash: String,
    /// To what it applies.
    #[serde(skip_serializing_if = "ScopeSet::is_empty")]
    pub scopes: ScopeSet,
    /// What it allows.
    pub hard: Amounts,
    /// What is used of that.
    #[serde(skip_serializing_if = "Amounts::is_empty")]
    pub used: Amounts,
}

// === impl QuotaFacts ===

impl QuotaFacts {
    /// Reads a ResourceQuota.
    pub fn from_json(quota: &Value) -> Self {
        let metadata = |field: &str| quota.pointer(&format!("/metadata/{field}")).and_then(Value::as_str);
        let spec = quota.get("spec").unwrap_or(&Value::Null);
        let (scopes, hard) = (ScopeSet::from_json(spec), Amounts::from_json(spec.get("hard")));
        Self {
            name: metadata("name").unwrap_or_default().to_owned(),
            uid: metadata("uid").unwrap_or_default().to_owned(),
            version: metadata("resourceVersion").and_then(|version| version.parse().ok()).unwrap_or_default(),
            spec_hash: hash(&scopes, &hard),
            scopes,
            hard,
            used: Amounts::from_json(quota.pointer("/status/used")),
        }
    }

    /// About how many bytes it has where it is stored.
    pub(super) fn weight(&self) -> usize {
        let scopes: usize = self.scopes.texts().map(|scope| scope.len() + ENTRY_BYTES).sum();
        let amounts = self.hard.resources().chain(self.used.resources());
        FACTS_BYTES + self.name.len() + scopes + amounts.map(|resource| resource.len() + ENTRY_BYTES).sum::<usize>()
    }

    /// Forgets all resources but those of `counted`.
    pub(super) fn keep_only(&mut self, counted: &Amounts) {
        self.hard.keep_only(counted);
        self.used.keep_only(counted);
    }

    /// The larger one of what it allows and what is used of it.
    pub fn charge(&self) -> Amounts {
        let mut charge = self.hard.clone();
        charge.raise_to(&self.used);
        charge
    }
}

fn hash(scopes: &ScopeSet, hard: &Amounts) -> String {
    let amounts: Vec<_> = hard
        .iter()
        .map(|(name, amount)| json!([name, amount.in_format(QuantityFormat::DecimalSi).canonical()]))
        .collect();
    let digest = Sha256::digest(json!([scopes, amounts]).to_string());
    let mut text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(HASH_DIGITS);
    text
}
