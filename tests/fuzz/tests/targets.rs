//! Each target, on its corpus and on inputs that are made of it.
//!
//! `BAILIWICK_FUZZ_SECONDS` is how long each target makes inputs of its own, and `BAILIWICK_FUZZ_SEED` what they follow from.
//! Without either, only those are made that are the same each time: who has changed nothing shall not fail.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use bailiwick_fuzz::{Campaign, Random, Stop, TARGETS, corpus, corpus_folder};

/// What everybody's runs have in common.
const SEED: u64 = 0x0b41_1141;

/// How many inputs are made of it.
const COMMON_INPUTS: u64 = 2_000;

/// On a machine that has much else to do, they may be fewer.
const MOST_TIME: Duration = Duration::from_secs(5);

/// All corpora together.
const MOST_BYTES: u64 = 2 << 20;

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        /// No target is forgotten here, and none has nothing to begin from.
        #[test]
        fn every_target_is_run_and_has_a_corpus() {
            let run: BTreeSet<&str> = [$(stringify!($name)),*].into();
            let known: BTreeSet<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(run, known);
            let folders = fs::read_dir(corpus_folder()).unwrap().map(|entry| entry.unwrap().file_name());
            assert_eq!(folders.map(|name| name.into_string().unwrap()).collect::<BTreeSet<_>>(), known.iter().map(ToString::to_string).collect());
            let bytes: u64 = known.iter().flat_map(|name| {
                let seeds = corpus(name);
                assert!(seeds.len() >= 5, "{name} has only {} seeds", seeds.len());
                seeds
            }).map(|seed| seed.data.len() as u64).sum();
            assert!(bytes < MOST_BYTES, "{bytes} bytes");
        }
    };
}

targets![
    continue_token,
    definition,
    delete_options,
    field_selector,
    host_kind,
    json,
    json_patch,
    json_path,
    label_selector,
    media,
    merge_patch,
    metadata,
    names,
    protobuf,
    quantity,
    registry,
    request,
    schema,
    schema_definition,
    sealed_value,
    storage_key,
    strategic_patch,
    time,
    watch_frame,
    yaml,
];

fn run(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let seeds = corpus(name);
    let mut campaign = Campaign::new(target);
    let began = Instant::now();
    for seed in &seeds {
        campaign.run(&seed.data).unwrap_or_else(|failure| panic!("{}: {failure}", seed.path.display()));
    }
    let inputs: Vec<Vec<u8>> = seeds.into_iter().map(|seed| seed.data).collect();
    let replayed = Instant::now();
    let common = Stop { executions: COMMON_INPUTS, until: replayed + MOST_TIME };
    let (seconds, seed) = (setting("BAILIWICK_FUZZ_SECONDS"), setting("BAILIWICK_FUZZ_SEED"));
    let own = Stop { executions: u64::MAX, until: replayed + Duration::from_secs(seconds.unwrap_or(1)) };
    let own = (seconds.or(seed).is_some()).then(|| (seed.unwrap_or_else(Random::fresh_seed), own));
    for (seed, stop) in [(SEED, common)].into_iter().chain(own) {
        campaign.explore(seed, &inputs, stop).unwrap_or_else(|failure| {
            panic!("{failure}\nit was made with BAILIWICK_FUZZ_SEED={seed}");
        });
    }
    let (report, seconds) = (campaign.report(), began.elapsed().as_secs_f64());
    let rate = report.executions as f64 / seconds;
    println!("{name}: {} inputs, {rate:.0} a second, the slowest took {:?}", report.executions, report.slowest);
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}
