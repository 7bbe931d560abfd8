//! A schema as Kubernetes prints it in errors that show a whole one: the JSON of its internal Go type, which has every
//! field there is, under its Go name and in the order of the type.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::props::Props;

/// How a field of the Go type is written.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// Text; empty if absent.
    Text,
    /// False if absent.
    Flag,
    /// A plain value that may be absent.
    Plain,
    Schema,
    Schemas,
    NamedSchemas,
    SchemaOrSchemas,
    SchemaOrBool,
    SchemasOrNames,
    Docs,
    Rules,
}

/// The Go type's fields: name, keyword, form.
const FIELDS: [(&str, &str, Form); 44] = [
    ("ID", "id", Form::Text),
    ("Schema", "$schema", Form::Text),
    ("Ref", "$ref", Form::Plain),
    ("Description", "description", Form::Text),
    ("Type", "type", Form::Text),
    ("Nullable", "nullable", Form::Flag),
    ("Format", "format", Form::Text),
    ("Title", "title", Form::Text),
    ("Default", "default", Form::Plain),
    ("Maximum", "maximum", Form::Plain),
    ("ExclusiveMaximum", "exclusiveMaximum", Form::Flag),
    ("Minimum", "minimum", Form::Plain),
    ("ExclusiveMinimum", "exclusiveMinimum", Form::Flag),
    ("MaxLength", "maxLength", Form::Plain),
    ("MinLength", "minLength", Form::Plain),
    ("Pattern", "pattern", Form::Text),
    ("MaxItems", "maxItems", Form::Plain),
    ("MinItems", "minItems", Form::Plain),
    ("UniqueItems", "uniqueItems", Form::Flag),
    ("MultipleOf", "multipleOf", Form::Plain),
    ("Enum", "enum", Form::Plain),
    ("MaxProperties", "maxProperties", Form::Plain),
    ("MinProperties", "minProperties", Form::Plain),
    ("Required", "required", Form::Plain),
    ("Items", "items", Form::SchemaOrSchemas),
    ("AllOf", "allOf", Form::Schemas),
    ("OneOf", "oneOf", Form::Schemas),
    ("AnyOf", "anyOf", Form::Schemas),
    ("Not", "not", Form::Schema),
    ("Properties", "properties", Form::NamedSchemas),
    ("AdditionalProperties", "additionalProperties", Form::SchemaOrBool),
    ("PatternProperties", "patternProperties", Form::NamedSchemas),
    ("Dependencies", "dependencies", Form::SchemasOrNames),
    ("AdditionalItems", "additionalItems", Form::SchemaOrBool),
    ("Definitions", "definitions", Form::NamedSchemas),
    ("ExternalDocs", "externalDocs", Form::Docs),
    ("Example", "example", Form::Plain),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Form::Plain),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Form::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Form::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Form::Plain),
    ("XListType", "x-kubernetes-list-type", Form::Plain),
    ("XMapType", "x-kubernetes-map-type", Form::Plain),
    ("XValidations", "x-kubernetes-validations", Form::Rules),
];

/// The Go names of the fields that are not zero, in the order of the type.
pub(super) fn set_fields(props: Props<'_>) -> impl Iterator<Item = &'static str> {
    let is_set = move |keyword: &str, form: Form| match form {
        Form::Text => !props.text(keyword).is_empty(),
        Form::Flag => props.flag(keyword),
        _ => props.has(keyword),
    };
    FIELDS.into_iter().filter(move |(_, keyword, form)| is_set(keyword, *form)).map(|(name, _, _)| name)
}

/// The same, of what is left of a schema once it was read: what is not supported is gone, and most of what is empty.
pub(super) fn structural_fields(props: Props<'_>) -> impl Iterator<Item = &'static str> {
    let is_read = |field: &str| {
        !matches!(
            field,
            "ID" | "Schema" | "Ref" | "PatternProperties" | "Dependencies" | "AdditionalItems" | "Definitions"
        )
    };
    let is_left = move |field: &str| match field {
        "Enum" => props.list("enum").next().is_some(),
        "Items" => props.items().is_some(),
        "AllOf" => props.branches("allOf").next().is_some(),
        "AnyOf" => props.branches("anyOf").next().is_some(),
        "OneOf" => props.branches("oneOf").next().is_some(),
        _ => true,
    };
    set_fields(props).filter(move |field| is_read(field) && is_left(field))
}

/// A schema in this form.
pub(super) struct GoForm<'j>(pub(super) Props<'j>);

/// A schema in this form, for errors that show more than it.
pub(crate) struct SchemaInGo<'j>(pub(crate) &'j Map<String, Value>);

impl Serialize for SchemaInGo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        GoForm(Props::new(self.0)).serialize(serializer)
    }
}

/// What stands under `items` in this form.
pub(super) struct GoItems<'j>(pub(super) &'j Value);

/// A value under a keyword.
struct GoField<'j>(Option<&'j Value>, Form);

// === impl GoForm ===

impl Serialize for GoForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(FIELDS.len()))?;
        for (name, keyword, form) in FIELDS {
            fields.serialize_entry(name, &GoField(self.0.get(keyword), form))?;
        }
        fields.end()
    }
}

// === impl GoItems ===

impl Serialize for GoItems<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        GoField(Some(self.0), Form::SchemaOrSchemas).serialize(serializer)
    }
}

// === impl GoField ===

impl Serialize for GoField<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(value) = self.0 else {
            return match self.1 {
                Form::Text => serializer.serialize_str(""),
                Form::Flag => serializer.serialize_bool(false),
                _ => serializer.serialize_unit(),
            };
        };
        match (self.1, value) {
            (Form::Schema, Value::Object(fields)) => GoForm(Props::new(fields)).serialize(serializer),
            (Form::Schemas, Value::Array(items)) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(&Self(Some(item), Form::Schema)))?;
                list.end()
            }
            (Form::NamedSchemas | Form::SchemasOrNames, Value::Object(fields)) => {
                let inner = if self.1 == Form::NamedSchemas { Form::Schema } else { Form::SchemasOrNames };
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    match inner {
                        Form::Schema => map.serialize_entry(name, &Self(Some(value), Form::Schema))?,
                        _ => map.serialize_entry(name, &either(value, "Schema", "Property", Form::Plain))?,
                    }
                }
                map.end()
            }
            (Form::SchemaOrSchemas, value) => {
                either(value, "Schema", "JSONSchemas", Form::Schemas).serialize(serializer)
            }
            (Form::SchemaOrBool, value) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("Allows", &value.as_bool().unwrap_or(true))?;
                map.serialize_entry("Schema", &Self(Some(value).filter(|value| value.is_object()), Form::Schema))?;
                map.end()
            }
            (Form::Docs, value) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("Description", &Self(value.get("description"), Form::Text))?;
                map.serialize_entry("URL", &Self(value.get("url"), Form::Text))?;
                map.end()
            }
            (Form::Rules, Value::Array(rules)) => {
                let mut list = serializer.serialize_seq(Some(rules.len()))?;
                rules.iter().try_for_each(|rule| list.serialize_element(&GoRule(rule)))?;
                list.end()
            }
            (_, value) => value.serialize(serializer),
        }
    }
}

/// A schema, or a list of something.
struct Either<'j> {
    value: &'j Value,
    one: &'static str,
    many: &'static str,
    form: Form,
}

fn either<'j>(value: &'j Value, one: &'static str, many: &'static str, form: Form) -> Either<'j> {
    Either { value, one, many, form }
}

impl Serialize for Either<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let given = |wanted: bool| Some(self.value).filter(|_| wanted);
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(self.one, &GoField(given(self.value.is_object()), Form::Schema))?;
        map.serialize_entry(self.many, &GoField(given(self.value.is_array()), self.form))?;
        map.end()
    }
}

/// A rule in CEL.
struct GoRule<'j>(&'j Value);

impl Serialize for GoRule<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(6))?;
        for (name, keyword, form) in [
            ("Rule", "rule", Form::Text),
            ("Message", "message", Form::Text),
            ("MessageExpression", "messageExpression", Form::Text),
            ("Reason", "reason", Form::Plain),
            ("FieldPath", "fieldPath", Form::Text),
            ("OptionalOldSelf", "optionalOldSelf", Form::Plain),
        ] {
            map.serialize_entry(name, &GoField(self.0.get(keyword), form))?;
        }
        map.end()
    }
}
