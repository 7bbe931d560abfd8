//! One member of an etcd: its ports, its data, its process, and what a test may do to it.

use std::env;
use std::fs;
use std::fs::OpenOptions;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::net::SocketAddr;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;
use tokio::time::sleep;

use super::EtcdOptions;
use super::EtcdTls;
use super::POLL;
use super::READY_LIMIT;
use crate::error::Error;
use crate::http;
use crate::port::Port;
use crate::process::Process;

/// How long a member may take to leave. Asked politely, it can take several seconds.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// How much of a log to show.
const LOG_TAIL_BYTES: u64 = 8 << 10;

/// One member of an [`Etcd`](super::Etcd).
#[derive(Debug)]
pub struct Member {
    index: usize,
    scheme: &'static str,
    client_port: Port,
    metrics_port: Port,
    /// Held, not asked: the flags name it.
    _peer_port: Port,
    program: PathBuf,
    flags: Vec<String>,
    data: PathBuf,
    log: PathBuf,
    run: Mutex<Option<Run>>,
}

/// The time from one start to the next stop.
#[derive(Debug)]
struct Run {
    process: Process,
    paused: bool,
    /// Where this run's part of the log begins.
    log_start: u64,
}

/// Chooses ports and flags for all members; starts none.
pub(super) fn plan(
    options: &EtcdOptions,
    program: &Path,
    folder: &Path,
    tls: Option<&EtcdTls>,
) -> Result<Vec<Member>, Error> {
    let peer_ports = (0..options.members).map(|_| Port::reserve()).collect::<Result<Vec<_>, _>>()?;
    let cluster: Vec<String> =
        peer_ports.iter().enumerate().map(|(index, port)| format!("m{index}=http://{}", port.address())).collect();
    let cluster = cluster.join(",");
    let member = |(index, peer_port): (usize, Port)| {
        let (client_port, metrics_port) = (Port::reserve()?, Port::reserve()?);
        let scheme = if tls.is_some() { "https" } else { "http" };
        let client_url = format!("{scheme}://{}", client_port.address());
        let peer_url = format!("http://{}", peer_port.address());
        let data = folder.join(format!("m{index}"));
        let mut flags = vec![
            format!("--name=m{index}"),
            format!("--data-dir={}", data.display()),
            format!("--listen-client-urls={client_url}"),
            format!("--advertise-client-urls={client_url}"),
            format!("--listen-peer-urls={peer_url}"),
            format!("--initial-advertise-peer-urls={peer_url}"),
            format!("--initial-cluster={cluster}"),
            format!("--listen-metrics-urls=http://{}", metrics_port.address()),
        ];
        if !options.fsync {
            flags.push("--unsafe-no-fsync".to_owned());
        }
        if let Some(tls) = tls {
            flags.push("--client-cert-auth".to_owned());
            flags.push(format!("--trusted-ca-file={}", tls.ca.path().display()));
            flags.push(format!("--cert-file={}", tls.server_certificate.path().display()));
            flags.push(format!("--key-file={}", tls.server_key.path().display()));
        }
        flags.extend(options.flags.iter().cloned());
        Ok(Member {
            index,
            scheme,
            client_port,
            metrics_port,
            _peer_port: peer_port,
            program: program.to_owned(),
            flags,
            data,
            log: folder.join(format!("m{index}.log")),
            run: Mutex::new(None),
        })
    };
    peer_ports.into_iter().enumerate().map(member).collect()
}

/// etcd and its client take every flag from the environment too; what the developer has set must not steer tests.
pub(super) fn forget_environment(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("ETCD") {
            command.env_remove(name);
        }
    }
}

// === impl Member ===

impl Member {
    /// The member's place among its cluster's members, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The address for clients. It stays the same for all runs.
    pub fn address(&self) -> SocketAddr {
        self.client_port.address()
    }

    /// The URL for clients.
    pub fn endpoint(&self) -> String {
        format!("{}://{}", self.scheme, self.address())
    }

    /// The address for health and metrics, plain HTTP.
    pub fn metrics_address(&self) -> SocketAddr {
        self.metrics_port.address()
    }

    /// Where the member keeps its data.
    pub fn data_folder(&self) -> &Path {
        &self.data
    }

    /// Whether the member has a process, be it paused.
    pub fn is_running(&self) -> bool {
        self.run().as_ref().is_some_and(|run| !run.process.has_ended())
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

    /// Starts a member that is down, with the same address and data. It serves only once [`Member::wait_ready`] says so, and that
    /// takes a majority of the members.
    pub async fn start(&self) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            self.spawn()?;
            match self.wait_answer().await {
                // Only a passing use by another program is worth waiting for.
                Err(Error::PortTaken { .. }) if start.elapsed() < READY_LIMIT => sleep(POLL).await,
                result => return result,
            }
        }
    }

    /// Deletes the data of a member that is down. A single member then starts as a new cluster; one of several does not find back
    /// into its cluster, and [`Etcd::recreate`](super::Etcd::recreate) does it for all.
    pub fn wipe(&self) -> Result<(), Error> {
        if self.is_running() {
            return Err(Error::Running { member: self.index });
        }
        match fs::remove_dir_all(&self.data) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::file(&self.data)(error)),
            _ => Ok(()),
        }
    }

    /// Waits until the member serves reads and writes.
    pub async fn wait_ready(&self) -> Result<(), Error> {
        let start = Instant::now();
        while !self.is_ready().await {
            self.check_wait(start)?;
            sleep(POLL).await;
        }
        Ok(())
    }

    /// The end of the member's log, over all its runs.
    pub fn log_tail(&self) -> String {
        let length = fs::metadata(&self.log).map_or(0, |metadata| metadata.len());
        self.log_from(length.saturating_sub(LOG_TAIL_BYTES))
    }

    /// Starts the process and does not wait for anything.
    pub(super) fn spawn(&self) -> Result<(), Error> {
        let mut run = self.run();
        if run.as_ref().is_some_and(|run| !run.process.has_ended()) {
            return Err(Error::Running { member: self.index });
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
    pub(super) fn end(&self) {
        self.run().take();
    }

    pub(super) fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// Whether the member can be expected to answer.
    pub(super) fn is_serving(&self) -> bool {
        self.run().as_ref().is_some_and(|run| !run.paused)
    }

    pub(super) async fn is_ready(&self) -> bool {
        http::get(self.metrics_address(), "/readyz").await.is_ok_and(|answer| answer.status == 200)
    }

    pub(super) async fn claims_to_lead(&self) -> bool {
        let metrics = http::get(self.metrics_address(), "/metrics").await;
        metrics.is_ok_and(|answer| answer.body.lines().any(|line| line == "etcd_server_is_leader 1"))
    }

    /// Waits until the process answers at all, which is when it has all its ports.
    async fn wait_answer(&self) -> Result<(), Error> {
        let start = Instant::now();
        while http::get(self.metrics_address(), "/livez").await.is_err() {
            self.check_wait(start)?;
            sleep(POLL).await;
        }
        Ok(())
    }

    /// Whether waiting for the member, since `start`, still makes sense.
    fn check_wait(&self, start: Instant) -> Result<(), Error> {
        let member = self.index;
        let log_start = match &*self.run() {
            None => return Err(Error::NotRunning { member }),
            Some(run) if run.process.has_ended() => run.log_start,
            Some(_) if start.elapsed() > READY_LIMIT => {
                return Err(Error::Late { what: "a ready etcd member", limit: READY_LIMIT });
            }
            Some(_) => return Ok(()),
        };
        if self.log_from(log_start).contains("address already in use") {
            return Err(Error::PortTaken { member });
        }
        Err(Error::Ended { member, log: self.log_tail() })
    }

    fn signal(&self, signal: Signal) -> Result<(), Error> {
        match &*self.run() {
            Some(run) if !run.process.has_ended() => run.process.signal(signal),
            _ => Err(Error::NotRunning { member: self.index }),
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
                return Err(Error::Late { what: "the end of an etcd member", limit: STOP_LIMIT });
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
