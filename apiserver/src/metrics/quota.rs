//! What is told of decisions about quotas.

use bailiwick_registry::{QuotaMetrics, QuotaOutcome};

use super::exposition::{Exposition, Type};

/// Tells what was decided, and what is reserved.
pub(super) fn expose(out: &mut Exposition, metrics: &QuotaMetrics) {
    let name = "bailiwick_quota_decisions_total";
    out.family(name, Type::Counter, "Decisions about changes of ResourceQuotas, by what came of them.");
    for outcome in QuotaOutcome::ALL {
        out.sample(name, &[("outcome", outcome.as_str())], metrics.decisions(outcome));
    }
    let name = "bailiwick_quota_reservations";
    out.family(name, Type::Gauge, "Reservations of which is not known yet whether their write has happened.");
    out.sample(name, &[], metrics.reservations());
    let name = "bailiwick_quota_reservations_released_total";
    out.family(name, Type::Counter, "Reservations that have ended because their write did not happen.");
    out.sample(name, &[], metrics.released());
    let name = "bailiwick_quota_conflicts_total";
    out.family(name, Type::Counter, "Decisions that were made anew because another server was faster.");
    out.sample(name, &[], metrics.conflicts());
    let name = "bailiwick_quota_restarts_total";
    out.family(name, Type::Counter, "How often all projects were counted anew because something failed.");
    out.sample(name, &[], metrics.restarts());
}
