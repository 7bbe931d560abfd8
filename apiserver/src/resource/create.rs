//! Making an object.

use bailiwick_registry::ServedKind;
use http::StatusCode;

use super::{Answer, Call, refuse, with_warnings};
use crate::form::Subject;
use crate::options::CreateOptions;
use crate::respond;

// === impl Call ===

impl Call<'_> {
    pub(super) async fn create(self, kind: &ServedKind, options: CreateOptions) -> Answer {
        let form = self.form(kind, Subject::Object)?;
        let tracking = self.tracking(&options.field_manager);
        let (object, write) = self.decode(kind.gvk(), options.dry_run, options.field_validation, tracking)?;
        let mut accepted = kind.accept(object, &write).map_err(refuse)?;
        // A path that names an object was authorized for that one, so no other is made by it.
        if self.check_named().is_ok() {
            self.check_name(accepted.object())?;
        }
        self.check_namespace(kind, &mut accepted)?;
        let written = self.registry.create(&self.ctx(), kind, accepted, &write).await.map_err(refuse)?;
        with_warnings(respond::object(&form, StatusCode::CREATED, kind, &written.object), &written.warnings)
    }
}
