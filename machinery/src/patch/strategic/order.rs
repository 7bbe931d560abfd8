//! The order of a merged list: what the patch has is in the patch's order, what only the object has is in the object's,
//! and the two are woven together so that the object's order is kept where it can be.

use std::collections::HashMap;

use serde_json::Value;

use super::directive::DIRECTIVE;
use super::list::{ItemKind, key_of, object};
use super::print::list;
use super::work::{comparable, equal};
use super::{Merge, Result, StrategicError};
use crate::go::identity;

/// Where items stand in a list, by their keys.
struct Places(HashMap<String, usize>);

// === impl Merge ===

impl Merge {
    /// Refuses a patch whose items are not in the order that it asks for. Those that it deletes have none.
    pub(super) fn check_order(&mut self, items: &[Value], order: &[Value], merge_key: &'static str) -> Result<()> {
        if items.is_empty() || order.is_empty() {
            return Ok(());
        }
        let mut kept = Vec::with_capacity(items.len());
        for item in items {
            if merge_key.is_empty() || object(item)?.get(DIRECTIVE).is_none_or(|directive| directive != "delete") {
                kept.push(item);
            }
        }
        let (mut at, mut turn) = (0, 0);
        while let (Some(item), Some(wanted)) = (kept.get(at), order.get(turn)) {
            self.work.charge(1)?;
            if item.get(DIRECTIVE).is_some() {
                at += 1;
                continue;
            }
            let is_equal = if merge_key.is_empty() {
                equal(item, wanted)?
            } else {
                let (item, wanted) = (object(item)?, object(wanted)?);
                equal(key_of(item, merge_key)?, key_of(wanted, merge_key)?)?
            };
            at += usize::from(is_equal);
            turn += 1;
        }
        if at < kept.len() {
            return Err(StrategicError::WrongOrder { items: list(items), order: list(order) });
        }
        Ok(())
    }

    /// Puts a merged list in order. What the items are is asked for late, as upstream does.
    pub(super) fn in_order(
        &mut self,
        merged: Vec<Value>,
        patch_order: &[Value],
        original_order: &[Value],
        merge_key: &'static str,
        kind: Result<ItemKind>,
    ) -> Result<Vec<Value>> {
        let (mut patched, mut others) = (Vec::new(), Vec::new());
        if merge_key.is_empty() {
            comparable(patch_order)?;
            comparable(&merged)?;
        }
        for item in merged {
            let found = if merge_key.is_empty() {
                self.position(patch_order, &item)?
            } else {
                let key = key_of(object(&item)?, merge_key)?.clone();
                self.find(patch_order, merge_key, &key)?
            };
            if found.is_some() { patched.push(item) } else { others.push(item) }
        }
        let kind = kind?;
        let patched = self.sorted(patched, patch_order, merge_key, kind)?;
        let others = self.sorted(others, original_order, merge_key, kind)?;
        let places = Places::of(original_order, merge_key, kind);
        Ok(woven(others, patched, |item| places.get(item, merge_key, kind)))
    }

    /// In the order of another list. An item that is not in it goes before whatever it is compared with.
    fn sorted(
        &mut self,
        items: Vec<Value>,
        order: &[Value],
        merge_key: &'static str,
        kind: ItemKind,
    ) -> Result<Vec<Value>> {
        if kind == ItemKind::Object {
            for item in items.iter().chain(order) {
                key_of(object(item)?, merge_key)?;
            }
        }
        let is_deletion =
            |item: &Value| kind == ItemKind::Object && item.get(DIRECTIVE).is_some_and(|it| it == "delete");
        let places = Places::of(order, merge_key, kind);
        let (deleted, kept): (Vec<Value>, Vec<Value>) = items.into_iter().partition(is_deletion);
        let mut placed: Vec<(Option<usize>, Value)> =
            kept.into_iter().map(|item| (places.get(&item, merge_key, kind), item)).collect();
        if placed.iter().all(|(place, _)| place.is_some()) {
            placed.sort_by_key(|(place, _)| *place);
        } else {
            self.insertion_sort(&mut placed)?;
        }
        Ok(placed.into_iter().map(|(_, item)| item).chain(deleted).collect())
    }

    /// What Go's stable sort does with few items whose comparison contradicts itself.
    fn insertion_sort(&mut self, items: &mut [(Option<usize>, Value)]) -> Result<()> {
        let is_less = |left: &Option<usize>, right: &Option<usize>| match (left, right) {
            (Some(left), Some(right)) => left < right,
            _ => true,
        };
        for end in 1..items.len() {
            let mut at = end;
            while at > 0 && is_less(&items[at].0, &items[at - 1].0) {
                self.work.charge(1)?;
                items.swap(at, at - 1);
                at -= 1;
            }
        }
        Ok(())
    }
}

/// Takes from the left only what stands before the next of the right in the order of old.
fn woven(left: Vec<Value>, right: Vec<Value>, place: impl Fn(&Value) -> Option<usize>) -> Vec<Value> {
    let mut all = Vec::with_capacity(left.len() + right.len());
    let mut left = left.into_iter().peekable();
    let mut right = right.into_iter().peekable();
    loop {
        let takes_left = match (left.peek(), right.peek()) {
            (None, None) => return all,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(left), Some(right)) => match (place(left), place(right)) {
                (Some(left), Some(right)) => left < right,
                _ => false,
            },
        };
        all.extend(if takes_left { left.next() } else { right.next() });
    }
}

// === impl Places ===

impl Places {
    fn of(items: &[Value], merge_key: &str, kind: ItemKind) -> Self {
        let mut places = HashMap::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            places.entry(Self::key(item, merge_key, kind)).or_insert(index);
        }
        Self(places)
    }

    fn get(&self, item: &Value, merge_key: &str, kind: ItemKind) -> Option<usize> {
        self.0.get(&Self::key(item, merge_key, kind)).copied()
    }

    fn key(item: &Value, merge_key: &str, kind: ItemKind) -> String {
        match kind {
            ItemKind::Object => identity(item.get(merge_key).unwrap_or(&Value::Null)),
            ItemKind::Single => identity(item),
        }
    }
}
