//! What those who write a definition should know, although nothing is wrong with it.

use super::definition::{Definition, Version};
use super::shared::Shared;
use crate::schema::{rules_in_cel, unrecognized_formats};
use crate::{FieldPath, go};

/// What a definition asks for that is not done. What `old` asked for already is not repeated, as far as it is a format.
pub fn warnings(new: &Definition, old: Option<&Definition>) -> Vec<String> {
    let known = old.map(formats).unwrap_or_default();
    let new_formats = formats(new).into_iter().filter(|format| !known.contains(format));
    let mut warnings: Vec<String> =
        new_formats.map(|format| format!("unrecognized format {}", go::quote(&format))).collect();
    let versions = FieldPath::new("spec").child("versions");
    for (i, version) in new.spec.versions.iter().enumerate() {
        let path = versions.index(i);
        let schema = path.child("schema").child("openAPIV3Schema");
        for place in version.written_schema().map(|json| rules_in_cel(json, &schema)).unwrap_or_default() {
            warnings.push(format!("{place}: rules in CEL are kept, but not enforced by this server"));
        }
        if version.subresources.as_ref().is_some_and(|subresources| subresources.scale.is_some()) {
            let place = path.child("subresources").child("scale");
            warnings.push(format!("{place}: this subresource is kept, but not served by this server"));
        }
    }
    warnings
}

/// The formats that mean nothing. What all versions say is said once.
fn formats(definition: &Definition) -> Vec<String> {
    let versions = &definition.spec.versions;
    let told = if Shared::of(&definition.spec).schema { 1 } else { versions.len() };
    versions.iter().take(told).filter_map(Version::written_schema).flat_map(unrecognized_formats).collect()
}
