//! Applying an object: the client says how its fields are to be, and owns them from then on.

use bailiwick_machinery::apply::{ApplyOptions, Writer};
use bailiwick_machinery::decode::{self, FieldValidation};
use bailiwick_machinery::{GroupVersion, Object, Status};
use bailiwick_registry::{Accepted, Error, Part, ServedKind, Tracking, Update, WriteOptions, Written};
use http::StatusCode;

use super::decode::bad_request;
use super::{Answer, Call, refuse, with_warnings};
use crate::authorization::authorize_create;
use crate::form::Subject;
use crate::options::{PatchKind, PatchOptions, PatchQuery};
use crate::respond;

/// How often an object may appear and vanish while it is applied.
const MAX_TURNS: usize = 8;

/// What is applied, and how.
struct Application<'a> {
    kind: &'a ServedKind,
    applied: Object,
    part: Part,
    options: &'a PatchOptions,
    write: WriteOptions,
    time: i64,
}

// === impl Call ===

impl Call<'_> {
    pub(super) async fn apply(self, kind: &ServedKind, part: Part, query: PatchQuery<'_>) -> Answer {
        let form = self.form(Subject::Object)?;
        let options = query.options(PatchKind::Apply)?;
        let (applied, warnings) = self.decode_applied(&options)?;
        let write = WriteOptions {
            dry_run: options.dry_run,
            validation: options.field_validation,
            problems: Vec::new(),
            tracking: Tracking::Done,
        };
        let application = Application { kind, applied, part, options: &options, write, time: self.ctx().seconds() };
        for _ in 0..MAX_TURNS {
            let (code, written) = match self.apply_to_object(&application).await {
                Err(Error::NotFound { .. }) if part == Part::Main => {
                    authorize_create(self.authorizer, self.user, self.request.info()).await?;
                    (StatusCode::CREATED, self.apply_to_nothing(&application).await)
                }
                updated => (StatusCode::OK, updated),
            };
            match written {
                // Someone has made it meanwhile: it is there now.
                Err(Error::AlreadyExists { .. }) if code == StatusCode::CREATED => {}
                Err(error) => return Err(refuse(error)),
                Ok(Written { object, warnings: more }) => {
                    let warnings = [warnings, more].concat();
                    return with_warnings(respond::object(&form, code, kind, &object), &warnings);
                }
            }
        }
        Err(refuse(Error::Contended { resource: kind.resource(), name: self.name().to_owned() }))
    }

    async fn apply_to_object(&self, application: &Application<'_>) -> Result<Written, Error> {
        let change = |live: &Object| {
            let mut accepted = application.merge(Some(live))?;
            self.check_applied(application.kind, &mut accepted)?;
            Ok(accepted)
        };
        let (part, dry_run) = (application.part, application.options.dry_run);
        let update = Update { part, change: &change, tracking: &application.write.tracking, dry_run };
        let namespace = self.namespace().unwrap_or_default();
        self.registry.update(&self.ctx(), application.kind, namespace, self.name(), update).await
    }

    async fn apply_to_nothing(&self, application: &Application<'_>) -> Result<Written, Error> {
        let uid = application.applied.metadata().uid();
        if !uid.is_empty() {
            let why =
                format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
            let resource = application.kind.resource();
            return Err(Error::Conflict { resource, name: self.name().to_owned(), why });
        }
        let mut accepted = application.merge(None)?;
        self.check_applied(application.kind, &mut accepted)?;
        self.registry.create(&self.ctx(), application.kind, accepted, &application.write).await
    }

    fn check_applied(&self, kind: &ServedKind, accepted: &mut Accepted) -> Result<(), Error> {
        self.check_name(accepted.object()).map_err(|status| Error::BadRequest(status.message))?;
        self.check_namespace(kind, accepted).map_err(|status| Error::BadRequest(status.message))
    }

    /// What is applied: YAML, or JSON, which is YAML too. Fields that are there twice cannot be owned.
    fn decode_applied(&self, options: &PatchOptions) -> Result<(Object, Vec<String>), Box<Status>> {
        let decoded = decode::from_yaml(self.body)
            .and_then(decode::Decoded::into_object)
            .map_err(|error| bad_request(format!("error decoding YAML: {error}")))?;
        let (object, duplicates) = decoded;
        let problems = decode::problems(&duplicates);
        match options.field_validation {
            FieldValidation::Strict if !problems.is_empty() => {
                Err(bad_request(format!("error strict decoding YAML: {}", problems.join(", "))))
            }
            FieldValidation::Strict | FieldValidation::Ignore => Ok((object, Vec::new())),
            FieldValidation::Warn => Ok((object, problems)),
        }
    }
}

// === impl Application ===

impl Application<'_> {
    /// What becomes of the object there is; of none, if there is none.
    fn merge(&self, live: Option<&Object>) -> Result<Accepted, Error> {
        let wanted = self.kind.gvk().group_version();
        if GroupVersion::parse(self.applied.api_version()).is_some_and(|found| found != wanted) {
            let found = self.applied.api_version();
            return Err(Error::BadRequest(format!(
                "Incorrect version specified in apply patch. Specified patch version: {found}, expected: {wanted}"
            )));
        }
        let subresource = self.part.subresource();
        let writer = Writer { manager: &self.options.field_manager, subresource, time: self.time };
        let options = ApplyOptions { writer, force: self.options.force };
        let merged = self.kind.fields().apply(live, &self.applied, options);
        self.kind.accept(merged.map_err(|error| Error::Apply(Box::new(error)))?, &self.write)
    }
}
