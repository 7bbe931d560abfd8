//! What a client sent becomes an object of its kind: typed metadata, no field that the schema does not know, defaults.

use bailiwick_machinery::{FieldErrors, FieldPath, Object, metadata, schema, validate_object_metadata};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::kind::ServedKind;
use crate::write::WriteOptions;

// === impl ServedKind ===

impl ServedKind {
    /// Makes an object of what a client sent, and says what the client should know about it.
    pub fn accept(&self, object: &mut Object, options: &WriteOptions) -> Result<Vec<String>> {
        let mut unknown = metadata::coerce(object).map_err(|error| {
            let (kind, version) = (&self.gvk().kind, &self.gvk().version);
            Error::BadRequest(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {error}"))
        })?;
        let schema = &self.version().schema;
        let mut value = Value::Object(std::mem::take(object.fields_mut()));
        unknown.extend(schema::prune(schema, &mut value));
        schema::drop_nulls(schema, &mut value);
        schema::default(schema, &mut value);
        if let Value::Object(fields) = value {
            *object.fields_mut() = fields;
        }
        options.validation.apply(options.problems.clone(), &unknown).map_err(Error::Strict)
    }

    /// Notes what is wrong with a new object.
    pub(crate) fn validate(&self, object: &Object) -> Result<()> {
        let mut errors = FieldErrors::default();
        validate_object_metadata(object, self.kind().scope(), self.kind().name_rule(), &mut errors);
        schema::validate(&self.version().schema, object.as_value(), &FieldPath::root(), &mut errors);
        self.kind().rules().validate(object, &mut errors);
        self.invalid_if_any(object, errors)
    }

    /// Notes what is wrong with an object that takes the place of another.
    pub(crate) fn validate_update(&self, object: &Object, old: &Object) -> Result<()> {
        let mut errors = FieldErrors::default();
        bailiwick_machinery::validate_object_metadata_update(object, old, &mut errors);
        let (schema, root) = (&self.version().schema, FieldPath::root());
        schema::validate_update(schema, object.as_value(), old.as_value(), &root, &mut errors);
        self.kind().rules().validate(object, &mut errors);
        self.kind().rules().validate_update(object, old, &mut errors);
        self.invalid_if_any(object, errors)
    }

    fn invalid_if_any(&self, object: &Object, errors: FieldErrors) -> Result<()> {
        errors.into_result().map_err(|errors| Error::Invalid {
            kind: self.group_kind(),
            name: object.metadata().name().to_owned(),
            errors,
        })
    }
}
