//! Definitions of custom resources that are made by chance, and custom resources of them: some as they should be, most nearly so.
//!
//! Whatever a definition says is said somewhere in Kubernetes' documentation of schemas; nothing here knows which of it may be
//! said together. A server either refuses the definition, and both must with the same words, or serves it, and then both must
//! prune, default, refuse and show its objects alike.

use bailiwick_machinery::{FieldErrors, Object, crd};
use bailiwick_test_host::Random;
use serde_json::{Map, Value, json};

use crate::mutations::DEFINITIONS_PATH;
use crate::scenario::{Action, Scenario, Step};

/// How many objects are made of each definition.
const OBJECTS: usize = 12;
/// How often values are not what their schemas say.
const STRAYS: usize = 12;
/// How deep schemas go.
const DEPTH: usize = 4;
/// The names of fields: few, so that objects have some that their schema knows.
const FIELDS: [&str; 6] = ["alpha", "beta", "gamma", "delta", "kind", "x-y"];
const PATTERNS: [&str; 5] = ["^[a-z]+$", "^.{2,4}$", "a|b", "^(0|[1-9][0-9]*)$", "["];
const FORMATS: [&str; 16] = [
    "date-time",
    "date",
    "duration",
    "byte",
    "password",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uri",
    "uuid",
    "hexcolor",
    "int-or-string",
    "something",
];
const TEXTS: [&str; 14] = [
    "",
    "a",
    "b",
    "abc",
    "ABC",
    "2020-01-02",
    "2020-01-02T03:04:05Z",
    "10.0.0.1",
    "10.0.0.0/8",
    "3h",
    "YWJj",
    "a@b.c",
    "00000000-0000-4000-8000-000000000000",
    "äöü",
];

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Chances, and what they make.
struct Maker {
    random: Random,
    /// Once in so many times something is said that should not be.
    slips: usize,
    /// Once in so many times a value is not what its schema says.
    strays: usize,
}

/// A definition, and what is made of it. The same for the same seed and number.
pub(crate) fn scenario(seed: u64, number: usize) -> Scenario {
    let mut random = Random::new(Random::new(seed).number() ^ number as u64);
    // Half of the definitions are to be good: only then is there something to do with them.
    let slips = if random.below(2) == 0 { 12 } else { usize::MAX };
    let mut maker = Maker { random, slips, strays: STRAYS };
    let (schema, status) = (maker.root(), maker.once_in(2));
    let definition = maker.definition(schema.clone(), status);
    let objects = "/apis/${id}.example.com/v1/namespaces/${ns}/things";
    let mut steps = vec![send("POST", DEFINITIONS_PATH, Some(&definition))];
    if is_served(&definition) {
        steps.push(Step { awaited: vec!["\"items\"".to_owned()], ..send("GET", objects, None) });
        for index in 0..OBJECTS {
            let object = maker.object(&schema, index);
            let named = format!("{objects}/o{index}");
            steps.push(send("POST", objects, Some(&object)));
            let mut shown = send("GET", &named, None);
            if index % 2 == 1 {
                shown.headers.push(("Accept".to_owned(), TABLE.to_owned()));
            }
            steps.push(shown);
            let patch = maker.object(&schema, index);
            steps.push(patch_by("application/merge-patch+json", &named, &patch));
            if status {
                steps.push(patch_by("application/merge-patch+json", &format!("{named}/status"), &patch));
            }
            // Of several things that are wrong with what is applied, Kubernetes tells of one by chance.
            let object = maker.exact(|maker| maker.object(&schema, index));
            steps.push(patch_by("application/apply-patch+yaml", &format!("{named}?fieldManager=someone"), &object));
        }
    }
    Scenario { file: "made".to_owned(), name: number.to_string(), steps }
}

/// Whether there will be objects: as we see it. If the other sees it otherwise, the first answer tells.
fn is_served(definition: &Value) -> bool {
    let named = serde_json::from_str(&definition.to_string().replace("${id}", "id"));
    let Some(mut definition) = named.ok().and_then(|value: Value| Object::try_from(value).ok()) else { return false };
    let mut errors = FieldErrors::default();
    crd::set_defaults(&mut definition);
    crd::validate(&definition, &mut errors);
    errors.is_empty()
}

fn send(method: &str, path: &str, body: Option<&Value>) -> Step {
    let action = Action::Send { method: method.to_owned(), path: path.to_owned() };
    Step::new(0, action, None).with_body(body.map(Value::to_string).unwrap_or_default())
}

fn patch_by(media_type: &str, path: &str, body: &Value) -> Step {
    let mut step = send("PATCH", path, Some(body));
    step.headers.push(("Content-Type".to_owned(), media_type.to_owned()));
    step
}

// === impl Maker ===

impl Maker {
    fn once_in(&mut self, times: usize) -> bool {
        times != usize::MAX && self.random.below(times) == 0
    }

    fn slips(&mut self) -> bool {
        self.once_in(self.slips)
    }

    fn pick<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.random.below(things.len())]
    }

    /// What is made without straying from the schema.
    fn exact(&mut self, make: impl FnOnce(&mut Self) -> Value) -> Value {
        let strays = std::mem::replace(&mut self.strays, usize::MAX);
        let made = make(self);
        self.strays = strays;
        made
    }

    fn either(&mut self, one: Value, other: Value) -> Value {
        if self.once_in(2) { one } else { other }
    }

    fn definition(&mut self, schema: Value, status: bool) -> Value {
        let mut version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        if status {
            version["subresources"] = json!({"status": {}});
        }
        let path = |maker: &mut Self| format!(".spec.{}", maker.pick(&FIELDS[..4]));
        let columns: Vec<Value> = (0..self.random.below(4))
            .map(|number| {
                let kind = self.pick(&["string", "integer", "number", "boolean", "date"]);
                json!({"name": format!("C{number}"), "type": kind, "jsonPath": path(self), "priority": number})
            })
            .collect();
        if !columns.is_empty() {
            version["additionalPrinterColumns"] = json!(columns);
        }
        if self.slips() {
            version["selectableFields"] = json!([{"jsonPath": path(self)}]);
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.${id}.example.com"},
            "spec": {"group": "${id}.example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                "versions": [version]},
        })
    }

    fn root(&mut self) -> Value {
        let (spec, status) = (self.schema(DEPTH), self.schema(1));
        let mut root = json!({"type": "object", "properties": {"spec": spec, "status": status}});
        if self.once_in(3) {
            root["required"] = json!(["spec"]);
        }
        if self.slips() {
            root["properties"]["metadata"] =
                json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 2}}});
        }
        root
    }

    /// A schema, which has other schemas in it as long as there is some depth left.
    fn schema(&mut self, depth: usize) -> Value {
        let nested = if depth == 0 { 0 } else { 6 };
        let mut schema = match self.random.below(8 + nested) {
            0 | 1 => self.text(),
            2 | 3 => self.number("integer"),
            4 => self.number("number"),
            5 => json!({"type": "boolean"}),
            6 => json!({"x-kubernetes-int-or-string": true}),
            7 => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            8 | 9 => self.list(depth),
            10 => self.map(depth),
            _ => self.fields(depth),
        };
        if self.once_in(8) {
            schema["nullable"] = json!(true);
        }
        if self.once_in(10) {
            schema["description"] = json!("What it is.");
        }
        if self.once_in(6) {
            schema["default"] = if self.slips() { self.anything() } else { self.exact(|maker| maker.value(&schema)) };
        }
        if self.once_in(10) {
            self.add_alternatives(&mut schema);
        }
        if self.slips() {
            self.add_slip(&mut schema);
        }
        schema
    }

    fn text(&mut self) -> Value {
        let mut schema = json!({"type": "string"});
        if self.once_in(4) {
            schema["minLength"] = json!(self.random.below(3));
        }
        if self.once_in(4) {
            schema["maxLength"] = json!(self.random.below(5));
        }
        if self.once_in(5) {
            let most = if self.slips() { PATTERNS.len() } else { PATTERNS.len() - 1 };
            schema["pattern"] = json!(self.pick(&PATTERNS[..most]));
        }
        if self.once_in(5) {
            schema["format"] = json!(self.pick(&FORMATS));
        }
        if self.once_in(6) {
            schema["enum"] = json!([self.pick(&TEXTS), "abc"]);
        }
        schema
    }

    fn number(&mut self, kind: &str) -> Value {
        let mut schema = json!({"type": kind});
        if self.once_in(4) {
            schema["minimum"] = json!(self.random.below(4));
            schema["exclusiveMinimum"] = json!(self.once_in(2));
        }
        if self.once_in(4) {
            schema["maximum"] = json!(self.random.below(9));
            schema["exclusiveMaximum"] = json!(self.once_in(2));
        }
        if self.once_in(6) {
            schema["multipleOf"] = if kind == "number" { json!(0.5) } else { json!(2) };
        }
        if self.once_in(4) {
            schema["format"] = json!(self.pick(&["int32", "int64", "float", "double"]));
        }
        if self.once_in(8) {
            schema["enum"] = json!([1, 2, 7]);
        }
        schema
    }

    fn list(&mut self, depth: usize) -> Value {
        let (items, kind) = (self.schema(depth - 1), self.pick(&["", "", "atomic", "set", "map"]));
        let mut schema = json!({"type": "array", "items": items});
        if !kind.is_empty() {
            schema["x-kubernetes-list-type"] = json!(kind);
        }
        match kind {
            "set" => schema["items"] = json!({"type": self.pick(&["string", "integer"])}),
            "map" => {
                let mut items = self.fields(depth - 1);
                items["properties"]["alpha"] = json!({"type": self.pick(&["string", "integer"])});
                items["required"] = json!(["alpha"]);
                (schema["items"], schema["x-kubernetes-list-map-keys"]) = (items, json!(["alpha"]));
            }
            _ => {}
        }
        if self.once_in(4) {
            schema["maxItems"] = json!(1 + self.random.below(3));
        }
        if self.once_in(6) {
            schema["minItems"] = json!(self.random.below(3));
        }
        schema
    }

    fn map(&mut self, depth: usize) -> Value {
        let mut schema = json!({"type": "object", "additionalProperties": self.schema(depth - 1)});
        if self.once_in(4) {
            schema["maxProperties"] = json!(1 + self.random.below(2));
        }
        if self.once_in(6) {
            schema["additionalProperties"] = json!(true);
        }
        schema
    }

    fn fields(&mut self, depth: usize) -> Value {
        let mut properties = Map::new();
        for _ in 0..1 + self.random.below(4) {
            let name = self.pick(&FIELDS);
            properties.insert(name.to_owned(), self.schema(depth.saturating_sub(1)));
        }
        let required: Vec<&String> = properties.keys().take(self.random.below(2)).collect();
        let mut schema = json!({"type": "object", "required": required, "properties": properties});
        if self.once_in(6) {
            schema["x-kubernetes-map-type"] = json!(self.pick(&["atomic", "granular"]));
        }
        if self.once_in(6) {
            schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
        }
        if self.once_in(10) {
            schema["x-kubernetes-embedded-resource"] = json!(true);
        }
        schema
    }

    /// Alternatives may only say what values must be, and only of fields that are there.
    fn add_alternatives(&mut self, schema: &mut Value) {
        let field = schema["properties"].as_object().and_then(|fields| fields.keys().next().cloned());
        let said = |maker: &mut Self| match &field {
            Some(field) => maker.either(json!({"required": [field]}), json!({"properties": {field: {}}})),
            None => maker.either(json!({"enum": ["a", 1, true]}), json!({"minLength": 1})),
        };
        match self.pick(&["allOf", "anyOf", "oneOf", "not"]) {
            "not" => schema["not"] = said(self),
            some => schema[some] = json!([said(self), said(self)]),
        }
    }

    /// What should not be said, or not here.
    fn add_slip(&mut self, schema: &mut Value) {
        let slips = [
            ("$ref", json!("#/definitions/X")),
            ("uniqueItems", json!(true)),
            ("additionalProperties", json!(false)),
            ("x-kubernetes-list-type", json!("map")),
            ("x-kubernetes-list-map-keys", json!(["alpha", "alpha"])),
            ("x-kubernetes-map-type", json!("granular")),
            ("x-kubernetes-int-or-string", json!(true)),
            ("x-kubernetes-embedded-resource", json!(true)),
            ("x-kubernetes-preserve-unknown-fields", json!(false)),
            ("type", json!("null")),
            ("type", Value::Null),
            ("nullable", json!(true)),
            ("minLength", json!(-1)),
            ("maxItems", json!(0)),
            ("required", json!(["missing", "missing"])),
            ("enum", json!([])),
            ("allOf", json!([{"type": "string"}])),
            ("anyOf", json!([{"default": 1}])),
            ("not", json!({"properties": {"other": {"nullable": true}}})),
            ("dependencies", json!({"a": ["b"]})),
            ("patternProperties", json!({"a": {"type": "string"}})),
            ("id", json!("x")),
            ("externalDocs", json!({"url": "x"})),
            ("example", json!({"a": 1})),
            ("properties", json!({"metadata": {"type": "string"}})),
            ("items", json!([{"type": "string"}])),
        ];
        let (said, what) = slips[self.random.below(slips.len())].clone();
        schema[said] = what;
    }

    fn object(&mut self, schema: &Value, index: usize) -> Value {
        let mut object =
            json!({"apiVersion": "${id}.example.com/v1", "kind": "Thing", "metadata": {"name": format!("o{index}")}});
        for part in ["spec", "status"] {
            if !self.once_in(8) {
                object[part] = self.value(&schema["properties"][part]);
            }
        }
        object
    }

    /// A value as a schema wants it, for the most part.
    fn value(&mut self, schema: &Value) -> Value {
        match schema["type"].as_str() {
            _ if self.once_in(self.strays) => self.anything(),
            Some("string") => match schema["enum"].as_array() {
                Some(values) if !values.is_empty() => values[self.random.below(values.len())].clone(),
                _ => json!(self.pick(&TEXTS)),
            },
            Some("integer") => json!(self.random.below(8)),
            Some("number") => {
                let whole = json!(self.random.below(8));
                self.either(whole, json!(1.5))
            }
            Some("boolean") => json!(self.once_in(2)),
            Some("array") => {
                let items = &schema["items"];
                Value::Array((0..self.random.below(4)).map(|_| self.value(items)).collect())
            }
            Some("object") => {
                let mut fields = Map::new();
                for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                    if !self.once_in(5) {
                        fields.insert(name.clone(), self.value(schema));
                    }
                }
                if schema["additionalProperties"].is_object() {
                    for name in ["one", "two"] {
                        fields.insert(name.to_owned(), self.value(&schema["additionalProperties"]));
                    }
                }
                if self.once_in(self.strays) {
                    fields.insert("unknown".to_owned(), self.anything());
                }
                Value::Object(fields)
            }
            _ => self.either(json!(7), json!("7")),
        }
    }

    fn anything(&mut self) -> Value {
        let things = [
            Value::Null,
            json!(true),
            json!(-1),
            json!(1.5),
            json!(3_000_000_000_u64),
            json!(""),
            json!("abc"),
            json!([]),
            json!([1, "a", null]),
            json!({}),
            json!({"alpha": null, "beta": {"gamma": []}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inner", "labels": {"a": "b"}}}),
        ];
        things[self.random.below(things.len())].clone()
    }
}
