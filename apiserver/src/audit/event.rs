//! An entry of the log, in the form and order in which Kubernetes writes it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use bailiwick_machinery::{Details, Reason, Status, format_rfc3339_micro};
use bailiwick_registry::User;
use serde::Serialize;
use serde_json::Value;

use super::policy::{Level, Stage};
use crate::visit::CLIENT_GONE;

/// The longest user agent that is written down.
const MAX_USER_AGENT_BYTES: usize = 1_024;
const CUT: &str = "...TRUNCATED";
/// Most entries without objects are no longer than this.
const USUAL_BYTES: usize = 1_024;

/// An entry.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event<'e> {
    pub(super) kind: &'static str,
    pub(super) api_version: &'static str,
    pub(super) level: Level,
    #[serde(rename = "auditID")]
    pub(super) audit_id: &'e str,
    pub(super) stage: Stage,
    #[serde(rename = "requestURI")]
    pub(super) request_uri: &'e str,
    pub(super) verb: &'e str,
    pub(super) user: UserInfo<'e>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) impersonated_user: Option<UserInfo<'e>>,
    #[serde(rename = "sourceIPs", skip_serializing_if = "<[String]>::is_empty")]
    pub(super) source_ips: &'e [String],
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) user_agent: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object_ref: Option<&'e ObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_status: Option<&'e ResponseStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_object: Option<&'e Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_object: Option<&'e Value>,
    pub(super) request_received_timestamp: &'e str,
    pub(super) stage_timestamp: &'e str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: &'e BTreeMap<String, String>,
}

/// A user, as authentication found them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct UserInfo<'u> {
    #[serde(skip_serializing_if = "str::is_empty")]
    username: &'u str,
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: &'u str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    groups: &'u [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<&'u BTreeMap<String, Vec<String>>>,
}

/// What a request is about.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectReference {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) resource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) uid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) api_group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) api_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) resource_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) subresource: String,
}

/// What came of a request.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct ResponseStatus {
    metadata: BTreeMap<&'static str, &'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    status: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
    code: u16,
}

// === impl Event ===

impl Event<'_> {
    /// The line of the log.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = Vec::with_capacity(USUAL_BYTES);
        // Only what is no text could fail, and there is none.
        let _ = serde_json::to_writer(&mut line, self);
        line.push(b'\n');
        line
    }
}

// === impl UserInfo ===

impl<'u> From<&'u User> for UserInfo<'u> {
    fn from(user: &'u User) -> Self {
        let extra = Some(&user.extra).filter(|extra| !extra.is_empty());
        Self { username: &user.name, uid: &user.uid, groups: &user.groups, extra }
    }
}

// === impl ResponseStatus ===

impl ResponseStatus {
    /// Only a code: an answer that is no status.
    pub(super) fn of_code(code: u16) -> Self {
        Self { code, ..Self::default() }
    }

    /// A refusal of who is not known, which says how they tried.
    pub(super) fn unauthenticated(message: &str) -> Self {
        Self { message: message.to_owned(), code: Reason::Unauthorized.code(), ..Self::default() }
    }

    /// No answer: the client has not waited for it.
    pub(super) fn client_gone() -> Self {
        let message = "the client went away before it was answered; what it asked for may have been done".to_owned();
        Self { status: "Failure", message, code: CLIENT_GONE, ..Self::default() }
    }

    /// A status that was answered.
    pub(super) fn of_status(status: &Status, code: u16) -> Self {
        let reason = status.reason.filter(|reason| *reason != Reason::Unknown).map_or("", Reason::as_str);
        Self {
            metadata: BTreeMap::new(),
            status: if status.reason.is_some() { "Failure" } else { "Success" },
            message: status.message.clone(),
            reason,
            details: Some(status.details.clone()).filter(|details| *details != Details::default()),
            code,
        }
    }

    /// Without what may repeat the content of an object.
    pub(super) fn without_words(mut self) -> Self {
        self.message.clear();
        self.details = None;
        self
    }
}

/// The user agent, cut if it is very long.
pub(super) fn user_agent(text: &str) -> Cow<'_, str> {
    match text.get(..MAX_USER_AGENT_BYTES) {
        Some(start) if text.len() > MAX_USER_AGENT_BYTES => format!("{start}{CUT}").into(),
        _ => text.into(),
    }
}

/// A time with microseconds.
pub(super) fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    format_rfc3339_micro(i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_micros()).unwrap_or_default()
}

/// Leaves out who owns which fields, of an object, or of each in a list or a table.
pub(super) fn remove_managed_fields(object: &mut Value) {
    let remove = |object: &mut Value| {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    };
    remove(object);
    for item in object.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
        remove(item);
    }
    for row in object.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten() {
        row.get_mut("object").into_iter().for_each(remove);
    }
}

#[cfg(test)]
mod tests;
