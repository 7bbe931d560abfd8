//! Our server, alone, with its store in a folder.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bailiwick_test_host::Process;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::client::Client;
use crate::{Failure, LIMIT};

const POLL: Duration = Duration::from_millis(1);

/// Our server, which may be running.
pub(crate) struct Ours {
    program: PathBuf,
    folder: TempDir,
    process: Option<Process>,
}

// === impl Ours ===

impl Ours {
    /// A server that was never started.
    pub(crate) fn new(program: &Path) -> Result<Self, Failure> {
        if !program.exists() {
            return Err(format!("{} does not exist: build it, or name another program", program.display()).into());
        }
        let folder = tempfile::Builder::new().prefix("bailiwick-host-").tempdir()?;
        Ok(Self { program: program.to_owned(), folder, process: None })
    }

    /// Starts it, and tells how long it took until it said that it is ready.
    pub(crate) async fn start(&mut self) -> Result<Duration, Failure> {
        let kubeconfig = self.kubeconfig();
        // It is written anew once the server serves: that it is there tells when to ask.
        if kubeconfig.exists() {
            std::fs::remove_file(&kubeconfig)?;
        }
        let mut command = Command::new(&self.program);
        command.args(["serve", "--secure-port=0", "--data-dir"]).arg(self.data());
        // It takes flags from the environment too; what the developer has set must not steer a measurement.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("BAILIWICK_")) {
            command.env_remove(name);
        }
        let log = File::create(self.folder.path().join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let began = Instant::now();
        let process = self.process.insert(Process::spawn(&mut command)?);
        loop {
            if let Ok(client) = open(&kubeconfig).await
                && client.is_ready().await
            {
                return Ok(began.elapsed());
            }
            if process.has_ended() || began.elapsed() > LIMIT {
                return Err("our server does not serve".into());
            }
            sleep(POLL).await;
        }
    }

    /// Asks it to end, and waits until it has.
    pub(crate) async fn stop(&mut self) -> Result<(), Failure> {
        let id = i32::try_from(self.id()?)?;
        kill_process(Pid::from_raw(id).ok_or("no process")?, Signal::TERM)?;
        let began = Instant::now();
        while self.process.as_ref().is_some_and(|process| !process.has_ended()) {
            if began.elapsed() > LIMIT {
                return Err("our server does not end".into());
            }
            sleep(POLL).await;
        }
        Ok(())
    }

    pub(crate) fn id(&self) -> Result<u32, Failure> {
        Ok(self.process.as_ref().ok_or("our server does not run")?.id())
    }

    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        open(&self.kubeconfig()).await
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn kubeconfig(&self) -> PathBuf {
        self.data().join("admin.kubeconfig")
    }
}

async fn open(kubeconfig: &Path) -> Result<Client, Failure> {
    Client::open(&std::fs::read_to_string(kubeconfig)?).await
}
