//! Claims and what satisfies them, as pure functions: which class a claim gets, what a resource is formed from, what a
//! definition of claims becomes. The server judges definitions by them, controllers carry them out.

mod class;
mod custom_resource;
mod facts;
mod reference;
mod resource;
mod rules;
mod schedule;
mod shown;
mod standard_fields;
mod transform;

pub use class::{
    AFFINITY_ANNOTATION, ANTI_AFFINITY_ANNOTATION, CLAIMABLE_FROM_ANNOTATION, Class, DEFAULT_CLASS_ANNOTATION,
    ReclaimPolicy, allows,
};
pub use custom_resource::{cluster_roles, custom_resource_definition, provisioner_role};
pub use facts::{KindFacts, PROVISIONER_LABEL};
pub use reference::{ClaimRef, ObjectRef};
pub use resource::{
    BOUND_FINALIZER, CLAIM_ANNOTATION, CLAIM_UID_ANNOTATION, CLASS_FINALIZER, ClaimRefPlace, PHASE_ANNOTATION, Phase,
    RECLAIM_ANNOTATION, claim_ref, connection_secret, is_ready, phase, resource_name, set_claim_ref,
};
pub use rules::{ClassMatch, FormError, RuleError, Rules};
pub use schedule::{Candidate, Choice, Entry, MAX_CANDIDATES, Offer, Pick, Wish, complete, schedule};
pub use shown::Shown;
pub use standard_fields::{demands_of_standard_fields, missing_fields, redefined_fields};
pub use transform::{Transform, TransformError, Transforms};
