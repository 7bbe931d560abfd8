//! Choices that are the same for the same seed.

/// Choices among texts.
pub(crate) struct Random(bailiwick_test_host::Random);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(bailiwick_test_host::Random::new(seed))
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.below(end)
    }

    /// Once in so many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    /// Up to `most` of the texts, seldom none.
    pub(crate) fn some(&mut self, texts: &[&str], most: usize) -> Vec<String> {
        let count = if self.once_in(10) { 0 } else { 1 + self.below(most) };
        (0..count).map(|_| self.pick(texts).to_owned()).collect()
    }
}
