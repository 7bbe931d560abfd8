use bailiwick_machinery::{FieldErrors, Object, crd};
use serde_json::{Value, json};

use super::{cluster_roles, custom_resource_definition};
use crate::ResourceClaimDefinition;
use crate::claims::{KindFacts, demands_of_standard_fields, missing_fields, redefined_fields};

/// The definition of the seed.
fn mysql_instance() -> Value {
    json!({
        "metadata": { "name": "mysqlinstance", "uid": "1234" },
        "spec": {
            "group": "database.crossplane.io",
            "names": {
                "kind": "MySQLInstance", "listKind": "MySQLInstanceList", "plural": "mysqlinstances",
                "singular": "mysqlinstance",
            },
            "version": "v1alpha1",
            "validation": { "openAPIV3Schema": {
                "description": "A MySQLInstance is a portable resource claim.",
                "properties": { "spec": { "properties": { "engineVersion": {
                    "description": "EngineVersion specifies the desired MySQL engine version, e.g. 5.7.",
                    "enum": ["5.6", "5.7"], "type": "string",
                } } } },
            } },
        },
    })
}

fn made(definition: Value) -> Value {
    custom_resource_definition(&serde_json::from_value::<ResourceClaimDefinition>(definition).unwrap())
}

fn errors(definition: &Value) -> Vec<String> {
    let Value::Object(fields) = definition.clone() else { unreachable!() };
    let mut object = Object::new(fields);
    crd::set_defaults(&mut object);
    let mut errors = FieldErrors::default();
    crd::validate(&object, &mut errors);
    errors.as_slice().iter().map(ToString::to_string).collect()
}

/// RCD-10 to RCD-19: what the seed's definition becomes has everything filled in, and is a definition that can be served.
#[test]
fn the_seeds_definition() {
    let made = made(mysql_instance());
    assert_eq!(errors(&made), Vec::<String>::new());
    assert_eq!(made["metadata"]["name"], "mysqlinstances.database.crossplane.io");
    assert_eq!(made["metadata"]["annotations"]["claim.bailiwick.dev/definition-uid"], "1234");
    assert_eq!(made["metadata"]["ownerReferences"], Value::Null);
    assert_eq!(made["spec"]["scope"], "Namespaced");
    let version = &made["spec"]["versions"][0];
    assert_eq!(version["subresources"], json!({ "status": {} }));
    let schema = &version["schema"]["openAPIV3Schema"];
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["description"], "A MySQLInstance is a portable resource claim.");
    let spec = &schema["properties"]["spec"];
    assert_eq!(spec["type"], "object");
    assert_eq!(spec["properties"]["engineVersion"]["enum"], json!(["5.6", "5.7"]));
    for field in ["classSelector", "classRef", "resourceRef", "writeConnectionSecretToRef"] {
        assert_eq!(spec["properties"][field]["type"], "object", "{field}");
    }
    let status = &schema["properties"]["status"]["properties"];
    assert_eq!(status["bindingPhase"]["enum"], json!(["Unbindable", "Unbound", "Bound", "Released"]));
    assert_eq!(status["conditions"]["x-kubernetes-list-map-keys"], json!(["type"]));
    let columns: Vec<&str> = version["additionalPrinterColumns"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|column| column["priority"].is_null())
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(columns, ["Status", "Class-Kind", "Class-Name", "Resource-Kind", "Resource-Name", "Age"]);
    assert_eq!(missing_fields(schema), Vec::<String>::new());
}

/// RCD-6: names that follow from others may be left out.
#[test]
fn little_is_enough() {
    let made = made(json!({
        "metadata": { "name": "cache" },
        "spec": { "group": "example.org", "version": "v1", "names": { "kind": "Cache", "plural": "caches" } },
    }));
    assert_eq!(errors(&made), Vec::<String>::new());
    assert_eq!(
        made["spec"]["names"],
        json!({ "kind": "Cache", "plural": "caches", "singular": "cache", "listKind": "CacheList" })
    );
}

/// Only what has fields becomes an object; what is no schema stays so, and is refused.
#[test]
fn types_are_filled_in_where_they_are_clear() {
    let schema = |spec: Value| {
        let mut definition = mysql_instance();
        definition["spec"]["validation"]["openAPIV3Schema"]["properties"]["spec"] = spec;
        made(definition)
    };
    let filled = schema(json!({ "properties": {
        "nested": { "properties": { "a": { "type": "integer" } } },
        "map": { "additionalProperties": { "type": "string" } },
        "list": { "type": "array", "items": { "properties": { "b": { "type": "string" } } } },
        "open": { "x-kubernetes-preserve-unknown-fields": true },
    } }));
    assert_eq!(errors(&filled), Vec::<String>::new());
    for broken in [
        json!({ "properties": { "a": { "description": "has no type" } } }),
        json!({ "properties": { "a": { "type": "array" } } }),
        json!("no schema"),
    ] {
        assert!(!errors(&schema(broken.clone())).is_empty(), "{broken}");
    }
}

/// RCD-20: what is filled in cannot be stated otherwise.
#[test]
fn standard_fields_are_known() {
    let schema = json!({ "properties": {
        "spec": { "properties": { "classRef": { "type": "string" }, "size": {} } },
        "status": { "properties": { "bindingPhase": {}, "mine": {} } },
    } });
    assert_eq!(redefined_fields(schema.as_object().unwrap()), ["spec.classRef", "status.bindingPhase"]);
    let text = json!({ "properties": { "spec": { "type": "string" } } });
    assert_eq!(redefined_fields(text.as_object().unwrap()), ["spec"], "there would be nowhere to put them");
}

/// RCD-20: nor can a schema demand something by which a claim could not have them.
#[test]
fn nothing_is_demanded_of_standard_fields() {
    let demands = |schema: Value| demands_of_standard_fields(schema.as_object().unwrap());
    let in_spec = |spec: Value| json!({ "properties": { "spec": spec } });
    let in_status = |status: Value| json!({ "properties": { "status": status } });
    let harmless = json!({
        "required": ["spec"],
        "allOf": [{ "properties": { "spec": { "required": ["size"] } } }],
        "properties": {
            "spec": {
                "required": ["size"], "maxProperties": 9, "properties": { "size": { "enum": [1] } },
                "anyOf": [{ "required": ["size"] }, { "not": { "properties": { "size": {} } } }],
            },
            "status": { "properties": { "mine": { "type": "object", "required": ["a"] } } },
        },
    });
    assert_eq!(demands(harmless), Vec::<String>::new());
    assert_eq!(demands(in_status(json!({ "required": ["mine"] }))), ["properties.status.required"]);
    let all = json!({ "maxProperties": 1, "allOf": [{}], "anyOf": [{}], "oneOf": [{}], "not": {} });
    let found = ["maxProperties", "allOf", "anyOf", "oneOf", "not"].map(|word| format!("properties.status.{word}"));
    assert_eq!(demands(in_status(all)), found);
    assert_eq!(demands(in_spec(json!({ "required": ["size", "classRef"] }))), ["properties.spec.required"]);
    let nested = json!({ "oneOf": [{ "allOf": [{ "not": { "required": ["resourceRef"] } }] }] });
    assert_eq!(demands(in_spec(nested)), ["properties.spec.oneOf"]);
    let nested = json!({ "not": { "properties": { "classSelector": { "type": "object" } } } });
    assert_eq!(demands(in_spec(nested)), ["properties.spec.not"]);
    assert_eq!(demands(json!({ "required": ["status"] })), ["required"]);
    let above = json!({ "anyOf": [{ "properties": { "status": { "required": ["mine"] } } }] });
    assert_eq!(demands(above), ["anyOf"]);
    let above = json!({ "not": { "allOf": [{ "properties": { "spec": { "required": ["classRef"] } } }] } });
    assert_eq!(demands(above), ["not"]);
}

/// RCD-47: a resource can be asked for only by what can be a name.
#[test]
fn names_of_resources_are_names() {
    let made = made(mysql_instance());
    let name = made
        .pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/resourceRef/properties/name")
        .unwrap();
    assert_eq!(name["maxLength"], 253);
    assert_eq!(name["pattern"], r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$");
}

#[test]
fn facts_of_what_is_made() {
    let mut made = made(mysql_instance());
    assert_eq!(KindFacts::of(&made), [], "it is not established");
    made["status"] = json!({ "conditions": [{ "type": "Established", "status": "True" }] });
    let facts = KindFacts::of(&made);
    assert_eq!(
        (facts[0].plural.as_str(), facts[0].api_version().as_str()),
        ("mysqlinstances", "database.crossplane.io/v1alpha1")
    );
    assert!(facts[0].namespaced && facts[0].missing.is_empty());
}

#[test]
fn roles_can_be_applied() {
    let definition: ResourceClaimDefinition = serde_json::from_value(mysql_instance()).unwrap();
    let roles = Value::Object(cluster_roles(&definition.spec));
    assert_eq!(roles["kind"], "List");
    let roles = roles["items"].as_array().unwrap();
    let verbs = |role: &Value| role["rules"].to_string();
    assert_eq!(roles.len(), 3);
    assert!(roles.iter().all(|role| !verbs(role).contains('*')));
    assert_eq!(roles[0]["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"], "true");
    assert_eq!(roles[2]["metadata"]["labels"]["claim.bailiwick.dev/aggregate-to-provisioner"], "true");
    assert!(!verbs(&roles[0]).contains("status\"],\"verbs\":[\"patch"), "nobody who claims writes a status");
}
