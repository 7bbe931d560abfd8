//! What a field set means to a type.

use super::element::PathElement;
use super::set::{FieldSet, Node};
use super::types::{Form, Map, Scalar, Type};

/// The set, and each named field that has members below it. To remove all of a field's members is to remove the field,
/// if its name is in the schema.
pub(super) fn with_named_fields(kind: &Type, set: &FieldSet) -> FieldSet {
    let atom = kind.atom();
    let mut all = FieldSet::default();
    for node in set.nodes() {
        let (named, inner) = match (&node.element, &atom.map, &atom.list) {
            (PathElement::Field(name), Some(map), _) => {
                (map.fields.contains_key(name) && !node.below.is_empty(), map.field(name))
            }
            (PathElement::Key(_), _, Some(list)) => (false, Some(&list.items)),
            _ => (false, None),
        };
        let below = inner.map_or_else(|| node.below.clone(), |kind| with_named_fields(kind, &node.below));
        all.put(node.element.clone(), node.member || named, below);
    }
    all
}

/// The set as it would be if the schema had always been as it is: of what merges as a whole by now, nobody owns parts.
pub(super) fn reconciled(kind: &Type, set: &FieldSet) -> FieldSet {
    let mut all = FieldSet::default();
    for node in set.nodes() {
        let (member, below) = match inner(kind, &node.element) {
            Some(kind) => reconciled_node(kind, node),
            None => (node.member, node.below.clone()),
        };
        all.put(node.element.clone(), member, below);
    }
    all
}

fn reconciled_node(kind: &Type, node: &Node) -> (bool, FieldSet) {
    let is_whole = match kind.atom().form() {
        Form::Scalar(_) => false,
        Form::List(list) => list.is_atomic(),
        Form::Map(map) => map.atomic && !is_free(map),
    };
    if is_whole && !node.below.is_empty() {
        return (true, FieldSet::default());
    }
    (node.member, reconciled(kind, &node.below))
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
