//! Who asked for an object: written by the server, by nobody else.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who last wrote what an object asks for. Written by the server; what clients say here is not taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Requester {
    /// The user's name.
    pub username: String,
    /// What tells users of one name apart over time.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The groups that came with the user. Those that the server itself knows of are looked up whenever it matters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// What else came with the user, by which authorizers may allow less. It is kept beside the object and part of none that is
    /// stored or shown: here it is only while someone is asked what the user may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub extra: Option<BTreeMap<String, Vec<String>>>,
}
