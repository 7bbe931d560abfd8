//! Lease: who holds something, and until when.

use async_trait::async_trait;
use bailiwick_machinery::table::{Column, ColumnType, Columns};
use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, NameRule, Object, Scope};
use k8s_openapi::api::coordination::v1::Lease;
use serde_json::Value;

use super::{at, description, edit, text};
use crate::context::Ctx;
use crate::error::Result;
use crate::kind::{Kind, KindError};
use crate::strategy::Strategy;

const HOLDER: &str = "spec.holderIdentity";
/// Fields of an election that Kubernetes leaves out unless it is switched on.
const COORDINATED: [&str; 2] = ["strategy", "preferredHolder"];

pub(super) fn kind() -> Result<Kind, KindError> {
    let kind = Kind::host::<Lease>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    let holder = Column::new("Holder", ColumnType::String, description(&kind, HOLDER));
    let columns = || Columns::named().with(holder.clone(), |object, _| text(object, HOLDER).into()).with_age_as_text();
    Ok(kind.with_create_on_update().columns(columns).strategy(Rules))
}

struct Rules;

// === impl Rules ===

#[async_trait]
impl Strategy for Rules {
    async fn prepare_create(&self, _: &Ctx<'_>, object: &mut Object) -> Result<()> {
        drop_coordination(object);
        Ok(())
    }

    async fn prepare_update(&self, _: &Ctx<'_>, object: &mut Object, _: &Object) -> Result<()> {
        drop_coordination(object);
        Ok(())
    }

    fn validate(&self, object: &Object, errors: &mut FieldErrors) {
        let least = [
            ("leaseDurationSeconds", 1, "must be greater than 0"),
            ("leaseTransitions", 0, "must be greater than or equal to 0"),
        ];
        let path = FieldPath::new("spec");
        for (field, least, why) in least {
            let found = at(object, "spec").and_then(|spec| spec.get(field)).and_then(Value::as_i64);
            if let Some(found) = found.filter(|found| *found < least) {
                errors.push(FieldError::invalid(path.child(field), found, why));
            }
        }
    }
}

fn drop_coordination(object: &mut Object) {
    edit(object, "spec", |spec| COORDINATED.iter().for_each(|field| drop(spec.remove(*field))));
}
