//! What a Bundle waits for the longest: a chain of resources that are not ready, and when its last one will be.
//!
//! How long a resource takes is guessed from how long it took before, or others of its kind in the same Bundle. All of it follows
//! from what the Bundle says of its resources, so that it changes only when that does, and not with the time.

use std::collections::HashMap;

use bailiwick_api::bundle::{Plan, PlannedResource};
use bailiwick_api::{BundleResourceStatus, CriticalPath, Phase};

use super::outcome::DEPENDENCY_NOT_READY;
use crate::conditions;

/// The longest way to a resource that is not ready.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// How many of its resources take nobody knows how long.
    unknown: usize,
    /// When it ends, in seconds since 1970, as far as that is known.
    end: i64,
    /// How many resources it has.
    length: usize,
    /// The one before, by its place.
    before: Option<usize>,
}

/// What keeps a Bundle from being ready the longest; nothing if all of it is ready.
pub(super) fn critical_path(plan: &Plan, resources: &[BundleResourceStatus]) -> Option<CriticalPath> {
    if resources.iter().all(|resource| resource.phase == Phase::Ready) {
        return None;
    }
    let told: HashMap<&str, &BundleResourceStatus> =
        resources.iter().map(|resource| (resource.name.as_str(), resource)).collect();
    let found = |planned: &PlannedResource| told.get(planned.name.as_str()).copied();
    let mut of_kind: HashMap<(&str, &str), i64> = HashMap::new();
    for planned in plan.resources() {
        if let Some(took) = found(planned).and_then(|resource| resource.ready_after_seconds) {
            let longest = of_kind.entry(kind(planned)).or_default();
            *longest = took.max(*longest);
        }
    }
    let mut ways: Vec<Option<Way>> = vec![None; plan.resources().len()];
    let mut longest: Option<(usize, Way)> = None;
    for place in plan.graph().order().iter().copied() {
        let Some(planned) = plan.resources().get(place) else { continue };
        let Some(resource) = found(planned).filter(|resource| resource.phase != Phase::Ready) else { continue };
        let way_to = |place: &usize| Some((*place, ways.get(*place).copied().flatten()?));
        let before = plan.graph().dependencies(place).iter().filter_map(way_to).reduce(longer);
        let took = resource.ready_after_seconds.or_else(|| of_kind.get(&kind(planned)).copied());
        let took = took.filter(|_| is_on_its_way(resource));
        let (unknown, begin, length) = match before {
            Some((_, before)) => (before.unknown, before.end, before.length),
            None => (0, resource.since.as_deref().and_then(conditions::seconds).unwrap_or_default(), 0),
        };
        let way = Way {
            unknown: unknown + usize::from(took.is_none()),
            end: begin.saturating_add(took.unwrap_or_default()),
            length: length + 1,
            before: before.map(|(place, _)| place),
        };
        if let Some(found) = ways.get_mut(place) {
            *found = Some(way);
        }
        longest = Some(longest.map_or((place, way), |longest| longer(longest, (place, way))));
    }
    let (last, way) = longest?;
    let back = |place: &usize| ways.get(*place).copied().flatten()?.before;
    let mut path: Vec<String> = std::iter::successors(Some(last), back)
        .filter_map(|place| plan.resources().get(place).map(|resource| resource.name.clone()))
        .collect();
    path.reverse();
    let estimated_ready_time = (way.unknown == 0).then(|| conditions::text_of(way.end));
    Some(CriticalPath { resources: path, estimated_ready_time })
}

/// The longer of two ways; the first if none is.
fn longer(one: (usize, Way), other: (usize, Way)) -> (usize, Way) {
    let length = |(_, way): &(usize, Way)| (way.unknown, way.end, way.length);
    if length(&other) > length(&one) { other } else { one }
}

/// Whether a resource will be ready by itself. Nobody knows when that which is wrong is mended, or comes that is not of the Bundle.
fn is_on_its_way(resource: &BundleResourceStatus) -> bool {
    match resource.phase {
        Phase::Error => false,
        Phase::Blocked => resource.reason == DEPENDENCY_NOT_READY,
        Phase::InProgress | Phase::Ready => true,
    }
}

fn kind(resource: &PlannedResource) -> (&str, &str) {
    (&resource.api_version, &resource.kind)
}

#[cfg(test)]
mod tests;
