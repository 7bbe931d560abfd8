//! The form of an answer: which encoding, made into what, for whom.

use std::time::SystemTime;

use bailiwick_machinery::encode::Layout;
use bailiwick_machinery::media::{Endpoint, MediaType, Negotiated, Transform, is_pretty, negotiate, negotiate_stream};
use bailiwick_machinery::table::IncludeObject;
use bailiwick_machinery::{FieldError, FieldPath, MetaVersion, Reason, Status};
use bailiwick_registry::ServedKind;
use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING, USER_AGENT};

use crate::query::Query;

/// All encodings. Objects as they are come in the first two only, unless their protobuf is known.
const OFFERED: [MediaType; 3] = [MediaType::Json, MediaType::Yaml, MediaType::Protobuf];
const PLAIN: [MediaType; 2] = [MediaType::Json, MediaType::Yaml];
const OBJECTS: Endpoint<'_> = Endpoint::Resource { tables: true, plain: &PLAIN };
const TYPED_OBJECTS: Endpoint<'_> = Endpoint::Resource { tables: true, plain: &OFFERED };

/// The form of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) media_type: MediaType,
    pub(crate) shape: Shape,
    pub(crate) layout: Layout,
    /// Whether the client can undo gzip.
    pub(crate) gzip: bool,
    /// When the answer is given: ages are counted from it.
    pub(crate) now: SystemTime,
}

/// What objects are made into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Nothing.
    Plain,
    /// A table.
    Table(MetaVersion, IncludeObject),
    /// Their metadata.
    Metadata(MetaVersion),
}

/// What an answer consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// One object.
    Object,
    /// Many.
    List,
    /// Events, each with one object.
    Events,
}

// === impl Form ===

impl Form {
    /// The form in which objects are wanted.
    pub(crate) fn of_objects(
        kind: &ServedKind,
        subject: Subject,
        headers: &HeaderMap,
        query: &Query,
        now: SystemTime,
    ) -> Result<Self, Box<Status>> {
        let accept = text(headers, ACCEPT);
        let endpoint = if kind.host_type().is_some() { TYPED_OBJECTS } else { OBJECTS };
        let negotiated = match subject {
            Subject::Object | Subject::List => negotiate(accept, &OFFERED, endpoint),
            Subject::Events => negotiate_stream(accept, &OFFERED, endpoint),
        };
        let negotiated = negotiated.map_err(|error| not_acceptable(error.to_string()))?;
        let shape = shape(subject, negotiated.transform, query)?;
        Ok(Self::new(&negotiated, shape, headers, query, now))
    }

    /// The form of anything else; what is not acceptable is sent as JSON, because it must be sent somehow, and is then
    /// for people to read.
    pub(crate) fn of_status(headers: &HeaderMap, query: Option<&Query>, now: SystemTime) -> Self {
        let negotiated = negotiate(text(headers, ACCEPT), &OFFERED, Endpoint::Plain).unwrap_or(Negotiated {
            media_type: MediaType::Json,
            transform: Transform::None,
            pretty: true,
            stream: false,
            profile: String::new(),
        });
        Self::new(&negotiated, Shape::Plain, headers, query.unwrap_or(&Query::default()), now)
    }

    fn new(negotiated: &Negotiated, shape: Shape, headers: &HeaderMap, query: &Query, now: SystemTime) -> Self {
        let pretty =
            negotiated.pretty || is_pretty(query.first("pretty").unwrap_or_default(), text(headers, USER_AGENT));
        Self {
            media_type: negotiated.media_type,
            shape,
            layout: if pretty { Layout::Pretty } else { Layout::Compact },
            gzip: accepts_gzip(headers),
            now,
        }
    }

    /// Whether stored bytes can be sent as they are.
    pub(crate) fn is_as_stored(&self) -> bool {
        self.media_type == MediaType::Json && self.shape == Shape::Plain && self.layout == Layout::Compact
    }
}

fn shape(subject: Subject, transform: Transform, query: &Query) -> Result<Shape, Box<Status>> {
    match (transform, subject) {
        (Transform::None | Transform::ApiGroupDiscoveryList, _) => Ok(Shape::Plain),
        (Transform::Table(version), _) => {
            let wanted = query.first("includeObject").unwrap_or_default();
            let include = IncludeObject::parse(wanted).ok_or_else(|| {
                let why = "must be 'Metadata', 'Object', 'None', or empty";
                let error = FieldError::invalid(FieldPath::new("includeObject"), wanted, why);
                Box::new(Status::bad_request(format!("Unable to convert to Table as requested: {error}")))
            })?;
            Ok(Shape::Table(version, include))
        }
        (Transform::PartialObjectMetadata(version), Subject::Object | Subject::Events)
        | (Transform::PartialObjectMetadataList(version), Subject::List) => Ok(Shape::Metadata(version)),
        (Transform::PartialObjectMetadata(_), Subject::List) => {
            Err(not_acceptable("you requested PartialObjectMetadata, but the requested object is a list".to_owned()))
        }
        (Transform::PartialObjectMetadataList(_), Subject::Object | Subject::Events) => Err(not_acceptable(
            "you requested PartialObjectMetadataList, but the requested object is not a list".to_owned(),
        )),
    }
}

fn not_acceptable(message: String) -> Box<Status> {
    Box::new(Status::new(Reason::NotAcceptable, message))
}

/// Whether the client can undo gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let encodings = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    encodings.flat_map(|value| value.split(',')).any(|encoding| encoding.trim() == "gzip")
}

/// A header that is text; otherwise it says nothing.
pub(crate) fn text(headers: &HeaderMap, name: http::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
