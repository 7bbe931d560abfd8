//! The paths of a resource and what can be done there, before either version of a document is written.

use super::names::{component, operation_id, root, title, with_article};
use super::parameters::{self, Parameter};
use super::{Resource, Subresource, Verb, meta};
use crate::group::GroupVersionKind;
use crate::metadata::Scope;

/// What objects are read and written as; in protobuf only where their messages are known, and there upstream does not say
/// what it reads.
const OBJECT_TYPES: [&str; 2] = ["application/json", "application/yaml"];
const TYPED_OBJECT_TYPES: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const TYPED_LIST_TYPES: [&str; 5] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
const ANYTHING: [&str; 1] = ["*/*"];

/// How objects can be patched; strategically only where their Go types are known.
const TYPED_PATCH_TYPES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];
const PATCH_TYPES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// A path, and what can be done there.
pub(super) struct Path {
    pub(super) path: String,
    pub(super) operations: Vec<Operation>,
}

/// What can be done at a path.
pub(super) struct Operation {
    pub(super) method: &'static str,
    /// What clients know it by: `x-kubernetes-action`.
    pub(super) action: &'static str,
    pub(super) id: String,
    pub(super) description: String,
    pub(super) kind: GroupVersionKind,
    /// By name.
    pub(super) parameters: Vec<Parameter>,
    /// What can be sent.
    pub(super) content_types: &'static [&'static str],
    /// What is answered.
    pub(super) answer_types: &'static [&'static str],
    pub(super) body: Option<Body>,
    /// Codes and their names.
    pub(super) responses: Vec<(&'static str, &'static str)>,
    /// The schema of what is answered.
    pub(super) answer: String,
}

/// What an operation is sent.
pub(super) struct Body {
    /// Its schema.
    pub(super) component: String,
    pub(super) required: bool,
}

/// What a path leads to.
#[derive(Clone, Copy)]
enum Target<'a> {
    /// The objects of all namespaces.
    AllNamespaces,
    /// The objects of a namespace, or all if there are no namespaces.
    Objects,
    /// One object.
    Object,
    /// Something below an object.
    Below(&'a Subresource<'a>),
}

/// All paths of a resource.
pub(super) fn paths(resource: &Resource<'_>) -> Vec<Path> {
    let mut targets = vec![
        (Target::Objects, vec![Verb::List, Verb::Create, Verb::DeleteCollection]),
        (Target::Object, vec![Verb::Get, Verb::Update, Verb::Delete, Verb::Patch]),
    ];
    if resource.scope == Scope::Namespaced {
        targets.push((Target::AllNamespaces, vec![Verb::List]));
    }
    for (_, verbs) in &mut targets {
        verbs.retain(|verb| resource.verbs.contains(verb));
    }
    targets.extend(resource.subresources.iter().map(|below| (Target::Below(below), below.verbs.clone())));
    targets.retain(|(_, verbs)| !verbs.is_empty());
    let made = targets.into_iter().map(|(target, verbs)| Path {
        path: target.path(resource),
        operations: verbs.into_iter().map(|verb| target.operation(resource, verb)).collect(),
    });
    made.collect()
}

// === impl Target ===

impl Target<'_> {
    fn path(self, resource: &Resource<'_>) -> String {
        let namespace = match (resource.scope, self) {
            (Scope::Cluster, _) | (_, Target::AllNamespaces) => "",
            (Scope::Namespaced, _) => "/namespaces/{namespace}",
        };
        let root = root(resource.group_version);
        let objects = format!("/{root}{namespace}/{}", resource.plural);
        match self {
            Target::AllNamespaces | Target::Objects => objects,
            Target::Object => format!("{objects}/{{name}}"),
            Target::Below(below) => format!("{objects}/{{name}}/{}", below.name),
        }
    }

    fn operation(self, resource: &Resource<'_>, verb: Verb) -> Operation {
        let (method, action, word) = words(verb);
        let (home, kind) = match self {
            Target::Below(below) => (below.foreign.unwrap_or(resource.group_version), below.kind),
            _ => (resource.group_version, resource.kind),
        };
        Operation {
            method,
            action,
            id: operation_id(word, resource.group_version, &self.subject(resource, verb)),
            description: self.description(resource, verb),
            kind: home.kind(kind.to_owned()),
            parameters: self.parameters(resource, verb),
            content_types: match (verb, resource.typed) {
                (Verb::Patch, true) => &TYPED_PATCH_TYPES,
                (Verb::Patch, false) => &PATCH_TYPES,
                (_, true) => &ANYTHING,
                (_, false) => &OBJECT_TYPES,
            },
            answer_types: match (verb, resource.typed) {
                (Verb::List, true) => &TYPED_LIST_TYPES,
                (_, true) => &TYPED_OBJECT_TYPES,
                (_, false) => &OBJECT_TYPES,
            },
            body: body(verb, resource.typed, component(home, kind)),
            responses: responses(verb, resource.typed),
            answer: self.answer(resource, verb),
        }
    }

    /// The last part of an operation's name.
    fn subject(self, resource: &Resource<'_>, verb: Verb) -> String {
        let collection = if verb == Verb::DeleteCollection { "collection" } else { "" };
        let namespaced = match (resource.scope, self) {
            (Scope::Cluster, _) | (_, Target::AllNamespaces) => "",
            (Scope::Namespaced, _) => "Namespaced",
        };
        let end = match self {
            Target::AllNamespaces => "ForAllNamespaces".to_owned(),
            Target::Objects | Target::Object => String::new(),
            Target::Below(below) => title(below.name),
        };
        format!("{collection}{namespaced}{}{end}", resource.kind)
    }

    fn description(self, resource: &Resource<'_>, verb: Verb) -> String {
        let below = match self {
            Target::Below(below) => format!(" {} of", below.name),
            _ => String::new(),
        };
        let kind = resource.kind;
        match verb {
            Verb::List => format!("list{below} objects of kind {kind}"),
            Verb::Get => format!("read{below} the specified {kind}"),
            Verb::Update => format!("replace{below} the specified {kind}"),
            Verb::Patch => format!("partially update{below} the specified {kind}"),
            Verb::Create => format!("create{below} {}", with_article(kind)),
            Verb::Delete => format!("delete{below} {}", with_article(kind)),
            Verb::DeleteCollection => format!("delete collection of{below} {kind}"),
        }
    }

    fn parameters(self, resource: &Resource<'_>, verb: Verb) -> Vec<Parameter> {
        let mut all: Vec<Parameter> = parameters::query(verb, resource.typed).collect();
        if matches!(self, Target::Object | Target::Below(_)) {
            all.push(parameters::name(resource.kind));
        }
        if resource.scope == Scope::Namespaced && !matches!(self, Target::AllNamespaces) {
            all.push(parameters::namespace());
        }
        all.sort_by_key(|parameter| parameter.name);
        all
    }

    fn answer(self, resource: &Resource<'_>, verb: Verb) -> String {
        let kind = match (verb, self) {
            (Verb::Delete, _) if resource.tells_deleted => resource.kind,
            (Verb::Delete | Verb::DeleteCollection, _) => return meta::name("Status"),
            (Verb::List, _) => resource.list_kind,
            (Verb::Get, Target::Below(below)) => below.read_kind,
            (_, Target::Below(below)) => below.kind,
            _ => resource.kind,
        };
        let home = match self {
            Target::Below(below) => below.foreign.unwrap_or(resource.group_version),
            _ => resource.group_version,
        };
        component(home, kind)
    }
}

/// Method, action, and the first word of an operation's name.
fn words(verb: Verb) -> (&'static str, &'static str, &'static str) {
    match verb {
        Verb::Create => ("post", "post", "create"),
        Verb::Delete => ("delete", "delete", "delete"),
        Verb::DeleteCollection => ("delete", "deletecollection", "delete"),
        Verb::Get => ("get", "get", "read"),
        Verb::List => ("get", "list", "list"),
        Verb::Patch => ("patch", "patch", "patch"),
        Verb::Update => ("put", "put", "replace"),
    }
}

fn body(verb: Verb, typed: bool, object: String) -> Option<Body> {
    match verb {
        Verb::DeleteCollection if typed => Some(Body { component: meta::name("DeleteOptions"), required: false }),
        Verb::Create | Verb::Update => Some(Body { component: object, required: true }),
        Verb::Patch => Some(Body { component: meta::name("Patch"), required: true }),
        Verb::Delete => Some(Body { component: meta::name("DeleteOptions"), required: false }),
        Verb::DeleteCollection | Verb::Get | Verb::List => None,
    }
}

fn responses(verb: Verb, typed: bool) -> Vec<(&'static str, &'static str)> {
    const OK: (&str, &str) = ("200", "OK");
    const CREATED: (&str, &str) = ("201", "Created");
    const ACCEPTED: (&str, &str) = ("202", "Accepted");
    match verb {
        Verb::Create => vec![OK, CREATED, ACCEPTED],
        Verb::Update => vec![OK, CREATED],
        Verb::Patch if typed => vec![OK, CREATED],
        Verb::Delete => vec![OK, ACCEPTED],
        Verb::DeleteCollection | Verb::Get | Verb::List | Verb::Patch => vec![OK],
    }
}
