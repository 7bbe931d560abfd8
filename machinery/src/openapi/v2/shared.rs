//! Parameters that many operations have: written once, and referred to.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Map, Value, json};

use crate::encode;

/// What older kubectl look for where they stand, and do not find behind a reference.
const KEPT: [&str; 2] = ["dryRun", "fieldValidation"];

/// Replaces parameters that are not peculiar to one kind by references, and returns them by name.
pub(super) fn share(paths: &mut Map<String, Value>) -> BTreeMap<String, Value> {
    let mut shared = BTreeMap::new();
    for item in paths.values_mut().filter_map(Value::as_object_mut) {
        for (part, value) in item {
            let parameters = if part == "parameters" { Some(value) } else { value.get_mut("parameters") };
            for parameter in parameters.and_then(Value::as_array_mut).into_iter().flatten() {
                if is_general(parameter) {
                    let name = shared_name(parameter);
                    let reference = json!({ "$ref": format!("#/parameters/{name}") });
                    shared.insert(name, std::mem::replace(parameter, reference));
                }
            }
        }
    }
    shared
}

fn is_general(parameter: &Value) -> bool {
    let name = parameter["name"].as_str().unwrap_or_default();
    match parameter["in"].as_str() {
        Some("body") => {
            let schema = parameter["schema"]["$ref"].as_str().unwrap_or_default();
            schema.starts_with("#/definitions/io.k8s.apimachinery")
        }
        Some("path") => name != "name",
        _ => name != "name" && !KEPT.contains(&name),
    }
}

/// The name, and a hash of all that is said of it: documents of several servers are merged, and one name means one thing.
fn shared_name(parameter: &Value) -> String {
    let hash = fnv1(&encode::to_json(parameter)).to_be_bytes();
    let name = parameter["name"].as_str().unwrap_or_default();
    format!("{name}-{}", URL_SAFE.encode(hash.get(..6).unwrap_or_default()))
}

/// Fowler, Noll and Vo's first hash, of 64 bits.
fn fnv1(bytes: &[u8]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(OFFSET, |hash, byte| hash.wrapping_mul(PRIME) ^ u64::from(*byte))
}
