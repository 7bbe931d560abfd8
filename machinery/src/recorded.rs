//! What `tests/oracle/proto` has recorded from upstream.

use std::sync::LazyLock;

use serde_json::Value;

use crate::object::Object;

/// The cases of a section.
pub(crate) fn recorded(section: &str) -> &'static [Value] {
    static RECORDED: LazyLock<Value> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../../tests/data/go/proto.json")).expect("what was recorded is JSON")
    });
    RECORDED[section].as_array().expect("there is such a section")
}

pub(crate) fn object(value: &Value) -> Object {
    Object::try_from(value.clone()).expect("it is an object")
}

pub(crate) fn items(list: &Value) -> Vec<Object> {
    list["items"].as_array().into_iter().flatten().map(object).collect()
}
