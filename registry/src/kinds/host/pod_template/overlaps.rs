//! Files of a volume that would lie at the same path, or one below another.

use std::fmt;

use bailiwick_machinery::go::quote;
use serde_json::Map;

use super::part::Part;

/// A path, and what it comes from, if there are several sources.
struct Place<'v> {
    path: &'v str,
    source: String,
}

/// What to say of the volumes of a pod.
pub(super) fn warnings(spec: &Part<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    for volume in spec.parts("volumes") {
        let name = quote(volume.text("name"));
        let mut of_one = |source: &Part<'_>, description: String| {
            for overlap in overlaps(places(source, "")) {
                warnings.push(format!("volume {name} ({description}): overlapping paths: {overlap}"));
            }
        };
        if let Some(source) = volume.part("configMap") {
            of_one(&source, format!("ConfigMap {}", quote(source.text("name"))));
        }
        if let Some(source) = volume.part("secret") {
            of_one(&source, format!("Secret {}", quote(source.text("secretName"))));
        }
        if let Some(source) = volume.part("downwardAPI") {
            of_one(&source, "DownwardAPI".to_owned());
        }
        let Some(projected) = volume.part("projected") else { continue };
        let mut before = Vec::new();
        for source in projected.parts("sources") {
            if source.value().as_object().is_none_or(Map::is_empty) {
                warnings.push(format!("volume {name} (Projected) has no sources provided"));
            }
            for place in places_of_source(&source) {
                let overlaps = place.overlaps_among(&before).into_iter();
                warnings
                    .extend(overlaps.map(|overlap| format!("volume {name} (Projected): overlapping paths: {overlap}")));
                before.push(place);
            }
        }
    }
    warnings
}

fn places<'v>(source: &Part<'v>, description: &str) -> Vec<Place<'v>> {
    source.parts("items").map(|item| Place::new(item.text("path"), description)).collect()
}

/// Of a source that is several things at once, the first counts.
fn places_of_source<'v>(source: &Part<'v>) -> Vec<Place<'v>> {
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        if let Some(object) = source.part(field).filter(|object| object.has("items")) {
            return places(&object, &format!("{kind} {}", quote(object.text("name"))));
        }
    }
    if let Some(pod) = source.part("downwardAPI").filter(|pod| pod.has("items")) {
        return places(&pod, "DownwardAPI");
    }
    let token = source.part("serviceAccountToken");
    token.map(|token| Place::new(token.text("path"), "ServiceAccountToken")).into_iter().collect()
}

/// Each place that is the same as one before it, or above or below it.
fn overlaps(places: Vec<Place<'_>>) -> Vec<String> {
    let before = |index: usize| places.get(..index).unwrap_or_default();
    places.iter().enumerate().flat_map(|(index, place)| place.overlaps_among(before(index))).collect()
}

// === impl Place ===

impl<'v> Place<'v> {
    fn new(path: &'v str, source: &str) -> Self {
        Self { path: path.trim_end_matches('/'), source: source.to_owned() }
    }

    fn overlaps_among(&self, before: &[Self]) -> Vec<String> {
        before.iter().filter(|other| self.overlaps(other)).map(|other| format!("{self} with {other}")).collect()
    }

    fn overlaps(&self, other: &Self) -> bool {
        let is_below = |path: &str, other: &str| {
            path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_one_empty = self.path.is_empty() || other.path.is_empty();
        !is_one_empty && (is_below(self.path, other.path) || is_below(other.path, self.path))
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quote(self.path))?;
        if self.source.is_empty() { Ok(()) } else { write!(f, " ({})", self.source) }
    }
}
