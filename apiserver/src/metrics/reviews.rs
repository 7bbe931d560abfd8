//! What was asked of a cluster about users and their rights, and what it answered: Kubernetes' metrics of delegated authentication
//! and authorization.

use std::time::Duration;

use super::exposition::{Exposition, Type};
use super::histogram::{Histogram, LOOKUPS};

/// The codes of answers that are told apart.
const CODES: [u16; 9] = [200, 201, 401, 403, 404, 429, 500, 503, 504];
/// What stands for those that are not, and for no answer at all.
const OTHER: [&str; 2] = ["other", "<error>"];
const RESULTS: usize = CODES.len() + OTHER.len();

/// What reviews of one sort tell: whose tokens are, or who may do what.
#[derive(Debug)]
pub struct ReviewMetrics([Histogram<11>; RESULTS]);

// === impl ReviewMetrics ===

impl ReviewMetrics {
    /// The cluster was asked once, and answered with this code, or not at all.
    pub(crate) fn asked(&self, code: Option<u16>, took: Duration) {
        let result = match code {
            Some(code) => CODES.iter().position(|known| *known == code).unwrap_or(CODES.len()),
            None => RESULTS - 1,
        };
        self.0[result].observe_duration(took);
    }

    /// Tells it under Kubernetes' name for it, `authn` or `authz`. Who never asks has nothing to tell.
    pub(super) fn expose(&self, out: &mut Exposition, sort: &str) {
        let seen: Vec<(String, &Histogram<11>)> = CODES
            .iter()
            .map(ToString::to_string)
            .chain(OTHER.map(str::to_owned))
            .zip(&self.0)
            .filter(|(_, times)| times.count() > 0)
            .collect();
        if seen.is_empty() {
            return;
        }
        let name = format!("apiserver_delegated_{sort}_request_total");
        out.family(&name, Type::Counter, "Questions to the cluster, by the code of the answer.");
        for (code, times) in &seen {
            out.sample(&name, &[("code", code)], times.count());
        }
        let name = format!("apiserver_delegated_{sort}_request_duration_seconds");
        out.family(&name, Type::Histogram, "How long the cluster took to answer.");
        for (code, times) in &seen {
            out.histogram(&name, &[("code", code)], times);
        }
    }
}

impl Default for ReviewMetrics {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Histogram::new(&LOOKUPS)))
    }
}

#[cfg(test)]
mod tests;
