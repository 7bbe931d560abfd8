//! The operations on objects, over the embedded store: what a client sees of them, whatever others do at the same time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod operations {
    mod admission;
    mod alias;
    mod allocations;
    mod create;
    mod default_roles;
    mod delete;
    mod hostile_rules;
    mod list;
    mod made;
    mod namespaces;
    mod quotas;
    mod remote_namespaces;
    mod requesters;
    mod selectors;
    mod subresource;
    mod support;
    mod transitions;
    mod update;
    mod watch;
}
