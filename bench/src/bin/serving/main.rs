//! Measures our server beside its peers: sample-apiserver, and a custom resource in kube-apiserver. All run at the same time, on
//! one etcd, and are loaded in turn with the same requests.
//!
//! Clients and servers share the machine's cores, so throughput says as much about the clients as about the server. What is
//! judged is the server's processor time for each operation; it hardly depends on what else runs. Every figure is the median
//! of several rounds, and in each round every operation is measured for one server after the other, so that what disturbs
//! one disturbs all.

mod client;
mod document;
mod error;
mod fanout;
mod histogram;
mod kubeconfig;
mod load;
mod operation;
mod options;
mod ours;
mod peers;
mod plot;
mod process;
mod raw;
mod report;
mod results;
mod script;
mod stage;
mod table;
mod target;

use std::error::Error as _;
use std::process::ExitCode;
use std::time::Instant;

use document::Document;
use error::Error;
use options::{Command, Options, Output};
use report::Report;
use stage::Stage;

#[tokio::main]
async fn main() -> ExitCode {
    let options = match options::parse(std::env::args().skip(1)) {
        Ok(Command::Measure(options)) => options,
        Ok(Command::Help) => {
            print!("{}", options::HELP);
            return ExitCode::SUCCESS;
        }
        Err(reason) => {
            eprintln!("{reason}\n\n{}", options::HELP);
            return ExitCode::FAILURE;
        }
    };
    match measure(&options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

/// Measures, prints, and writes what was asked for.
async fn measure(options: &Options) -> Result<(), Error> {
    let began = Instant::now();
    let document = Document::read()?;
    let program = ours::program(&options.ours).await?;
    if program.is_none() && options.output == Output::TablesAndDocument {
        return Err(Error::NothingToDescribe);
    }
    let load = load_average();
    let mut stage = Stage::set(options, program.as_deref()).await?;
    let results = stage.perform().await?;
    let notes = notes(options, &load, began);
    let report = Report::new(&results, options, notes);
    let reasons = document.reasons();
    print!("{}", report.text(&reasons));
    match (options.output, plot::draw(&results, options)) {
        (Output::TablesAndDocument, Some(plot)) => document.write(&report.markdown(&reasons, document::PLOT), &plot),
        _ => Ok(()),
    }
}

fn notes(options: &Options, load_before: &str, began: Instant) -> Vec<String> {
    let Options { objects, clients, connections, rounds, watchers, events, .. } = options;
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZeroUsize::get);
    vec![
        format!(
            "{clients} clients on {connections} HTTP/2 connections, {objects} objects of 1.1 KB, JSON without compression; medians of {rounds} rounds."
        ),
        format!(
            "{watchers} watchers get {events} events from one writer; the CPU of the same writes without watchers is taken off."
        ),
        format!(
            "Load average {load_before} before and {} after, on {cores} cores. The run took {:.0} s.",
            load_average(),
            began.elapsed().as_secs_f64()
        ),
    ]
}

/// How many threads wanted to run in the last minute, on average.
fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

/// An error with all that caused it.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
