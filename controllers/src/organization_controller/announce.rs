//! Events about groups and bindings that do not come to what they say any more.

use bailiwick_api::{Condition, ConditionStatus, OrgGroup, OrgRoleBinding};
use kube::Resource;

use super::status::effective;
use super::verdict::Verdict;
use crate::announce::Announcer;

/// Tells of a binding that has become ineffective, or is so for another reason than it has said so far.
pub(super) async fn tell_binding(announcer: &Announcer, binding: &OrgRoleBinding, verdict: &Verdict) {
    let said = binding.status.as_ref().map(|status| status.conditions.as_slice());
    if is_news(said.unwrap_or_default(), verdict) {
        announcer.warn(&binding.object_ref(&()), "Bind", verdict.reason, &verdict.message).await;
    }
}

/// Tells of a group in which there are users who have nothing by it, which it has not said so far.
pub(super) async fn tell_group(announcer: &Announcer, group: &OrgGroup, verdict: &Verdict) {
    let said = group.status.as_ref().map(|status| status.conditions.as_slice());
    if is_news(said.unwrap_or_default(), verdict) {
        announcer.warn(&group.object_ref(&()), "Resolve", verdict.reason, &verdict.message).await;
    }
}

fn is_news(said: &[Condition], verdict: &Verdict) -> bool {
    let is_known = effective(said).is_some_and(|said| said.status == verdict.status && said.reason == verdict.reason);
    verdict.status == ConditionStatus::False && !is_known
}
