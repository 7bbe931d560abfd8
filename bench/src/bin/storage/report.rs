//! Figures and tables. Nothing is measured here.

use std::fmt::Write;
use std::time::Duration;

use crate::options::Format;

/// The repetitions of one measurement, in one unit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample(Vec<f64>);

/// What a number counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    /// Operations per second.
    Rate,
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// A quotient of two figures.
    Ratio,
}

/// A goal and how to judge it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// The median is to be no larger.
    AtMost(f64),
    /// The median is to be no smaller.
    AtLeast(f64),
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    tables: Vec<Table>,
    goals: Vec<[String; 4]>,
    notes: Vec<String>,
}

/// Rows under a title.
#[derive(Debug)]
pub(crate) struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

// === impl Sample ===

impl Sample {
    /// Adds a repetition.
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Adds a repetition in nanoseconds for each of `operations`.
    pub(crate) fn push_time(&mut self, took: Duration, operations: usize) {
        self.push(took.as_nanos() as f64 / operations as f64);
    }

    /// The middle one.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// Each repetition in another unit.
    pub(crate) fn map(&self, convert: impl Fn(f64) -> f64) -> Self {
        Self(self.0.iter().map(|&value| convert(value)).collect())
    }

    /// The quotients, repetition by repetition: what noise the two shared cancels out.
    pub(crate) fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(mine, theirs)| mine / theirs).collect())
    }

    /// The median and, in brackets, the least and the greatest.
    pub(crate) fn show(&self, unit: Unit) -> String {
        let least = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match self.0.len() {
            0 => "–".to_owned(),
            1 => unit.show(self.median()),
            _ => format!("{} ({}–{})", unit.show(self.median()), unit.show_bare(least), unit.show(greatest)),
        }
    }
}

// === impl Unit ===

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Rate => format!("{}/s", grouped(value)),
            Self::Time if value < 10_000.0 => format!("{value:.0} ns"),
            Self::Time if value < 10_000_000.0 => format!("{:.1} µs", value / 1e3),
            Self::Time => format!("{:.1} ms", value / 1e6),
            Self::Bytes => format!("{} B", grouped(value)),
            Self::Ratio => format!("{value:.1}x"),
        }
    }

    /// Without the unit, where the same unit follows.
    fn show_bare(self, value: f64) -> String {
        let shown = self.show(value);
        match self {
            Self::Time => shown,
            Self::Rate => shown.trim_end_matches("/s").to_owned(),
            Self::Bytes => shown.trim_end_matches(" B").to_owned(),
            Self::Ratio => shown.trim_end_matches('x').to_owned(),
        }
    }
}

// === impl Goal ===

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(bound) => value <= bound,
            Self::AtLeast(bound) => value >= bound,
        }
    }

    fn show(self, unit: Unit) -> String {
        match self {
            Self::AtMost(bound) => format!("≤ {}", unit.show(bound)),
            Self::AtLeast(bound) => format!("≥ {}", unit.show(bound)),
        }
    }
}

// === impl Report ===

impl Report {
    /// Adds a table.
    pub(crate) fn add(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Judges a figure.
    pub(crate) fn judge(&mut self, what: impl Into<String>, sample: &Sample, unit: Unit, goal: Goal) {
        let verdict = if goal.is_met(sample.median()) { "met" } else { "MISSED" };
        self.goals.push([what.into(), goal.show(unit), sample.show(unit), verdict.to_owned()]);
    }

    /// Adds a remark.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Prints everything to standard output.
    pub(crate) fn print(&self, format: Format) {
        let mut goals = Table::new("Goals", &["what", "goal", "measured", "verdict"]);
        for goal in &self.goals {
            goals.row(goal.to_vec());
        }
        let mut out = String::new();
        for table in std::iter::once(&goals).chain(&self.tables).filter(|table| !table.rows.is_empty()) {
            match format {
                Format::Text => table.write_text(&mut out),
                Format::Markdown => table.write_markdown(&mut out),
            }
        }
        self.notes.iter().for_each(|note| line(&mut out, note));
        print!("{out}");
    }
}

// === impl Table ===

impl Table {
    /// A table without rows.
    pub(crate) fn new(title: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { title: title.to_owned(), columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn write_text(&self, out: &mut String) {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.chain(self.columns.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        line(out, &self.title);
        for row in std::iter::once(&self.columns).chain(&self.rows) {
            let mut text = String::from(" ");
            for (cell, width) in row.iter().zip(&widths) {
                let _ = write!(text, " {cell:<width$} ");
            }
            line(out, text.trim_end());
        }
        line(out, "");
    }

    fn write_markdown(&self, out: &mut String) {
        line(out, &format!("**{}**\n", self.title));
        line(out, &format!("| {} |", self.columns.join(" | ")));
        line(out, &format!("|{}", "---|".repeat(self.columns.len())));
        for row in &self.rows {
            line(out, &format!("| {} |", row.join(" | ")));
        }
        line(out, "");
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// A whole number with its thousands set apart.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && digits.as_bytes()[at - 1].is_ascii_digit() {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
