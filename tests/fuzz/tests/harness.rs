//! The harness finds what it is there to find, and is the same each time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

use std::fs;
use std::time::{Duration, Instant};

use bailiwick_fuzz::{Campaign, Mutator, Stop, Target};

fn path(failure: &str) -> &str {
    failure.lines().find_map(|line| line.strip_prefix("the input is in ")).unwrap()
}

fn soon() -> Stop {
    Stop { executions: 200_000, until: Instant::now() + Duration::from_secs(30) }
}

/// Two words of the dictionary and a number at an edge, in this order: far from the corpus.
static DEEP: Target = Target { name: "deep", run: deep, dictionary: &[b"alpha", b"beta"] };

fn deep(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let found = text.split_once("alpha").and_then(|(_, rest)| rest.split_once("beta"));
    assert!(!found.is_some_and(|(_, rest)| rest.contains("4294967295")), "found it");
}

#[test]
fn a_mistake_is_found_and_its_input_is_kept() {
    let failure = Campaign::new(&DEEP).explore(7, &[b"a, b, c".to_vec()], soon()).unwrap_err().to_string();
    assert!(failure.contains("target deep: found it"), "{failure}");
    let kept = fs::read(path(&failure)).unwrap();
    fs::remove_file(path(&failure)).unwrap();
    assert!(Campaign::new(&DEEP).run(&kept).is_err(), "the input that was kept does not fail");
}

static SLOW: Target = Target { name: "slow", run: slow, dictionary: &[] };

fn slow(data: &[u8]) {
    let began = Instant::now();
    while data == b"slow" && began.elapsed() < Duration::from_secs(5) {
        std::hint::black_box(data);
    }
}

#[test]
fn a_slow_input_fails() {
    let mut campaign = Campaign::new(&SLOW);
    campaign.run(b"quick").unwrap();
    let failure = campaign.run(b"slow").unwrap_err().to_string();
    assert!(failure.contains("target slow: took "), "{failure}");
    assert_eq!(fs::read(path(&failure)).unwrap(), b"slow");
    fs::remove_file(path(&failure)).unwrap();
}

#[test]
fn inputs_follow_from_their_seed() {
    let corpus = [b"{\"a\":1}".to_vec(), b"[2,3]".to_vec(), Vec::new()];
    let inputs = |seed| {
        let mut mutator = Mutator::new(seed, &corpus, &[b"word"]);
        (0..200).map(|_| mutator.input()).collect::<Vec<_>>()
    };
    assert_eq!(inputs(1), inputs(1));
    assert_ne!(inputs(1), inputs(2));
    let different: std::collections::BTreeSet<_> = inputs(1).into_iter().collect();
    assert!(different.len() > 150, "only {} are different", different.len());
    assert!(Mutator::new(1, &[], &[]).input().len() < 1024, "an empty corpus is enough to begin from");
}
