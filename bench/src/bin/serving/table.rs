//! Rows under a title, for a terminal and for a document.

use std::fmt::Write;

/// Rows under a title.
pub(crate) struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

// === impl Table ===

impl Table {
    pub(crate) fn new(title: &str, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { title: title.to_owned(), columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// In aligned columns.
    pub(crate) fn write_text(&self, out: &mut String) {
        let lines = || std::iter::once(&self.columns).chain(&self.rows);
        let width = |column: usize| lines().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| width(column).unwrap_or(0)).collect();
        let _ = writeln!(out, "{}", self.title);
        for row in lines() {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("  {cell:<width$}"));
            let _ = writeln!(out, "{}", cells.collect::<String>().trim_end());
        }
        out.push('\n');
    }

    /// In Markdown.
    pub(crate) fn write_markdown(&self, out: &mut String) {
        let _ = writeln!(out, "**{}**\n\n| {} |", self.title, self.columns.join(" | "));
        let _ = writeln!(out, "|{}", "---|".repeat(self.columns.len()));
        for row in &self.rows {
            let _ = writeln!(out, "| {} |", row.join(" | "));
        }
        out.push('\n');
    }
}
