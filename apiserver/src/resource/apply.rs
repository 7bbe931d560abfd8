//! Applying an object: the client says how its fields are to be, and owns them from then on.

use bailiwick_machinery::apply::{ApplyOptions, Writer};
use bailiwick_machinery::decode::{self, DecodeError, FieldValidation};
use bailiwick_machinery::{Object, Status};
use bailiwick_registry::{Accepted, Error, Part, ServedKind, Tracking, Update, WriteOptions, Written};
use http::StatusCode;
use serde_json::{Map, Value};

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
    /// The fields that are there twice, of which the last counts: a line for each, and one above them.
    duplicates: Option<String>,
    part: Part,
    options: &'a PatchOptions,
    write: WriteOptions,
    time: i64,
}

// === impl Call ===

impl Call<'_> {
    pub(super) async fn apply(self, kind: &ServedKind, part: Part, query: PatchQuery<'_>) -> Answer {
        let form = self.form(kind, Subject::Object)?;
        let options = query.options(PatchKind::Apply)?;
        let (applied, duplicates) = self.decode_applied()?;
        let write = WriteOptions {
            dry_run: options.dry_run,
            validation: options.field_validation,
            problems: Vec::new(),
            tracking: Tracking::Done,
        };
        let time = self.ctx().seconds();
        let application = Application { kind, applied, duplicates, part, options: &options, write, time };
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
                    let warnings = [application.warnings(), more].concat();
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

    /// What is applied, and the fields that are there twice: YAML, or JSON, which is YAML too. Nothing is an object
    /// without fields.
    fn decode_applied(&self) -> Result<(Object, Option<String>), Box<Status>> {
        let refuse = |doing: &str, error: &DecodeError| bad_request(format!("error decoding YAML: {doing}{error}"));
        let mut decoded = decode::from_yaml(self.body).map_err(|error| refuse(YAML_TO_JSON, &error))?;
        let duplicates = decoded.problems().pop();
        if decoded.value.is_null() {
            decoded.value = Value::Object(Map::new());
        }
        let doing = "error unmarshaling JSON: while decoding JSON: ";
        let (object, _) = decoded.into_object().map_err(|error| refuse(doing, &error))?;
        Ok((object, duplicates))
    }
}

/// What upstream does first, and says when that fails.
const YAML_TO_JSON: &str = "error converting YAML to JSON: ";

// === impl Application ===

impl Application<'_> {
    /// A warning for each field that is there twice.
    fn warnings(&self) -> Vec<String> {
        match (self.options.field_validation, &self.duplicates) {
            (FieldValidation::Warn, Some(problems)) => {
                problems.lines().skip(1).map(|line| line.trim().to_owned()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What becomes of the object there is; of none, if there is none.
    fn merge(&self, live: Option<&Object>) -> Result<Accepted, Error> {
        let subresource = self.part.subresource();
        let writer = Writer { manager: &self.options.field_manager, subresource, time: self.time };
        let options = ApplyOptions { writer, force: self.options.force };
        let merged = self.kind.fields().apply(live, &self.applied, options);
        let mut merged = merged.map_err(|error| Error::Apply(Box::new(error)))?;
        if let (FieldValidation::Strict, Some(problems)) = (self.options.field_validation, &self.duplicates) {
            return Err(Error::BadRequest(format!("error strict decoding YAML: {YAML_TO_JSON}{problems}")));
        }
        if live.is_none() {
            // A condition on an object that is not there is none.
            merged.metadata_mut().remove("resourceVersion");
        }
        self.kind.accept(merged, &self.write)
    }
}
