//! How figures are told: a row of a table for each, with its goal and whether it is met.

use std::fmt::Display;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::Failure;
use crate::ours::Ours;

/// How long nobody asks for anything while the cost of doing nothing is measured.
const QUIET: Duration = Duration::from_secs(30);
/// What may still be going on after the last answer.
const SETTLING: Duration = Duration::from_secs(5);

/// The head of the table.
pub fn head() {
    println!("| what | goal | measured | verdict |\n|---|---|---|---|");
}

/// A figure that is to be at most so much.
pub fn at_most<F: PartialOrd>(what: impl Display, goal: F, measured: F, form: impl Fn(&F) -> String) {
    let verdict = if measured <= goal { "met" } else { "MISSED" };
    println!("| {what} | ≤ {} | {} | {verdict} |", form(&goal), form(&measured));
}

/// A time that is to be at most so long.
pub fn within(what: impl Display, goal: Duration, measured: Duration) {
    at_most(what, goal, measured, |time| format!("{time:.1?}"));
}

/// The times of one operation, often repeated: the median and the 99th of 100.
pub fn p99(what: &str, goal: Duration, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    within(format!("{what}, p99 (the median is {:.1?})", at(50)), goal, at(99));
}

/// What the server takes of a core while nobody asks for anything.
pub async fn idle(what: &str, ours: &Ours) -> Result<(), Failure> {
    sleep(SETTLING).await;
    let (began, before) = (Instant::now(), ours.usage()?.processor);
    sleep(QUIET).await;
    let share = (ours.usage()?.processor - before).as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
    at_most(format!("{what}: of a core, idle"), 1.0, share, |percent| format!("{percent:.2} %"));
    Ok(())
}
