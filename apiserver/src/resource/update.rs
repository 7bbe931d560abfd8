//! Replacing an object.

use bailiwick_machinery::Object;
use bailiwick_registry::{Part, ServedKind, Update};
use http::StatusCode;

use super::{Answer, Call, refuse, with_warnings};
use crate::form::Subject;
use crate::options::UpdateOptions;
use crate::respond;

// === impl Call ===

impl Call<'_> {
    pub(super) async fn update(self, kind: &ServedKind, part: Part) -> Answer {
        let form = self.form(Subject::Object)?;
        let options = UpdateOptions::parse(self.request.query())?;
        let (mut object, write) = self.decode(kind.gvk(), options.dry_run, options.field_validation)?;
        self.check_name(&object)?;
        self.check_namespace(kind, &mut object)?;
        let warnings = kind.accept(&mut object, &write).map_err(refuse)?;
        let change = |_: &Object| Ok((object.clone(), warnings.clone()));
        let update = Update { part, change: &change, dry_run: options.dry_run };
        let namespace = self.namespace().unwrap_or_default();
        let written = self.registry.update(&self.ctx(), kind, namespace, self.name(), update).await.map_err(refuse)?;
        with_warnings(respond::object(&form, StatusCode::OK, kind, &written.object), &written.warnings)
    }
}
