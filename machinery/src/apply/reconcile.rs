//! What a field set means to a type.

use super::element::PathElement;
use super::set::FieldSet;
use super::types::{Form, Map, Scalar, Type};

/// The set, and each named field that has members below it. To remove all of a field's members is to remove the field,
/// if its name is in the schema.
pub(super) fn with_named_fields(kind: &Type, mut set: FieldSet) -> FieldSet {
    add_named_fields(kind, &mut set);
    set
}

fn add_named_fields(kind: &Type, set: &mut FieldSet) {
    let atom = kind.atom();
    for node in set.nodes_mut() {
        let inner = match (&node.element, &atom.map, &atom.list) {
            (PathElement::Field(name), Some(map), _) => {
                node.member |= !node.below.is_empty() && map.fields.contains_key(name);
                map.field(name)
            }
            (PathElement::Key(_), _, Some(list)) => Some(&list.items),
            _ => None,
        };
        if let Some(kind) = inner {
            add_named_fields(kind, &mut node.below);
        }
    }
}

/// Makes the set as it would be if the schema had always been as it is: of what merges as a whole by now, nobody owns
/// parts.
pub(super) fn reconcile(kind: &Type, set: &mut FieldSet) {
    for node in set.nodes_mut() {
        let Some(kind) = inner(kind, &node.element) else { continue };
        let is_whole = match kind.atom().form() {
            Form::Scalar(_) => false,
            Form::List(list) => list.is_atomic(),
            Form::Map(map) => map.atomic && !is_free(map),
        };
        if is_whole && !node.below.is_empty() {
            node.member = true;
            node.below = FieldSet::default();
        }
        reconcile(kind, &mut node.below);
    }
}

/// The type of what is inside, if it is looked into.
fn inner<'t>(kind: &'t Type, element: &PathElement) -> Option<&'t Type> {
    match (kind.atom().form(), element) {
        (Form::Scalar(_), _) => None,
        (Form::List(list), _) => Some(&list.items),
        (Form::Map(map), _) if map.atomic || is_free(map) => None,
        (Form::Map(map), PathElement::Field(name)) => map.field(name),
        (Form::Map(map), _) => map.others.as_ref(),
    }
}

/// Whether all fields are allowed and none is known.
fn is_free(map: &Map) -> bool {
    let is_untyped = |kind: &Type| match kind {
        Type::Deduced => true,
        Type::Untyped => false,
        Type::Known(atom) => atom.scalar == Some(Scalar::Any),
    };
    map.fields.is_empty() && map.others.as_ref().is_some_and(is_untyped)
}
