//! What quotas come to: how much of an allocation a project has, and whether a change of its ResourceQuotas fits. Pure: no
//! clock, no store, no client.
//!
//! ```text
//! ResourceQuota ──▶ QuotaFacts ─┐
//!            reservations ──────┴▶ Account ──charge──▶ of this much a project has, against Allocation.hard
//! ```

mod account;
mod allocation;
mod amounts;
mod decide;
mod facts;
mod scopes;

pub use account::{Account, Reservation};
pub use allocation::{Allocation, Unreadable};
pub use amounts::{Amounts, canonical_resource};
pub use decide::{Change, Excess, Refusal, decide};
pub use facts::QuotaFacts;
pub use scopes::ScopeSet;

/// The names of ResourceQuotas that those may change who own a project, and no others.
pub const PROJECT_OWNER_QUOTAS: [&str; 8] = [
    "default",
    "terminating",
    "not-terminating",
    "best-effort",
    "not-best-effort",
    "notterminating",
    "besteffort",
    "notbesteffort",
];

/// The namespace that belongs to no project.
pub const SYSTEM_NAMESPACE: &str = "kube-system";

#[cfg(test)]
mod tests;
