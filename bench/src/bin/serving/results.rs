//! The figures of all targets over all rounds. Nothing is measured here, and nothing is printed.

use std::time::Duration;

use crate::load::Measurement;
use crate::operation::Operation;
use crate::process::Memory;

/// Everything that was found.
#[derive(Default)]
pub(crate) struct Results {
    targets: Vec<TargetResults>,
    /// Creates a second in etcd itself, in the order of rounds.
    raw_creates: Vec<f64>,
}

/// What was found of one target.
pub(crate) struct TargetResults {
    pub(crate) name: &'static str,
    /// In the order of rounds.
    measurements: Vec<(Operation, Measurement)>,
    pub(crate) memory: Option<Memory>,
}

// === impl Results ===

impl Results {
    /// Results of targets with these names, in the order of the report.
    pub(crate) fn new(names: impl IntoIterator<Item = &'static str>) -> Self {
        let empty = |name| TargetResults { name, measurements: Vec::new(), memory: None };
        Self { targets: names.into_iter().map(empty).collect(), raw_creates: Vec::new() }
    }

    /// All targets.
    pub(crate) fn targets(&self) -> &[TargetResults] {
        &self.targets
    }

    /// One target.
    pub(crate) fn target(&self, name: &str) -> Option<&TargetResults> {
        self.targets.iter().find(|target| target.name == name)
    }

    /// Adds a round of one target.
    pub(crate) fn add(&mut self, name: &str, operation: Operation, measurement: Measurement) {
        if let Some(target) = self.targets.iter_mut().find(|target| target.name == name) {
            target.measurements.push((operation, measurement));
        }
    }

    /// Adds a round of etcd itself.
    pub(crate) fn add_raw_creates(&mut self, rate: f64) {
        self.raw_creates.push(rate);
    }

    /// How many creates a second etcd itself takes.
    pub(crate) fn raw_creates(&self) -> Option<f64> {
        median(self.raw_creates.clone())
    }

    /// Which part of etcd's own creates a second a target reaches: the median of the rounds' quotients.
    pub(crate) fn share_of_raw(&self, target: &TargetResults) -> Option<f64> {
        let rounds = target.rounds(Operation::Create).map(Measurement::rate);
        median(rounds.zip(&self.raw_creates).map(|(reached, raw)| reached / raw).collect())
    }

    /// Notes what a target occupies.
    pub(crate) fn set_memory(&mut self, name: &str, memory: Memory) {
        if let Some(target) = self.targets.iter_mut().find(|target| target.name == name) {
            target.memory = Some(memory);
        }
    }
}

// === impl TargetResults ===

impl TargetResults {
    /// The median over the rounds. None if this was not measured.
    pub(crate) fn median(&self, operation: Operation, figure: fn(&Measurement) -> f64) -> Option<f64> {
        median(self.rounds(operation).map(figure).collect())
    }

    /// The least and the greatest of the rounds. None if this was not measured.
    pub(crate) fn range(&self, operation: Operation, figure: fn(&Measurement) -> f64) -> Option<(f64, f64)> {
        let rounds = || self.rounds(operation).map(figure);
        rounds().min_by(f64::total_cmp).zip(rounds().max_by(f64::total_cmp))
    }

    /// The median of a quantile of the time an operation took.
    pub(crate) fn latency(&self, operation: Operation, share: f64) -> Option<Duration> {
        let told = self.rounds(operation).map(|round| round.latencies.quantile(share).as_secs_f64());
        median(told.collect()).map(Duration::from_secs_f64)
    }

    /// How many times the processor time of `other` this one's is: the median of the rounds' quotients, so that what slowed
    /// both down in a round cancels out.
    pub(crate) fn cpu_ratio(&self, other: &Self, operation: Operation) -> Option<f64> {
        let pairs = self.rounds(operation).zip(other.rounds(operation));
        let quotients = pairs.map(|(mine, theirs)| mine.server_cpu_each() / theirs.server_cpu_each());
        median(quotients.filter(|quotient| quotient.is_finite()).collect())
    }

    fn rounds(&self, operation: Operation) -> impl Iterator<Item = &Measurement> {
        self.measurements.iter().filter(move |(of, _)| *of == operation).map(|(_, measurement)| measurement)
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values.get(middle).copied(),
        _ => Some((values.get(middle.checked_sub(1)?)? + values.get(middle)?) / 2.0),
    }
}

#[cfg(test)]
mod tests;
