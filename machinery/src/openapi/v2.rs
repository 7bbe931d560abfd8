//! The document of version 2, for everything. It is what version 3 says, less what version 2 has no words for.

mod reduce;
mod shared;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::components::{Edition, children, needed};
use super::names::tag;
use super::parameters::{Parameter, Place};
use super::routes::{Operation, Path, paths};
use super::{Info, Resource};

pub(super) use reduce::reduce;

const PREFIX: &str = "#/definitions/";

/// The document of all resources.
pub fn document(info: Info<'_>, resources: &[Resource<'_>]) -> Value {
    let mut roots = BTreeSet::new();
    let mut items = Map::new();
    for resource in resources {
        let tag = tag(resource.group_version);
        for path in paths(resource) {
            for operation in &path.operations {
                roots.insert(operation.answer.clone());
                roots.extend(operation.body.iter().map(|body| body.component.clone()));
            }
            items.insert(path.path.clone(), path_item(&path, &tag));
        }
    }
    let mut definitions = needed(resources, Edition::V2, roots.into_iter().collect());
    definitions.values_mut().for_each(link);
    let parameters = shared::share(&mut items);
    json!({
        "swagger": "2.0",
        "info": { "title": info.title, "version": info.version },
        "paths": items,
        "definitions": definitions,
        "parameters": parameters,
    })
}

fn path_item(path: &Path, tag: &str) -> Value {
    let all: Vec<Vec<Value>> = path.operations.iter().map(write_parameters).collect();
    let is_common = |parameter: &&Value| all.iter().all(|other| other.contains(parameter));
    let mut item = Map::new();
    for (operation, parameters) in path.operations.iter().zip(&all) {
        let own = parameters.iter().filter(|parameter| !is_common(parameter)).cloned().collect();
        item.insert(operation.method.to_owned(), write_operation(operation, own, tag));
    }
    let common: Vec<Value> = all.first().into_iter().flatten().filter(is_common).cloned().collect();
    if !common.is_empty() {
        item.insert("parameters".to_owned(), common.into());
    }
    item.into()
}

fn write_operation(operation: &Operation, parameters: Vec<Value>, tag: &str) -> Value {
    let answer = json!({ "$ref": format!("{PREFIX}{}", operation.answer) });
    let respond = |(code, name): &(&str, &str)| ((*code).to_owned(), json!({ "description": name, "schema": answer }));
    let mut responses: Map<String, Value> = operation.responses.iter().map(respond).collect();
    responses.insert("401".to_owned(), json!({ "description": "Unauthorized" }));
    let mut written = json!({
        "description": operation.description,
        "consumes": operation.content_types,
        "produces": operation.answer_types,
        "schemes": ["https"],
        "tags": [tag],
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
    written
}

/// The body is a parameter here, and the first of them.
fn write_parameters(operation: &Operation) -> Vec<Value> {
    let body = operation.body.as_ref().map(|body| {
        let schema = json!({ "$ref": format!("{PREFIX}{}", body.component) });
        let mut written = json!({ "name": "body", "in": "body", "schema": schema });
        if body.required {
            written["required"] = true.into();
        }
        written
    });
    body.into_iter().chain(operation.parameters.iter().map(write_parameter)).collect()
}

fn write_parameter(parameter: &Parameter) -> Value {
    let mut written = json!({
        "name": parameter.name,
        "in": parameter.place.as_str(),
        "description": parameter.description,
        "type": parameter.kind,
        "uniqueItems": true,
    });
    if parameter.place == Place::Path {
        written["required"] = true.into();
    }
    written
}

/// Makes references of names, and leaves defaults out: clients of version 2 take them for rules.
fn link(schema: &mut Map<String, Value>) {
    if let Some(Value::String(name)) = schema.get_mut("$ref") {
        name.insert_str(0, PREFIX);
    }
    schema.remove("default");
    children(schema).for_each(link);
}
