//! The targets: one file each, named as their corpus is.

pub mod continue_token;
pub mod definition;
pub mod delete_options;
pub mod field_selector;
pub mod host_kind;
pub mod json;
pub mod json_patch;
pub mod json_path;
pub mod label_selector;
pub mod media;
pub mod merge_patch;
pub mod metadata;
pub mod names;
pub mod protobuf;
pub mod quantity;
pub mod registry;
pub mod request;
pub mod schema;
pub mod schema_definition;
pub mod sealed_value;
pub mod storage_key;
pub mod strategic_patch;
pub mod time;
mod value;
pub mod watch_frame;
pub mod yaml;

/// A property of a parser.
#[derive(Debug)]
pub struct Target {
    /// What it is called, and the folder of its corpus.
    pub name: &'static str,
    /// Panics if the property does not hold for an input.
    pub run: fn(&[u8]),
    /// Words that mean something to the parser.
    pub dictionary: &'static [&'static [u8]],
}

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        &[$(Target { name: stringify!($name), run: $name::target, dictionary: $name::DICTIONARY }),*]
    };
}

/// All targets.
pub const TARGETS: &[Target] = targets![
    continue_token,
    definition,
    delete_options,
    field_selector,
    host_kind,
    json,
    json_patch,
    json_path,
    label_selector,
    media,
    merge_patch,
    metadata,
    names,
    protobuf,
    quantity,
    registry,
    request,
    schema,
    schema_definition,
    sealed_value,
    storage_key,
    strategic_patch,
    time,
    watch_frame,
    yaml,
];

/// The first line of an input, and the rest.
fn first_line(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &[]),
    }
}
