//! Conditions: what is the case with an object, for people and for `kubectl wait`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Condition contains details for one aspect of the current state of this object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The aspect, in CamelCase.
    #[serde(rename = "type")]
    #[schemars(
        length(max = 316),
        regex(
            pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        )
    )]
    pub condition_type: String,
    /// Whether it is the case.
    pub status: ConditionStatus,
    /// The metadata.generation that the condition was set for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// When the status last changed.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// Why, as one word for programs.
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))]
    pub reason: String,
    /// Why, for people. May be empty.
    #[schemars(length(max = 32768))]
    pub message: String,
}

/// Says one thing of an object, where others stay as they are. If its status is what it was, it has been so since then.
pub fn put_condition(conditions: &mut Vec<Condition>, mut condition: Condition) {
    match conditions.iter_mut().find(|other| other.condition_type == condition.condition_type) {
        Some(found) => {
            if found.status == condition.status {
                condition.last_transition_time.clone_from(&found.last_transition_time);
            }
            *found = condition;
        }
        None => conditions.push(condition),
    }
}

/// Whether something is the case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It is.
    True,
    /// It is not.
    False,
    /// That cannot be told.
    #[default]
    Unknown,
}
