//! Metrics as text: the format of Prometheus, or OpenMetrics for those who ask for it.

use std::fmt::{Display, Write};

use super::histogram::Histogram;

/// Which text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Prometheus,
    OpenMetrics,
}

/// What a family of metrics is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Counter,
    Gauge,
    Histogram,
}

/// A text in the making.
pub(super) struct Exposition {
    format: Format,
    text: String,
    of: Type,
}

/// What a counter's samples end in, in OpenMetrics always, elsewhere if they are called so.
const TOTAL: &str = "_total";

// === impl Format ===

impl Format {
    /// What a client accepts. Who knows both prefers OpenMetrics, as Prometheus does.
    pub(crate) fn negotiate(accept: &str) -> Self {
        let asked = accept.split(',').any(|range| range.trim().starts_with("application/openmetrics-text"));
        if asked { Self::OpenMetrics } else { Self::Prometheus }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

// === impl Exposition ===

impl Exposition {
    pub(super) fn new(format: Format) -> Self {
        Self { format, text: String::with_capacity(64 << 10), of: Type::Gauge }
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Begins a family. Its samples follow.
    pub(super) fn family(&mut self, name: &str, of: Type, help: &str) {
        self.of = of;
        let name = match (self.format, of) {
            (Format::OpenMetrics, Type::Counter) => name.trim_end_matches(TOTAL),
            _ => name,
        };
        let of = match of {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
        };
        // Here and below: writing to memory does not fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {of}");
    }

    /// One value of the family.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let is_counter = self.format == Format::OpenMetrics && self.of == Type::Counter;
        let suffix = if is_counter && !name.ends_with(TOTAL) { TOTAL } else { "" };
        self.line(name, suffix, labels, None, value);
    }

    /// The values of a histogram.
    pub(super) fn histogram<const N: usize>(&mut self, name: &str, labels: &[(&str, &str)], histogram: &Histogram<N>) {
        let mut count = 0;
        for (upper, so_far) in histogram.cumulative() {
            self.line(name, "_bucket", labels, Some(&upper), so_far);
            count = so_far;
        }
        count += histogram.beyond();
        self.line(name, "_bucket", labels, Some(&"+Inf"), count);
        self.line(name, "_sum", labels, None, histogram.sum());
        self.line(name, "_count", labels, None, count);
    }

    /// Text that is in the format already.
    pub(super) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }

    fn line(
        &mut self,
        name: &str,
        suffix: &str,
        labels: &[(&str, &str)],
        upper: Option<&dyn Display>,
        value: impl Display,
    ) {
        self.text.push_str(name);
        self.text.push_str(suffix);
        let mut separator = '{';
        for (label, value) in labels {
            let _ = write!(self.text, "{separator}{label}=\"");
            escape(&mut self.text, value);
            self.text.push('"');
            separator = ',';
        }
        if let Some(upper) = upper {
            let _ = write!(self.text, "{separator}le=\"{upper}\"");
            separator = ',';
        }
        if separator == ',' {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

fn escape(text: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
}
