//! Changing parts of an object, by JSON patch, merge patch or strategic merge patch. Applying one is a file of its own.

use bailiwick_machinery::host::HostType;
use bailiwick_machinery::media::patch_type;
use bailiwick_machinery::patch::{JsonPatch, MergePatch, PatchError, StrategicPatch};
use bailiwick_machinery::{Object, Reason, Status, encode};
use bailiwick_registry::{Accepted, Error, Part, ServedKind, Update, WriteOptions};
use http::StatusCode;
use http::header::CONTENT_TYPE;

use super::{Answer, Call, refuse, with_warnings};
use crate::audit;
use crate::form::{Subject, text};
use crate::options::{PatchKind, PatchQuery};
use crate::respond;

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";
const ACCEPTED: [&str; 3] = [JSON_PATCH, MERGE_PATCH, APPLY];
/// What is accepted for objects whose Go types are known.
const ACCEPTED_TYPED: [&str; 4] = [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY];

/// A patch that was read.
enum Patch {
    Json(JsonPatch),
    Merge(MergePatch),
    Strategic(HostType, StrategicPatch),
}

// === impl Call ===

impl Call<'_> {
    pub(super) async fn patch(self, kind: &ServedKind, part: Part, query: PatchQuery<'_>) -> Answer {
        let accepted: &[&str] = if kind.host_type().is_some() { &ACCEPTED_TYPED } else { &ACCEPTED };
        let patch_type = patch_type(text(self.headers, CONTENT_TYPE), accepted)
            .map_err(|error| Box::new(Status::new(Reason::UnsupportedMediaType, error.to_string())))?;
        self.check_named()?;
        if let Some(trail) = self.trail {
            trail.request_value(|| audit::sent(patch_type, self.body));
        }
        if patch_type == APPLY {
            return self.apply(kind, part, query).await;
        }
        let form = self.form(kind, Subject::Object)?;
        let options = query.options(PatchKind::Other)?;
        // Whether there is an object to patch is told before whether the patch is one.
        let patch = Patch::decode(patch_type, kind.host_type(), self.body);
        let write = WriteOptions {
            dry_run: options.dry_run,
            validation: options.field_validation,
            problems: patch.as_ref().map(Patch::problems).unwrap_or_default(),
            tracking: self.tracking(&options.field_manager),
        };
        let change = |old: &Object| {
            let patched =
                || patch.as_ref().map_err(Clone::clone).and_then(|patch| patch.apply(old)).map_err(Error::Patch);
            let shown = |patched: &Object| patch.as_ref().map_or_else(|_| json(patched), |patch| patch.shown(patched));
            let mut accepted = accept_patched(kind, patched, shown, &write)?;
            self.check_name(accepted.object()).map_err(|status| Error::BadRequest(status.message))?;
            self.check_namespace(kind, &mut accepted).map_err(|status| Error::BadRequest(status.message))?;
            Ok(accepted)
        };
        let update = Update { part, change: &change, tracking: &write.tracking, dry_run: options.dry_run };
        let namespace = self.namespace().unwrap_or_default();
        let written = self.registry.update(&self.ctx(), kind, namespace, self.name(), update).await.map_err(refuse)?;
        with_warnings(respond::object(&form, StatusCode::OK, kind, &written.object), &written.warnings)
    }
}

fn json(object: &Object) -> String {
    String::from_utf8_lossy(&encode::to_json(object.as_value())).into_owned()
}

/// Makes an object of what a patch makes.
fn accept_patched(
    kind: &ServedKind,
    patch: impl Fn() -> Result<Object, Error>,
    shown: impl Fn(&Object) -> String,
    write: &WriteOptions,
) -> Result<Accepted, Error> {
    let patched = patch()?;
    if patched.kind().is_empty() {
        let json = json(&patched);
        return Err(Error::PatchedObject { why: format!("Object 'Kind' is missing in '{json}'"), patch: json });
    }
    kind.accept(patched, write).map_err(|error| match error {
        // Made again, rather than written out for every patch that is good.
        Error::Unfit { why, .. } => match patch() {
            Ok(patched) => Error::PatchedObject { patch: shown(&patched), why },
            Err(error) => error,
        },
        other => other,
    })
}

// === impl Patch ===

impl Patch {
    fn decode(patch_type: &str, host_type: Option<HostType>, body: &[u8]) -> Result<Self, PatchError> {
        match (patch_type, host_type) {
            (JSON_PATCH, _) => JsonPatch::decode(body).map(Self::Json),
            (STRATEGIC_MERGE_PATCH, Some(host_type)) => {
                StrategicPatch::decode(body).map(|patch| Self::Strategic(host_type, patch))
            }
            _ => MergePatch::decode(body).map(Self::Merge),
        }
    }

    fn problems(&self) -> Vec<String> {
        match self {
            Self::Json(patch) => patch.problems().to_vec(),
            Self::Merge(patch) => patch.problems(),
            Self::Strategic(_, patch) => patch.problems(),
        }
    }

    /// What is shown of a patch whose result is no object. Of most, that is the whole result: the patch alone does not
    /// tell what is wrong.
    fn shown(&self, patched: &Object) -> String {
        match self {
            Self::Json(_) | Self::Merge(_) => json(patched),
            Self::Strategic(_, patch) => patch.shown(),
        }
    }

    fn apply(&self, object: &Object) -> Result<Object, PatchError> {
        match self {
            Self::Json(patch) => {
                let result = patch.apply(object.fields())?;
                // A patch can make anything of an object; what is none is found to lack everything.
                Ok(Object::try_from(result).unwrap_or_default())
            }
            Self::Merge(patch) => patch.apply(object.fields()).map(Object::new),
            Self::Strategic(host_type, patch) => patch.apply(*host_type, object.fields()).map(Object::new),
        }
    }
}
