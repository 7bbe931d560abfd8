//! Whose names are whose: those of one group belong to the definition that was granted them first.

use std::collections::HashSet;

use bailiwick_machinery::Object;
use bailiwick_machinery::crd::{Definition, Names};
use bailiwick_machinery::go::quote;
use serde_json::Value;

use super::conditions::{Condition, set_condition, status};

/// The names of a group that are taken.
#[derive(Debug, Default)]
pub(super) struct Taken<'n> {
    resources: HashSet<&'n str>,
    kinds: HashSet<&'n str>,
}

/// Names that are granted, and what is to be said of the others.
struct Granted {
    names: Names,
    refusal: Option<(&'static str, String)>,
}

// === impl Taken ===

impl<'n> Taken<'n> {
    /// Also those that were granted to this definition.
    pub(super) fn add(&mut self, names: &'n Names) {
        self.resources.extend([names.plural.as_str(), &names.singular]);
        self.resources.extend(names.short_names.iter().map(String::as_str));
        self.kinds.extend([names.kind.as_str(), &names.list_kind]);
    }
}

/// Grants a definition the names it wants and can have, and establishes it if it has all of them. Whether that changed its
/// status.
pub(super) fn establish(object: &mut Object, definition: &Definition, taken: &Taken<'_>, now: &str) -> bool {
    let wanted = &definition.spec.names;
    if *wanted == definition.status.accepted_names && definition.is("Established") {
        return false;
    }
    let before = object.clone();
    let granted = grant(wanted, &definition.status.accepted_names, taken);
    status(object).insert("acceptedNames".to_owned(), serde_json::to_value(&granted.names).unwrap_or(Value::Null));
    let accepted = granted.refusal.is_none();
    let (reason, message) = granted.refusal.unwrap_or(("NoConflicts", "no conflicts found".to_owned()));
    let says = if accepted { "True" } else { "False" };
    set_condition(object, Condition { name: "NamesAccepted", status: says, reason, message: &message }, now);
    let established = match (accepted, definition.is("Established")) {
        (_, true) => None,
        (true, false) => Some(("True", "InitialNamesAccepted", "the initial names have been accepted")),
        (false, false) => Some(("False", "NotAccepted", "not all names are accepted")),
    };
    if let Some((status, reason, message)) = established {
        set_condition(object, Condition { name: "Established", status, reason, message }, now);
    }
    *object != before
}

fn grant(wanted: &Names, held: &Names, taken: &Taken<'_>) -> Granted {
    let mut granted = Granted { names: held.clone(), refusal: None };
    let refuse = |name: &str, held: &str, taken: &HashSet<&str>| {
        (name != held && taken.contains(name)).then(|| format!("{} is already in use", quote(name)))
    };
    match refuse(&wanted.plural, &held.plural, &taken.resources) {
        Some(why) => granted.refusal = Some(("PluralConflict", why)),
        None => granted.names.plural.clone_from(&wanted.plural),
    }
    match refuse(&wanted.singular, &held.singular, &taken.resources) {
        Some(why) => granted.refusal = Some(("SingularConflict", why)),
        None => granted.names.singular.clone_from(&wanted.singular),
    }
    let new = wanted.short_names.iter().filter(|name| !held.short_names.contains(name));
    let refused: Vec<String> = new.filter_map(|name| refuse(name, "", &taken.resources)).collect();
    match refused.as_slice() {
        [] => granted.names.short_names.clone_from(&wanted.short_names),
        [why] => granted.refusal = Some(("ShortNamesConflict", why.clone())),
        all => granted.refusal = Some(("ShortNamesConflict", format!("[{}]", all.join(", ")))),
    }
    match refuse(&wanted.kind, &held.kind, &taken.kinds) {
        Some(why) => granted.refusal = Some(("KindConflict", why)),
        None => granted.names.kind.clone_from(&wanted.kind),
    }
    match refuse(&wanted.list_kind, &held.list_kind, &taken.kinds) {
        Some(why) => granted.refusal = Some(("ListKindConflict", why)),
        None => granted.names.list_kind.clone_from(&wanted.list_kind),
    }
    granted.names.categories.clone_from(&wanted.categories);
    granted
}
