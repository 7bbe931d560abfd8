//! Sending clients elsewhere now and then: over HTTP/2 they stay with one server for ever, also when others were started to
//! help it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Strikes a part of all requests.
#[derive(Debug, Default)]
pub(crate) struct Goaway {
    chance: f64,
    asked: AtomicU64,
}

// === impl Goaway ===

impl Goaway {
    /// Strikes with this chance, between 0 and 1.
    pub(crate) fn new(chance: f64) -> Self {
        Self { chance, asked: AtomicU64::new(0) }
    }

    /// Whether this request is struck.
    pub(crate) fn strikes(&self) -> bool {
        // Not to be guessed is not needed here; to be spread evenly is.
        self.chance > 0.0 && spread(self.asked.fetch_add(1, Ordering::Relaxed)) < self.chance
    }
}

/// Numbers from 0 to 1 that look as if they were drawn, one for each count: SplitMix64.
fn spread(count: u64) -> f64 {
    let mut mixed = count.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_all_requests_is_struck() {
        for (chance, least, most) in [(0.0, 0, 0), (0.001, 50, 150), (0.02, 1_800, 2_200), (1.0, 100_000, 100_000)] {
            let goaway = Goaway::new(chance);
            let struck = (0..100_000).filter(|_| goaway.strikes()).count();
            assert!((least..=most).contains(&struck), "{chance}: {struck}");
        }
    }
}
