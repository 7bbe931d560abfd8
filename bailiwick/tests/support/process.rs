//! The program, running.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use bailiwick_test_host::Kubectl;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// After this, what was to happen did not happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A server that has said where it serves.
pub(crate) struct Server {
    pub(crate) url: String,
    /// What it announced.
    pub(crate) printed: String,
    pub(crate) data: PathBuf,
    child: Child,
    /// Read all the time, so that a talkative server is not held up by a full pipe.
    log: JoinHandle<String>,
}

/// A folder to start in.
pub(crate) fn folder() -> TempDir {
    tempfile::Builder::new().prefix("bailiwick-program-").tempdir().unwrap()
}

/// The program with arguments, in a folder, without the variables of whoever runs the tests.
pub(crate) fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bailiwick"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("BAILIWICK_")) {
        command.env_remove(name);
    }
    command.args(arguments).current_dir(folder).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program to its end.
pub(crate) async fn run(folder: &Path, arguments: &[&str]) -> Output {
    timeout(PATIENCE, program(folder, arguments).output()).await.expect("an end in time").unwrap()
}

/// What a program that failed as it should said.
pub(crate) fn failure(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    let errors: Vec<_> = stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    let [error] = errors[..] else { panic!("one error, not: {stderr}") };
    error.to_owned()
}

// === impl Server ===

impl Server {
    /// Starts it on a free port, with its data in `bailiwick-data`.
    pub(crate) async fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_command(folder, program(folder, &[&["--secure-port=0"], arguments].concat())).await
    }

    /// Starts it on a port that it is to be found on again.
    pub(crate) async fn start_on(folder: &Path, port: u16, arguments: &[&str]) -> Self {
        let port = format!("--secure-port={port}");
        Self::start_command(folder, program(folder, &[&[port.as_str()], arguments].concat())).await
    }

    pub(crate) async fn start_command(folder: &Path, mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut stderr = child.stderr.take().unwrap();
        let log = tokio::spawn(async move {
            let mut log = String::new();
            stderr.read_to_string(&mut log).await.unwrap();
            log
        });
        let reading = timeout(PATIENCE, read_announcement(&mut lines));
        let Some((printed, url)) = reading.await.expect("an announcement in time") else {
            panic!("the server did not start: {}", log.await.unwrap());
        };
        Self { url, printed, data: folder.join("bailiwick-data"), child, log }
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.data.join("admin.kubeconfig")
    }

    pub(crate) async fn kubectl(&self) -> Kubectl {
        Kubectl::new(&self.kubeconfig()).await.unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap(), signal).unwrap();
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.url.strip_prefix("https://").unwrap().parse().unwrap()
    }

    /// Whether it runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) async fn end(mut self) -> ExitStatus {
        timeout(PATIENCE, self.child.wait()).await.expect("an end in time").unwrap()
    }

    pub(crate) async fn stop(self) {
        self.stop_and_tell().await;
    }

    /// What it logged from beginning to end.
    pub(crate) async fn stop_and_tell(mut self) -> String {
        self.signal(Signal::TERM);
        let ended = timeout(PATIENCE, self.child.wait()).await.expect("an end in time").unwrap();
        assert_eq!(ended.code(), Some(0));
        (&mut self.log).await.unwrap()
    }
}

impl Drop for Server {
    /// One that was killed may still have its port for a moment, which the next one wants.
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.start_kill();
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Everything until the line that says how to go on, which every announcement has, and where the server is.
async fn read_announcement(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<(String, String)> {
    let (mut printed, mut url) = (String::new(), String::new());
    while let Some(line) = lines.next_line().await.unwrap() {
        printed.push_str(&line);
        printed.push('\n');
        if let Some((_, rest)) = line.split_once(" serves ") {
            url = rest.split(' ').next().unwrap().to_owned();
        }
        let is_last = line.ends_with("kubectl get organizations") || line.contains("no kubeconfig was written");
        // A server that was started before says no more than this.
        let is_short = line.contains("export KUBECONFIG=") && !printed.contains("Try");
        if is_last || is_short {
            return Some((printed, url));
        }
    }
    None
}
