//! What becomes of an object when another one is laid over it: nothing goes away, and what both have is as the other has
//! it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::PathElement;
use super::item::element_of;
use super::types::{self, Form, List, Type};

/// Lays `over` over `under`. Both are of the type; `over` has no duplicates. `None` if nothing is left.
pub(super) fn merge(kind: &Type, under: &Value, over: &Value) -> Option<Value> {
    either(kind, Some(under), Some(over))
}

fn either(kind: &Type, under: Option<&Value>, over: Option<&Value>) -> Option<Value> {
    // Of two that are not alike, the one on top decides.
    match kind.form(over.or(under)?) {
        Form::Scalar(_) => over.or(under).cloned(),
        Form::List(list) => lists(list, under, over),
        Form::Map(map) => maps(map, under, over),
    }
}

fn maps(map: &types::Map, under: Option<&Value>, over: Option<&Value>) -> Option<Value> {
    let empty = Map::new();
    let below = under.and_then(Value::as_object).unwrap_or(&empty);
    let above = over.and_then(Value::as_object).unwrap_or(&empty);
    if map.atomic || (below.is_empty() && above.is_empty()) {
        return over.or(under).cloned();
    }
    let mut merged = Map::new();
    let names = below.keys().chain(above.keys().filter(|name| !below.contains_key(*name)));
    for name in names {
        let kind = map.field(name).unwrap_or(&Type::Untyped);
        if let Some(value) = either(kind, below.get(name), above.get(name)) {
            merged.insert(name.clone(), value);
        }
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}

fn lists(list: &List, under: Option<&Value>, over: Option<&Value>) -> Option<Value> {
    let below = under.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let above = over.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if list.is_atomic() || (below.is_empty() && above.is_empty()) {
        return over.or(under).cloned();
    }
    let merged = Items { list, below: Side::of(list, below), above: Side::of(list, above), taken: BTreeSet::new() };
    let merged = merged.merge();
    (!merged.is_empty()).then_some(Value::Array(merged))
}

/// The items of a list, in order and by what tells them apart.
struct Side<'v> {
    items: Vec<(PathElement, &'v Value)>,
    /// Null for what occurs more than once: such items are not merged with others.
    known: BTreeMap<PathElement, &'v Value>,
}

// === impl Side ===

impl<'v> Side<'v> {
    fn of(list: &List, values: &'v [Value]) -> Self {
        let items: Vec<_> = values.iter().filter_map(|item| Some((element_of(list, item).ok()?, item))).collect();
        let mut known = BTreeMap::new();
        for (element, item) in &items {
            known.entry(element.clone()).and_modify(|known| *known = &Value::Null).or_insert(*item);
        }
        Self { items, known }
    }
}

struct Items<'v> {
    list: &'v List,
    below: Side<'v>,
    above: Side<'v>,
    /// What was taken from above, alone or merged.
    taken: BTreeSet<PathElement>,
}

// === impl Items ===

impl Items<'_> {
    /// Both lists in one. What is in one of them only keeps its place before or after what both have; what both have is
    /// in the order of the list on top.
    fn merge(mut self) -> Vec<Value> {
        let mut merged = Vec::with_capacity(self.below.items.len().max(self.above.items.len()));
        let shared = self.above.items.iter().map(|(element, _)| element);
        let shared: Vec<_> = shared.filter(|element| self.below.known.contains_key(element)).cloned().collect();
        let mut shared = shared.into_iter();
        let mut next_shared = shared.next();
        let (mut below, mut above) = (0, 0);
        loop {
            let lower = self.below.items.get(below).cloned();
            let upper = self.above.items.get(above).map(|(element, _)| element.clone());
            if let (Some((lower, _)), Some(upper)) = (&lower, &upper) {
                if lower == upper {
                    merged.extend(self.take(upper));
                    (below, above) = (below + 1, above + 1);
                    next_shared = shared.next();
                    continue;
                }
                let is_shared = self.above.known.contains_key(lower);
                if is_shared && next_shared.as_ref().is_some_and(|next| next != lower) {
                    below += 1;
                    continue;
                }
            }
            if let Some((lower, item)) = &lower {
                if !self.above.known.contains_key(lower) {
                    merged.extend(either(&self.list.items, Some(item), None));
                    below += 1;
                    continue;
                }
                if self.taken.contains(lower) {
                    below += 1;
                }
            }
            match &upper {
                Some(upper) => {
                    merged.extend(self.take(upper));
                    above += 1;
                    if next_shared.as_ref() == Some(upper) {
                        next_shared = shared.next();
                    }
                }
                None if below >= self.below.items.len() => return merged,
                None => {}
            }
        }
    }

    fn take(&mut self, element: &PathElement) -> Option<Value> {
        self.taken.insert(element.clone());
        let (under, over) = (self.below.known.get(element), self.above.known.get(element));
        either(&self.list.items, under.copied(), over.copied())
    }
}
