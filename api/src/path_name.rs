//! Texts that become parts of the host's paths: of a kind, and of an object. What is none of these leads elsewhere, such as to all
//! objects of a kind, and is never asked for.

use bailiwick_machinery::name;

/// The most bytes of an object's name.
pub const MAX_OBJECT_NAME: usize = name::MAX_DNS_SUBDOMAIN_BYTES;
/// What ends a part of a path, beyond what no name of an object has anyway.
const DELIMITERS: [char; 2] = ['?', '#'];

/// Whether a text is a version, or a group and a version: `v1`, `apps/v1`.
pub fn is_api_version(text: &str) -> bool {
    let (group, version) = match text.split_once('/') {
        Some((group, version)) => (Some(group), version),
        None => (None, text),
    };
    group.is_none_or(|group| name::dns1123_subdomain(group).is_empty()) && name::dns1123_label(version).is_empty()
}

/// Whether a text is what kinds are called: in lower case, a label of a DNS name that starts with a letter.
pub fn is_kind(text: &str) -> bool {
    name::dns1035_label(&text.to_ascii_lowercase()).is_empty()
}

/// Whether an object can have this name, whichever its kind, and the name can stand in a path as it is.
pub fn is_object_name(text: &str) -> bool {
    let leads_elsewhere =
        |found: char| DELIMITERS.contains(&found) || found == '\\' || found.is_whitespace() || found.is_control();
    !text.is_empty()
        && text.len() <= MAX_OBJECT_NAME
        && name::path_segment(text).is_empty()
        && !text.contains(leads_elsewhere)
}

#[cfg(test)]
mod tests;
