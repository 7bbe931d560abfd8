//! Whether what a pod asks for as a whole is enough for its containers.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_machinery::{FieldError, FieldErrors, Quantity};

use super::part::Part;
use super::resources::{check_pod, exceeds};

type Amounts<'v> = BTreeMap<&'v str, Quantity>;

/// Notes what is wrong with what a pod asks for.
pub(super) fn check(spec: &Part<'_>, claims: &BTreeSet<&str>, errors: &mut FieldErrors) {
    let Some(resources) = spec.part("resources") else { return };
    if spec.part("os").is_some_and(|os| os.text("name") == "windows") {
        errors.push(FieldError::forbidden(resources.path().clone(), "may not be set for a windows pod"));
        return;
    }
    check_pod(&resources, claims, errors);
    check_sums(spec, &resources, "requests", errors);
    check_sums(spec, &resources, "limits", errors);
    let limits: Amounts<'_> = resources.amounts("limits").into_iter().collect();
    for (index, container) in spec.parts("containers").enumerate() {
        let own = container.part("resources").map(|resources| resources.amounts("limits")).unwrap_or_default();
        for (name, amount) in own {
            let Some(limit) = limits.get(name).filter(|limit| exceeds(&amount, limit)) else { continue };
            let path = resources.at("containers").index(index).key(name).child("limits");
            let why = format!("must be less than or equal to pod limits of {limit}");
            errors.push(FieldError::invalid(path, amount.to_string(), why));
        }
    }
}

/// Notes what the containers need more of, together, than the pod has. Of limits, only those on what cannot be shared.
fn check_sums(spec: &Part<'_>, resources: &Part<'_>, field: &str, errors: &mut FieldErrors) {
    let needed = needed(spec, field);
    for (name, amount) in resources.amounts(field) {
        let is_bound = field == "requests" || name.starts_with("hugepages-");
        let Some(sum) = needed.get(name).filter(|sum| is_bound && exceeds(sum, &amount)) else { continue };
        let why = format!("must be greater than or equal to aggregate container {field} of {sum}");
        errors.push(FieldError::invalid(resources.at(field).key(name), amount.to_string(), why));
    }
}

/// What is needed at the moment when most is: by what runs for as long as the pod, or while it begins, by one container
/// after the other, each beside what has begun before it and stays.
fn needed<'v>(spec: &Part<'v>, field: &str) -> Amounts<'v> {
    let of = |container: &Part<'v>| {
        container.part("resources").map(|resources| resources.amounts(field)).unwrap_or_default()
    };
    let mut running = Amounts::new();
    for container in spec.parts("containers") {
        add(&mut running, of(&container));
    }
    let (mut staying, mut beginning) = (Amounts::new(), Amounts::new());
    for container in spec.parts("initContainers") {
        let now = if container.text("restartPolicy") == "Always" {
            add(&mut running, of(&container));
            add(&mut staying, of(&container));
            staying.clone()
        } else {
            let mut now: Amounts<'v> = of(&container).into_iter().collect();
            add(&mut now, staying.clone().into_iter().collect());
            now
        };
        raise(&mut beginning, now);
    }
    raise(&mut running, beginning);
    running
}

fn add<'v>(sums: &mut Amounts<'v>, amounts: Vec<(&'v str, Quantity)>) {
    for (name, amount) in amounts {
        let sum = sums.get(name).map_or(Ok(amount.clone()), |sum| sum.checked_add(&amount));
        // A sum that cannot be kept is more than any limit that can.
        sums.insert(name, sum.unwrap_or(amount));
    }
}

fn raise<'v>(most: &mut Amounts<'v>, amounts: Amounts<'v>) {
    for (name, amount) in amounts {
        if most.get(name).is_none_or(|known| exceeds(&amount, known)) {
            most.insert(name, amount);
        }
    }
}
