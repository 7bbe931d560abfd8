//! Our server as a contender: built from this workspace, started once on the etcd of the others and once with its embedded
//! store, and called with the administrator's certificate that it writes when it starts.
//!
//! It is built by the benchmark itself rather than expected beside it, so that what is measured is never an older state of the
//! code than the benchmark's own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_test_host::Process as Child;
use tempfile::TempDir;
use tokio::time::sleep;

use crate::client::Endpoint;
use crate::error::Error;
use crate::kubeconfig::Kubeconfig;
use crate::options;
use crate::process::Process;
use crate::target::{ENTRY, Target};

/// The package and its program.
const PACKAGE: &str = "bailiwick";

/// How long it may take to write its kubeconfig.
const START_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// How much of its log is shown.
const SHOWN_BYTES: usize = 4_000;

/// A running server of ours; ends with this value.
pub(crate) struct Ours {
    child: Child,
    folder: TempDir,
    program: PathBuf,
}

/// Where a server of ours keeps its objects.
pub(crate) enum Store {
    /// In the etcd at these URLs, which has this process.
    Etcd { urls: String, process: Process },
    /// In its data folder.
    Embedded,
}

/// The program to run. None if it is to be left out, or if the workspace does not have it.
pub(crate) async fn program(ours: &options::Ours) -> Result<Option<PathBuf>, Error> {
    match ours {
        options::Ours::Absent => Ok(None),
        options::Ours::Program(path) => Ok(Some(path.clone())),
        options::Ours::Build => build().await,
    }
}

async fn build() -> Result<Option<PathBuf>, Error> {
    let cargo = || {
        let mut command = tokio::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
        command
    };
    let spawn = |source| Error::Spawn { program: "cargo".into(), source };
    let known = cargo().args(["pkgid", PACKAGE]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !known.await.map_err(spawn)?.success() {
        eprintln!("this workspace has no package \"{PACKAGE}\": the peers run alone");
        return Ok(None);
    }
    let mut build = cargo();
    build.args(["build", "--release", "--message-format=json-render-diagnostics", "-p", PACKAGE]);
    let output = build.stderr(Stdio::inherit()).output().await.map_err(spawn)?;
    let executable = executable(&String::from_utf8_lossy(&output.stdout)).filter(|_| output.status.success());
    executable.map(Some).ok_or(Error::Build)
}

/// The program's path, from cargo's messages: one JSON object a line.
fn executable(messages: &str) -> Option<PathBuf> {
    let parsed = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let ours = parsed.filter(|message| message["target"]["name"] == PACKAGE);
    let mut executables = ours.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    executables.next()
}

// === impl Ours ===

impl Ours {
    /// Starts it with a data folder of its own and gives it as a target.
    pub(crate) async fn start(program: &Path, store: Store) -> Result<(Self, Arc<Target>), Error> {
        let folder = tempfile::Builder::new().prefix("bailiwick-serving-").tempdir();
        let folder = folder.map_err(Error::file(&std::env::temp_dir()))?;
        let (data, log) = (folder.path().join("data"), folder.path().join("log"));
        fs::create_dir_all(&data).map_err(Error::file(&data))?;
        let log_file = File::create(&log).map_err(Error::file(&log))?;
        let mut command = Command::new(program);
        command.args(["serve", "--secure-port", "0", "--data-dir"]).arg(&data);
        if let Store::Etcd { urls, .. } = &store {
            command.args(["--etcd-servers", urls]);
        }
        // It takes flags from the environment too; what the developer has set must not steer a measurement.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("BAILIWICK_")) {
            command.env_remove(name);
        }
        let error_file = log_file.try_clone().map_err(Error::file(&log))?;
        command.stdin(Stdio::null()).stdout(log_file).stderr(error_file);
        let ours = Self { child: Child::spawn(&mut command)?, folder, program: program.to_owned() };
        let kubeconfig = ours.kubeconfig(&data.join("admin.kubeconfig")).await?;
        let process = Process(ours.child.id());
        let (name, etcd) = match store {
            Store::Etcd { process, .. } => (ON_ETCD, Some(process)),
            Store::Embedded => (EMBEDDED, None),
        };
        let endpoint = Endpoint::new(kubeconfig.authority, &kubeconfig.credentials)?;
        Ok((ours, Arc::new(Target { name, process, etcd, endpoint, kind: ENTRY })))
    }

    /// Waits for the file and reads it. It may be seen half-written; then it is read again.
    async fn kubeconfig(&self, path: &Path) -> Result<Kubeconfig, Error> {
        let start = Instant::now();
        loop {
            let parsed = fs::read_to_string(path).ok().map(|text| Kubeconfig::parse(path, &text));
            if let Some(Ok(parsed)) = parsed {
                return Ok(parsed);
            }
            if self.child.has_ended() || start.elapsed() > START_LIMIT {
                return Err(Error::NotServing {
                    program: self.program.clone(),
                    path: path.display().to_string(),
                    limit: START_LIMIT,
                    log: self.log_tail(),
                });
            }
            sleep(POLL).await;
        }
    }

    fn log_tail(&self) -> String {
        let log = fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(SHOWN_BYTES)..]).into_owned()
    }
}

/// What the report calls our server on etcd: the one that the others are compared with.
pub(crate) const ON_ETCD: &str = "Bailiwick, etcd";
/// What it calls our server with its embedded store.
pub(crate) const EMBEDDED: &str = "Bailiwick, embedded";

#[cfg(test)]
mod tests;
