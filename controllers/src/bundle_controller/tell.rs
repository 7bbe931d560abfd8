//! Events about Bundles: what was done, what went wrong, and that all is ready. `kubectl describe` shows them as a story.

use bailiwick_api::{Bundle, BundleResourceStatus, BundleStatus, Condition, ConditionStatus, InventoryItem, Phase};
use kube::Resource;

use super::Shared;
use super::outcome::{Deed, Outcome};
use super::told::READY;
use crate::conditions;

/// What is told.
enum News {
    Good,
    Bad,
}

// === impl Shared ===

impl Shared {
    /// Tells of what is different from what the Bundle has said so far. Nobody waits for it.
    pub(super) fn tell(
        &self,
        bundle: &Bundle,
        status: &BundleStatus,
        outcomes: &[Option<Outcome>],
        pruned: &[InventoryItem],
    ) {
        let before = bundle.status.clone().unwrap_or_default();
        let mut news: Vec<(News, &'static str, String, String)> = Vec::new();
        for (deed, reason, what) in [(Deed::Created, "Created", "created"), (Deed::Updated, "Updated", "updated")] {
            let done = outcomes.iter().flatten().filter(|outcome| outcome.deed == deed);
            let objects: Vec<String> = done.filter_map(|outcome| Some(outcome.object.as_ref()?.to_string())).collect();
            if !objects.is_empty() {
                news.push((News::Good, "Apply", reason.to_owned(), format!("{what} {}", objects.join(", "))));
            }
        }
        if !pruned.is_empty() {
            let objects: Vec<String> = pruned.iter().map(|item| item.object.to_string()).collect();
            news.push((News::Good, "Prune", "Pruned".to_owned(), format!("deleted {}", objects.join(", "))));
        }
        let is_new = |resource: &&BundleResourceStatus| {
            let old = before.resources.iter().find(|old| old.name == resource.name);
            old.is_none_or(|old| (old.phase, &old.reason) != (resource.phase, &resource.reason))
        };
        for resource in status.resources.iter().filter(|resource| resource.phase == Phase::Error).filter(is_new) {
            let note = format!("{}: {}", resource.name, resource.message);
            news.push((News::Bad, "Apply", resource.reason.clone(), note));
        }
        let ready = |status: &BundleStatus| conditions::find(&status.conditions, READY).cloned();
        if let Some(condition) = ready(status).filter(|now| differs(ready(&before).as_ref(), now)) {
            match condition.status {
                ConditionStatus::True => news.push((News::Good, "Reconcile", READY.to_owned(), condition.message)),
                ConditionStatus::False | ConditionStatus::Unknown if status.resources.is_empty() => {
                    news.push((News::Bad, "Reconcile", condition.reason, condition.message));
                }
                ConditionStatus::False | ConditionStatus::Unknown => {}
            }
        }
        if news.is_empty() {
            return;
        }
        let (announcer, about) = (self.announcer.clone(), bundle.object_ref(&()));
        tokio::spawn(async move {
            for (kind, action, reason, note) in news {
                match kind {
                    News::Good => announcer.tell(&about, action, &reason, &note).await,
                    News::Bad => announcer.warn(&about, action, &reason, &note).await,
                }
            }
        });
    }
}

fn differs(before: Option<&Condition>, now: &Condition) -> bool {
    before.is_none_or(|before| (before.status, &before.reason) != (now.status, &now.reason))
}
