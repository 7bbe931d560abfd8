//! Replacing an object.

use bailiwick_machinery::Object;
use bailiwick_registry::{Error, Part, ServedKind, Update};
use http::StatusCode;

use super::{Answer, Call, refuse, with_warnings};
use crate::form::Subject;
use crate::options::UpdateOptions;
use crate::respond;

// === impl Call ===

impl Call<'_> {
    pub(super) async fn update(self, kind: &ServedKind, part: Part, options: UpdateOptions) -> Answer {
        self.check_named()?;
        let form = self.form(kind, Subject::Object)?;
        let tracking = self.tracking(&options.field_manager);
        let (object, write) = self.decode(kind.gvk(), options.dry_run, options.field_validation, tracking)?;
        let mut accepted = kind.accept(object, &write).map_err(refuse)?;
        self.check_name(accepted.object())?;
        self.check_namespace(kind, &mut accepted)?;
        let change = |old: &Object| check_uid(kind, accepted.object(), old).map(|()| accepted.clone());
        let update = Update { part, change: &change, tracking: &write.tracking, dry_run: options.dry_run };
        let namespace = self.namespace().unwrap_or_default();
        let updated = self.registry.update(&self.ctx(), kind, namespace, self.name(), update).await;
        let (code, written) = match updated {
            Err(Error::NotFound { .. }) if part == Part::Main && kind.kind().allows_create_on_update() => {
                check_no_uid(kind, accepted.object()).map_err(refuse)?;
                accepted.forget_version();
                (StatusCode::CREATED, self.registry.create(&self.ctx(), kind, accepted, &write).await)
            }
            updated => (StatusCode::OK, updated),
        };
        let written = written.map_err(refuse)?;
        with_warnings(respond::object(&form, code, kind, &written.object), &written.warnings)
    }
}

/// Refuses to replace another object than the client means. A patch is not asked: it is applied to the object there is.
fn check_uid(kind: &ServedKind, new: &Object, old: &Object) -> Result<(), Error> {
    check_uids(kind, new, old.metadata().uid())
}

/// Refuses to make an object that the client takes for one there is.
fn check_no_uid(kind: &ServedKind, new: &Object) -> Result<(), Error> {
    check_uids(kind, new, "")
}

fn check_uids(kind: &ServedKind, new: &Object, found: &str) -> Result<(), Error> {
    let given = new.metadata().uid();
    if given.is_empty() || given == found {
        return Ok(());
    }
    let why = format!("Precondition failed: UID in precondition: {given}, UID in object meta: {found}");
    Err(Error::Conflict { resource: kind.resource(), name: new.metadata().name().to_owned(), why })
}
