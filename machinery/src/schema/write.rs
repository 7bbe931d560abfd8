//! A schema as JSON, in the OpenAPI form that clients read.

use serde_json::{Map, Number, Value};

use super::{Additional, Node, Rules, Schema};

// === impl Schema ===

impl Schema {
    /// The OpenAPI form, which [`Schema::from_json`] reads.
    pub fn to_json(&self) -> Value {
        let node = &*self.0;
        let mut fields = node.notes.as_deref().cloned().unwrap_or_default();
        let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        if !node.description.is_empty() {
            put("description", (*node.description).into());
        }
        if let Some(kind) = node.kind {
            put("type", kind.name().into());
        }
        flags(node, &mut put);
        if !node.properties.is_empty() {
            let properties = node.properties.iter().map(|(name, schema)| (name.to_string(), schema.to_json()));
            put("properties", Value::Object(properties.collect::<Map<_, _>>()));
        }
        match &node.additional {
            Additional::Unset => {}
            Additional::Allowed(allowed) => put("additionalProperties", (*allowed).into()),
            Additional::Schema(schema) => put("additionalProperties", schema.to_json()),
        }
        if let Some(items) = &node.items {
            put("items", items.to_json());
        }
        if !node.required.is_empty() {
            put("required", names(&node.required));
        }
        if let Some(default) = &node.default {
            put("default", (**default).clone());
        }
        if let Some(rules) = &node.rules {
            write_rules(rules, &mut put);
        }
        Value::Object(fields)
    }
}

fn flags(node: &Node, put: &mut impl FnMut(&str, Value)) {
    for (name, flag) in [
        ("nullable", node.nullable),
        ("x-kubernetes-int-or-string", node.int_or_string),
        ("x-kubernetes-preserve-unknown-fields", node.preserve_unknown),
        ("x-kubernetes-embedded-resource", node.embedded),
    ] {
        if flag {
            put(name, true.into());
        }
    }
    if let Some(list_type) = node.list_type {
        put("x-kubernetes-list-type", list_type.name().into());
    }
    if let Some(map_type) = node.map_type {
        put("x-kubernetes-map-type", map_type.name().into());
    }
}

fn write_rules(rules: &Rules, put: &mut impl FnMut(&str, Value)) {
    if let Some(format) = &rules.format {
        put("format", (&**format).into());
    }
    if let Some(pattern) = &rules.pattern {
        put("pattern", pattern.source().into());
    }
    if !rules.map_keys.is_empty() {
        put("x-kubernetes-list-map-keys", names(&rules.map_keys));
    }
    if !rules.options.is_empty() {
        put("enum", rules.options.clone().into());
    }
    let numbers = [("minimum", rules.minimum), ("maximum", rules.maximum), ("multipleOf", rules.multiple_of)];
    for (name, number) in numbers {
        if let Some(number) = number.and_then(shortest) {
            put(name, number.into());
        }
    }
    let flags = [
        ("exclusiveMinimum", rules.exclusive_minimum),
        ("exclusiveMaximum", rules.exclusive_maximum),
        ("uniqueItems", rules.unique_items),
    ];
    for (name, flag) in flags {
        if flag {
            put(name, true.into());
        }
    }
    let counts = [
        ("minLength", rules.min_length),
        ("maxLength", rules.max_length),
        ("minItems", rules.min_items),
        ("maxItems", rules.max_items),
        ("minProperties", rules.min_properties),
        ("maxProperties", rules.max_properties),
    ];
    for (name, count) in counts {
        if let Some(count) = count {
            put(name, count.into());
        }
    }
    for (name, branches) in [("allOf", &rules.all_of), ("anyOf", &rules.any_of), ("oneOf", &rules.one_of)] {
        if !branches.is_empty() {
            put(name, branches.iter().map(Schema::to_json).collect::<Vec<_>>().into());
        }
    }
    if let Some(not) = &rules.not {
        put("not", not.to_json());
    }
}

fn names(names: &[Box<str>]) -> Value {
    names.iter().map(|name| Value::from(&**name)).collect::<Vec<_>>().into()
}

/// Whole numbers without a fraction: `0`, not `0.0`.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "compared after the conversion")]
fn shortest(float: f64) -> Option<Number> {
    let whole = float as i64;
    if whole as f64 == float && whole != i64::MAX { Some(whole.into()) } else { Number::from_f64(float) }
}
