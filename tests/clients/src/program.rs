//! Running a program to its end.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::error::Error;

/// Runs a program that must succeed. It is killed if that takes too long.
pub(crate) async fn run(command: &mut Command, limit: Duration) -> Result<(), Error> {
    let shown = shown(command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = timeout(limit, command.output())
        .await
        .map_err(|_| Error::Late { command: shown.clone(), limit })?
        .map_err(|source| Error::Spawn { command: shown.clone(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let output = [output.stdout, output.stderr].concat();
    Err(Error::Failed { command: shown, output: String::from_utf8_lossy(&output).into_owned() })
}

fn shown(command: &Command) -> String {
    let command = command.as_std();
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
