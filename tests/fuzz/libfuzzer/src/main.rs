//! Runs the target that `BAILIWICK_FUZZ_TARGET` names.

#![no_main]

use std::sync::LazyLock;

use bailiwick_fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("BAILIWICK_FUZZ_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("BAILIWICK_FUZZ_TARGET is \"{name}\", which is no target"))
});

fuzz_target!(|data: &[u8]| (TARGET.run)(data));
