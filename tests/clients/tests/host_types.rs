//! The table of Kubernetes' own kinds, and the Go packages that it was made from.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// How long the program may take. The first time, Go compiles the packages.
const LIMIT: Duration = Duration::from_secs(600);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[tokio::test]
async fn the_table_says_what_the_go_packages_say() {
    let mut command = Command::new("go");
    command.current_dir(repository().join("tests/oracle")).args(["run", "./hosttypes"]);
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = timeout(LIMIT, output).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made = String::from_utf8(output.stdout).unwrap();
    let committed = std::fs::read_to_string(repository().join("machinery/src/host/types.txt")).unwrap();
    let differing = made.lines().zip(committed.lines()).find(|(made, committed)| made != committed);
    assert!(
        made == committed,
        "machinery/src/host/types.txt is not what tests/oracle/hosttypes makes; the first line that differs: {differing:?}"
    );
}
