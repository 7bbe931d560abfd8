//! The type of apiVersion, kind and metadata, which is the same for all kinds.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::types::{Field, ListMerge, Map, Scalar, Type};

/// apiVersion, kind and metadata.
pub(super) fn fields() -> impl Iterator<Item = (String, Field)> {
    static METADATA: LazyLock<Type> = LazyLock::new(metadata);
    let text = |name: &str| (name.to_owned(), plain(Type::scalar(Scalar::Text)));
    [text("apiVersion"), text("kind"), ("metadata".to_owned(), plain(METADATA.clone()))].into_iter()
}

fn metadata() -> Type {
    let text = Type::scalar(Scalar::Text);
    let number = Type::scalar(Scalar::Numeric);
    let time = Type::scalar(Scalar::Any);
    let texts = Type::map(Map { atomic: false, fields: BTreeMap::new(), others: Some(text.clone()) });
    let owners = Type::list(ListMerge::Map(vec!["uid".to_owned()]), owner());
    record(
        false,
        [
            ("name", text.clone()),
            ("generateName", text.clone()),
            ("namespace", text.clone()),
            ("selfLink", text.clone()),
            ("uid", text.clone()),
            ("resourceVersion", text.clone()),
            ("generation", number.clone()),
            ("creationTimestamp", time.clone()),
            ("deletionTimestamp", time.clone()),
            ("deletionGracePeriodSeconds", number),
            ("labels", texts.clone()),
            ("annotations", texts),
            ("ownerReferences", owners),
            ("finalizers", Type::list(ListMerge::Set, text.clone())),
            ("managedFields", Type::list(ListMerge::Atomic, managed_fields_entry())),
        ]
        .map(|(name, kind)| (name, plain(kind))),
    )
}

fn owner() -> Type {
    let text = || Field { kind: Type::scalar(Scalar::Text), default: Some(Value::from("")) };
    let boolean = || plain(Type::scalar(Scalar::Boolean));
    record(
        true,
        [
            ("apiVersion", text()),
            ("kind", text()),
            ("name", text()),
            ("uid", text()),
            ("controller", boolean()),
            ("blockOwnerDeletion", boolean()),
        ],
    )
}

fn managed_fields_entry() -> Type {
    let text = || plain(Type::scalar(Scalar::Text));
    let free = Type::map(Map { atomic: false, fields: BTreeMap::new(), others: Some(Type::Deduced) });
    record(
        false,
        [
            ("manager", text()),
            ("operation", text()),
            ("apiVersion", text()),
            ("time", plain(Type::scalar(Scalar::Any))),
            ("fieldsType", text()),
            ("fieldsV1", plain(free)),
            ("subresource", text()),
        ],
    )
}

fn record<const N: usize>(atomic: bool, fields: [(&str, Field); N]) -> Type {
    let fields = fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect();
    Type::map(Map { atomic, fields, others: None })
}

fn plain(kind: Type) -> Field {
    Field { kind, default: None }
}
