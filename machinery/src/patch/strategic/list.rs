//! Merging lists: of single values, each of which is there once, and of objects with keys.

use serde_json::{Map, Value};

use super::directive::{DIRECTIVE, unknown};
use super::print::{OBJECT, go_type, list, plain};
use super::types::DataType;
use super::work::{comparable, equal};
use super::{Merge, Result, StrategicError};

/// What the items of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    Object,
    Single,
}

// === impl Merge ===

impl Merge {
    pub(super) fn list(
        &mut self,
        original: Vec<Value>,
        patch: Vec<Value>,
        item_type: DataType,
        merge_key: &'static str,
        deletes: bool,
    ) -> Result<Vec<Value>> {
        if original.is_empty() && patch.is_empty() {
            return Ok(original);
        }
        let kind = item_kind(&original, &patch)?;
        let (merged, original, patch) = match kind {
            ItemKind::Single if deletes => {
                comparable(&patch)?;
                let mut kept = Vec::with_capacity(original.len());
                for item in original {
                    if self.position(&patch, &item)?.is_none() {
                        kept.push(item);
                    }
                }
                return Ok(kept);
            }
            ItemKind::Single => {
                let both: Vec<Value> = original.iter().chain(&patch).cloned().collect();
                (self.each_once(both)?, original, patch)
            }
            ItemKind::Object if merge_key.is_empty() => {
                return Err(StrategicError::NoKeyKnown { kind: item_type.kind() });
            }
            ItemKind::Object => {
                let (original, patch) = self.directives(original, patch, merge_key)?;
                (self.objects(original.clone(), &patch, item_type, merge_key)?, original, patch)
            }
        };
        self.in_order(merged, &patch, &original, merge_key, Ok(kind))
    }

    /// Upstream puts the last item in the place of one that is there twice.
    fn each_once(&mut self, mut items: Vec<Value>) -> Result<Vec<Value>> {
        let mut at = 0;
        while at < items.len() {
            let mut other = at + 1;
            while other < items.len() {
                self.work.charge(1)?;
                if equal(&items[at], &items[other])? {
                    items.swap_remove(other);
                } else {
                    other += 1;
                }
            }
            at += 1;
        }
        Ok(items)
    }

    /// Does what the items of a patch say that are directives, and returns what the other items are to be merged into.
    fn directives(
        &mut self,
        mut original: Vec<Value>,
        patch: Vec<Value>,
        merge_key: &'static str,
    ) -> Result<(Vec<Value>, Vec<Value>)> {
        let mut others = Vec::with_capacity(patch.len());
        let mut replaces = false;
        for item in patch {
            let Value::Object(fields) = &item else { continue };
            match fields.get(DIRECTIVE) {
                None => others.push(item),
                Some(directive) => match directive.as_str() {
                    Some("delete") => {
                        let key = key_of(fields, merge_key)?.clone();
                        while let Some(at) = self.find(&original, merge_key, &key)? {
                            original.remove(at);
                        }
                    }
                    Some("replace") => replaces = true,
                    Some("merge") => return Err(StrategicError::MergeDirective),
                    _ => return Err(unknown(directive, fields.clone())),
                },
            }
        }
        Ok(if replaces { (others, Vec::new()) } else { (original, others) })
    }

    fn objects(
        &mut self,
        mut original: Vec<Value>,
        patch: &[Value],
        item_type: DataType,
        merge_key: &'static str,
    ) -> Result<Vec<Value>> {
        for item in patch {
            let Value::Object(fields) = item else { continue };
            let key = key_of(fields, merge_key)?;
            match self.find(&original, merge_key, key)? {
                None => original.push(item.clone()),
                Some(at) => {
                    if let Value::Object(old) = &mut original[at] {
                        *old = self.map(std::mem::take(old), fields.clone(), item_type)?;
                    }
                }
            }
        }
        Ok(original)
    }

    /// Where the object with that key is.
    pub(super) fn find(&mut self, items: &[Value], merge_key: &str, key: &Value) -> Result<Option<usize>> {
        self.work.charge(items.len())?;
        for (index, item) in items.iter().enumerate() {
            let Value::Object(fields) = item else { return Err(StrategicError::NotAnItem { index }) };
            if let Some(found) = fields.get(merge_key)
                && equal(found, key)?
            {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Where a single value is.
    pub(super) fn position(&mut self, items: &[Value], wanted: &Value) -> Result<Option<usize>> {
        self.work.charge(items.len())?;
        Ok(items.iter().position(|item| crate::go::same(item, wanted)))
    }
}

/// The value that tells an item from others.
pub(super) fn key_of<'i>(item: &'i Map<String, Value>, merge_key: &'static str) -> Result<&'i Value> {
    item.get(merge_key)
        .ok_or_else(|| StrategicError::NoMergeKey { item: plain(&Value::Object(item.clone())), key: merge_key })
}

/// The fields of an item that must be an object.
pub(super) fn object(item: &Value) -> Result<&Map<String, Value>> {
    item.as_object().ok_or_else(|| StrategicError::WrongType { expected: OBJECT, found: go_type(item) })
}

/// What the items of both lists are, which must be the same, and no lists.
pub(super) fn item_kind(original: &[Value], patch: &[Value]) -> Result<ItemKind> {
    let mut items = original.iter().chain(patch);
    let first = items.next().ok_or(StrategicError::NoItems)?;
    match first {
        Value::Array(_) => return Err(StrategicError::ListOfLists),
        Value::Null => return Err(StrategicError::Incomparable),
        _ => {}
    }
    if items.any(|item| go_type(item) != go_type(first)) {
        let items = format!("[{} {}]", list(original), list(patch));
        return Err(StrategicError::MixedItems { items });
    }
    Ok(if first.is_object() { ItemKind::Object } else { ItemKind::Single })
}
