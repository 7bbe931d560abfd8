//! The document of version 3 of a group and version.

use serde_json::{Map, Value, json};

use super::components::{Edition, children, needed};
use super::names::tag;
use super::parameters::{Parameter, Place};
use super::routes::{Operation, Path, paths};
use super::{Info, Resource};
use crate::group::GroupVersion;

const PREFIX: &str = "#/components/schemas/";

/// The document of a group and version, which tells of those of the resources that belong to it.
pub fn document(info: Info<'_>, group_version: &GroupVersion, resources: &[Resource<'_>]) -> Value {
    let own: Vec<Resource<'_>> =
        resources.iter().filter(|resource| resource.group_version == group_version).cloned().collect();
    let all: Vec<Path> = own.iter().flat_map(paths).collect();
    let operations = all.iter().flat_map(|path| &path.operations);
    let roots =
        operations.flat_map(|operation| [Some(&operation.answer), operation.body.as_ref().map(|b| &b.component)]);
    let mut schemas = needed(resources, Edition::V3, roots.flatten().cloned().collect());
    schemas.values_mut().for_each(link);
    let tag = tag(group_version);
    let paths: Map<String, Value> = all.iter().map(|path| (path.path.clone(), path_item(path, &tag))).collect();
    json!({
        "openapi": "3.0.0",
        "info": { "title": info.title, "version": info.version },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn path_item(path: &Path, tag: &str) -> Value {
    let is_common = |parameter: &&Parameter| path.operations.iter().all(|other| other.parameters.contains(parameter));
    let mut item = Map::new();
    for operation in &path.operations {
        let own = operation.parameters.iter().filter(|parameter| !is_common(parameter));
        item.insert(operation.method.to_owned(), write_operation(operation, own.map(write_parameter).collect(), tag));
    }
    let first = path.operations.first().into_iter().flat_map(|operation| &operation.parameters);
    let common: Vec<Value> = first.filter(is_common).map(write_parameter).collect();
    if !common.is_empty() {
        item.insert("parameters".to_owned(), common.into());
    }
    item.into()
}

fn write_operation(operation: &Operation, parameters: Vec<Value>, tag: &str) -> Value {
    let mut responses: Map<String, Value> = operation
        .responses
        .iter()
        .map(|(code, name)| {
            let content = content(operation.answer_types, &operation.answer);
            ((*code).to_owned(), json!({ "description": name, "content": content }))
        })
        .collect();
    responses.insert("401".to_owned(), json!({ "description": "Unauthorized" }));
    let mut written = json!({
        "tags": [tag],
        "description": operation.description,
        "operationId": operation.id,
        "responses": responses,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {
            "group": operation.kind.group,
            "version": operation.kind.version,
            "kind": operation.kind.kind,
        },
    });
    if !parameters.is_empty() {
        written["parameters"] = parameters.into();
    }
    if let Some(body) = &operation.body {
        written["requestBody"] = json!({ "content": content(operation.content_types, &body.component) });
        if body.required {
            written["requestBody"]["required"] = true.into();
        }
    }
    written
}

fn content(types: &[&str], component: &str) -> Map<String, Value> {
    let one = |content_type: &&str| {
        let schema = json!({ "schema": { "$ref": format!("{PREFIX}{component}") } });
        ((*content_type).to_owned(), schema)
    };
    types.iter().map(one).collect()
}

fn write_parameter(parameter: &Parameter) -> Value {
    let mut written = json!({
        "name": parameter.name,
        "in": parameter.place.as_str(),
        "description": parameter.description,
        "schema": { "type": parameter.kind, "uniqueItems": true },
    });
    if parameter.place == Place::Path {
        written["required"] = true.into();
    }
    written
}

/// Makes references of names. A reference allows nothing beside it, so that what else there is takes it in.
fn link(schema: &mut Map<String, Value>) {
    if let Some(Value::String(name)) = schema.remove("$ref") {
        let reference = format!("{PREFIX}{name}");
        match schema.is_empty() {
            true => schema.insert("$ref".to_owned(), reference.into()),
            false => schema.insert("allOf".to_owned(), json!([{ "$ref": reference }])),
        };
    }
    children(schema).for_each(link);
}
