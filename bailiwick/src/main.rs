//! The server as a program: flags, files, signals, and the wiring of the parts.
//!
//! What the program does is in its library crates. Here is only what a person who starts it has to do with.

mod acting;
mod audit;
mod authentication;
mod certificates;
mod cluster;
mod controllers;
mod data_folder;
mod flags;
mod followed_files;
mod handler;
mod install;
mod kubeconfig;
mod legible;
mod logging;
mod mode;
mod private_file;
mod report;
mod requesters;
mod serve;
mod service_accounts;
mod service_authority;
mod signals;
mod snapshot;
mod store;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use self::flags::{Cli, Command, SnapshotCommand};

/// Requests make many small allocations on many threads, which it is faster at than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long what still runs in the background may take once all is done.
const LAST_MOMENT: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    use_small_pages();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no failures, and who closed the output does not want to read it.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {}", report::chain(&*error));
            ExitCode::FAILURE
        }
    }
}

/// The allocator asks for huge pages wherever the system has them on request, of which a server that is idle uses little and
/// occupies all: three times the memory. Where they are not to be had or not to be refused, nothing is lost but that.
fn use_small_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

fn run(cli: Cli) -> Result<(), Box<dyn Error + Send + Sync>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        match cli.command.unwrap_or(Command::Serve(cli.serve)) {
            Command::Serve(flags) => serve::serve(*flags).await.map_err(Into::into),
            Command::Snapshot(SnapshotCommand::Save(flags)) => snapshot::save(flags).await.map_err(Into::into),
            Command::Snapshot(SnapshotCommand::Restore(flags)) => snapshot::restore(flags).await.map_err(Into::into),
            Command::Install(flags) => install::install(*flags).await.map_err(Into::into),
            Command::Uninstall(flags) => install::uninstall(flags).await.map_err(Into::into),
            Command::Version => {
                report::line(report::VERSION_LINE);
                Ok(())
            }
        }
    });
    runtime.shutdown_timeout(LAST_MOMENT);
    outcome
}
