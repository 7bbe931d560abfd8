//! Figures as tables: what falls short of its goal first, then everything. Nothing is measured here.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::load::Measurement;
use crate::operation::{MEMORY_GOAL, Operation, RAW_SHARE_GOAL};
use crate::options::Options;
use crate::ours;
use crate::results::{Results, TargetResults};
use crate::table::Table;

/// Why a goal is missed, by what misses it: people write it into the document, and it is carried from run to run.
pub(crate) type Reasons = BTreeMap<String, String>;

/// What stands where nobody has written a reason yet.
pub(crate) const NO_REASON: &str = "not examined yet";

/// What can be said of a run.
pub(crate) struct Report {
    /// What falls short, the worst first.
    pub(crate) shortfalls: Vec<Shortfall>,
    pub(crate) tables: Vec<Table>,
    pub(crate) notes: Vec<String>,
}

/// A cell of a table. None if there is nothing to say.
type Figure = fn(&TargetResults, Operation) -> Option<String>;

/// A goal that is missed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shortfall {
    /// The operation and the target.
    pub(crate) what: String,
    pub(crate) measured: String,
    pub(crate) goal: String,
    /// The measured over the goal.
    pub(crate) times: f64,
}

// === impl Report ===

impl Report {
    pub(crate) fn new(results: &Results, options: &Options, notes: Vec<String>) -> Self {
        let each = |title, figure: Figure| each(results, options, title, figure);
        let tables = vec![
            cpu(results, options),
            each("Server CPU for each operation, in the least and in the greatest round", cpu_range),
            each("Operations a second (the clients share the cores: a hint only)", rate),
            each("Time until the answer was read, p50 / p99 (watch delivery: since the write was sent)", latency),
            each("The clients' CPU for each operation", client_cpu),
            each("etcd's CPU for each operation", etcd_cpu),
            each("Bytes of each answer", bytes),
            raw_share(results),
            memory(results),
        ];
        Self { shortfalls: shortfalls(results, options), tables, notes }
    }

    /// For a terminal.
    pub(crate) fn text(&self, reasons: &Reasons) -> String {
        let mut out = String::new();
        if !self.shortfalls.is_empty() {
            let mut table = Table::new("Short of its goal", ["what", "measured", "goal", "times", "why"]);
            for short in &self.shortfalls {
                let times = format!("{}x", significant(short.times, 2));
                table.row([&short.what, &short.measured, &short.goal, &times, reason(reasons, short)]);
            }
            table.write_text(&mut out);
        }
        self.tables.iter().for_each(|table| table.write_text(&mut out));
        self.notes.iter().for_each(|note| out.push_str(&format!("{note}\n")));
        out
    }

    /// For the document.
    pub(crate) fn markdown(&self, reasons: &Reasons, plot: &str) -> String {
        let mut out = String::from("### What falls short\n\n");
        if self.shortfalls.is_empty() {
            out.push_str("Nothing: every goal is met.\n");
        }
        for short in &self.shortfalls {
            let Shortfall { what, measured, goal, .. } = short;
            out.push_str(&format!("- **{what}**: {measured}, the goal is {goal}. Why: {}\n", reason(reasons, short)));
        }
        out.push_str(&format!("\n### One run\n\n![server CPU for each operation, beside ours]({plot})\n\n"));
        self.tables.iter().for_each(|table| table.write_markdown(&mut out));
        self.notes.iter().for_each(|note| out.push_str(&format!("- {note}\n")));
        out
    }
}

fn reason<'reasons>(reasons: &'reasons Reasons, short: &Shortfall) -> &'reasons str {
    reasons.get(&short.what).map_or(NO_REASON, String::as_str)
}

/// The table that counts: the server's processor time.
fn cpu(results: &Results, options: &Options) -> Table {
    let reference = results.target(ours::ON_ETCD);
    let columns = ["operation", "goal"].into_iter().chain(results.targets().iter().map(|target| target.name));
    let mut table = Table::new("Server CPU for each operation (in brackets: times that of Bailiwick on etcd)", columns);
    for operation in options.operations() {
        let goal = operation.goal(options).map_or("–".to_owned(), |goal| format!("≤ {}", show_cpu(goal)));
        let figures = results.targets().iter().map(|target| {
            let taken = target.median(operation, Measurement::server_cpu_each).map(show_cpu);
            let other = reference.filter(|reference| reference.name != target.name);
            let ratio = other.and_then(|reference| target.cpu_ratio(reference, operation));
            let ratio = ratio.map_or(String::new(), |ratio| format!(" ({}x)", significant(ratio, 2)));
            taken.map_or("–".to_owned(), |taken| taken + &ratio)
        });
        table.row([operation.title(options), goal].into_iter().chain(figures));
    }
    table
}

/// A table with a row for each operation and a column for each target.
fn each(results: &Results, options: &Options, title: &str, figure: Figure) -> Table {
    let columns = ["operation"].into_iter().chain(results.targets().iter().map(|target| target.name));
    let mut table = Table::new(title, columns);
    for operation in options.operations() {
        let figures = results.targets().iter().map(|target| figure(target, operation).unwrap_or("–".to_owned()));
        table.row([operation.title(options)].into_iter().chain(figures));
    }
    table
}

fn cpu_range(target: &TargetResults, operation: Operation) -> Option<String> {
    let (least, greatest) = target.range(operation, Measurement::server_cpu_each)?;
    Some(format!("{} – {}", significant(least * 1e3, 3), show_cpu(greatest)))
}

fn rate(target: &TargetResults, operation: Operation) -> Option<String> {
    target.median(operation, Measurement::rate).map(|rate| significant(rate, 3))
}

fn latency(target: &TargetResults, operation: Operation) -> Option<String> {
    let [half, most] = [0.5, 0.99].map(|share| target.latency(operation, share).map(show_latency));
    Some(format!("{} / {}", half?, most?))
}

fn client_cpu(target: &TargetResults, operation: Operation) -> Option<String> {
    target.median(operation, Measurement::client_cpu_each).map(show_cpu)
}

/// Nothing where there is no etcd, or where it has no part: a delivery is between the server and its watchers.
fn etcd_cpu(target: &TargetResults, operation: Operation) -> Option<String> {
    let taken = target.median(operation, Measurement::etcd_cpu_each).filter(|taken| *taken > 0.0)?;
    (!matches!(operation, Operation::Delivery | Operation::DeliveryAlone)).then(|| show_cpu(taken))
}

fn bytes(target: &TargetResults, operation: Operation) -> Option<String> {
    target.median(operation, Measurement::bytes_each).map(|bytes| significant(bytes, 4))
}

fn raw_share(results: &Results) -> Table {
    let columns = ["what", "goal, on etcd"].into_iter().chain(results.targets().iter().map(|target| target.name));
    let rate = results.raw_creates().map_or("–".to_owned(), |rate| significant(rate, 3));
    let title = format!("Creates a second over those of etcd itself, {rate}, with as many clients");
    let mut table = Table::new(&title, columns);
    let shares = results.targets().iter().map(|target| results.share_of_raw(target).map_or("–".to_owned(), show_share));
    let goal = format!("≥ {}", show_share(RAW_SHARE_GOAL));
    table.row(["create".to_owned(), goal].into_iter().chain(shares));
    table
}

fn memory(results: &Results) -> Table {
    let columns = ["occupied", "goal"].into_iter().chain(results.targets().iter().map(|target| target.name));
    let mut table = Table::new("Resident memory (kube-apiserver's holds all its own kinds, too)", columns);
    let show = |bytes: Option<u64>| bytes.map_or("–".to_owned(), |bytes| show_bytes(bytes as f64));
    let row = |what: &str, goal: String, figure: fn(&crate::process::Memory) -> u64| {
        let figures = results.targets().iter().map(|target| show(target.memory.as_ref().map(figure)));
        [what.to_owned(), goal].into_iter().chain(figures).collect::<Vec<_>>()
    };
    table.row(row("after the load", format!("≤ {}", show_bytes(MEMORY_GOAL)), |memory| memory.resident));
    table.row(row("at most", "–".to_owned(), |memory| memory.peak));
    table
}

/// Goals that our servers miss.
fn shortfalls(results: &Results, options: &Options) -> Vec<Shortfall> {
    let mut found = Vec::new();
    for target in results.targets().iter().filter(|target| [ours::ON_ETCD, ours::EMBEDDED].contains(&target.name)) {
        for operation in options.operations() {
            let taken = target.median(operation, Measurement::server_cpu_each);
            if let Some((taken, goal)) = taken.zip(operation.goal(options)) {
                found.extend(exceeding(&operation.title(options), target, taken, goal, show_cpu));
            }
        }
        let resident = target.memory.map(|memory| memory.resident as f64);
        found.extend(resident.and_then(|bytes| exceeding("resident memory", target, bytes, MEMORY_GOAL, show_bytes)));
    }
    let on_etcd = results.target(ours::ON_ETCD).and_then(|target| results.share_of_raw(target));
    found.extend(on_etcd.filter(|share| *share < RAW_SHARE_GOAL).map(|share| Shortfall {
        what: format!("creates over etcd's own; {}", ours::ON_ETCD),
        measured: show_share(share),
        goal: format!("at least {}", show_share(RAW_SHARE_GOAL)),
        times: RAW_SHARE_GOAL / share,
    }));
    found.sort_by(|one, other| other.times.total_cmp(&one.times));
    found
}

/// What a target takes too much of. None if it is not too much.
fn exceeding(
    what: &str,
    target: &TargetResults,
    measured: f64,
    goal: f64,
    show: fn(f64) -> String,
) -> Option<Shortfall> {
    let what = format!("{what}; {}", target.name);
    (measured > goal).then(|| Shortfall { what, measured: show(measured), goal: show(goal), times: measured / goal })
}

fn show_cpu(seconds: f64) -> String {
    format!("{} ms", significant(seconds * 1e3, 3))
}

fn show_share(share: f64) -> String {
    format!("{} %", significant(share * 100.0, 2))
}

fn show_latency(duration: Duration) -> String {
    format!("{} ms", significant(duration.as_secs_f64() * 1e3, 3))
}

fn show_bytes(bytes: f64) -> String {
    format!("{} MiB", significant(bytes / 1_048_576.0, 3))
}

/// A number with so many digits that mean something, and thousands set apart.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    // Written this way the number is already rounded: the exponent of 9.99 may be that of 10.
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let rounded: f64 = scientific.parse().unwrap_or(value);
    let exponent: i64 = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let decimals = usize::try_from(digits as i64 - 1 - exponent).unwrap_or(0);
    let text = format!("{rounded:.decimals$}");
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    fraction.map_or(grouped.clone(), |fraction| format!("{grouped}.{fraction}"))
}

#[cfg(test)]
mod tests;
