//! Our server, alone, with its store in a folder.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bailiwick_test_host::Process;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::Failure;
use crate::client::Client;
use crate::process::Usage;

/// After this, it did not start or end.
const LIMIT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(1);

/// Our server, which may be running.
pub struct Ours {
    program: PathBuf,
    flags: Vec<String>,
    folder: TempDir,
    process: Option<Process>,
}

// === impl Ours ===

impl Ours {
    /// A server that was never started.
    pub fn new(program: &Path) -> Result<Self, Failure> {
        if !program.exists() {
            return Err(format!("{} does not exist: build it, or name another program", program.display()).into());
        }
        let folder = tempfile::Builder::new().prefix("bailiwick-host-").tempdir()?;
        Ok(Self { program: program.to_owned(), flags: Vec::new(), folder, process: None })
    }

    /// The program beside this one, or the one that the first argument names.
    pub fn beside() -> Result<Self, Failure> {
        let program = match std::env::args_os().nth(1) {
            Some(program) => PathBuf::from(program),
            None => std::env::current_exe()?.with_file_name("bailiwick"),
        };
        Self::new(&program)
    }

    /// The same with one flag more.
    pub fn flag(mut self, flag: String) -> Self {
        self.flags.push(flag);
        self
    }

    /// Starts it, and tells how long it took until it said that it is ready.
    pub async fn start(&mut self) -> Result<Duration, Failure> {
        let kubeconfig = self.kubeconfig();
        // It is written anew once the server serves: that it is there tells when to ask.
        if kubeconfig.exists() {
            std::fs::remove_file(&kubeconfig)?;
        }
        let mut command = Command::new(&self.program);
        command.args(["serve", "--secure-port=0", "--data-dir"]).arg(self.data()).args(&self.flags);
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
    pub async fn stop(&mut self) -> Result<(), Failure> {
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

    /// What it takes now, and has taken.
    pub fn usage(&self) -> Result<Usage, Failure> {
        Usage::of(self.id()?)
    }

    /// Its process.
    pub fn id(&self) -> Result<u32, Failure> {
        Ok(self.process.as_ref().ok_or("our server does not run")?.id())
    }

    /// A connection of its administrator.
    pub async fn client(&self) -> Result<Client, Failure> {
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
