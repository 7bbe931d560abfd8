//! The command line: what is measured, how long, and against which server of ours.

use std::path::PathBuf;
use std::time::Duration;

use crate::operation::Operation;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Measures our server beside sample-apiserver and a custom resource in kube-apiserver, on one etcd, under the same load.

Usage: serving [options]

  --quick            a run of about a minute: 500 objects instead of 5,000, shorter spans, fewer rounds
  --markdown         also writes the section \"Serving\" of docs/performance.md, and the plot beside it
  --only OPERATION   measures one operation: create, delete, get, list, paged-list, label-list, patch, apply-new,
                     apply-change, apply-same, delivery or delivery-alone; may be given more than once
  --server PROGRAM   our server, already built (default: what `cargo build --release -p bailiwick` makes of this workspace)
  --peers-only       leaves our server out
  --help             prints this

Build with `--release`.
";

/// What the program was asked to do.
#[derive(Debug)]
pub(crate) enum Command {
    /// Print the help.
    Help,
    /// Measure and report.
    Measure(Options),
}

/// Where our server comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ours {
    /// This workspace, if it has one.
    Build,
    /// A file.
    Program(PathBuf),
    /// Nowhere.
    Absent,
}

/// Whether the documentation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// No: tables on standard output are all.
    Tables,
    /// Yes.
    TablesAndDocument,
}

/// How to measure.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// How many objects there are while it is measured.
    pub(crate) objects: usize,
    /// How many are created, and deleted again, in each round.
    pub(crate) created: usize,
    /// How many have the same value of the label that lists are narrowed by.
    pub(crate) per_batch: usize,
    /// How many a page has.
    pub(crate) page: usize,
    /// How many clients wait for an answer each.
    pub(crate) clients: usize,
    /// How many connections they share.
    pub(crate) connections: usize,
    /// How many watch.
    pub(crate) watchers: usize,
    /// How many events each of them gets.
    pub(crate) events: usize,
    /// How often everything is measured, after a warm-up.
    pub(crate) rounds: usize,
    /// How long each measurement lasts, where its length is not a number of objects.
    pub(crate) span: Duration,
    pub(crate) ours: Ours,
    pub(crate) output: Output,
    /// The operations to measure; all if empty.
    pub(crate) only: Vec<Operation>,
}

// === impl Options ===

impl Options {
    /// The full run.
    pub(crate) fn full() -> Self {
        Self {
            objects: 5_000,
            created: 2_000,
            per_batch: 50,
            page: 500,
            clients: 32,
            connections: 8,
            watchers: 100,
            events: 1_000,
            rounds: 3,
            span: Duration::from_secs(2),
            ours: Ours::Build,
            output: Output::Tables,
            only: Vec::new(),
        }
    }

    /// Makes the run short. Pages shrink with the collection, so that there are still ten of them.
    fn shorten(&mut self) {
        self.objects = 500;
        self.created = 500;
        self.page = 50;
        self.events = 200;
        self.rounds = 2;
        self.span = Duration::from_millis(700);
    }

    /// The same load for a moment, to have code, caches and connections warm.
    pub(crate) fn warm_up(&self) -> Self {
        Self { created: self.created / 4, events: self.events / 4, span: self.span / 4, ..self.clone() }
    }

    /// The operations to measure, in order. What is created must be deleted: the one does not go without the other.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let wants = |operation| self.only.is_empty() || self.only.contains(&operation);
        let twin = |operation| match operation {
            Operation::Create => Operation::Delete,
            Operation::Delete => Operation::Create,
            other => other,
        };
        Operation::ALL.into_iter().filter(|&operation| wants(operation) || wants(twin(operation))).collect()
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
            "--markdown" => options.output = Output::TablesAndDocument,
            "--only" => options.only.push(operation(&value()?)?),
            "--server" => options.ours = Ours::Program(value()?.into()),
            "--peers-only" => options.ours = Ours::Absent,
            other => return Err(format!("unknown argument {other:?}")),
        }
    }
    Ok(Command::Measure(options))
}

fn operation(id: &str) -> Result<Operation, String> {
    let found = Operation::ALL.into_iter().find(|operation| operation.id() == id);
    found.ok_or_else(|| format!("unknown operation {id:?}"))
}

#[cfg(test)]
mod tests;
