//! Definitions of custom resources: kinds that are data (`apiextensions.k8s.io/v1` CustomResourceDefinition).
//!
//! The rules and the words are those of apiextensions-apiserver; `tests/data/go/crd.json` records them. What is not as
//! there: a conversion webhook is refused, rules in CEL are kept but not compiled, and a schema is always structural,
//! because nothing else can be served.

mod accept;
mod approval;
mod columns;
mod definition;
mod json_path;
mod names;
mod shared;
mod validate;
mod version;
mod warnings;

pub use accept::{AcceptedNames, TakenNames, accept_names, set_condition};
pub use approval::{Approval, is_protected_group};
pub use columns::columns;
pub use definition::{
    APPROVAL_ANNOTATION, Condition, Conversion, Definition, DefinitionError, DefinitionSpec, DefinitionStatus, Names,
    PrinterColumn, Scale, SelectablePath, Subresources, Version, VersionSchema, set_defaults,
};
pub use json_path::{JsonPath, JsonPathError, MAX_VALUES};
pub use validate::{MAX_SELECTABLE_FIELDS, validate, validate_status_update, validate_update};
pub use warnings::warnings;

#[cfg(test)]
mod tests;
