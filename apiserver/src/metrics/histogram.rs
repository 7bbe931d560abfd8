//! How often something was how large.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The bounds of a histogram's buckets, in whole units, and what a unit is.
#[derive(Debug)]
pub(super) struct Bounds<const N: usize> {
    pub(super) upper: [u64; N],
    /// A unit in what is told: seconds, bytes.
    pub(super) unit: f64,
}

/// A histogram. All of it is whole numbers, so that observing takes no lock.
#[derive(Debug)]
pub(super) struct Histogram<const N: usize> {
    bounds: &'static Bounds<N>,
    buckets: [AtomicU64; N],
    beyond: AtomicU64,
    sum: AtomicU64,
}

const MICRO: f64 = 1e-6;

/// Kubernetes' own for the duration of requests.
pub(super) static DURATIONS: Bounds<23> = Bounds {
    upper: [
        5_000, 25_000, 50_000, 100_000, 200_000, 400_000, 600_000, 800_000, 1_000_000, 1_250_000, 1_500_000, 2_000_000,
        3_000_000, 4_000_000, 5_000_000, 6_000_000, 8_000_000, 10_000_000, 15_000_000, 20_000_000, 30_000_000,
        45_000_000, 60_000_000,
    ],
    unit: MICRO,
};

/// Kubernetes' own for authentication and authorization: 1 ms, and twice that again and again.
pub(super) static CHECKS: Bounds<15> = Bounds {
    upper: [
        1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_024_000, 2_048_000, 4_096_000,
        8_192_000, 16_384_000,
    ],
    unit: MICRO,
};

/// Prometheus' own, which Kubernetes has for tokens.
pub(super) static LOOKUPS: Bounds<11> = Bounds {
    upper: [5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000],
    unit: MICRO,
};

/// Kubernetes' own for the size of answers.
pub(super) static ANSWER_BYTES: Bounds<7> =
    Bounds { upper: [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000], unit: 1.0 };

/// Kubernetes' own for the size of events.
pub(super) static EVENT_BYTES: Bounds<8> =
    Bounds { upper: [1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17], unit: 1.0 };

// === impl Histogram ===

impl<const N: usize> Histogram<N> {
    pub(super) fn new(bounds: &'static Bounds<N>) -> Self {
        let buckets = std::array::from_fn(|_| AtomicU64::new(0));
        Self { bounds, buckets, beyond: AtomicU64::new(0), sum: AtomicU64::new(0) }
    }

    pub(super) fn observe(&self, value: u64) {
        let bucket = self.bounds.upper.iter().zip(&self.buckets).find(|(upper, _)| value <= **upper);
        bucket.map_or(&self.beyond, |(_, bucket)| bucket).fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    pub(super) fn observe_duration(&self, duration: Duration) {
        self.observe(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }

    /// The upper bounds, each with the number of all observations up to it.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut so_far = 0;
        self.bounds.upper.iter().zip(&self.buckets).map(move |(upper, bucket)| {
            so_far += bucket.load(Ordering::Relaxed);
            // Divided rather than multiplied, so that 5,000 microseconds are 0.005 seconds to the last digit.
            (*upper as f64 / (1.0 / self.bounds.unit).round(), so_far)
        })
    }

    pub(super) fn beyond(&self) -> u64 {
        self.beyond.load(Ordering::Relaxed)
    }

    /// How many observations there are.
    pub(super) fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum::<u64>() + self.beyond()
    }

    pub(super) fn sum(&self) -> f64 {
        self.sum.load(Ordering::Relaxed) as f64 * self.bounds.unit
    }
}
