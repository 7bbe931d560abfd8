//! Events about OrgRoleBindings that come to nothing any more.

use bailiwick_api::{ConditionStatus, OrgRoleBinding};
use kube::Resource;

use super::status::effective;
use super::verdict::Verdict;
use crate::announce::Announcer;

/// Tells of a binding that has become ineffective, or is so for another reason than it has said so far.
pub(super) async fn tell(announcer: &Announcer, binding: &OrgRoleBinding, verdict: &Verdict) {
    let told = effective(binding.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default());
    let is_known = told.is_some_and(|told| told.status == verdict.status && told.reason == verdict.reason);
    if verdict.status == ConditionStatus::False && !is_known {
        announcer.warn(&binding.object_ref(&()), "Bind", verdict.reason, &verdict.message).await;
    }
}
