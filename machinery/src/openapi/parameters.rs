//! The parameters of operations: which there are, and what they are for.

use std::borrow::Cow;

use super::Verb;

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: Place,
    pub(super) kind: &'static str,
    pub(super) description: Cow<'static, str>,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
}

// === impl Place ===

impl Place {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
        }
    }
}

/// The name of the object.
pub(super) fn name(kind: &str) -> Parameter {
    let description = Cow::from(format!("name of the {kind}"));
    Parameter { name: "name", place: Place::Path, kind: "string", description }
}

/// The namespace of the object.
pub(super) fn namespace() -> Parameter {
    let description = Cow::from("namespace of the objects, which is also what access is granted for");
    Parameter { name: "namespace", place: Place::Path, kind: "string", description }
}

/// The parameters in the query of an operation.
///
/// Of Kubernetes' own kinds, documents say more about deleting many objects, and less about reading one.
pub(super) fn query(verb: Verb, typed: bool) -> impl Iterator<Item = Parameter> {
    let own: Vec<&Described> = match (verb, typed) {
        (Verb::Get, true) => Vec::new(),
        (Verb::Get, false) => vec![&RESOURCE_VERSION],
        (Verb::DeleteCollection, true) => {
            LIST.iter().filter(|one| !OF_WATCHES.contains(&one.0)).chain(&DELETE).collect()
        }
        (Verb::List | Verb::DeleteCollection, _) => LIST.iter().collect(),
        (Verb::Create | Verb::Update, _) => vec![&DRY_RUN, &FIELD_MANAGER, &FIELD_VALIDATION],
        (Verb::Patch, _) => vec![&DRY_RUN, &PATCH_FIELD_MANAGER, &FIELD_VALIDATION, &FORCE],
        (Verb::Delete, _) => DELETE.iter().collect(),
    };
    own.into_iter().chain([&PRETTY]).map(|&(name, kind, description)| Parameter {
        name,
        place: Place::Query,
        kind,
        description: description.into(),
    })
}

/// What only watches ask for.
const OF_WATCHES: [&str; 2] = ["allowWatchBookmarks", "watch"];

/// Name, type and description.
type Described = (&'static str, &'static str, &'static str);

const PRETTY: Described = (
    "pretty",
    "string",
    "Whether the answer is indented for people to read: 'true' or 'false'. Without it, it is for browsers, curl and wget.",
);

const DRY_RUN: Described = (
    "dryRun",
    "string",
    "If it is 'All', the request is carried out up to the point where something would be stored. No other value is valid.",
);

const FIELD_MANAGER: Described = (
    "fieldManager",
    "string",
    "The name under which the fields that are changed are kept account of: at most 128 printable characters.",
);

const PATCH_FIELD_MANAGER: Described = (
    "fieldManager",
    "string",
    "The name under which the fields that are changed are kept account of: at most 128 printable characters. Whoever \
     applies (application/apply-patch+yaml) must give one.",
);

const FIELD_VALIDATION: Described = (
    "fieldValidation",
    "string",
    "What becomes of fields that are unknown or stand there twice. 'Ignore': they are dropped, and of two the last one \
     counts. 'Warn', which is the default: the same, with a warning for each. 'Strict': the request is refused, and the \
     answer names all of them.",
);

const FORCE: Described = (
    "force",
    "boolean",
    "Whether whoever applies takes over fields that others manage. Only for application/apply-patch+yaml.",
);

const RESOURCE_VERSION: Described = (
    "resourceVersion",
    "string",
    "Which state is answered from. Unset: the newest. '0': any. A version: at least as new as that, unless \
     resourceVersionMatch says otherwise; a watch begins after it.",
);

const LIST: [Described; 10] = [
    (
        "allowWatchBookmarks",
        "boolean",
        "Whether a watch may send events of type BOOKMARK, which tell how far it has come. When they come is for the \
         server to decide.",
    ),
    (
        "continue",
        "string",
        "Where to go on: the value of metadata.continue of the list before, with all other parameters as they were. If \
         it is too old, the answer is 410 with another one, which goes on in the newest state.",
    ),
    ("fieldSelector", "string", "Selects objects by their fields. Without it, all are selected."),
    ("labelSelector", "string", "Selects objects by their labels. Without it, all are selected."),
    (
        "limit",
        "integer",
        "How many objects a list has at most. If there are more, metadata.continue says how to ask for them; all parts \
         together are one state. Not for watches.",
    ),
    RESOURCE_VERSION,
    (
        "resourceVersionMatch",
        "string",
        "How resourceVersion is meant: 'Exact' or 'NotOlderThan'. Only together with resourceVersion or \
         sendInitialEvents.",
    ),
    (
        "sendInitialEvents",
        "boolean",
        "Whether a watch begins with an event for each object there is, and then a bookmark with the annotation \
         k8s.io/initial-events-end. Needs resourceVersionMatch=NotOlderThan.",
    ),
    ("timeoutSeconds", "integer", "How long a list or watch may take."),
    (
        "watch",
        "boolean",
        "Whether to send what is added, changed and deleted as it happens, instead of a list. See resourceVersion.",
    ),
];

const DELETE: [Described; 5] = [
    DRY_RUN,
    (
        "gracePeriodSeconds",
        "integer",
        "How many seconds there are until the object is deleted: 0 is at once. Without it, the kind decides.",
    ),
    (
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Whether an object that cannot be read from storage is deleted nevertheless, without regard to finalizers and \
         preconditions. What depends on an orderly deletion may break.",
    ),
    (
        "orphanDependents",
        "boolean",
        "Deprecated: use propagationPolicy. Whether dependents are left behind. Not together with propagationPolicy.",
    ),
    (
        "propagationPolicy",
        "string",
        "What becomes of dependents. 'Orphan': they are left behind. 'Background': they are deleted afterwards. \
         'Foreground': they are deleted first. Without it, the finalizers of the object decide. Not together with \
         orphanDependents.",
    ),
];
