//! The closed loop: so many clients, each of which sends its next request when it has read the last answer.
//!
//! A window ends when its last answer has been read, so the processor time of the server and the number of operations are of
//! exactly the same work, however long a single operation takes.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::client::Client;
use crate::error::Error;
use crate::histogram::Histogram;
use crate::process::Process;
use crate::script::Script;
use crate::target::Target;

/// What work took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measurement {
    pub(crate) operations: u64,
    pub(crate) wall: Duration,
    /// The server's processor time.
    pub(crate) server_cpu: Duration,
    /// The processor time of the etcd it uses.
    pub(crate) etcd_cpu: Duration,
    /// The processor time of this process, which is all the clients.
    pub(crate) client_cpu: Duration,
    /// The bytes of all answers' bodies.
    pub(crate) bytes: u64,
    /// How long each operation took its client.
    pub(crate) latencies: Histogram,
}

/// The clocks of a target, read at one moment.
pub(crate) struct Clocks {
    wall: Instant,
    server: Duration,
    etcd: Duration,
    clients: Duration,
}

/// When clients stop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// When all requests are answered.
    Done,
    /// After a time, having read the answers to what was sent.
    Elapsed(Duration),
}

/// What one client saw.
#[derive(Default)]
struct Seen {
    bytes: u64,
    latencies: Histogram,
}

/// Has one client for each script; the clients share the connections.
pub(crate) async fn run(
    target: &Target,
    connections: &[Client],
    scripts: Vec<Script>,
    until: Until,
) -> Result<Measurement, Error> {
    let mut clients = JoinSet::new();
    let clocks = Clocks::read(target)?;
    for (script, connection) in scripts.into_iter().zip(connections.iter().cycle()) {
        clients.spawn(follow(script, connection.clone(), until));
    }
    let mut all = Seen::default();
    while let Some(ended) = clients.join_next().await {
        let seen = ended.expect("a client does not panic")?;
        all.bytes += seen.bytes;
        all.latencies.merge(&seen.latencies);
    }
    let taken = clocks.taken(target)?;
    Ok(Measurement { operations: all.latencies.count(), bytes: all.bytes, latencies: all.latencies, ..taken })
}

async fn follow(mut script: Script, mut client: Client, until: Until) -> Result<Seen, Error> {
    let mut seen = Seen::default();
    let began = Instant::now();
    loop {
        if matches!(until, Until::Elapsed(limit) if began.elapsed() >= limit) {
            return Ok(seen);
        }
        let sent = Instant::now();
        let Some(bytes) = script.step(&mut client).await? else { return Ok(seen) };
        seen.latencies.record(sent.elapsed());
        seen.bytes += bytes as u64;
    }
}

// === impl Measurement ===

impl Measurement {
    /// The server's processor time for one operation, in seconds.
    pub(crate) fn server_cpu_each(&self) -> f64 {
        self.server_cpu.as_secs_f64() / self.operations as f64
    }

    /// The same of its etcd.
    pub(crate) fn etcd_cpu_each(&self) -> f64 {
        self.etcd_cpu.as_secs_f64() / self.operations as f64
    }

    /// The same of the client.
    pub(crate) fn client_cpu_each(&self) -> f64 {
        self.client_cpu.as_secs_f64() / self.operations as f64
    }

    /// Operations a second.
    pub(crate) fn rate(&self) -> f64 {
        self.operations as f64 / self.wall.as_secs_f64()
    }

    /// The length of an answer.
    pub(crate) fn bytes_each(&self) -> f64 {
        self.bytes as f64 / self.operations as f64
    }
}

// === impl Clocks ===

impl Clocks {
    pub(crate) fn read(target: &Target) -> Result<Self, Error> {
        let etcd = target.etcd.map_or(Ok(Duration::ZERO), Process::cpu)?;
        Ok(Self { wall: Instant::now(), server: target.process.cpu()?, etcd, clients: Process::this().cpu()? })
    }

    /// What was taken since then; operations are for the caller to count.
    pub(crate) fn taken(&self, target: &Target) -> Result<Measurement, Error> {
        let now = Self::read(target)?;
        Ok(Measurement {
            wall: now.wall - self.wall,
            server_cpu: now.server.saturating_sub(self.server),
            etcd_cpu: now.etcd.saturating_sub(self.etcd),
            client_cpu: now.clients.saturating_sub(self.clients),
            ..Measurement::default()
        })
    }
}
