//! A Bundle as an ApplySet: the labels and annotations by which other tools know which objects belong together (KEP-3659).
//!
//! They are for others to read. What a Bundle has made is known by its inventory, and nothing is ever found by them.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use k8s_openapi::Resource as _;
use sha2::{Digest as _, Sha256};

use super::{Bundle, BundleObject};

/// The label of what is part of a set: the set's id.
pub const PART_OF_LABEL: &str = "applyset.kubernetes.io/part-of";
/// The label of what stands for a set: its id.
pub const APPLY_SET_ID_LABEL: &str = "applyset.kubernetes.io/id";
/// The annotation of what stands for a set that says who looks after it. No other tool changes it.
pub const TOOLING_ANNOTATION: &str = "applyset.kubernetes.io/tooling";
/// The annotation of what stands for a set that says of which kinds its parts are.
pub const GROUP_KINDS_ANNOTATION: &str = "applyset.kubernetes.io/contains-group-kinds";

/// The id of the set of a Bundle. Another Bundle of the same name has the same.
pub fn apply_set_id(namespace: &str, name: &str) -> String {
    let hash = Sha256::digest(format!("{name}.{namespace}.{}.{}", Bundle::KIND, Bundle::GROUP));
    format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(hash))
}

/// The kinds of these objects, as a set states them: `ConfigMap,Deployment.apps`.
pub fn group_kinds<'o>(objects: impl IntoIterator<Item = &'o BundleObject>) -> String {
    let names: BTreeSet<String> = objects
        .into_iter()
        .map(|object| match object.group() {
            "" => object.kind.clone(),
            group => format!("{}.{group}", object.kind),
        })
        .collect();
    names.into_iter().collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests;
