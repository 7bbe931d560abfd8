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
        let written = self.registry.update(&self.ctx(), kind, namespace, self.name(), update).await.map_err(refuse)?;
        with_warnings(respond::object(&form, StatusCode::OK, kind, &written.object), &written.warnings)
    }
}

/// Refuses to replace another object than the client means. A patch is not asked: it is applied to the object there is.
fn check_uid(kind: &ServedKind, new: &Object, old: &Object) -> Result<(), Error> {
    let (given, found) = (new.metadata().uid(), old.metadata().uid());
    if given.is_empty() || given == found {
        return Ok(());
    }
    let why = format!("Precondition failed: UID in precondition: {given}, UID in object meta: {found}");
    Err(Error::Conflict { resource: kind.resource(), name: old.metadata().name().to_owned(), why })
}
