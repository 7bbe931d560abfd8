//! Durations, counted so that quantiles can be told: each octave of nanoseconds has 32 buckets, so a quantile is at most 3 %
//! above the truth, and never below.
//!
//! ```text
//! value   0 … 63    own bucket each
//!        64 … 127   32 buckets of 2
//!       128 … 255   32 buckets of 4      and so on, up to 2^64
//! ```

use std::time::Duration;

/// Two to this power is the number of buckets in an octave.
const PRECISION: u32 = 5;
const PER_OCTAVE: usize = 1 << PRECISION;
/// Octaves above the first, whose values have a bucket each.
const OCTAVES: usize = (u64::BITS - PRECISION) as usize;

/// How often each duration was seen.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    longest: u64,
}

// === impl Histogram ===

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; PER_OCTAVE * (OCTAVES + 1)], total: 0, longest: 0 }
    }
}

impl Histogram {
    /// Counts a duration. Those above five centuries count as five centuries.
    pub(crate) fn record(&mut self, duration: Duration) {
        let value = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(value)] += 1;
        self.total += 1;
        self.longest = self.longest.max(value);
    }

    /// Adds what another one counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    /// How many durations were counted.
    pub(crate) fn count(&self) -> u64 {
        self.total
    }

    /// The duration that this share of all did not exceed; zero if there are none.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let rank = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Duration::from_nanos(upper_bound(index).min(self.longest));
            }
        }
        Duration::ZERO
    }
}

/// The bucket of a value: the octave, and within it the bits that follow the highest.
fn bucket(value: u64) -> usize {
    let octave = (u64::BITS - value.leading_zeros()).saturating_sub(PRECISION + 1);
    octave as usize * PER_OCTAVE + (value >> octave) as usize
}

/// The largest value of a bucket.
fn upper_bound(index: usize) -> u64 {
    let octave = (index / PER_OCTAVE).saturating_sub(1);
    let first = (index - octave * PER_OCTAVE) as u64;
    (first << octave) | ((1 << octave) - 1)
}

#[cfg(test)]
mod tests;
