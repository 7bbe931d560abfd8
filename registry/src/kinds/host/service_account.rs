//! ServiceAccount: who a program is.

use async_trait::async_trait;
use bailiwick_machinery::table::Columns;
use bailiwick_machinery::{NameRule, Object, Scope};
use k8s_openapi::api::core::v1::ServiceAccount;
use serde_json::{Value, json};

use crate::context::Ctx;
use crate::error::Result;
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

const MOUNTABLE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::host::<ServiceAccount>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    let columns = || Columns::named().with_age_as_text();
    Ok(kind.short_names(&["sa"]).with_unconditional_update().with_deleted_told().columns(columns).strategy(Rules))
}

struct Rules;

// === impl Rules ===

#[async_trait]
impl Strategy for Rules {
    async fn prepare_create(&self, _: &Ctx<'_>, object: &mut Object) -> Result<()> {
        reduce_secrets(object);
        Ok(())
    }

    async fn prepare_update(&self, _: &Ctx<'_>, object: &mut Object, _: &Object) -> Result<()> {
        reduce_secrets(object);
        Ok(())
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let has = |object: &Object| object.metadata().annotation(MOUNTABLE_SECRETS).is_some();
        if !has(object) || old.is_some_and(has) {
            return Vec::new();
        }
        vec![format!(
            "metadata.annotations[{MOUNTABLE_SECRETS}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        )]
    }
}

/// Secrets are referred to by their names alone.
fn reduce_secrets(object: &mut Object) {
    let Some(Value::Array(secrets)) = object.fields_mut().get_mut("secrets") else { return };
    for secret in secrets {
        *secret = secret.get("name").map_or_else(|| json!({}), |name| json!({ "name": name }));
    }
}
