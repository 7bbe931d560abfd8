//! Making an object.

use bailiwick_registry::ServedKind;
use http::StatusCode;

use super::{Answer, Call, refuse, with_warnings};
use crate::form::Subject;
use crate::options::CreateOptions;
use crate::respond;

// === impl Call ===

impl Call<'_> {
    pub(super) async fn create(self, kind: &ServedKind) -> Answer {
        let form = self.form(Subject::Object)?;
        let options = CreateOptions::parse(self.request.query())?;
        let (mut object, write) = self.decode(kind.gvk(), options.dry_run, options.field_validation)?;
        self.check_namespace(kind, &mut object)?;
        let written = self.registry.create(&self.ctx(), kind, object, &write).await.map_err(refuse)?;
        with_warnings(respond::object(&form, StatusCode::CREATED, kind, &written.object), &written.warnings)
    }
}
