//! Changing parts of an object, by JSON patch or merge patch.

use bailiwick_machinery::media::patch_type;
use bailiwick_machinery::patch::{JsonPatch, MergePatch};
use bailiwick_machinery::{Object, Reason, Status};
use bailiwick_registry::{Error, Part, ServedKind, Update, WriteOptions};
use http::StatusCode;
use http::header::CONTENT_TYPE;

use super::{Answer, Call, refuse, with_warnings};
use crate::form::{Subject, text};
use crate::options::{PatchKind, PatchQuery};
use crate::respond;

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const ACCEPTED: [&str; 2] = [JSON_PATCH, MERGE_PATCH];

/// A patch that was read.
enum Patch {
    Json(JsonPatch),
    Merge(MergePatch),
}

// === impl Call ===

impl Call<'_> {
    pub(super) async fn patch(self, kind: &ServedKind, part: Part, query: PatchQuery<'_>) -> Answer {
        let patch_type = patch_type(text(self.headers, CONTENT_TYPE), &ACCEPTED)
            .map_err(|error| Box::new(Status::new(Reason::UnsupportedMediaType, error.to_string())))?;
        let form = self.form(Subject::Object)?;
        let options = query.options(PatchKind::Other)?;
        let patch = Patch::decode(patch_type, self.body).map_err(refuse)?;
        let write =
            WriteOptions { dry_run: options.dry_run, validation: options.field_validation, problems: patch.problems() };
        let text = String::from_utf8_lossy(self.body);
        let change = |old: &Object| {
            let mut new = patch.apply(old).map_err(Error::Patch)?;
            let accepted = kind.accept(&mut new, &write);
            let warnings = accepted
                .map_err(|error| Error::PatchedObject { patch: text.clone().into_owned(), why: error.to_string() })?;
            Ok((new, warnings))
        };
        let update = Update { part, change: &change, dry_run: options.dry_run };
        let namespace = self.namespace().unwrap_or_default();
        let written = self.registry.update(&self.ctx(), kind, namespace, self.name(), update).await.map_err(refuse)?;
        with_warnings(respond::object(&form, StatusCode::OK, kind, &written.object), &written.warnings)
    }
}

// === impl Patch ===

impl Patch {
    fn decode(patch_type: &str, body: &[u8]) -> Result<Self, Error> {
        match patch_type {
            JSON_PATCH => JsonPatch::decode(body).map(Self::Json),
            _ => MergePatch::decode(body).map(Self::Merge),
        }
        .map_err(Error::Patch)
    }

    fn problems(&self) -> Vec<String> {
        match self {
            Self::Json(patch) => patch.problems().to_vec(),
            Self::Merge(patch) => patch.problems(),
        }
    }

    fn apply(&self, object: &Object) -> Result<Object, bailiwick_machinery::patch::PatchError> {
        match self {
            Self::Json(patch) => {
                let result = patch.apply(object.fields())?;
                // A patch can make anything of an object; what is none is found to lack everything.
                Ok(Object::try_from(result).unwrap_or_default())
            }
            Self::Merge(patch) => patch.apply(object.fields()).map(Object::new),
        }
    }
}
