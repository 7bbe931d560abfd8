//! Kinds, as documents of OpenAPI tell of them.

use std::sync::Arc;

use bailiwick_machinery::openapi::{Resource, Subresource, Verb};
use bailiwick_registry::{SelectableField, ServedKind, SubresourceVerb, VirtualVerb};

/// All verbs but the one that removes many objects at once.
const ONE_BY_ONE: [Verb; 6] = [Verb::Create, Verb::Delete, Verb::Get, Verb::List, Verb::Patch, Verb::Update];

/// All kinds in all their versions.
pub(super) fn resources(served: &[Arc<ServedKind>]) -> Vec<Resource<'_>> {
    let own = served.iter().map(|kind| resource(kind));
    own.chain(served.iter().flat_map(|kind| foreign(kind))).collect()
}

fn resource(kind: &ServedKind) -> Resource<'_> {
    let (names, version) = (kind.kind().names(), kind.version());
    Resource {
        group_version: &version.group_version,
        kind: &names.kind,
        list_kind: &names.list_kind,
        plural: &names.plural,
        scope: kind.kind().scope(),
        verbs: verbs(kind),
        schema: &version.schema,
        typed: kind.host_type().is_some(),
        tells_deleted: kind.kind().tells_deleted(),
        selectable_fields: version.selectable.iter().map(SelectableField::name).collect(),
        subresources: subresources(kind),
    }
}

/// Kinds that only occur below objects, and have no paths of their own.
fn foreign(kind: &ServedKind) -> impl Iterator<Item = Resource<'_>> {
    kind.kind().subresources().iter().filter_map(|below| {
        let version = below.foreign()?;
        Some(Resource {
            group_version: &version.group_version,
            kind: below.kind(),
            list_kind: "",
            plural: "",
            scope: kind.kind().scope(),
            verbs: &[],
            schema: &version.schema,
            typed: kind.host_type().is_some(),
            tells_deleted: false,
            selectable_fields: Vec::new(),
            subresources: Vec::new(),
        })
    })
}

fn verbs(kind: &ServedKind) -> &'static [Verb] {
    let Some(maker) = kind.kind().maker() else {
        return if kind.kind().allows_delete_collection() { &Verb::ALL } else { &ONE_BY_ONE };
    };
    let offers = |verb| maker.verbs().contains(&verb);
    match (offers(VirtualVerb::Create), offers(VirtualVerb::Get), offers(VirtualVerb::List)) {
        (true, true, true) => &[Verb::Create, Verb::Get, Verb::List],
        (true, true, false) => &[Verb::Create, Verb::Get],
        (true, false, true) => &[Verb::Create, Verb::List],
        (true, false, false) => &[Verb::Create],
        (false, true, true) => &[Verb::Get, Verb::List],
        (false, true, false) => &[Verb::Get],
        (false, false, true) => &[Verb::List],
        (false, false, false) => &[],
    }
}

fn subresources(kind: &ServedKind) -> Vec<Subresource<'_>> {
    let own_kind = &*kind.kind().names().kind;
    let status = Subresource {
        name: "status",
        foreign: None,
        kind: own_kind,
        read_kind: own_kind,
        verbs: vec![Verb::Get, Verb::Update, Verb::Patch],
    };
    let others = kind.kind().subresources().iter().map(|other| Subresource {
        name: other.name(),
        foreign: other.foreign().map(|version| &version.group_version),
        kind: other.kind(),
        read_kind: other.read_kind(),
        verbs: other.verbs().iter().copied().filter_map(verb).collect(),
    });
    kind.has_status().then_some(status).into_iter().chain(others).collect()
}

/// What is removed has a path of its own, below the subresource, of which these documents do not tell.
fn verb(verb: SubresourceVerb) -> Option<Verb> {
    match verb {
        SubresourceVerb::Create => Some(Verb::Create),
        SubresourceVerb::Delete => None,
        SubresourceVerb::Get => Some(Verb::Get),
        SubresourceVerb::Update => Some(Verb::Update),
    }
}
