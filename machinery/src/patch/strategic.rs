//! Strategic merge patches: merge patches that know of lists whose items have keys. They exist for Kubernetes' own kinds only,
//! because the rules stand in the tags of Go's types.
//!
//! ```text
//! object  {"containers":[{"name":"a","image":"x"},{"name":"b"}]}
//! patch   {"containers":[{"name":"a","image":"y"},{"name":"b","$patch":"delete"}]}
//! result  {"containers":[{"name":"a","image":"y"}]}
//! ```
//!
//! Behaviour and texts are those of apimachinery's package. Where Go would stop with a panic, because it compares what
//! cannot be compared, the patch is refused.

mod directive;
mod list;
mod order;
mod print;
mod types;
mod work;

use serde_json::{Map, Value};

use crate::decode::{DecodeError, Decoded, Duplicate, MAX_DEPTH, from_json, problems};
use crate::encode::json_len;
use crate::host::HostType;

use super::json::depth;
use super::{MAX_RESULT, PatchError, PatchFailure};
use directive::{
    DELETE_FROM_LIST, DIRECTIVE, SET_ORDER, discard_nulls, field_of, remove_directives, retain_keys, whole_object,
};
use print::go_type;
use types::DataType;
use work::Work;

/// A strategic merge patch.
#[derive(Clone, Debug, PartialEq)]
pub struct StrategicPatch {
    fields: Map<String, Value>,
    duplicates: Vec<Duplicate>,
}

/// Why a strategic merge patch was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrategicError {
    /// It is no JSON object.
    #[error("{0}")]
    Malformed(DecodeError),
    /// The form of a directive is wrong.
    #[error("invalid patch format of {0}")]
    Format(&'static str),
    /// A list has lists as items.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// An item of a list lacks its key.
    #[error("map: {item} does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The item, as Go prints it.
        item: String,
        /// The key.
        key: &'static str,
    },
    /// A value has another type than its place asks for.
    #[error("expected a {expected}, but received a {found}")]
    WrongType {
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// `$patch` says what nobody knows.
    #[error("unknown patch type: {directive} in map: {item}")]
    UnknownDirective {
        /// What it says, as Go prints it.
        directive: String,
        /// Where it says it, as Go prints it.
        item: String,
    },
    /// `$patch: merge` in a list.
    #[error("merging lists cannot yet be specified in the patch")]
    MergeDirective,
    /// An item of a list is no object, and is looked for as one.
    #[error("value for key {index} is not a map")]
    NotAnItem {
        /// Its index.
        index: usize,
    },
    /// The items of a list have different types.
    #[error("list element types are not identical: {items}")]
    MixedItems {
        /// The items, as Go prints them.
        items: String,
    },
    /// An order is given to a list that has no items.
    #[error("no elements in any of the given slices")]
    NoItems,
    /// The items of a list are objects, and nothing is known to tell them apart by.
    #[error("cannot merge lists without merge key for {kind}")]
    NoKeyKnown {
        /// What the items are, in Go.
        kind: &'static str,
    },
    /// The patch has items in another order than it asks for.
    #[error("The order in patch list:\n{items}\n doesn't match $setElementOrder list:\n{order}\n")]
    WrongOrder {
        /// The items.
        items: String,
        /// The order.
        order: String,
    },
    /// There is no such field.
    #[error("unable to find api field in struct {owner} for the json field {}", crate::go::quote(field))]
    NoField {
        /// The type.
        owner: &'static str,
        /// The field.
        field: String,
    },
    /// Objects stand where the type has none.
    #[error("merging an object in json but data type is not struct, instead is: {kind}")]
    NotAStruct {
        /// What the type is, in Go.
        kind: &'static str,
    },
    /// Lists stand where the type has none.
    #[error("expected slice or array type, but got: {kind}")]
    NotAList {
        /// What the type is that has the field, in Go.
        kind: &'static str,
    },
    /// Two values had to be compared that cannot be.
    #[error("values of the patch cannot be compared: a list or an object stands where only single values can")]
    Incomparable,
    /// It takes too long.
    #[error("the patch compares more than {} items", super::MAX_WORK)]
    TooMuchWork,
}

type Result<T> = std::result::Result<T, StrategicError>;

const MERGE: &str = "merge";
const REPLACE: &str = "replace";

// === impl StrategicPatch ===

impl StrategicPatch {
    /// Reads a patch. Nothing is a patch that changes nothing.
    pub fn decode(body: &[u8]) -> std::result::Result<Self, PatchError> {
        let malformed = |error| PatchError::Strategic(StrategicError::Malformed(error));
        let Decoded { value, duplicates } = from_json(body).map_err(malformed)?;
        let fields = match value {
            Value::Null => Map::new(),
            value => crate::decode::object_or_error(value).map_err(malformed)?,
        };
        Ok(Self { fields, duplicates })
    }

    /// What is questionable about how it was written.
    pub fn problems(&self) -> Vec<String> {
        problems(&self.duplicates)
    }

    /// The patch as Go prints it.
    pub fn shown(&self) -> String {
        print::plain(&Value::Object(self.fields.clone()))
    }

    /// The object with the patch applied.
    pub fn apply(
        &self,
        host_type: HostType,
        object: &Map<String, Value>,
    ) -> std::result::Result<Map<String, Value>, PatchError> {
        let mut merge = Merge { work: Work::new() };
        let root = DataType::root(host_type);
        let result = merge.map(object.clone(), self.fields.clone(), root).map_err(PatchError::Strategic)?;
        let result = Value::Object(result);
        if depth(&result) > MAX_DEPTH {
            return Err(PatchError::ResultTooDeep);
        }
        if json_len(&result) > MAX_RESULT {
            return Err(PatchError::ResultTooLarge);
        }
        crate::decode::object_or_error(result).map_err(PatchError::Malformed)
    }
}

// === impl StrategicError ===

impl StrategicError {
    pub(super) fn failure(&self) -> PatchFailure {
        match self {
            Self::Malformed(DecodeError::TooManyValues) | Self::TooMuchWork => PatchFailure::TooLarge,
            Self::Malformed(_) | Self::Format(_) => PatchFailure::BadRequest,
            Self::ListOfLists | Self::Incomparable => PatchFailure::Unprocessable,
            // Upstream has not thought of these, and takes them for its own fault.
            Self::NoMergeKey { .. }
            | Self::WrongType { .. }
            | Self::UnknownDirective { .. }
            | Self::MergeDirective
            | Self::NotAnItem { .. }
            | Self::MixedItems { .. }
            | Self::NoItems
            | Self::NoKeyKnown { .. }
            | Self::WrongOrder { .. }
            | Self::NoField { .. }
            | Self::NotAStruct { .. }
            | Self::NotAList { .. } => PatchFailure::Unknown,
        }
    }
}

/// A merge under way.
struct Merge {
    work: Work,
}

// === impl Merge ===

impl Merge {
    /// Merges the fields of a patch into those of an object.
    fn map(
        &mut self,
        mut original: Map<String, Value>,
        mut patch: Map<String, Value>,
        data_type: DataType,
    ) -> Result<Map<String, Value>> {
        if let Some(directive) = patch.get(DIRECTIVE) {
            let directive = directive.clone();
            return whole_object(&directive, patch);
        }
        retain_keys(&mut original, &mut patch)?;
        self.ordered_lists(&mut original, &mut patch, data_type)?;
        for (name, value) in patch {
            self.field(&mut original, &name, value, data_type)?;
        }
        Ok(original)
    }

    fn field(
        &mut self,
        original: &mut Map<String, Value>,
        name: &str,
        mut value: Value,
        data_type: DataType,
    ) -> Result<()> {
        let deletes = name.starts_with(DELETE_FROM_LIST);
        let mut name = name;
        if deletes {
            let field = field_of(name, DELETE_FROM_LIST)?;
            name = if field.is_empty() { name } else { field };
        }
        if value.is_null() {
            original.remove(name);
            return Ok(());
        }
        let old = original.get_mut(name).filter(|old| go_type(old) == go_type(&value));
        let Some(old) = old else {
            if !deletes {
                discard_nulls(&mut value);
                replace(original, name, value);
            }
            return Ok(());
        };
        match (old, value) {
            (Value::Object(old), Value::Object(patch)) => {
                let (field_type, rule) = data_type.field(name)?;
                let merged = match rule.strategy {
                    REPLACE => patch,
                    _ => self.map(std::mem::take(old), patch, field_type)?,
                };
                *old = merged;
            }
            (Value::Array(old), Value::Array(patch)) => {
                let (item_type, rule) = data_type.items(name)?;
                let merged = if rule.strategy == MERGE || deletes {
                    self.list(std::mem::take(old), patch, item_type, rule.merge_key, deletes)?
                } else {
                    patch
                };
                *old = merged;
            }
            (_, value) => replace(original, name, value),
        }
        Ok(())
    }

    /// Lists that are given an order: `$setElementOrder/<field>`.
    fn ordered_lists(
        &mut self,
        original: &mut Map<String, Value>,
        patch: &mut Map<String, Value>,
        data_type: DataType,
    ) -> Result<()> {
        let directives: Vec<String> = patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
        for directive in directives {
            let order = list_of(patch.remove(&directive))?.unwrap_or_default();
            let name = field_of(&directive, SET_ORDER)?;
            let old = list_of(original.get(name).cloned())?;
            let new = list_of(patch.get(name).cloned())?;
            let (item_type, rule) = data_type.items(name)?;
            self.check_order(new.as_deref().unwrap_or_default(), &order, rule.merge_key)?;
            let (old, new) = (old.as_deref(), new);
            let merged = match (old, &new) {
                (None, None) => continue,
                (Some(old), None) => old.to_vec(),
                (None, Some(new)) => match remove_directives(Value::Array(new.clone())) {
                    Some(Value::Array(items)) => items,
                    _ => continue,
                },
                (Some(old), Some(new)) if rule.strategy == MERGE => {
                    self.list(old.to_vec(), new.clone(), item_type, rule.merge_key, false)?
                }
                (Some(_), Some(new)) => new.clone(),
            };
            let old = old.unwrap_or_default();
            let kind = list::item_kind(old, new.as_deref().unwrap_or_default());
            let items = self.in_order(merged, &order, old, rule.merge_key, kind)?;
            original.insert(name.to_owned(), Value::Array(items));
            patch.remove(name);
        }
        Ok(())
    }
}

fn replace(original: &mut Map<String, Value>, name: &str, value: Value) {
    match remove_directives(value) {
        Some(value) => drop(original.insert(name.to_owned(), value)),
        None => drop(original.remove(name)),
    }
}

fn list_of(value: Option<Value>) -> Result<Option<Vec<Value>>> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(StrategicError::WrongType { expected: print::LIST, found: go_type(&other) }),
    }
}

#[cfg(test)]
mod tests;
