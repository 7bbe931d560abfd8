//! Objects to be applied, and the document that has them all.

use bailiwick_machinery::encode::to_yaml;
use serde_json::{Map, Value};

use super::names::{APP, MANAGED_BY};

/// What stands above everything.
const HEADER: &str = "\
# Bailiwick in a cluster, as `bailiwick install` prints it. What is needed before, and what it means: docs/install.md.
";

/// How long lines of comments get.
const WIDTH: usize = 118;

/// An object to be applied, and why there is one.
pub(super) struct Manifest {
    why: String,
    object: Value,
}

// === impl Manifest ===

impl Manifest {
    /// An object with `apiVersion`, `kind` and `metadata`. It gets the labels that everything installed has.
    pub(super) fn new(why: impl Into<String>, mut object: Value) -> Self {
        let metadata =
            object.as_object_mut().and_then(|object| object.get_mut("metadata")).and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            let labels = metadata.entry("labels").or_insert_with(|| Value::Object(Map::new()));
            for (key, value) in [APP, MANAGED_BY] {
                labels[key] = value.into();
            }
        }
        Self { why: why.into(), object }
    }

    /// The object.
    pub(super) fn object(&self) -> &Value {
        &self.object
    }
}

/// All of them as one YAML stream.
pub(super) fn document(manifests: &[Manifest]) -> String {
    let mut text = HEADER.to_owned();
    for Manifest { why, object } in manifests {
        text.push_str("---\n");
        for line in why.lines() {
            push_comment(&mut text, line);
        }
        text.push_str(&to_yaml(object));
    }
    text
}

/// A comment, in as many lines as it takes. What is indented is meant to be copied, and stays whole.
fn push_comment(text: &mut String, comment: &str) {
    if comment.starts_with(' ') {
        text.push_str("# ");
        text.push_str(comment);
        text.push('\n');
        return;
    }
    let mut length = WIDTH;
    for word in comment.split_whitespace() {
        if length + 1 + word.len() > WIDTH {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push('#');
            length = 1;
        }
        text.push(' ');
        text.push_str(word);
        length += 1 + word.len();
    }
    text.push('\n');
}
