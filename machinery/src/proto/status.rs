//! The message of a [`Status`](crate::Status).

use prost::Message;
use serde::Serialize;

use super::meta::ListMeta;
use super::{Encode, Readable, envelope};
use crate::status;

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct Status {
    #[prost(message, required, tag = "1")]
    metadata: ListMeta,
    #[prost(string, required, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    status: String,
    #[prost(string, required, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[prost(string, required, tag = "4")]
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[prost(message, optional, tag = "5")]
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<StatusDetails>,
    #[prost(int32, required, tag = "6")]
    #[serde(skip_serializing_if = "is_zero")]
    code: i32,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusDetails {
    #[prost(string, required, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[prost(string, required, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    group: String,
    #[prost(string, required, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    kind: String,
    #[prost(message, repeated, tag = "4")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<StatusCause>,
    #[prost(int32, required, tag = "5")]
    #[serde(skip_serializing_if = "is_zero")]
    retry_after_seconds: i32,
    #[prost(string, required, tag = "6")]
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
}

#[derive(Clone, PartialEq, Message, Serialize)]
struct StatusCause {
    #[prost(string, required, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[prost(string, required, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[prost(string, required, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    field: String,
}

impl Readable for Status {}

impl From<&status::Status> for Status {
    fn from(status: &status::Status) -> Self {
        Self {
            metadata: ListMeta::of_continue(status.continue_token.as_deref()),
            status: if status.reason.is_some() { "Failure" } else { "Success" }.to_owned(),
            message: status.message.clone(),
            reason: status.reason.map_or("", status::Reason::as_str).to_owned(),
            details: (status.details != status::Details::default()).then(|| StatusDetails::from(&status.details)),
            code: status.reason.map_or(0, |reason| i32::from(reason.code())),
        }
    }
}

impl From<&status::Details> for StatusDetails {
    fn from(details: &status::Details) -> Self {
        Self {
            name: details.name.clone(),
            group: details.group.clone(),
            kind: details.kind.clone(),
            causes: details.causes.iter().map(StatusCause::from).collect(),
            retry_after_seconds: i32::try_from(details.retry_after_seconds).unwrap_or(i32::MAX),
            uid: details.uid.clone(),
        }
    }
}

impl From<&status::Cause> for StatusCause {
    fn from(cause: &status::Cause) -> Self {
        Self { reason: cause.reason.clone(), message: cause.message.clone(), field: cause.field.clone() }
    }
}

impl Encode for status::Status {
    fn to_protobuf(&self) -> Vec<u8> {
        envelope("v1", "Status", &Status::from(self))
    }
}

// serde hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}
