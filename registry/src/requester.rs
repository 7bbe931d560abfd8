//! Who asked for an object, in its status: said by the server alone, whatever clients write there.
//!
//! What else authentication knows of them is no part of the object, so nothing that shows objects can show it. It lies in a
//! row beside, and is written with the object.

mod beside;

use std::collections::BTreeMap;

use bailiwick_api::Requester;
use bailiwick_machinery::Object;
use serde_json::{Map, Value, json};

use crate::context::{Ctx, User};
use crate::served_kind::ServedKind;
use crate::update::content_differs;

const STATUS: &str = "status";
const REQUESTER: &str = "requester";
/// Only while a write is prepared, and only where that write says who asks.
const EXTRA: &str = "extra";

/// What authentication knows of a user beyond names and groups.
pub(crate) type Extra = BTreeMap<String, Vec<String>>;

/// Says who asks, if they change what the object asks for; else who asked before. A rule may have said that it is who asks now,
/// although nothing else changes, and nobody else.
pub(crate) fn stamp(ctx: &Ctx<'_>, kind: &ServedKind, object: &mut Object, old: Option<&Object>) {
    if !kind.kind().stamps_requester() {
        return;
    }
    let asking = asking(ctx);
    if told(object) == Some(&asking) {
        return;
    }
    match old.filter(|old| !content_differs(kind, object, old)) {
        Some(old) => keep(kind, object, old),
        None => put(object, Some(asking)),
    }
}

/// Keeps who asked, whoever writes the status.
pub(crate) fn keep(kind: &ServedKind, new: &mut Object, old: &Object) {
    if kind.kind().stamps_requester() {
        put(new, told(old).cloned());
    }
}

/// A user, as they are told of to whoever asks later what they may do then. Groups that are known here are not among it: who is
/// in them is looked up at that time.
pub(crate) fn requester(user: &User) -> Requester {
    let groups = user.groups_that_came().map(str::to_owned).collect();
    Requester { username: user.name.clone(), uid: user.uid.clone(), groups, extra: Some(user.extra.clone()) }
}

/// Takes out of an object what is not stored with it of who asks; none where it says who asked before.
pub(crate) fn take_extra(kind: &ServedKind, object: &mut Object) -> Option<Extra> {
    if !kind.kind().stamps_requester() {
        return None;
    }
    let requester = object.fields_mut().get_mut(STATUS)?.get_mut(REQUESTER)?.as_object_mut()?;
    serde_json::from_value(requester.remove(EXTRA)?).ok()
}

fn asking(ctx: &Ctx<'_>) -> Value {
    json!(requester(ctx.user))
}

fn told(object: &Object) -> Option<&Value> {
    object.fields().get(STATUS).and_then(|status| status.get(REQUESTER))
}

fn put(object: &mut Object, requester: Option<Value>) {
    let fields = object.fields_mut();
    match requester {
        Some(requester) => {
            let status = fields.entry(STATUS).or_insert_with(|| Value::Object(Map::new()));
            if let Some(status) = status.as_object_mut() {
                status.insert(REQUESTER.to_owned(), requester);
            }
        }
        None => {
            if let Some(status) = fields.get_mut(STATUS).and_then(Value::as_object_mut) {
                status.remove(REQUESTER);
            }
        }
    }
}
