//! Whether objects have the form of their kinds, as far as the host tells it, and whether what takes the place of references can.

use std::sync::Arc;

use bailiwick_api::bundle::{Form, ObjectPath, Part, Plan, PlannedResource, Segment, Use};
use bailiwick_machinery::openapi::{HostSchema, Step};
use bailiwick_machinery::{FieldError, FieldErrorKind, FieldErrors, FieldPath};
use serde_json::Value;

use super::BundleRules;
use crate::error::Result;
use crate::host::HostKind;

type Schemas = Vec<Option<Arc<HostSchema>>>;

/// Notes kinds of the cluster as a whole: their objects are in no namespace, and so nobody's of one.
pub(super) fn check_scope(plan: &Plan, kinds: &[Option<HostKind>]) -> FieldErrors {
    let mut errors = FieldErrors::default();
    for (resource, kind) in plan.resources().iter().zip(kinds) {
        if kind.as_ref().is_some_and(|kind| !kind.namespaced) {
            let why = format!(
                "{} is a kind of the cluster as a whole; Bundles contain objects of their own namespace",
                resource.kind
            );
            errors.push(FieldError::forbidden(place(resource).child("kind"), why));
        }
    }
    errors
}

// === impl BundleRules ===

impl BundleRules {
    /// Notes what cannot fit.
    pub(super) async fn check_fit(&self, plan: &Plan, kinds: &[Option<HostKind>]) -> Result<FieldErrors> {
        let mut schemas = Schemas::new();
        for kind in kinds {
            schemas.push(match kind {
                Some(kind) => self.host.schema(kind).await?,
                None => None,
            });
        }
        let mut errors = FieldErrors::default();
        for (index, resource) in plan.resources().iter().enumerate() {
            let Some(Some(schema)) = schemas.get(index) else { continue };
            check_object(resource, schema, &mut errors);
            for used in resource.template.uses() {
                let types = source_types(plan, &schemas, used);
                check_use(resource, used, schema, types.as_deref(), &mut errors);
            }
        }
        Ok(errors)
    }
}

/// Notes what is surely wrong with an object, whatever takes the place of its references.
fn check_object(resource: &PlannedResource, schema: &HostSchema, errors: &mut FieldErrors) {
    let mut object = resource.template.object().clone();
    for used in resource.template.uses().iter().filter(|used| used.form == Form::Value) {
        set_null(&mut object, used.at.segments());
    }
    let uses: Vec<(FieldPath, Form)> =
        resource.template.uses().iter().map(|used| (path(FieldPath::root(), &used.at), used.form)).collect();
    for mut error in schema.check(&object).into_vec() {
        let is_open = uses.iter().any(|(at, form)| match form {
            Form::Value => error.field == *at,
            // Text is text, but which is not known.
            Form::Text => error.field == *at && error.kind == FieldErrorKind::NotSupported,
        });
        if !is_open {
            if uses.iter().any(|(at, _)| error.field == *at) {
                error.detail = format!("{}; use \"$((…))\" for a value that is no text", error.detail);
            }
            error.field = FieldPath::new(&join(&place(resource), &error.field));
            errors.push(error);
        }
    }
}

/// Notes a reference to something of a type that cannot stand where it is wanted.
fn check_use(
    resource: &PlannedResource,
    used: &Use,
    schema: &HostSchema,
    types: Option<&[String]>,
    errors: &mut FieldErrors,
) {
    let Some(types) = types else { return };
    let note = |errors: &mut FieldErrors, why: String| {
        errors.push(FieldError::invalid(path(place(resource), &used.at), used.reference.to_string(), why));
    };
    match used.form {
        Form::Text if types.iter().all(|name| matches!(name.as_str(), "object" | "array")) => {
            note(errors, format!("is of type {}, which no text can contain; use \"$((…))\"", types.join(" or ")));
        }
        Form::Text => {}
        Form::Value => {
            let Some(wanted) = schema.types_at(&steps(&used.at)) else { return };
            let fits =
                |name: &String| wanted.iter().any(|wanted| name == wanted || (is_number(name) && is_number(wanted)));
            if !types.iter().any(fits) {
                note(errors, format!("is of type {}, and {} is wanted here", types.join(" or "), wanted.join(" or ")));
            }
        }
    }
}

/// The types of what a reference names, if the host tells.
fn source_types(plan: &Plan, schemas: &Schemas, used: &Use) -> Option<Vec<String>> {
    if used.reference.part != Part::Object {
        return None;
    }
    let place = plan.resources().iter().position(|resource| resource.name == used.reference.resource)?;
    let types = schemas.get(place)?.as_ref()?.types_at(&steps(&used.reference.path))?;
    Some(types.into_iter().map(str::to_owned).collect())
}

fn steps(path: &ObjectPath) -> Vec<Step<'_>> {
    let step = |segment| match segment {
        &Segment::Index(_) => Step::Item,
        Segment::Key(key) => Step::Field(key.as_str()),
    };
    path.segments().iter().map(step).collect()
}

fn is_number(name: &str) -> bool {
    matches!(name, "integer" | "number")
}

fn set_null(value: &mut Value, path: &[Segment]) {
    let mut found = Some(value);
    for segment in path {
        found = found.and_then(|value| match segment {
            Segment::Key(key) => value.get_mut(key),
            Segment::Index(index) => value.get_mut(*index),
        });
    }
    if let Some(found) = found {
        *found = Value::Null;
    }
}

/// Where the object of a resource stands.
fn place(resource: &PlannedResource) -> FieldPath {
    FieldPath::new(&resource.place)
}

fn path(base: FieldPath, path: &ObjectPath) -> FieldPath {
    path.segments().iter().fold(base, |at, segment| match segment {
        Segment::Key(key) => at.child(key),
        Segment::Index(index) => at.index(*index),
    })
}

fn join(base: &FieldPath, field: &FieldPath) -> String {
    match field.as_str() {
        "" => base.as_str().to_owned(),
        field => format!("{base}.{field}"),
    }
}
