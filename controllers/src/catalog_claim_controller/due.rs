//! Whether something is to be done for a claim, and whether it may be.

use bailiwick_api::{ClaimError, ResourceCatalogClaim, ResourceCatalogClaimStatus, ServiceAccountRef};

use super::index::State;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Make what is not there yet, and leave the rest as it is.
    Missing,
    /// Make everything as the entry has it.
    Everything,
}

/// Why nothing is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// Whether it is noticed when it is gone; otherwise it is looked for.
    pub(super) is_noticed: bool,
}

// === impl Obstacle ===

impl Obstacle {
    /// There is no such account.
    const ACT_AS_UNRESOLVED: &'static str = "ActAsUnresolved";
    /// The account is another one.
    const ACT_AS_REPLACED: &'static str = "ActAsReplaced";
    /// The entry is gone, or another one.
    const SOURCE_GONE: &'static str = "SourceGone";
    /// A right was lost, or the entry's place in the catalog.
    pub(super) const NOT_ALLOWED: &'static str = "NotAllowed";

    /// Whether a condition says for this reason that there is an obstacle.
    pub(super) fn is_reason(reason: &str) -> bool {
        [Self::ACT_AS_UNRESOLVED, Self::ACT_AS_REPLACED, Self::SOURCE_GONE, Self::NOT_ALLOWED].contains(&reason)
    }

    fn noticed(reason: &'static str, message: String) -> Self {
        Self { reason, message, is_noticed: true }
    }
}

/// What is to be done for a claim, if anything.
pub(super) fn of(claim: &ResourceCatalogClaim) -> Option<Due> {
    let none = ResourceCatalogClaimStatus::default();
    let status = claim.status.as_ref().unwrap_or(&none);
    let was_realized = status.entry_generation.is_some();
    let is_kicked = was_realized && status.generation != claim.spec.generation;
    if claim.spec.keep_synchronized || is_kicked {
        return Some(Due::Everything);
    }
    let is_open = !status.errors.is_empty() || !status.pending_resources.is_empty();
    (!was_realized || is_open).then_some(Due::Missing)
}

/// What could not be done for a claim when everything was due, and is still to be done though only what is missing is. Who does
/// not follow any more is not owed what failed while they did.
pub(super) fn owed(claim: &ResourceCatalogClaim) -> &[ClaimError] {
    let Some(status) = &claim.status else { return &[] };
    let is_about_this = status.observed_generation == claim.metadata.generation;
    let followed = status.conditions.iter().any(|one| one.condition_type == ResourceCatalogClaim::SYNCED);
    if followed && !is_about_this { &[] } else { &status.errors }
}

/// The account that a claim names, if it is the one that was there when it was named.
pub(super) fn account(state: &State) -> Result<ServiceAccountRef, Obstacle> {
    let claim = &state.claim;
    let namespace = claim.metadata.namespace.as_deref().unwrap_or_default();
    let name = claim.spec.account();
    let account = ServiceAccountRef::new(namespace, name)
        .map_err(|error| Obstacle::noticed(Obstacle::ACT_AS_UNRESOLVED, error.to_string()))?;
    let Some(uid) = &state.account_uid else {
        let message = format!(
            "there is no service account \"{name}\" in the namespace: kubectl create serviceaccount {name} -n {namespace}"
        );
        return Err(Obstacle::noticed(Obstacle::ACT_AS_UNRESOLVED, message));
    };
    let status = claim.status.as_ref();
    let observed = status.and_then(|status| status.observed_generation);
    // That a claim is to go is another generation of it, in which nobody has named another account.
    let marked = claim.metadata.deletion_timestamp.as_ref().and(observed).map(|observed| observed.saturating_add(1));
    let is_about_this =
        observed == claim.metadata.generation || (marked.is_some() && marked == claim.metadata.generation);
    let pinned = status.and_then(|status| status.service_account.as_ref()).filter(|_| is_about_this);
    match pinned {
        Some(pinned) if pinned.name == name && pinned.uid != *uid => {
            let message = format!(
                "the service account \"{name}\" is another one than when the claim was written: write the claim again, for \
                 example with another spec.generation, if that one is meant"
            );
            Err(Obstacle::noticed(Obstacle::ACT_AS_REPLACED, message))
        }
        _ => Ok(account),
    }
}

/// Whether the entry has been accepted as it is now, if it is the one that was claimed, and still to be claimed here.
pub(super) fn exposed(state: &State) -> Result<bool, Obstacle> {
    let (claim, reference) = (&state.claim, &state.claim.spec.resource_catalog_entry);
    let what = format!("the entry \"{}/{}\"", reference.namespace, reference.name);
    let Some(entry) = &state.entry else {
        return Err(Obstacle::noticed(Obstacle::SOURCE_GONE, format!("{what} is gone")));
    };
    if reference.uid.is_some() && reference.uid != entry.metadata.uid {
        let message = format!(
            "{what} is not the one that was claimed: it has been made anew since; change the claim's \
             spec.resourceCatalogEntry.uid if that one is meant"
        );
        return Err(Obstacle::noticed(Obstacle::SOURCE_GONE, message));
    }
    let name = &claim.spec.catalog_name;
    let Some(catalog) = &state.catalog else {
        return Err(Obstacle::noticed(Obstacle::NOT_ALLOWED, format!("the catalog \"{name}\" is gone")));
    };
    let labels = entry.metadata.labels.clone().unwrap_or_default();
    if !entry.is_in(name) || !catalog.selects(&labels) || entry.metadata.deletion_timestamp.is_some() {
        return Err(Obstacle::noticed(
            Obstacle::NOT_ALLOWED,
            format!("{what} is not in the catalog \"{name}\" any more"),
        ));
    }
    if !state.namespace.as_ref().is_some_and(|namespace| catalog.is_claimable_from(&namespace.labels)) {
        let message = format!("the catalog \"{name}\" cannot be claimed from in this namespace any more");
        return Err(Obstacle::noticed(Obstacle::NOT_ALLOWED, message));
    }
    let accepted = entry.status.as_ref().and_then(|status| status.generation);
    Ok(accepted == entry.metadata.generation)
}

#[cfg(test)]
mod tests;
