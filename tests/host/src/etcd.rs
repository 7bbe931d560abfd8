//! A real etcd, of one member or several, on loopback.
//!
//! Members speak plain HTTP among themselves. Each also has a plain port for health and metrics, which is how this file asks
//! whether a member is ready and whether it leads: those answers need neither certificates nor passwords.

mod member;

use std::ffi::OsStr;
use std::path::Path;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::Instant;
use tokio::time::sleep;
use tokio::time::timeout;

use crate::daemon::POLL;
use crate::daemon::START_ATTEMPTS;
use crate::daemon::forget_environment;
use crate::error::Error;
use crate::link::Link;
use crate::pki::Authority;
use crate::pki::Identity;
use crate::pki::Pem;
use crate::tool;

pub use member::Member;

/// How long a member may take until it serves. It takes about a second; the rest is for a busy machine.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// How long an election may take. It starts a second after the last heartbeat; the rest is for a busy machine.
const LEADER_LIMIT: Duration = Duration::from_secs(60);

/// How long one command of etcd's client may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// What kind of etcd to start. The default is one member, no TLS, no authentication, and no fsync.
#[derive(Debug, Clone)]
pub struct EtcdOptions {
    members: usize,
    tls: bool,
    fsync: bool,
    flags: Vec<String>,
}

/// A running etcd. Its members end, and its data goes, on drop; if the test is failing, the data stays and the logs are shown.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<Member>,
    tls: Option<EtcdTls>,
    /// `root` and its password, once authentication is on.
    root: Mutex<Option<String>>,
    etcdctl: PathBuf,
    folder: TempDir,
}

/// What clients of an etcd with TLS need, and what they must not be trusted with.
#[derive(Debug)]
pub struct EtcdTls {
    /// The authority that signed the members' and the clients' certificates.
    pub ca: Pem,
    /// A client's certificate; its common name is `client`.
    pub client_certificate: Pem,
    /// The key of [`EtcdTls::client_certificate`].
    pub client_key: Pem,
    /// An authority that signed none of them, for clients that must not trust this etcd.
    pub stranger_ca: Pem,
    /// A certificate of that authority, for clients that this etcd must not trust.
    pub stranger_certificate: Pem,
    /// The key of [`EtcdTls::stranger_certificate`].
    pub stranger_key: Pem,
    server_certificate: Pem,
    server_key: Pem,
}

// === impl EtcdOptions ===

impl Default for EtcdOptions {
    fn default() -> Self {
        Self { members: 1, tls: false, fsync: false, flags: Vec::new() }
    }
}

impl EtcdOptions {
    /// Sets the number of members, at least one.
    pub fn members(mut self, count: usize) -> Self {
        self.members = count.max(1);
        self
    }

    /// Serves clients over TLS and asks them for a certificate; see [`Etcd::tls`].
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Keeps fsync, for tests that measure it. Killing a member loses nothing without it, as the machine stays up.
    pub fn fsync(mut self) -> Self {
        self.fsync = true;
        self
    }

    /// Adds a flag of etcd to every member, such as `--quota-backend-bytes=16777216`.
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Starts it and waits until every member serves.
    pub async fn start(self) -> Result<Etcd, Error> {
        let program = tool::ETCD.path().await?;
        let etcdctl = tool::ETCDCTL.path().await?;
        for _ in 1..START_ATTEMPTS {
            match self.try_start(&program, &etcdctl).await {
                Err(Error::PortTaken { .. }) => {}
                result => return result,
            }
        }
        self.try_start(&program, &etcdctl).await
    }

    async fn try_start(&self, program: &Path, etcdctl: &Path) -> Result<Etcd, Error> {
        let folder = tempfile::Builder::new().prefix("bailiwick-etcd-").tempdir();
        let folder = folder.map_err(Error::file(&std::env::temp_dir()))?;
        let tls = if self.tls { Some(EtcdTls::make(folder.path())?) } else { None };
        let members = member::plan(self, program, folder.path(), tls.as_ref())?;
        let etcd = Etcd { members, tls, root: Mutex::new(None), etcdctl: etcdctl.to_owned(), folder };
        for member in &etcd.members {
            member.daemon().spawn()?;
        }
        etcd.wait_ready().await?;
        Ok(etcd)
    }
}

// === impl Etcd ===

impl Etcd {
    /// Starts one member with the default options and waits until it serves.
    pub async fn start() -> Result<Self, Error> {
        Self::options().start().await
    }

    /// Options to start something else than the default.
    pub fn options() -> EtcdOptions {
        EtcdOptions::default()
    }

    /// The URLs of all members for clients, in order.
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(Member::endpoint).collect()
    }

    /// The member with this index; members count from 0.
    pub fn member(&self, index: usize) -> &Member {
        &self.members[index]
    }

    /// All members, in order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// What clients need for TLS. None if it is off.
    pub fn tls(&self) -> Option<&EtcdTls> {
        self.tls.as_ref()
    }

    /// Opens a link to the client port of a member.
    pub async fn link(&self, index: usize) -> Result<Link, Error> {
        let member = self.member(index);
        Link::open_as(member.address(), member.scheme()).await
    }

    /// Waits until every member that runs and is not paused serves reads and writes.
    pub async fn wait_ready(&self) -> Result<(), Error> {
        for member in self.members.iter().filter(|member| member.daemon().is_serving()) {
            member.wait_ready().await?;
        }
        Ok(())
    }

    /// Waits until there is exactly one leader that can serve, and gives its index.
    pub async fn leader(&self) -> Result<usize, Error> {
        let start = Instant::now();
        loop {
            let mut leaders = Vec::new();
            for (index, member) in self.members.iter().enumerate() {
                if member.daemon().is_serving() && member.claims_to_lead().await {
                    leaders.push(index);
                }
            }
            // A leader that lost its majority goes on claiming for a while, but it cannot serve and still claim.
            if let [leader] = leaders[..]
                && self.member(leader).daemon().is_ready().await
                && self.member(leader).claims_to_lead().await
            {
                return Ok(leader);
            }
            if start.elapsed() > LEADER_LIMIT {
                return Err(Error::Late { what: "the election of a leader", limit: LEADER_LIMIT });
            }
            sleep(POLL).await;
        }
    }

    /// Stops every member, deletes all data, and starts them again at the same addresses. The new cluster has the same id as the
    /// old one, for etcd derives it from the addresses: its revisions starting over is all that clients can see.
    pub async fn recreate(&self) -> Result<(), Error> {
        for member in &self.members {
            if member.is_running() {
                member.kill().await?;
            }
            member.wipe()?;
        }
        for member in &self.members {
            member.daemon().spawn()?;
        }
        *self.root.lock().expect("no holder panics") = None;
        self.wait_ready().await
    }

    /// Turns authentication on. `user` may read and write every key; unless it is `root` itself, `root` gets the same password.
    pub async fn enable_auth(&self, user: &str, password: &str) -> Result<(), Error> {
        self.etcdctl(["user", "add", &format!("root:{password}")]).await?;
        self.etcdctl(["user", "grant-role", "root", "root"]).await?;
        if user != "root" {
            self.etcdctl(["user", "add", &format!("{user}:{password}")]).await?;
            self.etcdctl(["role", "add", "everything"]).await?;
            self.etcdctl(["role", "grant-permission", "everything", "readwrite", "", "--from-key"]).await?;
            self.etcdctl(["user", "grant-role", user, "everything"]).await?;
        }
        self.etcdctl(["auth", "enable"]).await?;
        *self.root.lock().expect("no holder panics") = Some(password.to_owned());
        Ok(())
    }

    /// Runs etcd's client against all members, with the client certificate and as `root` where those are needed. Gives what it
    /// printed.
    pub async fn etcdctl<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Result<String, Error> {
        let mut command = Command::new(&self.etcdctl);
        command.args(arguments);
        let shown = format!("{:?}", command.as_std());
        command.arg("--endpoints").arg(self.endpoints().join(","));
        if let Some(tls) = &self.tls {
            command.arg("--cacert").arg(tls.ca.path());
            command.arg("--cert").arg(tls.client_certificate.path());
            command.arg("--key").arg(tls.client_key.path());
        }
        if let Some(password) = &*self.root.lock().expect("no holder panics") {
            command.arg("--user").arg(format!("root:{password}"));
        }
        forget_environment(command.as_std_mut());
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout(COMMAND_LIMIT, command.output())
            .await
            .map_err(|_| Error::Late { what: "the end of an etcdctl command", limit: COMMAND_LIMIT })?
            .map_err(|source| Error::Spawn { program: self.etcdctl.clone(), source })?;
        if !output.status.success() {
            let output = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Error::Command { command: shown, output });
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let failing = std::thread::panicking();
        for member in &self.members {
            member.daemon().end();
            if failing {
                member.daemon().show_log();
            }
        }
        if failing {
            self.folder.disable_cleanup(true);
            eprintln!("--- etcd's data is kept in {} ---", self.folder.path().display());
        }
    }
}

// === impl EtcdTls ===

impl EtcdTls {
    /// From the next start on, members show another certificate and trust the clients of other authorities. The files of the
    /// fields are written over, their texts stay as they were.
    pub fn replace(&self, server: &Identity, trusted: &str) -> Result<(), Error> {
        Pem::write(self.server_certificate.path(), server.certificate.clone())?;
        Pem::write(self.server_key.path(), server.key.clone())?;
        Pem::write(self.ca.path(), trusted.to_owned()).map(drop)
    }

    fn make(folder: &Path) -> Result<Self, Error> {
        let authority = Authority::new("etcd")?;
        let stranger = Authority::new("stranger")?;
        let write = |name: &str, text: String| Pem::write(&folder.join(name), text);
        let write_identity = |name: &str, Identity { certificate, key }: Identity| {
            Ok::<_, Error>((write(&format!("{name}.crt"), certificate)?, write(&format!("{name}.key"), key)?))
        };
        let (server_certificate, server_key) = write_identity("server", authority.server("etcd", &[])?)?;
        let (client_certificate, client_key) = write_identity("client", authority.client("client", &[])?)?;
        let (stranger_certificate, stranger_key) = write_identity("stranger", stranger.client("client", &[])?)?;
        Ok(Self {
            ca: write("ca.crt", authority.certificate())?,
            client_certificate,
            client_key,
            stranger_ca: write("stranger-ca.crt", stranger.certificate())?,
            stranger_certificate,
            stranger_key,
            server_certificate,
            server_key,
        })
    }
}

#[cfg(test)]
mod tests;
