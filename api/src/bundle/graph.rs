//! Which resource waits for which, and an order in which none waits for a later one.

use std::collections::{HashMap, VecDeque};
use std::fmt;

/// Resources and their dependencies, by their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    dependencies: Vec<Vec<usize>>,
    order: Vec<usize>,
}

/// Resources that wait for each other. The first is also the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle(pub Vec<String>);

// === impl Graph ===

impl Graph {
    /// The graph of these resources. What a resource depends on and is not among them is left out.
    pub fn new<'n>(resources: impl IntoIterator<Item = (&'n str, Vec<&'n str>)>) -> Result<Self, Cycle> {
        let (names, wanted): (Vec<&str>, Vec<Vec<&str>>) = resources.into_iter().unzip();
        let places: HashMap<&str, usize> = names.iter().copied().zip(0..).collect();
        let place = |name: &&str| places.get(name).copied();
        let dependencies: Vec<Vec<usize>> = wanted
            .iter()
            .map(|wanted| {
                let mut found: Vec<usize> = wanted.iter().filter_map(place).collect();
                found.sort_unstable();
                found.dedup();
                found
            })
            .collect();
        let order = order(&dependencies);
        if order.len() == names.len() {
            return Ok(Self { dependencies, order });
        }
        let name = |place: usize| names.get(place).copied().unwrap_or_default().to_owned();
        Err(Cycle(cycle(&dependencies, &order).into_iter().map(name).collect()))
    }

    /// What a resource depends on.
    pub fn dependencies(&self, resource: usize) -> &[usize] {
        self.dependencies.get(resource).map_or(&[], Vec::as_slice)
    }

    /// All resources, each after those that it depends on, and otherwise as they were given.
    pub fn order(&self) -> &[usize] {
        &self.order
    }
}

/// Those that can be put in order.
fn order(dependencies: &[Vec<usize>]) -> Vec<usize> {
    let mut missing: Vec<usize> = dependencies.iter().map(Vec::len).collect();
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); dependencies.len()];
    for (resource, wanted) in dependencies.iter().enumerate() {
        for dependency in wanted {
            if let Some(waiting) = dependents.get_mut(*dependency) {
                waiting.push(resource);
            }
        }
    }
    let mut free: VecDeque<usize> = (0..missing.len()).filter(|resource| missing.get(*resource) == Some(&0)).collect();
    let mut order = Vec::with_capacity(missing.len());
    while let Some(resource) = free.pop_front() {
        order.push(resource);
        for dependent in dependents.get(resource).into_iter().flatten() {
            if let Some(left) = missing.get_mut(*dependent) {
                *left -= 1;
                if *left == 0 {
                    free.push_back(*dependent);
                }
            }
        }
    }
    order
}

/// One cycle among those that could not be put in order. Each of these waits for another of them, so that following that
/// comes back to where it has been.
fn cycle(dependencies: &[Vec<usize>], ordered: &[usize]) -> Vec<usize> {
    let mut is_stuck = vec![true; dependencies.len()];
    for resource in ordered {
        if let Some(stuck) = is_stuck.get_mut(*resource) {
            *stuck = false;
        }
    }
    let stuck = |resource: &usize| is_stuck.get(*resource).copied().unwrap_or_default();
    let mut walked: Vec<usize> = Vec::new();
    let mut next = (0..dependencies.len()).find(stuck);
    while let Some(resource) = next {
        if let Some(began) = walked.iter().position(|before| *before == resource) {
            walked.drain(..began);
            walked.push(resource);
            return walked;
        }
        walked.push(resource);
        next = dependencies.get(resource).and_then(|wanted| wanted.iter().copied().find(stuck));
    }
    walked
}

// === impl Cycle ===

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" -> "))
    }
}

#[cfg(test)]
mod tests;
