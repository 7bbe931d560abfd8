//! Measures the storage layer: the embedded engine, etcd and the watch cache, side by side in one run, each figure
//! beside its goal.
//!
//! Times on a shared machine are noisy. Every figure is therefore the median of several repetitions with its spread,
//! contenders take turns within each repetition, and what is judged is the ratio between figures of one run.

mod load;
mod machine;
mod memory;
mod open;
mod options;
mod reads;
mod report;
mod stores;
mod watch;
mod writes;

use std::process::ExitCode;
use std::time::Instant;

use options::{Command, Options, Section};
use report::Report;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The allocator this program was built with.
const ALLOCATOR_NAME: &str = if cfg!(feature = "mimalloc") { "mimalloc" } else { "system allocator" };

#[tokio::main]
async fn main() -> ExitCode {
    match options::parse(std::env::args().skip(1)) {
        Ok(Command::Help) => print!("{}", options::HELP),
        Ok(Command::Measure(options)) => measure(&options).await,
        Ok(Command::ChildMemory { folder, objects }) => memory::child(&folder, objects).await,
        Ok(Command::ChildWriter { folder, objects }) => open::child(&folder, objects).await,
        Err(reason) => {
            eprintln!("{reason}\n\n{}", options::HELP);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Runs the chosen sections and prints what they found.
async fn measure(options: &Options) {
    let began = Instant::now();
    let before = machine::Noise::measure();
    let folder = stores::scratch(options);
    let mut report = Report::default();
    let etcd = if options.wants_etcd() { Some(stores::Etcd::start().await) } else { None };
    if options.wants(Section::Writes) {
        writes::measure(options, folder.path(), etcd.as_ref(), &mut report).await;
    }
    if options.wants(Section::Reads) {
        reads::measure(options, folder.path(), etcd.as_ref(), &mut report).await;
    }
    drop(etcd);
    if options.wants(Section::Watch) {
        watch::measure(options, folder.path(), &mut report).await;
    }
    if options.wants(Section::Memory) {
        memory::measure(options, folder.path(), &mut report).await;
    }
    if options.wants(Section::Open) {
        open::measure(options, folder.path(), &mut report).await;
    }
    report.note(format!("Before: {before}"));
    report.note(format!("After: {}", machine::Noise::measure()));
    report.note(format!("Allocator: {ALLOCATOR_NAME}. The run took {:.0} s.", began.elapsed().as_secs_f64()));
    report.print(options.format);
}
