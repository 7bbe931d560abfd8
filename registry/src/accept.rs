//! What a client sent becomes an object of its kind: typed metadata, no field that the schema does not know, defaults.

use bailiwick_machinery::decode::FieldValidation;
use bailiwick_machinery::host::HostType;
use bailiwick_machinery::{
    FieldError, FieldErrors, FieldPath, GroupKind, GroupVersionKind, Object, encode, metadata, schema,
    validate_object_metadata, validate_object_metadata_update,
};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::served_kind::ServedKind;
use crate::update::Part;
use crate::write::{Tracking, WriteOptions};

/// An object that has the form of its kind, which is all that can be written. Its values are checked when it is.
#[derive(Clone, Debug)]
pub struct Accepted {
    object: Object,
    warnings: Vec<String>,
}

// === impl Accepted ===

impl Accepted {
    /// The object.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Puts the object into a namespace, where it names none.
    pub fn set_namespace(&mut self, namespace: &str) {
        self.object.set_metadata_text("namespace", namespace);
    }

    /// Forgets which state of an object it was made for: it is to be a new one.
    pub fn forget_version(&mut self) {
        self.object.metadata_mut().remove("resourceVersion");
    }

    pub(crate) fn into_parts(self) -> (Object, Vec<String>) {
        (self.object, self.warnings)
    }
}

// === impl ServedKind ===

impl ServedKind {
    /// Makes an object of what a client sent, and notes what the client should know about it.
    pub fn accept(&self, mut object: Object, options: &WriteOptions) -> Result<Accepted> {
        match self.host_type() {
            Some(_) => self.check_typed(&object)?,
            None => self.check_type(&object)?,
        }
        let unknown = match self.host_type() {
            Some(host_type) => host_type.accept(&mut object).map_err(|error| self.unfit(&error))?,
            None => self.fit_to_schema(&mut object, &options.tracking)?,
        };
        self.kind().rules().complete(&mut object);
        let problems = problems(options);
        let mut warnings = options.validation.apply(problems, &unknown).map_err(|error| self.unfit(&error))?;
        warnings.extend(merge_owners(&mut object));
        Ok(Accepted { object, warnings })
    }

    /// Makes an object what its schema says it is. Returns where the fields were that nobody knows.
    fn fit_to_schema(&self, object: &mut Object, tracking: &Tracking) -> Result<Vec<String>> {
        let mut unknown = metadata::coerce(object).map_err(|error| self.unfit(&error))?;
        let schema = &self.version().schema;
        let mut value = Value::Object(std::mem::take(object.fields_mut()));
        // Kinds of our own have types, which read whole numbers as such and as nothing else.
        if !self.kind().is_defined() {
            encode::make_whole(&mut value);
        }
        unknown.extend(schema::prune(schema, &mut value));
        // Of what was applied to a kind that is data, Kubernetes takes null for a value: also that which is left of an object
        // when its last field is taken out.
        if !(self.kind().is_defined() && matches!(tracking, Tracking::Done)) {
            schema::drop_nulls(schema, &mut value);
        }
        unknown.extend(schema::coerce_embedded(schema, &mut value).map_err(|error| self.unfit(&error))?);
        schema::default(schema, &mut value);
        if let Value::Object(fields) = value {
            *object.fields_mut() = fields;
        }
        Ok(unknown)
    }

    /// Gives an object without a status the one that its schema says it has then: the status is taken away from whoever writes
    /// the object, and Kubernetes adds this whenever the object is read.
    pub(crate) fn fill_status(&self, object: &mut Object) {
        if !self.has_status() || object.fields().contains_key("status") {
            return;
        }
        let schema = self.version().schema.property("status");
        let Some((schema, mut status)) = schema.and_then(|schema| Some((schema, schema.default_value()?.clone())))
        else {
            return;
        };
        schema::default(schema, &mut status);
        object.fields_mut().insert("status".to_owned(), status);
    }

    fn unfit(&self, error: &dyn std::fmt::Display) -> Error {
        let (kind, version) = (self.gvk().kind.to_string(), self.gvk().version.to_string());
        Error::Unfit { kind, version, why: error.to_string() }
    }

    /// Notes what is wrong with a new object.
    pub(crate) fn validate(&self, object: &Object) -> Result<()> {
        let mut errors = FieldErrors::default();
        validate_object_metadata(object, self.kind().scope(), self.kind().name_rule(), &mut errors);
        // What Go's types accept has no other rules than those of its strategy.
        if self.host_type().is_none() {
            schema::validate(&self.version().schema, object.as_value(), &FieldPath::root(), &mut errors);
        }
        self.kind().rules().validate(object, &mut errors);
        self.invalid_if_any(object, errors)
    }

    /// Notes what is wrong with an object that takes the place of another.
    pub(crate) fn validate_update<'o>(&self, part: Part, object: &'o Object, old: &'o Object) -> Result<()> {
        let mut errors = FieldErrors::default();
        validate_object_metadata_update(object, old, &mut errors);
        let schema = &self.version().schema;
        match part {
            Part::Main => {
                if self.host_type().is_none() {
                    let root = FieldPath::root();
                    schema::validate_update(schema, object.as_value(), old.as_value(), &root, &mut errors);
                }
                self.kind().rules().validate_change(object, old, &mut errors);
            }
            Part::Own(_) => self.kind().rules().validate_part(part, object, old, &mut errors),
            Part::Status if self.host_type().is_some() => {
                self.kind().rules().validate_part(part, object, old, &mut errors);
            }
            Part::Status => {
                let status = |object: &'o Object| object.fields().get("status");
                if let (Some(schema), Some(new)) = (schema.property("status"), status(object)) {
                    let path = FieldPath::new("status");
                    schema::validate_update(schema, new, status(old).unwrap_or(&Value::Null), &path, &mut errors);
                }
            }
        }
        self.invalid_if_any(object, errors)
    }

    /// The same for a kind with a Go type, which another kind cannot even be read as.
    fn check_typed(&self, object: &Object) -> Result<()> {
        if object.gvk().as_ref() == Some(self.gvk()) {
            return Ok(());
        }
        let (found, version) = (object.kind(), object.api_version());
        let (wanted, home) = (&self.gvk().kind, self.gvk().group_version());
        Err(Error::BadRequest(format!(
            "{found} in version \"{version}\" cannot be handled as a {wanted}: it must be a {wanted} of version \"{home}\""
        )))
    }

    /// Refuses an object of another kind. Who reads a body has checked its version; a patch can change it.
    fn check_type(&self, object: &Object) -> Result<()> {
        let mut errors = FieldErrors::default();
        let wanted = self.gvk().group_version().to_string();
        if self.host_type().is_some() && (object.kind(), object.api_version()) != (&*self.gvk().kind, &*wanted) {
            let (found, version, kind) = (object.kind(), object.api_version(), &self.gvk().kind);
            return Err(Error::BadRequest(format!(
                "{found} in version {version:?} cannot be handled as a {kind}: it must be {kind} in version {wanted:?}"
            )));
        }
        if object.kind() != self.gvk().kind {
            let why = format!("must be {}", self.gvk().kind);
            errors.push(FieldError::invalid(FieldPath::new("kind"), object.kind(), why));
        }
        if object.api_version() != wanted {
            let why = format!("must be {wanted}");
            errors.push(FieldError::invalid(FieldPath::new("apiVersion"), object.api_version(), why));
        }
        let group = object.gvk().map_or_else(|| self.gvk().group.clone(), |gvk| gvk.group);
        errors.into_result().map_err(|errors| Error::Invalid {
            kind: GroupKind::new(group, object.kind().to_owned()),
            name: object.metadata().name().to_owned(),
            errors,
        })
    }

    fn invalid_if_any(&self, object: &Object, errors: FieldErrors) -> Result<()> {
        // Kubernetes speaks of its own kinds by the group they are at home in.
        let home = self.kind().stored_gvk().filter(|_| self.host_type().is_some());
        errors.into_result().map_err(|errors| Error::Invalid {
            kind: home.map_or_else(|| self.group_kind(), |home| home.group_kind()),
            name: object.metadata().name().to_owned(),
            errors,
        })
    }
}

/// Makes an object of one of Kubernetes' own kinds, which need not be served by itself, of what a client sent. Returns it
/// with what the client should know.
pub(crate) fn accept_host(
    gvk: &GroupVersionKind,
    mut object: Object,
    options: &WriteOptions,
) -> Result<(Object, Vec<String>)> {
    let unfit = |error: &dyn std::fmt::Display| Error::Unfit {
        kind: gvk.kind.to_string(),
        version: gvk.version.to_string(),
        why: error.to_string(),
    };
    let (found, kind) = (object.kind().to_owned(), &gvk.kind);
    let host_type = HostType::of(gvk).filter(|_| object.gvk().as_ref() == Some(gvk));
    let host_type = host_type.ok_or_else(|| {
        let version = object.api_version();
        Error::BadRequest(format!("{found} in version \"{version}\" cannot be handled as a {kind}"))
    })?;
    let unknown = host_type.accept(&mut object).map_err(|error| unfit(&error))?;
    let warnings = options.validation.apply(problems(options), &unknown).map_err(|error| unfit(&error))?;
    Ok((object, warnings))
}

/// What was found while the object was read. YAML's problems come together, and are warned of one by one.
fn problems(options: &WriteOptions) -> Vec<String> {
    if options.validation == FieldValidation::Strict {
        return options.problems.clone();
    }
    let lines = |problem: &String| match problem.strip_prefix("yaml: unmarshal errors:") {
        Some(lines) => lines.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect(),
        None => vec![problem.clone()],
    };
    options.problems.iter().flat_map(lines).collect()
}

/// Drops owners that are there twice, and says so.
fn merge_owners(object: &mut Object) -> Option<String> {
    let owners = object.metadata().get("ownerReferences").and_then(Value::as_array)?;
    let mut kept: Vec<Value> = Vec::with_capacity(owners.len());
    let mut repeated: Vec<&str> = Vec::new();
    for owner in owners {
        if kept.contains(owner) {
            repeated.push(owner.get("uid").and_then(Value::as_str).unwrap_or_default());
        } else {
            kept.push(owner.clone());
        }
    }
    if repeated.is_empty() {
        return None;
    }
    repeated.sort_unstable();
    repeated.dedup();
    let warning = format!(
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        repeated.join(",")
    );
    object.metadata_mut().insert("ownerReferences".to_owned(), Value::Array(kept));
    Some(warning)
}

/// Finalizers that the object did not have before and that another program might use for something else.
pub(crate) fn finalizer_warnings(object: &Object, old: Option<&Object>) -> Vec<String> {
    let known = |finalizer: &str| old.is_some_and(|old| old.metadata().finalizers().any(|found| found == finalizer));
    let builtin = |finalizer: &str| {
        matches!(finalizer, metadata::FINALIZER_ORPHAN | metadata::FINALIZER_FOREGROUND | "kubernetes")
    };
    let unqualified = object
        .metadata()
        .finalizers()
        .filter(|finalizer| !finalizer.contains('/') && !builtin(finalizer) && !known(finalizer));
    unqualified
        .map(|finalizer| {
            format!(
                "metadata.finalizers: \"{finalizer}\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
            )
        })
        .collect()
}
