//! From a request's body to an object of the kind that the path names.

use bailiwick_machinery::decode::{self, DecodeError, FieldValidation};
use bailiwick_machinery::host::{HostType, ReadError};
use bailiwick_machinery::media::{MediaType, content_type};
use bailiwick_machinery::proto::Envelope;
use bailiwick_machinery::{GroupVersion, GroupVersionKind, Object, Reason, Scope, Status, go};
use bailiwick_registry::{Accepted, ServedKind, Tracking, WriteOptions};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use super::Call;
use crate::form::text;

/// The encodings in which objects are read; the last one only where their messages are known.
const READ: [MediaType; 2] = [MediaType::Json, MediaType::Yaml];
const READ_TYPED: [MediaType; 3] = [MediaType::Json, MediaType::Yaml, MediaType::Protobuf];
/// How much of a body that cannot be read is repeated.
const SUMMARY: usize = 30;

// === impl Call ===

impl Call<'_> {
    /// The object in the body, and how it is to be written.
    pub(super) fn decode(
        &self,
        gvk: &GroupVersionKind,
        dry_run: bool,
        validation: FieldValidation,
        tracking: Tracking,
    ) -> Result<(Object, WriteOptions), Box<Status>> {
        let host_type = HostType::of(gvk);
        let read: &[MediaType] = if host_type.is_some() { &READ_TYPED } else { &READ };
        let media_type = content_type(text(self.headers, CONTENT_TYPE), read)
            .map_err(|error| Box::new(Status::new(Reason::UnsupportedMediaType, error.to_string())))?;
        if let (MediaType::Protobuf, Some(host_type)) = (media_type, host_type) {
            let object = from_protobuf(host_type, gvk, self.body)?;
            if let Some(trail) = self.trail {
                trail.request_object(&object);
            }
            return Ok((object, WriteOptions { dry_run, validation, problems: Vec::new(), tracking }));
        }
        let decoded = decode::decode(media_type, self.body).and_then(decode::Decoded::into_object);
        let (mut object, duplicates) = decoded.map_err(|error| undecodable(gvk, &error, self.body))?;
        check_kind(&mut object, gvk, self.body)?;
        if let Some(trail) = self.trail {
            trail.request_object(&object);
        }
        let problems = decode::problems(&duplicates);
        Ok((object, WriteOptions { dry_run, validation, problems, tracking }))
    }

    /// Puts the object into the namespace of the path, or refuses it.
    pub(super) fn check_namespace(&self, kind: &ServedKind, accepted: &mut Accepted) -> Result<(), Box<Status>> {
        if kind.kind().scope() == Scope::Cluster {
            return Ok(());
        }
        let wanted = self.namespace().unwrap_or_default();
        match accepted.object().metadata().namespace() {
            "" => accepted.set_namespace(wanted),
            found if found == wanted => {}
            _ => {
                let why = "the namespace of the provided object does not match the namespace sent on the request";
                return Err(bad_request(why));
            }
        }
        Ok(())
    }

    /// Refuses a change of a whole collection.
    pub(super) fn check_named(&self) -> Result<(), Box<Status>> {
        if self.name().is_empty() { Err(bad_request("name must be provided")) } else { Ok(()) }
    }

    /// Refuses an object of another name than the path's.
    pub(super) fn check_name(&self, object: &Object) -> Result<(), Box<Status>> {
        let (found, wanted) = (object.metadata().name(), self.name());
        if found.is_empty() {
            return Err(bad_request(format!(
                "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
            )));
        }
        if found != wanted {
            return Err(bad_request(format!(
                "the name of the object ({found}) does not match the name on the URL ({wanted})"
            )));
        }
        Ok(())
    }
}

/// An object of another kind is not read: that it is one is found where it is accepted.
fn from_protobuf(host_type: HostType, gvk: &GroupVersionKind, body: &Bytes) -> Result<Object, Box<Status>> {
    let envelope = Envelope::read(body.clone()).map_err(|error| unrecognized(gvk, &error.to_string(), body));
    let mut envelope = envelope?;
    envelope.set_defaults(gvk);
    let mut head = Object::default();
    for (field, value) in [("apiVersion", &envelope.api_version), ("kind", &envelope.kind)] {
        head.fields_mut().insert(field.to_owned(), value.as_str().into());
    }
    check_kind(&mut head, gvk, body)?;
    if envelope.kind != gvk.kind {
        return Ok(head);
    }
    host_type.from_protobuf(&envelope).map_err(|error| match error {
        ReadError::TooManyValues => Box::new(Status::request_too_large(&error.to_string())),
        error => {
            let (kind, version) = (&gvk.kind, &gvk.version);
            bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {error}"))
        }
    })
}

/// Objects that do not say what they are become what the path means, as those of built-in kinds do. Another kind is found
/// where the object is accepted.
fn check_kind(object: &mut Object, gvk: &GroupVersionKind, body: &[u8]) -> Result<(), Box<Status>> {
    for field in ["apiVersion", "kind"] {
        match object.fields().get(field) {
            None | Some(Value::String(_) | Value::Null) => {}
            Some(other) => {
                let found = go::json_type(other);
                let why = format!("json: cannot unmarshal {found} into Go struct field .{field} of type string");
                return Err(unrecognized(gvk, &format!("{NO_TYPE}{why}"), body));
            }
        }
    }
    let wanted = gvk.group_version();
    let found = match object.api_version() {
        "" => wanted.clone(),
        text => GroupVersion::parse(text)
            .ok_or_else(|| unrecognized(gvk, &format!("unexpected GroupVersion string: {text}"), body))?,
    };
    if found != wanted {
        return Err(bad_request(format!(
            "the API version in the data ({found}) does not match the expected API version ({wanted})"
        )));
    }
    let kind = if object.kind().is_empty() { gvk.kind.clone() } else { object.kind().to_owned().into() };
    object.set_gvk(&wanted.kind(kind));
    Ok(())
}

/// What Go says before it says why a type could not be read.
const NO_TYPE: &str = "couldn't get version/kind; json parse error: ";
/// What Go reads the type into.
const TYPE_STRUCT: &str =
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";

fn undecodable(gvk: &GroupVersionKind, error: &DecodeError, body: &[u8]) -> Box<Status> {
    let why = match error {
        DecodeError::UnexpectedEnd | DecodeError::UnexpectedByte { .. } => format!("{NO_TYPE}{error}"),
        DecodeError::NotAnObject { found: "null" } => "Object 'Kind' is missing in 'null'".to_owned(),
        DecodeError::NotAnObject { found } => {
            format!("{NO_TYPE}json: cannot unmarshal {found} into Go value of type {TYPE_STRUCT}")
        }
        // By then the type is known.
        DecodeError::NumberOutOfRange { .. } => {
            let (kind, version) = (&gvk.kind, &gvk.version);
            return bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {error}"));
        }
        DecodeError::TooManyValues => return Box::new(Status::request_too_large(&error.to_string())),
        other => other.to_string(),
    };
    unrecognized(gvk, &why, body)
}

fn unrecognized(gvk: &GroupVersionKind, why: &str, body: &[u8]) -> Box<Status> {
    let summary = match body {
        [] => "<empty>".to_owned(),
        [b'{', ..] if body.len() <= SUMMARY => String::from_utf8_lossy(body).into_owned(),
        [b'{', ..] => format!("{} ...", String::from_utf8_lossy(body.get(..SUMMARY).unwrap_or(body))),
        _ => {
            let shown = body.get(..SUMMARY).unwrap_or(body);
            let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            if body.len() > SUMMARY { format!("{hex} ...") } else { hex }
        }
    };
    bad_request(format!("the object provided is unrecognized (must be of type {}): {why} ({summary})", gvk.kind))
}

pub(super) fn bad_request(message: impl Into<String>) -> Box<Status> {
    Box::new(Status::bad_request(message))
}
