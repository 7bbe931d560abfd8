//! What a namespace that is to end says about why it is still there, in Kubernetes' words.

use std::collections::BTreeMap;
use std::time::SystemTime;

use k8s_openapi::api::core::v1::{Namespace, NamespaceCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::content::Content;

/// One thing that can keep a namespace.
struct Check {
    name: &'static str,
    /// The reason and the message if nothing does.
    fine: (&'static str, &'static str),
    /// The reason and the message if something does.
    trouble: Option<(&'static str, String)>,
}

/// Says in a namespace what became of its content. Tells whether that is news.
pub(super) fn set_conditions(namespace: &mut Namespace, content: &Content, now: SystemTime) -> bool {
    let conditions = namespace.status.get_or_insert_default().conditions.get_or_insert_default();
    let mut changed = false;
    for check in checks(content) {
        changed |= set(conditions, check, now);
    }
    changed
}

fn checks(content: &Content) -> [Check; 5] {
    let discovery = content.discovery_failure.as_ref();
    let failures = (!content.failures.is_empty()).then(|| content.failures.join(", "));
    [
        Check {
            name: "NamespaceDeletionDiscoveryFailure",
            fine: ("ResourcesDiscovered", "All resources successfully discovered"),
            trouble: discovery.map(|why| ("DiscoveryFailed", format!("Discovery failed for some groups: {why}"))),
        },
        Check {
            name: "NamespaceDeletionGroupVersionParsingFailure",
            fine: ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
            trouble: None,
        },
        Check {
            name: "NamespaceDeletionContentFailure",
            fine: ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
            trouble: failures
                .map(|why| ("ContentDeletionFailed", format!("Failed to delete all resource types: {why}"))),
        },
        Check {
            name: "NamespaceContentRemaining",
            fine: ("ContentRemoved", "All content successfully removed"),
            trouble: remaining(content),
        },
        Check {
            name: "NamespaceFinalizersRemaining",
            fine: ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
            trouble: finalizers(content),
        },
    ]
}

fn remaining(content: &Content) -> Option<(&'static str, String)> {
    let count = |left: &super::Left| {
        let resource = &left.served.resource;
        format!("{}.{} has {} resource instances", resource.plural, resource.group, left.objects)
    };
    let mut counts: Vec<String> = content.left.iter().map(count).collect();
    counts.sort_unstable();
    let message = format!("Some resources are remaining: {}", counts.join(", "));
    (!counts.is_empty()).then_some(("SomeResourcesRemain", message))
}

fn finalizers(content: &Content) -> Option<(&'static str, String)> {
    let mut sums: BTreeMap<&str, usize> = BTreeMap::new();
    for (finalizer, count) in content.left.iter().flat_map(|left| &left.finalizers) {
        *sums.entry(finalizer).or_default() += count;
    }
    let counts: Vec<String> =
        sums.iter().map(|(finalizer, count)| format!("{finalizer} in {count} resource instances")).collect();
    let message = format!("Some content in the namespace has finalizers remaining: {}", counts.join(", "));
    (!counts.is_empty()).then_some(("SomeFinalizersRemain", message))
}

fn set(conditions: &mut Vec<NamespaceCondition>, check: Check, now: SystemTime) -> bool {
    let (status, reason, message) = match check.trouble {
        None => ("False", check.fine.0, check.fine.1.to_owned()),
        Some((reason, message)) => ("True", reason, message),
    };
    let found = conditions.iter_mut().find(|condition| condition.type_ == check.name);
    let is_same = |found: &NamespaceCondition| {
        found.status == status && found.reason.as_deref() == Some(reason) && found.message.as_ref() == Some(&message)
    };
    if found.as_deref().is_some_and(is_same) {
        return false;
    }
    let since =
        found.as_deref().filter(|found| found.status == status).and_then(|found| found.last_transition_time.clone());
    let condition = NamespaceCondition {
        type_: check.name.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        last_transition_time: since.or_else(|| seconds(now)),
    };
    match found {
        Some(found) => *found = condition,
        None => conditions.push(condition),
    }
    true
}

fn seconds(now: SystemTime) -> Option<Time> {
    let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    Timestamp::from_second(i64::try_from(since_epoch).ok()?).ok().map(Time)
}
