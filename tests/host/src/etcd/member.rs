//! One member of an etcd: its ports, its data, and its daemon.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::path::PathBuf;

use super::EtcdOptions;
use super::EtcdTls;
use super::READY_LIMIT;
use crate::daemon::Daemon;
use crate::daemon::Health;
use crate::daemon::POLL;
use crate::error::Error;
use crate::port::Port;

/// One member of an [`Etcd`](super::Etcd).
#[derive(Debug)]
pub struct Member {
    index: usize,
    scheme: &'static str,
    client_port: Port,
    metrics_port: Port,
    /// Held, not asked: the flags name it.
    _peer_port: Port,
    data: PathBuf,
    daemon: Daemon,
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
        let health = Health {
            address: metrics_port.address(),
            tls: None,
            ready_path: "/readyz",
            ready_limit: READY_LIMIT,
            poll: POLL,
        };
        let log = folder.join(format!("m{index}.log"));
        let daemon = Daemon::new(format!("etcd member {index}"), program.to_owned(), flags, log, health);
        Ok(Member { index, scheme, client_port, metrics_port, _peer_port: peer_port, data, daemon })
    };
    peer_ports.into_iter().enumerate().map(member).collect()
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
        self.daemon.is_running()
    }

    /// The id of the process, for tests that measure it. None if there is none.
    pub fn pid(&self) -> Option<u32> {
        self.daemon.pid()
    }

    /// Kills the process, as a crash would, and waits until it is gone.
    pub async fn kill(&self) -> Result<(), Error> {
        self.daemon.kill().await
    }

    /// Asks the process to end and waits until it is gone.
    pub async fn stop(&self) -> Result<(), Error> {
        self.daemon.stop().await
    }

    /// Stops the process in its tracks. Its sockets stay open and silent.
    pub fn pause(&self) -> Result<(), Error> {
        self.daemon.pause()
    }

    /// Lets a paused process go on.
    pub fn resume(&self) -> Result<(), Error> {
        self.daemon.resume()
    }

    /// Starts a member that is down, with the same address and data. It serves only once [`Member::wait_ready`] says so, and that
    /// takes a majority of the members.
    pub async fn start(&self) -> Result<(), Error> {
        self.daemon.start().await
    }

    /// Deletes the data of a member that is down. A single member then starts as a new cluster; one of several does not find back
    /// into its cluster, and [`Etcd::recreate`](super::Etcd::recreate) does it for all.
    pub fn wipe(&self) -> Result<(), Error> {
        if self.is_running() {
            return Err(Error::Running { daemon: self.daemon.name().to_owned() });
        }
        match fs::remove_dir_all(&self.data) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::file(&self.data)(error)),
            _ => Ok(()),
        }
    }

    /// Waits until the member serves reads and writes.
    pub async fn wait_ready(&self) -> Result<(), Error> {
        self.daemon.wait_ready().await
    }

    /// The end of the member's log, over all its runs.
    pub fn log_tail(&self) -> String {
        self.daemon.log_tail()
    }

    pub(super) fn daemon(&self) -> &Daemon {
        &self.daemon
    }

    pub(super) fn scheme(&self) -> &'static str {
        self.scheme
    }

    pub(super) async fn claims_to_lead(&self) -> bool {
        let metrics = self.daemon.get("/metrics").await;
        metrics.is_ok_and(|answer| answer.body.lines().any(|line| line == "etcd_server_is_leader 1"))
    }
}
