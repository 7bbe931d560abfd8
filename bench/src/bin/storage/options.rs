//! The command line: what is measured, how long, and where.

use std::path::PathBuf;
use std::time::Duration;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Measures the storage layer: embedded engine, etcd and watch cache, side by side.

Usage: storage [options]

  --quick          a run of about half a minute: fewer objects, shorter spans
  --markdown       prints Markdown tables, as in docs/performance.md
  --no-etcd        leaves etcd out
  --only SECTION   measures one section: writes, reads, watch, memory or open; may be given more than once
  --dir FOLDER     where the embedded engine keeps its data (default: the system's folder for temporary files, which is
                   where etcd keeps its own; for a fair comparison both lie on the same disk)
  --help           prints this

Build with `--release`, and with `--features mimalloc` to use another allocator than the system's.
";

/// What the program was asked to do.
pub(crate) enum Command {
    /// Print the help.
    Help,
    /// Measure and report.
    Measure(Options),
    /// In a process of its own: load objects and report how much memory that took.
    ChildMemory { folder: PathBuf, objects: usize },
    /// In a process of its own: load objects and then write until killed.
    ChildWriter { folder: PathBuf, objects: usize },
}

/// How to measure.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// How many objects there are in the large data set.
    pub(crate) objects: usize,
    /// How many there are in the small one.
    pub(crate) few_objects: usize,
    /// How often each figure is measured after a warm-up.
    pub(crate) repetitions: usize,
    /// How long each measurement of a rate lasts.
    pub(crate) span: Duration,
    /// How many events each watcher gets.
    pub(crate) events: usize,
    /// Whether etcd takes part.
    etcd: bool,
    /// How the report looks.
    pub(crate) format: Format,
    /// Where the embedded engine keeps its data.
    pub(crate) folder: Option<PathBuf>,
    /// The sections to measure; all if empty.
    pub(crate) sections: Vec<Section>,
}

/// How the report looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Aligned columns.
    Text,
    /// Markdown tables.
    Markdown,
}

/// A part of the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Commits.
    Writes,
    /// Gets and lists.
    Reads,
    /// Fan-out to watchers.
    Watch,
    /// Bytes in memory.
    Memory,
    /// Start-up time.
    Open,
}

// === impl Options ===

impl Options {
    /// The full run.
    fn full() -> Self {
        Self {
            objects: 100_000,
            few_objects: 10_000,
            repetitions: 3,
            span: Duration::from_millis(1_000),
            events: 1_000,
            etcd: true,
            format: Format::Text,
            folder: None,
            sections: Vec::new(),
        }
    }

    /// Makes the run short.
    fn shorten(&mut self) {
        self.objects = 10_000;
        self.few_objects = 1_000;
        self.span = Duration::from_millis(300);
        self.events = 200;
    }

    /// Whether a section is to be measured.
    pub(crate) fn wants(&self, section: Section) -> bool {
        self.sections.is_empty() || self.sections.contains(&section)
    }

    /// Whether etcd has anything to do.
    pub(crate) fn wants_etcd(&self) -> bool {
        self.etcd && (self.wants(Section::Writes) || self.wants(Section::Reads))
    }
}

/// Reads the arguments, or says what is wrong with them.
pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut options = Options::full();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--quick" => options.shorten(),
            "--markdown" => options.format = Format::Markdown,
            "--no-etcd" => options.etcd = false,
            "--dir" => options.folder = Some(value()?.into()),
            "--only" => options.sections.push(section(&value()?)?),
            "child-memory" => return Ok(Command::ChildMemory { folder: value()?.into(), objects: count(&value()?)? }),
            "child-writer" => return Ok(Command::ChildWriter { folder: value()?.into(), objects: count(&value()?)? }),
            other => return Err(format!("unknown argument {other:?}")),
        }
    }
    Ok(Command::Measure(options))
}

fn section(name: &str) -> Result<Section, String> {
    match name {
        "writes" => Ok(Section::Writes),
        "reads" => Ok(Section::Reads),
        "watch" => Ok(Section::Watch),
        "memory" => Ok(Section::Memory),
        "open" => Ok(Section::Open),
        other => Err(format!("unknown section {other:?}")),
    }
}

fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}
