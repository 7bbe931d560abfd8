//! Inputs made of other inputs.
//!
//! Half of the changes know nothing (bits, bytes, ranges). The other half knows that inputs are texts of tokens between
//! punctuation: tokens are moved, doubled, repeated many times over, exchanged with those of other inputs, or replaced by
//! numbers at the edges of types and by the words of the target's dictionary.

use std::ops::Range;

use bailiwick_test_host::Random;

/// The longest input that is made.
const LONGEST: usize = 16 * 1024;

/// The most changes to one input.
const MOST_CHANGES: usize = 8;

/// Numbers at which types end, and other texts that are special nearly everywhere.
const EDGES: &[&[u8]] = &[
    b"0",
    b"-0",
    b"-1",
    b"127",
    b"128",
    b"255",
    b"256",
    b"2147483647",
    b"2147483648",
    b"4294967295",
    b"9007199254740993",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"1e309",
    b"1e-400",
    b"0.1",
    b"1e999999",
    b"",
    b".",
    b"..",
    b"/",
    b"%2f",
    b"%00",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    "\u{130}\u{212a}\u{1f600}".as_bytes(),
];

/// Makes inputs of a corpus.
#[derive(Debug)]
pub struct Mutator<'c> {
    random: Random,
    corpus: &'c [Vec<u8>],
    dictionary: &'c [&'c [u8]],
}

// === impl Mutator ===

impl<'c> Mutator<'c> {
    /// Inputs that follow from a seed.
    pub fn new(seed: u64, corpus: &'c [Vec<u8>], dictionary: &'c [&'c [u8]]) -> Self {
        Self { random: Random::new(seed), corpus, dictionary }
    }

    /// Makes the next input.
    pub fn input(&mut self) -> Vec<u8> {
        let mut input = self.random.pick(self.corpus).cloned().unwrap_or_default();
        for _ in 0..=self.random.below(MOST_CHANGES) {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        match self.random.below(14) {
            0 => self.flip_bit(input),
            1 => self.set_byte(input),
            2 => {
                let range = self.range(input.len());
                input.drain(range);
            }
            3 => {
                let range = self.range(input.len());
                let piece = input[range].to_vec();
                self.insert(input, &piece);
            }
            4 => self.splice(input),
            5 | 6 => {
                let word = self.word();
                self.insert(input, &word);
            }
            7 | 8 => {
                let word = self.word();
                let token = self.token(input);
                input.splice(token, word);
            }
            9 => {
                let token = self.token(input);
                input.drain(token);
            }
            10 => {
                let (one, other) = (self.token(input), self.token(input));
                let moved = input[one].to_vec();
                input.splice(other, moved);
            }
            11 => {
                let other = self.other();
                let (token, from) = (self.token(input), self.token(&other));
                input.splice(token, other[from].to_vec());
            }
            12 => {
                let token = self.token(input);
                let times = 2 << self.random.below(6);
                let repeated = input[token.clone()].repeat(times);
                if input.len() + repeated.len() < LONGEST {
                    input.splice(token, repeated);
                }
            }
            _ => {
                let end = self.random.below(input.len() + 1);
                input.truncate(end);
            }
        }
    }

    fn flip_bit(&mut self, input: &mut [u8]) {
        let at = self.random.below(input.len());
        if let Some(byte) = input.get_mut(at) {
            *byte ^= 1 << self.random.below(8);
        }
    }

    fn set_byte(&mut self, input: &mut [u8]) {
        let at = self.random.below(input.len());
        if let Some(byte) = input.get_mut(at) {
            *byte = self.random.number() as u8;
        }
    }

    /// The start of this input and the end of another one.
    fn splice(&mut self, input: &mut Vec<u8>) {
        let other = self.other();
        input.truncate(self.random.below(input.len() + 1));
        input.extend_from_slice(&other[self.random.below(other.len() + 1)..]);
    }

    fn insert(&mut self, input: &mut Vec<u8>, piece: &[u8]) {
        let at = match self.random.below(2) {
            0 => self.random.below(input.len() + 1),
            _ => self.token(input).start,
        };
        input.splice(at..at, piece.iter().copied());
    }

    fn word(&mut self) -> Vec<u8> {
        let edges = self.dictionary.is_empty() || self.random.below(3) == 0;
        self.random.pick(if edges { EDGES } else { self.dictionary }).map(|word| word.to_vec()).unwrap_or_default()
    }

    fn other(&mut self) -> Vec<u8> {
        self.random.pick(self.corpus).cloned().unwrap_or_default()
    }

    /// A short range, mostly.
    fn range(&mut self, length: usize) -> Range<usize> {
        let start = self.random.below(length + 1);
        let most = (length - start).min(1 << self.random.below(8));
        start..start + self.random.below(most + 1)
    }

    /// A word, or one piece of punctuation.
    fn token(&mut self, input: &[u8]) -> Range<usize> {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
        let at = self.random.below(input.len());
        match input.get(at) {
            None => 0..0,
            Some(byte) if is_word(byte) => {
                let before = input[..at].iter().rev().take_while(|byte| is_word(byte)).count();
                let after = input[at..].iter().take_while(|byte| is_word(byte)).count();
                at - before..at + after
            }
            Some(_) => at..at + 1,
        }
    }
}
