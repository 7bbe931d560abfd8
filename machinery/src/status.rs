//! `Status`: how the API says that something failed, with everything a program needs to react.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::field::FieldErrors;
use crate::go;
use crate::group::{GroupKind, GroupResource};

/// An answer that is not an object. Only failures and the success of a deletion are told this way.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Why; `None` for a success.
    pub reason: Option<Reason>,
    /// In words.
    pub message: String,
    /// What it is about.
    pub details: Details,
    /// What a client that continues a list should continue with.
    pub continue_token: Option<String>,
}

/// Why a request failed. Each reason has one HTTP code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The request makes no sense.
    BadRequest,
    /// Who asks is not known.
    Unauthorized,
    /// Who asks may not.
    Forbidden,
    /// What was asked for does not exist.
    NotFound,
    /// The resource does not do this.
    MethodNotAllowed,
    /// No encoding of the answer is acceptable.
    NotAcceptable,
    /// What was to be created exists.
    AlreadyExists,
    /// What was to be changed has changed.
    Conflict,
    /// What was asked for is no longer kept.
    Expired,
    /// The request is too large.
    RequestEntityTooLarge,
    /// The encoding of the request is not known.
    UnsupportedMediaType,
    /// The object is not valid.
    Invalid,
    /// There are too many requests.
    TooManyRequests,
    /// Something failed that should not.
    InternalError,
    /// A part of the server did not answer; trying again is safe.
    ServerTimeout,
    /// The server is not ready.
    ServiceUnavailable,
    /// The request took too long.
    Timeout,
    /// A failure that Kubernetes has no word for; its status carries no reason.
    Unknown,
}

/// What a status is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Details {
    /// The object's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its resource; for an invalid object, its kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its UID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// One entry for each thing that is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// After how many seconds to try again.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cause {
    /// In which way.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// In words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// With which field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

// === impl Reason ===

impl Reason {
    /// The HTTP code.
    pub fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable => 406,
            Self::AlreadyExists | Self::Conflict => 409,
            Self::Expired => 410,
            Self::RequestEntityTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::Invalid => 422,
            Self::TooManyRequests => 429,
            Self::InternalError | Self::ServerTimeout | Self::Unknown => 500,
            Self::ServiceUnavailable => 503,
            Self::Timeout => 504,
        }
    }

    /// As it is written in a status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "BadRequest",
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::NotAcceptable => "NotAcceptable",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Expired => "Expired",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::Invalid => "Invalid",
            Self::TooManyRequests => "TooManyRequests",
            Self::InternalError => "InternalError",
            Self::ServerTimeout => "ServerTimeout",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::Timeout => "Timeout",
            Self::Unknown => "",
        }
    }
}

// === impl Status ===

impl Status {
    /// A failure that is about nothing in particular.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason: Some(reason), message: message.into(), details: Details::default(), continue_token: None }
    }

    /// That an object was removed.
    pub fn deleted(resource: &GroupResource, name: &str, uid: &str) -> Self {
        let details = Details { uid: uid.to_owned(), ..about(resource, name) };
        Self { reason: None, message: String::new(), details, continue_token: None }
    }

    /// The object does not exist.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::about(Reason::NotFound, resource, name, format!("{resource} {} not found", go::quote(name)))
    }

    /// The object exists already.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Self::about(Reason::AlreadyExists, resource, name, format!("{resource} {} already exists", go::quote(name)))
    }

    /// No unused name was found for the object.
    pub fn no_unique_name(resource: &GroupResource, name: &str) -> Self {
        let name_quoted = go::quote(name);
        let message = format!(
            "{resource} {name_quoted} already exists, the server was not able to generate a unique name for the object"
        );
        Self::about(Reason::AlreadyExists, resource, name, message).retry_after(1)
    }

    /// The request is not allowed. An empty name speaks of the resource as a whole.
    pub fn forbidden(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = match name {
            "" => format!("{resource} is forbidden: {why}"),
            name => format!("{resource} {} is forbidden: {why}", go::quote(name)),
        };
        Self::about(Reason::Forbidden, resource, name, message)
    }

    /// The object is not as the request expects.
    pub fn conflict(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {}: {why}", go::quote(name));
        Self::about(Reason::Conflict, resource, name, message)
    }

    /// The object was changed since the client read it.
    pub fn modified(resource: &GroupResource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// The object is not valid.
    pub fn invalid(kind: &GroupKind, name: &str, errors: &FieldErrors) -> Self {
        let mut message = format!("{kind} {} is invalid", go::quote(name));
        if !errors.is_empty() {
            message.push_str(&format!(": {errors}"));
        }
        let causes = errors.as_slice().iter().map(|error| Cause {
            reason: error.kind.cause().to_owned(),
            message: error.body(),
            field: error.field.to_string(),
        });
        let details = Details {
            name: name.to_owned(),
            group: kind.group.to_string(),
            kind: kind.kind.to_string(),
            causes: causes.collect(),
            ..Details::default()
        };
        Self { details, ..Self::new(Reason::Invalid, message) }
    }

    /// The request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Reason::BadRequest, message)
    }

    /// The resource does not do this.
    pub fn method_not_supported(resource: &GroupResource, action: &str) -> Self {
        let kind = go::quote(&resource.to_string());
        let message = format!("{action} is not supported on resources of kind {kind}");
        Self::about(Reason::MethodNotAllowed, resource, "", message)
    }

    /// Something failed that should not.
    pub fn internal(message: &str) -> Self {
        let mut status = Self::new(Reason::InternalError, format!("Internal error occurred: {message}"));
        status.details.causes.push(Cause { message: message.to_owned(), ..Cause::default() });
        status
    }

    /// The storage did not answer.
    pub fn server_timeout(resource: &GroupResource, operation: &str) -> Self {
        let message = format!(
            "The {operation} operation against {resource} could not be completed at this time, please try again."
        );
        Self::about(Reason::ServerTimeout, resource, operation, message).retry_after(2)
    }

    /// The request took too long.
    pub fn timeout(message: &str, retry_after_seconds: u32) -> Self {
        Self::new(Reason::Timeout, format!("Timeout: {message}")).retry_after(retry_after_seconds)
    }

    /// The version that was asked for has not been reached. Clients know it by its cause.
    pub fn too_large_resource_version(requested: u64, current: u64, retry_after_seconds: u32) -> Self {
        let message = format!("Too large resource version: {requested}, current: {current}");
        let mut status = Self::timeout(&message, retry_after_seconds);
        status.details.causes.push(Cause {
            reason: "ResourceVersionTooLarge".to_owned(),
            message: "Too large resource version".to_owned(),
            field: String::new(),
        });
        status
    }

    /// The request is too large.
    pub fn request_too_large(message: &str) -> Self {
        Self::new(Reason::RequestEntityTooLarge, format!("Request entity too large: {message}"))
    }

    /// The HTTP code.
    pub fn code(&self) -> u16 {
        self.reason.map_or(200, Reason::code)
    }

    /// Asks the client to try again after so many seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.details.retry_after_seconds = seconds;
        self
    }

    /// As an object of `v1`.
    pub fn to_json(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".to_owned(), json!(token));
        }
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": if self.reason.is_some() { "Failure" } else { "Success" },
        });
        if !self.message.is_empty() {
            status["message"] = json!(self.message);
        }
        if let Some(reason) = self.reason {
            if reason != Reason::Unknown {
                status["reason"] = json!(reason.as_str());
            }
            status["code"] = json!(reason.code());
        }
        // Where nothing is named that could be told of, Kubernetes has empty details for these.
        let always_detailed = matches!(self.reason, Some(Reason::NotFound | Reason::MethodNotAllowed));
        if always_detailed || self.details != Details::default() {
            status["details"] = json!(self.details);
        }
        status
    }

    fn about(reason: Reason, resource: &GroupResource, name: &str, message: String) -> Self {
        Self { details: about(resource, name), ..Self::new(reason, message) }
    }
}

fn about(resource: &GroupResource, name: &str) -> Details {
    Details {
        name: name.to_owned(),
        group: resource.group.to_string(),
        kind: resource.resource.to_string(),
        ..Details::default()
    }
}

// serde hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests;
