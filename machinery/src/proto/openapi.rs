//! The document of OpenAPI version 2 as a message: `openapi.v2.Document` of gnostic, which kubectl reads.
//!
//! It is made of the JSON document by tables, one for each message that a document of ours can have: which field of the
//! JSON has which number, and how it is written. Fields whose names begin with `x-` are extensions, and keep their JSON
//! as text, which is YAML too. The messages are proto3: what is empty, false or zero is not written.

use prost::encoding::{self, WireType};
use serde_json::Value;

use crate::encode::to_json;

/// Writes the content of a message.
type Write = fn(&Value, &mut Vec<u8>);

/// A field of a message: its name in JSON, its number, and what it is.
type Field = (&'static str, u32, Form);

#[derive(Clone, Copy)]
enum Form {
    Text,
    Texts,
    Flag,
    Whole,
    Float,
    /// Whatever JSON it is.
    Any,
    Anys,
    Message(Write),
    Messages(Write),
}

const DOCUMENT: &[Field] = &[
    ("swagger", 1, Form::Text),
    ("info", 2, Form::Message(info)),
    ("paths", 8, Form::Message(paths)),
    ("definitions", 9, Form::Message(named_schemas)),
    ("parameters", 10, Form::Message(named_parameters)),
];

const INFO: &[Field] = &[("title", 1, Form::Text), ("version", 2, Form::Text), ("description", 3, Form::Text)];

const PATH_ITEM: &[Field] = &[
    ("get", 2, Form::Message(operation)),
    ("put", 3, Form::Message(operation)),
    ("post", 4, Form::Message(operation)),
    ("delete", 5, Form::Message(operation)),
    ("options", 6, Form::Message(operation)),
    ("head", 7, Form::Message(operation)),
    ("patch", 8, Form::Message(operation)),
    ("parameters", 9, Form::Messages(parameter_or_reference)),
];

const OPERATION: &[Field] = &[
    ("tags", 1, Form::Texts),
    ("summary", 2, Form::Text),
    ("description", 3, Form::Text),
    ("operationId", 5, Form::Text),
    ("produces", 6, Form::Texts),
    ("consumes", 7, Form::Texts),
    ("parameters", 8, Form::Messages(parameter_or_reference)),
    ("responses", 9, Form::Message(responses)),
    ("schemes", 10, Form::Texts),
    ("deprecated", 11, Form::Flag),
];

const REFERENCE: &[Field] = &[("$ref", 1, Form::Text), ("description", 2, Form::Text)];

const BODY_PARAMETER: &[Field] = &[
    ("description", 1, Form::Text),
    ("name", 2, Form::Text),
    ("in", 3, Form::Text),
    ("required", 4, Form::Flag),
    ("schema", 5, Form::Message(schema)),
];

const QUERY_PARAMETER: &[Field] = &[
    ("required", 1, Form::Flag),
    ("in", 2, Form::Text),
    ("description", 3, Form::Text),
    ("name", 4, Form::Text),
    ("allowEmptyValue", 5, Form::Flag),
    ("type", 6, Form::Text),
    ("format", 7, Form::Text),
    ("default", 10, Form::Any),
    ("uniqueItems", 20, Form::Flag),
    ("enum", 21, Form::Anys),
];

const PATH_PARAMETER: &[Field] = &[
    ("required", 1, Form::Flag),
    ("in", 2, Form::Text),
    ("description", 3, Form::Text),
    ("name", 4, Form::Text),
    ("type", 5, Form::Text),
    ("format", 6, Form::Text),
    ("default", 9, Form::Any),
    ("uniqueItems", 19, Form::Flag),
    ("enum", 20, Form::Anys),
];

const RESPONSE: &[Field] = &[("description", 1, Form::Text), ("schema", 2, Form::Message(schema_item))];

const SCHEMA: &[Field] = &[
    ("$ref", 1, Form::Text),
    ("format", 2, Form::Text),
    ("title", 3, Form::Text),
    ("description", 4, Form::Text),
    ("default", 5, Form::Any),
    ("multipleOf", 6, Form::Float),
    ("maximum", 7, Form::Float),
    ("exclusiveMaximum", 8, Form::Flag),
    ("minimum", 9, Form::Float),
    ("exclusiveMinimum", 10, Form::Flag),
    ("maxLength", 11, Form::Whole),
    ("minLength", 12, Form::Whole),
    ("pattern", 13, Form::Text),
    ("maxItems", 14, Form::Whole),
    ("minItems", 15, Form::Whole),
    ("uniqueItems", 16, Form::Flag),
    ("maxProperties", 17, Form::Whole),
    ("minProperties", 18, Form::Whole),
    ("required", 19, Form::Texts),
    ("enum", 20, Form::Anys),
    ("additionalProperties", 21, Form::Message(additional_properties)),
    ("type", 22, Form::Message(type_item)),
    ("items", 23, Form::Message(items)),
    ("allOf", 24, Form::Messages(schema)),
    ("properties", 25, Form::Message(named_schemas)),
    ("readOnly", 27, Form::Flag),
    ("example", 30, Form::Any),
];

/// The document, in protobuf.
pub fn openapi_v2(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write_fields(DOCUMENT, 16, document, &mut out);
    out
}

fn info(value: &Value, out: &mut Vec<u8>) {
    write_fields(INFO, 7, value, out);
}

fn paths(value: &Value, out: &mut Vec<u8>) {
    write_named(2, path_item, value, out);
}

fn path_item(value: &Value, out: &mut Vec<u8>) {
    write_fields(PATH_ITEM, 10, value, out);
}

fn operation(value: &Value, out: &mut Vec<u8>) {
    write_fields(OPERATION, 13, value, out);
}

fn named_parameters(value: &Value, out: &mut Vec<u8>) {
    write_named(1, parameter, value, out);
}

fn parameter_or_reference(value: &Value, out: &mut Vec<u8>) {
    if value.get("$ref").is_some() {
        write_message(2, reference, value, out);
    } else {
        write_message(1, parameter, value, out);
    }
}

fn reference(value: &Value, out: &mut Vec<u8>) {
    for (name, tag, form) in REFERENCE {
        write_field(*tag, *form, value.get(name), out);
    }
}

fn parameter(value: &Value, out: &mut Vec<u8>) {
    if value["in"] == "body" {
        write_message(1, |value, out| write_fields(BODY_PARAMETER, 6, value, out), value, out);
    } else {
        write_message(2, non_body_parameter, value, out);
    }
}

fn non_body_parameter(value: &Value, out: &mut Vec<u8>) {
    if value["in"] == "path" {
        write_message(4, |value, out| write_fields(PATH_PARAMETER, 22, value, out), value, out);
    } else {
        write_message(3, |value, out| write_fields(QUERY_PARAMETER, 23, value, out), value, out);
    }
}

fn responses(value: &Value, out: &mut Vec<u8>) {
    write_named(1, |value, out| write_message(1, response, value, out), value, out);
}

fn response(value: &Value, out: &mut Vec<u8>) {
    write_fields(RESPONSE, 5, value, out);
}

fn schema_item(value: &Value, out: &mut Vec<u8>) {
    write_message(1, schema, value, out);
}

fn named_schemas(value: &Value, out: &mut Vec<u8>) {
    write_named(1, schema, value, out);
}

fn schema(value: &Value, out: &mut Vec<u8>) {
    write_fields(SCHEMA, 31, value, out);
}

fn additional_properties(value: &Value, out: &mut Vec<u8>) {
    match value {
        // One of two is always written, also if it is false.
        Value::Bool(flag) => encoding::bool::encode(2, flag, out),
        schema_of_all => write_message(1, schema, schema_of_all, out),
    }
}

fn type_item(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(_) => write_field(1, Form::Texts, Some(value), out),
        _ => write_field(1, Form::Text, Some(value), out),
    }
}

fn items(value: &Value, out: &mut Vec<u8>) {
    write_message(1, schema, value, out);
}

fn any(value: &Value, out: &mut Vec<u8>) {
    let mut text = String::from_utf8(to_json(value)).unwrap_or_default();
    text.push('\n');
    encoding::string::encode(2, &text, out);
}

/// Fields by their table, then extensions.
fn write_fields(fields: &[Field], extensions: u32, value: &Value, out: &mut Vec<u8>) {
    for (name, tag, form) in fields {
        write_field(*tag, *form, value.get(name), out);
    }
    for (name, value) in value.as_object().into_iter().flatten().filter(|(name, _)| name.starts_with("x-")) {
        write_entry(extensions, any, name, value, out);
    }
}

fn write_field(tag: u32, form: Form, value: Option<&Value>, out: &mut Vec<u8>) {
    let Some(value) = value else { return };
    let items = || value.as_array().into_iter().flatten();
    match form {
        Form::Text => {
            if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
                encoding::string::encode(tag, &text.to_owned(), out);
            }
        }
        Form::Texts => {
            for text in items().filter_map(Value::as_str) {
                encoding::string::encode(tag, &text.to_owned(), out);
            }
        }
        Form::Flag => {
            if value == &Value::Bool(true) {
                encoding::bool::encode(tag, &true, out);
            }
        }
        Form::Whole => {
            if let Some(number) = value.as_i64().filter(|number| *number != 0) {
                encoding::int64::encode(tag, &number, out);
            }
        }
        Form::Float => {
            if let Some(number) = value.as_f64().filter(|number| *number != 0.0) {
                encoding::double::encode(tag, &number, out);
            }
        }
        Form::Any => write_message(tag, any, value, out),
        Form::Anys => items().for_each(|item| write_message(tag, any, item, out)),
        Form::Message(write) => write_message(tag, write, value, out),
        Form::Messages(write) => items().for_each(|item| write_message(tag, write, item, out)),
    }
}

/// What has names that are no fields: a list of names and values.
fn write_named(tag: u32, write: Write, value: &Value, out: &mut Vec<u8>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        write_entry(tag, write, name, value, out);
    }
}

fn write_entry(tag: u32, write: Write, name: &str, value: &Value, out: &mut Vec<u8>) {
    let mut entry = Vec::new();
    encoding::string::encode(1, &name.to_owned(), &mut entry);
    write_message(2, write, value, &mut entry);
    write_bytes(tag, &entry, out);
}

fn write_message(tag: u32, write: Write, value: &Value, out: &mut Vec<u8>) {
    let mut message = Vec::new();
    write(value, &mut message);
    write_bytes(tag, &message, out);
}

fn write_bytes(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
    encoding::encode_key(tag, WireType::LengthDelimited, out);
    encoding::encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}
