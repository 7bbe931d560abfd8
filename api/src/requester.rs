//! Who asked for an object: written by the server, by nobody else.

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
}
