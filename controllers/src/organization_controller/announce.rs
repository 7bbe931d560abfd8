//! Events about groups and bindings that do not come to what they say any more.
//!
//! They are made beside the work, so that a cluster that is slow to take an event keeps nobody from losing what they are to lose.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_api::{Condition, ConditionStatus, OrgGroup, OrgRoleBinding};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::status::effective;
use super::verdict::Verdict;
use crate::announce::Announcer;

/// How many events are made at once. What does not find room is not told: it stands in a status all the same.
const ROOM: usize = 16;
/// How long an event may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Who makes events about groups and bindings.
pub(super) struct Announcements {
    announcer: Announcer,
    room: Arc<Semaphore>,
}

// === impl Announcements ===

impl Announcements {
    pub(super) fn new(announcer: Announcer) -> Self {
        Self { announcer, room: Arc::new(Semaphore::new(ROOM)) }
    }

    /// Tells of a binding that has become ineffective, or is so for another reason than it has said so far.
    pub(super) fn tell_binding(&self, binding: &OrgRoleBinding, verdict: &Verdict) {
        let said = binding.status.as_ref().map(|status| status.conditions.as_slice());
        if is_news(said.unwrap_or_default(), verdict) {
            self.warn(binding.object_ref(&()), "Bind", verdict);
        }
    }

    /// Tells of a group in which there are users who have nothing by it, which it has not said so far.
    pub(super) fn tell_group(&self, group: &OrgGroup, verdict: &Verdict) {
        let said = group.status.as_ref().map(|status| status.conditions.as_slice());
        if is_news(said.unwrap_or_default(), verdict) {
            self.warn(group.object_ref(&()), "Resolve", verdict);
        }
    }

    fn warn(&self, about: ObjectReference, action: &'static str, verdict: &Verdict) {
        let Ok(place) = self.room.clone().try_acquire_owned() else {
            tracing::debug!(?about, reason = verdict.reason, "there are too many events to make this one");
            return;
        };
        let (announcer, verdict) = (self.announcer.clone(), verdict.clone());
        tokio::spawn(async move {
            let _place = place;
            let made = announcer.warn(&about, action, verdict.reason, &verdict.message);
            if timeout(LIMIT, made).await.is_err() {
                tracing::debug!(?about, reason = verdict.reason, "an event was not made in time");
            }
        });
    }
}

fn is_news(said: &[Condition], verdict: &Verdict) -> bool {
    let is_known = effective(said).is_some_and(|said| said.status == verdict.status && said.reason == verdict.reason);
    verdict.status == ConditionStatus::False && !is_known
}
