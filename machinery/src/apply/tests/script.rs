//! Scripts: what is done to one object of a kind, step by step, and what upstream makes of each step.

use std::collections::BTreeMap;
use std::fmt;

use super::*;

/// A script that was recorded.
#[derive(Deserialize)]
pub(super) struct Script {
    #[serde(default)]
    pub(super) name: String,
    versions: Map<String, Value>,
    status: bool,
    pub(super) steps: Vec<Step>,
}

/// A write, and what came of it.
#[derive(Deserialize)]
pub(super) struct Step {
    pub(super) operation: String,
    pub(super) version: String,
    pub(super) manager: String,
    #[serde(default)]
    pub(super) subresource: String,
    #[serde(default)]
    pub(super) force: bool,
    pub(super) object: Value,
    pub(super) result: Option<Value>,
    #[serde(default)]
    pub(super) error: String,
    #[serde(default)]
    causes: Vec<(String, String, String)>,
}

/// What we make of a step.
struct Outcome {
    result: Option<Object>,
    error: String,
    causes: Vec<(String, String, String)>,
}

/// A kind in its versions.
pub(super) struct Kind(BTreeMap<String, FieldManager>);

/// How the texts of errors are compared.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Texts {
    /// They are the same; upstream was asked often enough to know which ones vary.
    Steady,
    /// Upstream was asked once. Of several things that do not fit it tells some, in the order of a Go map.
    OneOfSeveral,
}

/// The time of the first step; each takes a second.
pub(super) const START: i64 = 1_704_067_200;

// === impl Script ===

impl Script {
    pub(super) fn kind(&self) -> Kind {
        Kind::new(&self.versions, self.status)
    }

    pub(super) fn replay(&self, differences: &mut Differences) {
        self.kind().replay(&self.name, &self.steps, Texts::Steady, differences);
    }
}

// === impl Kind ===

impl Kind {
    /// Of the schemas of its versions.
    pub(super) fn new(versions: &Map<String, Value>, status: bool) -> Self {
        let schema_of = |json: &Value| match json.as_str() {
            Some(name) => schema(&RECORDED[name][0]),
            None => schema(json),
        };
        let schemas: BTreeMap<&String, Schema> =
            versions.iter().map(|(version, json)| (version, schema_of(json))).collect();
        let field_manager = |version: &String| {
            let own = group_version(version).kind("Thing");
            let mut manager = FieldManager::new(own, &schemas[version]);
            for (other, schema) in schemas.iter().filter(|(other, _)| **other != version) {
                manager = manager.with_version(group_version(other), schema);
            }
            if status { manager.with_status() } else { manager }
        };
        Self(versions.keys().map(|version| (version.clone(), field_manager(version))).collect())
    }

    pub(super) fn field_manager(&self, version: &str) -> &FieldManager {
        &self.0[version]
    }

    /// Replays all steps; each begins with what upstream made of the one before.
    pub(super) fn replay(&self, name: &str, steps: &[Step], texts: Texts, differences: &mut Differences) {
        let mut live: Option<Object> = None;
        for (i, step) in steps.iter().enumerate() {
            if let Some(live) = &mut live {
                live.set_gvk(&group_version(&step.version).kind("Thing"));
            }
            let about = fmt::from_fn(|f| {
                let Step { operation, manager, subresource, force, object, .. } = step;
                write!(f, "{}", json!([name, i, operation, manager, subresource, force, object, live]))
            });
            let ours = self.take(step, live.as_ref(), i);
            let theirs = if texts.are_alike(&ours.error, &step.error) { &ours.error } else { &step.error };
            differences.compare("error", &about, &ours.error, theirs);
            let nothing = Value::Null;
            let result = ours.result.as_ref().map_or(&nothing, Object::as_value);
            differences.compare_values("causes", &about, &json!(ours.causes), &json!(step.causes));
            differences.compare_values("result", &about, result, step.result.as_ref().unwrap_or(&nothing));
            if let Some(result) = &step.result {
                live = Some(stored(result));
            }
        }
    }

    fn take(&self, step: &Step, live: Option<&Object>, number: usize) -> Outcome {
        let manager = self.field_manager(&step.version);
        let time = START + i64::try_from(number).unwrap();
        let writer = Writer { manager: &step.manager, subresource: &step.subresource, time };
        let mut given = object(&step.object);
        if step.operation == "update" {
            let error = manager.track_update(live, &mut given, writer).err();
            let error = error.map(|error| error.to_string()).unwrap_or_default();
            return Outcome { result: Some(given), error, causes: Vec::new() };
        }
        match manager.apply(live, &given, ApplyOptions { writer, force: step.force }) {
            Ok(object) => Outcome { result: Some(object), error: String::new(), causes: Vec::new() },
            Err(error) => {
                let causes = match &error {
                    ApplyError::Conflicts(conflicts) => conflicts.causes(),
                    _ => Vec::new(),
                };
                let cause = |cause: crate::Cause| (cause.reason, cause.message, cause.field);
                let mut causes: Vec<_> = causes.into_iter().map(cause).collect();
                causes.sort_by_key(|(reason, message, field)| format!("[{reason} {message} {field}]"));
                Outcome { result: None, error: error.to_string(), causes }
            }
        }
    }
}

// === impl Texts ===

impl Texts {
    fn are_alike(self, ours: &str, theirs: &str) -> bool {
        let some_of_several = ["field not declared in schema", "errors:"];
        let varies = |text: &str| some_of_several.iter().any(|one| text.contains(one));
        // Owners are visited in the order of a Go map too: of those who do not fit, and of what does not fit them, any may be
        // the first.
        let is_of_an_owner = |text: &str| text.contains("unexpected GroupVersion string");
        let stage = |text: &str| text.split_once("): ").map(|(stage, _)| stage.to_owned());
        let alike = match self {
            Self::Steady => false,
            Self::OneOfSeveral => {
                let any = varies(theirs) && varies(ours) || is_of_an_owner(ours) || is_of_an_owner(theirs);
                any && stage(ours) == stage(theirs) || is_reordered(ours, theirs)
            }
        };
        ours == theirs || theirs == "*" && !ours.is_empty() || alike
    }
}

/// A map that is the key of an item is printed in the order of a Go map.
fn is_reordered(ours: &str, theirs: &str) -> bool {
    let sorted = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.sort_unstable();
        bytes
    };
    ours.len() == theirs.len() && sorted(ours) == sorted(theirs)
}

/// A result as it is found by the next step.
pub(super) fn stored(result: &Value) -> Object {
    let mut result = object(result);
    if result.metadata().get("name").is_some() {
        result.metadata_mut().insert("uid".to_owned(), "u".into());
    }
    result
}

fn group_version(version: &str) -> GroupVersion {
    GroupVersion::new("example.dev", version.to_owned())
}
