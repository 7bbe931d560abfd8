//! A peer that runs in the background: its program, its log, its health, and what a test may do to it.
//!
//! A daemon outlives its process: killed or stopped, it can be started again with the same flags.

use std::env;
use std::fs;
use std::fs::OpenOptions;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;
use tokio::time::sleep;

use crate::error::Error;
use crate::http;
use crate::http::Tls;
use crate::process::Process;

/// How often to look whether something awaited has happened.
pub(crate) const POLL: Duration = Duration::from_millis(20);

/// How often to choose new ports if another program takes one between choosing and starting.
pub(crate) const START_ATTEMPTS: usize = 5;

/// How long a daemon may take to leave. Asked politely, etcd can take several seconds.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// How much of a log to show.
const LOG_TAIL_BYTES: u64 = 8 << 10;

/// What a daemon says if another program has its port.
const PORT_TAKEN: &str = "address already in use";

/// A program that runs in the background, killed on drop.
#[derive(Debug)]
pub struct Daemon {
    name: String,
    program: PathBuf,
    flags: Vec<String>,
    log: PathBuf,
    health: Health,
    run: Mutex<Option<Run>>,
}

/// Asked to see whether a daemon answers at all: whatever it says will do. Not what tells whether it is ready, because a
/// member of etcd without a majority takes longer to say so than anyone waits for an answer.
const ANSWER_PATH: &str = "/livez";

/// Where a daemon tells how it is.
#[derive(Debug)]
pub(crate) struct Health {
    pub(crate) address: SocketAddr,
    /// None for plain HTTP.
    pub(crate) tls: Option<Tls>,
    /// Answers 200 when the daemon serves, and something else before.
    pub(crate) ready_path: &'static str,
    /// How long a start may take.
    pub(crate) ready_limit: Duration,
    /// How often to ask meanwhile.
    pub(crate) poll: Duration,
}

/// The time from one start to the next stop.
#[derive(Debug)]
struct Run {
    process: Process,
    paused: bool,
    /// Where this run's part of the log begins.
    log_start: u64,
}

/// These programs take settings from the environment too; what the developer has set must not steer tests.
pub(crate) fn forget_environment(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("ETCD") || text.starts_with("KUBE") {
            command.env_remove(name);
        }
    }
}

// === impl Daemon ===

impl Daemon {
    /// A daemon that is not running yet.
    pub(crate) fn new(name: String, program: PathBuf, flags: Vec<String>, log: PathBuf, health: Health) -> Self {
        Self { name, program, flags, log, health, run: Mutex::new(None) }
    }

    /// What errors call it, such as `kube-apiserver`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether there is a process, be it paused.
    pub fn is_running(&self) -> bool {
        self.run().as_ref().is_some_and(|run| !run.process.has_ended())
    }

    /// The id of the process, for tests that measure it. None if there is none.
    pub fn pid(&self) -> Option<u32> {
        self.run().as_ref().filter(|run| !run.process.has_ended()).map(|run| run.process.id())
    }

    /// Kills the process, as a crash would, and waits until it is gone.
    pub async fn kill(&self) -> Result<(), Error> {
        self.signal(Signal::KILL)?;
        self.wait_end().await
    }

    /// Asks the process to end and waits until it is gone.
    pub async fn stop(&self) -> Result<(), Error> {
        self.signal(Signal::TERM)?;
        self.wait_end().await
    }

    /// Stops the process in its tracks. Its sockets stay open and silent.
    pub fn pause(&self) -> Result<(), Error> {
        self.signal(Signal::STOP)?;
        self.set_paused(true);
        Ok(())
    }

    /// Lets a paused process go on.
    pub fn resume(&self) -> Result<(), Error> {
        self.signal(Signal::CONT)?;
        self.set_paused(false);
        Ok(())
    }

    /// Starts a daemon that is down, as it was. It answers then, but serves only once [`Daemon::wait_ready`] says so.
    pub async fn start(&self) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            self.spawn()?;
            match self.wait_answer().await {
                // Only a passing use by another program is worth waiting for.
                Err(Error::PortTaken { .. }) if start.elapsed() < self.health.ready_limit => {
                    sleep(self.health.poll).await;
                }
                result => return result,
            }
        }
    }

    /// Waits until it serves.
    pub async fn wait_ready(&self) -> Result<(), Error> {
        let start = Instant::now();
        while !self.is_ready().await {
            self.check_wait(start)?;
            sleep(self.health.poll).await;
        }
        Ok(())
    }

    /// The end of the log, over all runs.
    pub fn log_tail(&self) -> String {
        let length = fs::metadata(&self.log).map_or(0, |metadata| metadata.len());
        self.log_from(length.saturating_sub(LOG_TAIL_BYTES))
    }

    /// Starts the process and does not wait for anything.
    pub(crate) fn spawn(&self) -> Result<(), Error> {
        let mut run = self.run();
        if run.as_ref().is_some_and(|run| !run.process.has_ended()) {
            return Err(Error::Running { daemon: self.name.clone() });
        }
        let log = OpenOptions::new().create(true).append(true).open(&self.log).map_err(Error::file(&self.log))?;
        let log_start = log.metadata().map_err(Error::file(&self.log))?.len();
        let error_log = log.try_clone().map_err(Error::file(&self.log))?;
        let mut command = Command::new(&self.program);
        command.args(&self.flags).stdin(Stdio::null()).stdout(log).stderr(error_log);
        forget_environment(&mut command);
        *run = Some(Run { process: Process::spawn(&mut command)?, paused: false, log_start });
        Ok(())
    }

    /// Kills the process if there is one.
    pub(crate) fn end(&self) {
        self.run().take();
    }

    /// For the end of a failing test: shows what the daemon had to say.
    pub(crate) fn show_log(&self) {
        eprintln!("--- the end of the log of {} ---\n{}", self.name, self.log_tail());
    }

    /// Whether it can be expected to answer.
    pub(crate) fn is_serving(&self) -> bool {
        self.run().as_ref().is_some_and(|run| !run.paused)
    }

    pub(crate) async fn is_ready(&self) -> bool {
        self.get(self.health.ready_path).await.is_ok_and(|answer| answer.status == 200)
    }

    pub(crate) async fn get(&self, path: &str) -> io::Result<http::Answer> {
        match &self.health.tls {
            None => http::get(self.health.address, path).await,
            Some(tls) => http::get_tls(self.health.address, tls, path, http::ANYTHING).await,
        }
    }

    /// Waits until the process answers at all, which is when it has all its ports.
    async fn wait_answer(&self) -> Result<(), Error> {
        let start = Instant::now();
        while self.get(ANSWER_PATH).await.is_err() {
            self.check_wait(start)?;
            sleep(self.health.poll).await;
        }
        Ok(())
    }

    /// Whether waiting, since `start`, still makes sense.
    fn check_wait(&self, start: Instant) -> Result<(), Error> {
        let daemon = self.name.clone();
        let limit = self.health.ready_limit;
        let log_start = match &*self.run() {
            None => return Err(Error::NotRunning { daemon }),
            Some(run) if run.process.has_ended() => run.log_start,
            Some(_) if start.elapsed() > limit => {
                return Err(Error::NotReady { daemon, limit, log: self.log_tail() });
            }
            Some(_) => return Ok(()),
        };
        if self.log_from(log_start).contains(PORT_TAKEN) {
            return Err(Error::PortTaken { daemon });
        }
        Err(Error::Ended { daemon, log: self.log_tail() })
    }

    fn signal(&self, signal: Signal) -> Result<(), Error> {
        match &*self.run() {
            Some(run) if !run.process.has_ended() => run.process.signal(signal),
            _ => Err(Error::NotRunning { daemon: self.name.clone() }),
        }
    }

    fn set_paused(&self, paused: bool) {
        if let Some(run) = &mut *self.run() {
            run.paused = paused;
        }
    }

    async fn wait_end(&self) -> Result<(), Error> {
        let start = Instant::now();
        while self.is_running() {
            if start.elapsed() > STOP_LIMIT {
                return Err(Error::Late { what: "the end of a daemon", limit: STOP_LIMIT });
            }
            sleep(POLL).await;
        }
        self.end();
        Ok(())
    }

    fn log_from(&self, start: u64) -> String {
        let read = || {
            let mut file = fs::File::open(&self.log)?;
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        read().unwrap_or_else(|error| format!("no log: {error}"))
    }

    fn run(&self) -> MutexGuard<'_, Option<Run>> {
        self.run.lock().expect("no holder panics")
    }
}
