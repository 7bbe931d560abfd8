//! Who asked for an object, in its status: said by the server alone, whatever clients write there.

use bailiwick_api::Requester;
use bailiwick_machinery::Object;
use serde_json::{Map, Value, json};

use crate::context::Ctx;
use crate::served_kind::ServedKind;
use crate::update::content_differs;

const STATUS: &str = "status";
const REQUESTER: &str = "requester";

/// Says who asks, if they change what the object asks for. What authentication knows beyond names and groups is not kept.
pub(crate) fn stamp(ctx: &Ctx<'_>, kind: &ServedKind, object: &mut Object, old: Option<&Object>) {
    if !kind.kind().stamps_requester() || old.is_some_and(|old| !content_differs(kind, object, old)) {
        return;
    }
    let user = ctx.user;
    let requester = Requester { username: user.name.clone(), uid: user.uid.clone(), groups: user.groups.clone() };
    put(object, Some(json!(requester)));
}

/// Keeps who asked, whoever writes the status.
pub(crate) fn keep(kind: &ServedKind, new: &mut Object, old: &Object) {
    if kind.kind().stamps_requester() {
        put(new, old.fields().get(STATUS).and_then(|status| status.get(REQUESTER)).cloned());
    }
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
