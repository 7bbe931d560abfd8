//! Bundle: objects that depend on each other. What is wrong with one that can be seen without looking anywhere else is found
//! here; the rest by [`BundleRules`](crate::BundleRules).

use bailiwick_api::bundle::{Plan, Problem, ProblemKind};
use bailiwick_api::{Bundle, BundleSpec};
use bailiwick_machinery::metadata::FINALIZER_FOREGROUND;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, GroupVersion, NameRule, Object, Scope};
use serde_json::{Value, json};

use super::people;
use crate::bundles::spec_of;
use crate::kind::{Kind, KindError, Version};
use crate::strategy::Strategy;

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::native::<Bundle>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    // Objects are in it as a whole, Secrets too.
    Ok(kind.with_status().with_requester().secret_bearing().columns(columns).strategy(Bundles))
}

/// The same kind as those know it who knew Smith.
pub(super) fn alias() -> Result<Version, KindError> {
    let group_version = GroupVersion::new(Bundle::ALIAS_GROUP, Bundle::ALIAS_VERSION);
    Ok(Version { group_version, columns: columns(), ..Version::native::<Bundle>()? })
}

struct Bundles;

// === impl Bundles ===

impl Strategy for Bundles {
    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        // What has another form, or is there twice, has been told by the schema.
        let Some(spec) = spec_of(object) else { return };
        let told: Vec<String> = errors.as_slice().iter().map(|error| error.field.to_string()).collect();
        let problems = Plan::of(&spec, object.metadata().namespace()).err().into_iter().flatten();
        let is_news = |problem: &Problem| problem.kind != ProblemKind::Duplicate && !told.contains(&problem.field);
        errors.extend(problems.filter(is_news).map(error));
    }

    /// A Bundle waits for its objects by itself, and lets them go in their order. The garbage collector knows neither that
    /// order nor which of them stay, so a deletion in the foreground is not left to it.
    fn mark_deleted(&self, object: &mut Object) {
        let finalizers: Vec<String> = object.metadata().finalizers().map(str::to_owned).collect();
        if finalizers.iter().any(|finalizer| finalizer == Bundle::FINALIZER) {
            let others: Vec<String> =
                finalizers.into_iter().filter(|finalizer| finalizer != FINALIZER_FOREGROUND).collect();
            object.set_finalizers(&others);
        }
    }
}

fn error(problem: Problem) -> FieldError {
    let Problem { field, kind, found, why } = problem;
    let field = FieldPath::new(&field);
    match kind {
        ProblemKind::Required => FieldError::required(field, why),
        ProblemKind::Duplicate => FieldError::duplicate(field, found),
        ProblemKind::Invalid => FieldError::invalid(field, found, why),
        ProblemKind::NotFound => FieldError::not_found(field, found),
        ProblemKind::Forbidden => FieldError::forbidden(field, why),
        ProblemKind::TooMany => FieldError::invalid(field, found, why),
    }
}

fn columns() -> Columns {
    let text = |name: &'static str, description: &'static str| Column::new(name, ColumnType::String, description);
    let at = |pointer: &'static str| {
        move |bundle: &Object, _| bundle.as_value().pointer(pointer).cloned().unwrap_or(Value::Null)
    };
    Columns::named()
        .with(text("Resources", "How many resources are ready, of how many."), at("/status/ready"))
        .with(text("Ready", "Whether all resources are as wanted and ready."), people::condition("Ready"))
        .with_age()
        .with(text("Status", "What it is waiting for, or what is wrong.").wide(), |bundle, _| {
            let conditions = bundle.as_value().pointer("/status/conditions").and_then(Value::as_array);
            let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
            ready.and_then(|condition| condition.get("message")).cloned().unwrap_or(Value::Null)
        })
        .with(text("Service Account", "As whom the resources are managed.").wide(), |bundle, _| {
            let named = bundle.as_value().pointer("/spec/serviceAccountName").and_then(Value::as_str);
            json!(named.unwrap_or(BundleSpec::DEFAULT_SERVICE_ACCOUNT))
        })
}
