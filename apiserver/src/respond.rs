//! Answers: a status, an object or a list of them, in the form the client wants.

use std::io::Write;

use bailiwick_machinery::encode;
use bailiwick_machinery::host::HostType;
use bailiwick_machinery::media::MediaType;
use bailiwick_machinery::proto::Encode;
use bailiwick_machinery::table::{Headers, TableOptions};
use bailiwick_machinery::{ListMeta, Object, PartialObjectMetadata, PartialObjectMetadataList, Status};
use bailiwick_registry::{Encoded, List, ServedKind};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, VARY, WARNING};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::body::Body;
use crate::form::{Form, Shape};

/// Shorter bodies are not worth compressing.
const GZIP_FROM: usize = 128 * 1024;
/// How many bytes of a list are made at once.
const PIECE: usize = 64 * 1024;
/// Warnings are cut to this length once there is much to say.
const SHORT_WARNING: usize = 256;
const MAX_WARNINGS: usize = 4_096;

/// A status.
pub(crate) fn status(form: &Form, status: &Status) -> Response<Body> {
    let code = StatusCode::from_u16(status.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = match form.media_type {
        MediaType::Protobuf => status.to_protobuf(),
        media_type => encode::encode(media_type, form.layout, &status.to_json()),
    };
    let mut response = whole(form, code, body);
    // For the audit log, which tells it in its own form.
    response.extensions_mut().insert(status.clone());
    if status.details.retry_after_seconds > 0 {
        response.headers_mut().insert(RETRY_AFTER, status.details.retry_after_seconds.into());
    }
    response
}

/// An object that is given as a value: it has no columns.
pub(crate) fn value(form: &Form, code: StatusCode, value: &Value) -> Response<Body> {
    whole(form, code, encode::encode(form.media_type, form.layout, value))
}

/// An object that is given as a value, of a kind that may be one of Kubernetes' own.
pub(crate) fn typed_value(form: &Form, code: StatusCode, object: &Object) -> Result<Response<Body>, Box<Status>> {
    let host_type = object.gvk().and_then(|gvk| HostType::of(&gvk));
    Ok(whole(form, code, plain(form, host_type, object)?))
}

/// An object or a list as it is.
fn plain(form: &Form, host_type: Option<HostType>, object: &Object) -> Result<Vec<u8>, Box<Status>> {
    match (form.media_type, host_type) {
        (MediaType::Protobuf, Some(host_type)) => host_type.to_protobuf(object).map_err(|error| {
            tracing::error!(kind = object.kind(), %error, "an object cannot be written in protobuf");
            Box::new(Status::internal(&format!("an object of kind {} cannot be written in protobuf", object.kind())))
        }),
        (media_type, _) => Ok(encode::encode(media_type, form.layout, object.as_value())),
    }
}

/// An object.
pub(crate) fn object(
    form: &Form,
    code: StatusCode,
    kind: &ServedKind,
    encoded: &Encoded,
) -> Result<Response<Body>, Box<Status>> {
    if form.is_as_stored() && kind.is_served_as_stored() {
        let mut body = Vec::with_capacity(kind.head().len() + encoded.as_bytes().len() + 1);
        body.extend_from_slice(kind.head());
        body.extend_from_slice(encoded.as_bytes());
        body.push(b'\n');
        return Ok(whole(form, code, body));
    }
    let object = read(kind, encoded)?;
    Ok(whole(form, code, object_bytes(form, kind, &object, Headers::Shown)?))
}

/// An object's bytes in this form, as an answer or in an event.
pub(crate) fn object_bytes(
    form: &Form,
    kind: &ServedKind,
    object: &Object,
    headers: Headers,
) -> Result<Vec<u8>, Box<Status>> {
    Ok(match form.shape {
        Shape::Plain => plain(form, kind.host_type(), object)?,
        Shape::Metadata(version) => partial(form, &PartialObjectMetadata::new(version, object)),
        Shape::Table(version, include) => {
            let options = TableOptions { version, include, headers, now: form.now };
            serialized(form, &kind.version().columns.object(object, &options))
        }
    })
}

/// A list.
pub(crate) fn list(
    form: &Form,
    kind: &ServedKind,
    list: List,
    continue_token: Option<String>,
) -> Result<Response<Body>, Box<Status>> {
    let metadata = ListMeta {
        resource_version: list.revision.to_string(),
        continue_token: continue_token.unwrap_or_default(),
        remaining_item_count: list.remaining.and_then(|remaining| i64::try_from(remaining).ok()),
    };
    if form.is_as_stored() && kind.is_served_as_stored() {
        return list_as_stored(form, kind, &metadata, list);
    }
    let mut objects = Vec::with_capacity(list.objects.len());
    for object in &list.objects {
        objects.push(read(kind, &Encoded::of(object).map_err(|error| damaged(kind, &error))?)?);
    }
    self::objects(form, kind, metadata, objects)
}

/// An object that was made for this answer.
pub(crate) fn made_object(
    form: &Form,
    code: StatusCode,
    kind: &ServedKind,
    object: &Object,
) -> Result<Response<Body>, Box<Status>> {
    Ok(whole(form, code, object_bytes(form, kind, object, Headers::Shown)?))
}

/// A list of objects.
pub(crate) fn objects(
    form: &Form,
    kind: &ServedKind,
    metadata: ListMeta,
    objects: Vec<Object>,
) -> Result<Response<Body>, Box<Status>> {
    let body = match form.shape {
        Shape::Plain => plain(form, kind.list_host_type(), &plain_list(kind, &metadata, objects))?,
        Shape::Metadata(version) => partial(form, &PartialObjectMetadataList::new(version, metadata, &objects)),
        Shape::Table(version, include) => {
            let options = TableOptions { version, include, headers: Headers::Shown, now: form.now };
            serialized(form, &kind.version().columns.list(metadata, &objects, &options))
        }
    };
    Ok(whole(form, StatusCode::OK, body))
}

/// A list that is made of stored bytes while it is sent: nothing is held but references to what is in memory anyway.
fn list_as_stored(
    form: &Form,
    kind: &ServedKind,
    metadata: &ListMeta,
    list: List,
) -> Result<Response<Body>, Box<Status>> {
    let head = list_head(kind, metadata);
    // What a list with a Go type consists of need not say what it is.
    let item_head = if kind.host_type().is_some() { Bytes::from_static(b"{") } else { kind.head().clone() };
    let mut length = head.len() + LIST_TAIL.len() + list.objects.len().saturating_sub(1);
    for object in &list.objects {
        length += item_head.len() + object.body().map_err(|error| damaged(kind, &error))?.len();
    }
    let mut objects = list.objects.into_iter();
    let mut start = Some(head);
    let mut first = true;
    let mut done = false;
    let pieces = std::iter::from_fn(move || {
        if done {
            return None;
        }
        let mut piece = start.take().unwrap_or_default();
        piece.reserve(PIECE + PIECE / 4);
        while piece.len() < PIECE {
            let Some(object) = objects.next() else {
                piece.extend_from_slice(LIST_TAIL);
                done = true;
                break;
            };
            if !std::mem::take(&mut first) {
                piece.push(b',');
            }
            piece.extend_from_slice(&item_head);
            // Damage was looked for above.
            piece.extend_from_slice(object.body().map_or(b"}", |body| body));
        }
        Some(Bytes::from(piece))
    });
    let mut response = if form.gzip && length > GZIP_FROM {
        let mut response = Response::new(Body::made(gzipped(pieces), None));
        mark_gzip(&mut response);
        response
    } else {
        Response::new(Body::made(pieces, Some(length as u64)))
    };
    set_content_type(&mut response, form);
    Ok(response)
}

const LIST_TAIL: &[u8] = b"]}\n";

/// Lists of objects without a Go type always say where to go on, and be it nowhere.
fn list_metadata(kind: &ServedKind, metadata: &ListMeta) -> Value {
    let mut fields = serde_json::to_value(metadata).unwrap_or_else(|_| json!({}));
    if kind.host_type().is_none() {
        fields["continue"] = Value::from(metadata.continue_token.as_str());
    }
    fields
}

fn list_head(kind: &ServedKind, metadata: &ListMeta) -> Vec<u8> {
    let gvk = kind.list_gvk();
    let text = |text: &str| encode::to_json(&Value::from(text));
    let metadata = encode::to_json(&list_metadata(kind, metadata));
    let api_version = text(&gvk.group_version().to_string());
    let kind = text(&gvk.kind);
    [b"{\"apiVersion\":".as_slice(), &api_version, b",\"kind\":", &kind, b",\"metadata\":", &metadata, b",\"items\":["]
        .concat()
}

fn plain_list(kind: &ServedKind, metadata: &ListMeta, mut objects: Vec<Object>) -> Object {
    if kind.host_type().is_some() {
        for object in &mut objects {
            object.fields_mut().retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind"));
        }
    }
    let mut fields = Map::new();
    fields.insert("metadata".to_owned(), list_metadata(kind, metadata));
    fields.insert("items".to_owned(), Value::Array(objects.into_iter().map(Value::from).collect()));
    let mut list = Object::new(fields);
    list.set_gvk(&kind.list_gvk());
    list
}

fn partial<T: Serialize + Encode>(form: &Form, value: &T) -> Vec<u8> {
    match form.media_type {
        MediaType::Protobuf => value.to_protobuf(),
        MediaType::Json | MediaType::Yaml => serialized(form, value),
    }
}

fn serialized(form: &Form, value: &impl Serialize) -> Vec<u8> {
    encode::encode(form.media_type, form.layout, &serde_json::to_value(value).unwrap_or_default())
}

/// The object behind the bytes.
pub(crate) fn read(kind: &ServedKind, encoded: &Encoded) -> Result<Object, Box<Status>> {
    kind.read(encoded).map_err(|error| damaged(kind, &error))
}

fn damaged(kind: &ServedKind, error: &(dyn std::error::Error + 'static)) -> Box<Status> {
    tracing::error!(resource = %kind.resource(), error, "an object in storage cannot be read");
    Box::new(Status::internal(&format!("an object of {} is damaged in storage", kind.resource())))
}

/// An answer whose bytes are all there.
fn whole(form: &Form, code: StatusCode, body: Vec<u8>) -> Response<Body> {
    let mut response = if form.gzip && body.len() > GZIP_FROM {
        let mut response = Response::new(Body::from(gzip(body.into())));
        mark_gzip(&mut response);
        response
    } else {
        Response::new(Body::from(body))
    };
    *response.status_mut() = code;
    set_content_type(&mut response, form);
    response
}

fn set_content_type(response: &mut Response<Body>, form: &Form) {
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(form.media_type.as_str()));
}

fn mark_gzip(response: &mut Response<Body>) {
    response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// Compresses all at once.
pub(crate) fn gzip(bytes: Bytes) -> Bytes {
    let pieces: Vec<Bytes> = gzipped(std::iter::once(bytes)).collect();
    pieces.concat().into()
}

/// Compresses pieces one by one, as quickly as gzip can.
fn gzipped(mut pieces: impl Iterator<Item = Bytes>) -> impl Iterator<Item = Bytes> {
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    std::iter::from_fn(move || {
        loop {
            let mut running = encoder.take()?;
            match pieces.next() {
                // Writing to memory does not fail.
                Some(piece) => drop(running.write_all(&piece)),
                None => return running.finish().ok().map(Bytes::from),
            }
            let made = std::mem::take(running.get_mut());
            encoder = Some(running);
            if !made.is_empty() {
                return Some(made.into());
            }
        }
    })
}

/// Plain text, as Kubernetes answers where no resource is meant.
pub(crate) fn text(code: StatusCode, text: impl Into<String>) -> Response<Body> {
    let mut response = Response::new(Body::from(text.into().into_bytes()));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// There is nothing at this path.
pub(crate) fn page_not_found() -> Response<Body> {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// Adds what the client should know.
pub(crate) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    let long = warnings.iter().map(|warning| warning.chars().count()).sum::<usize>() > MAX_WARNINGS;
    let mut told: Vec<&String> = Vec::new();
    let mut spent = 0;
    for warning in warnings {
        if told.contains(&warning) {
            continue;
        }
        let text: String = if long { warning.chars().take(SHORT_WARNING).collect() } else { warning.clone() };
        spent += text.chars().count();
        if spent > MAX_WARNINGS {
            return;
        }
        told.push(warning);
        if let Ok(header) = HeaderValue::from_bytes(warning_header(&text).as_bytes()) {
            response.headers_mut().append(WARNING, header);
        }
    }
}

fn warning_header(text: &str) -> String {
    let clean: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("299 - \"{}\"", clean.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Headers that every answer has unless it has them already.
pub(crate) fn common(response: &mut Response<Body>, audit_id: &HeaderValue) {
    let headers = response.headers_mut();
    headers.insert("audit-id", audit_id.clone());
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
}

/// The last event of a watch that failed.
pub(crate) fn status_event_object(form: &Form, status: &Status) -> Vec<u8> {
    match form.media_type {
        MediaType::Protobuf => status.to_protobuf(),
        MediaType::Json | MediaType::Yaml => encode::to_json(&status.to_json()),
    }
}
