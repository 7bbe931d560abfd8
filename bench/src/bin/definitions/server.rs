//! The servers that are measured: ours, and a kube-apiserver on an etcd that syncs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bailiwick_test_host::{Cluster, Etcd, Process as Child};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tempfile::TempDir;

use crate::client::{Credentials, Endpoint};
use crate::error::Error;

/// How long our server may take to write its kubeconfig.
const START_LIMIT: Duration = Duration::from_secs(30);

/// A running server; ends with this value.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) endpoint: Endpoint,
    pid: u32,
    _held: Held,
}

/// What ends with a server.
enum Held {
    Ours { _child: Child, _folder: TempDir },
    Real { _cluster: Box<Cluster> },
}

// === impl Server ===

impl Server {
    /// Our program, with its embedded store.
    pub(crate) async fn ours(program: &Path) -> Result<Self, Error> {
        let folder = tempfile::tempdir().map_err(Error::file(&std::env::temp_dir()))?;
        let mut command = Command::new(program);
        command.args(["serve", "--secure-port", "0", "--data-dir"]).arg(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = Child::spawn(&mut command)?;
        let path = folder.path().join("admin.kubeconfig");
        let begun = Instant::now();
        let (authority, credentials) = loop {
            if let Some(read) = fs::read_to_string(&path).ok().and_then(|text| kubeconfig(&text)) {
                break read;
            }
            if child.has_ended() || begun.elapsed() > START_LIMIT {
                return Err(Error::Ended(program.display().to_string()));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let endpoint = Endpoint::new(authority, &credentials)?;
        let pid = child.id();
        Ok(Self { name: "Bailiwick", endpoint, pid, _held: Held::Ours { _child: child, _folder: folder } })
    }

    /// A real kube-apiserver.
    pub(crate) async fn real() -> Result<Self, Error> {
        let cluster = Cluster::options().etcd(Etcd::options().fsync()).start().await?;
        let tls = cluster.tls();
        let credentials = Credentials {
            ca: tls.ca.text().to_owned(),
            certificate: tls.admin_certificate.text().to_owned(),
            key: tls.admin_key.text().to_owned(),
        };
        let authority = cluster.server().trim_start_matches("https://").to_owned();
        let endpoint = Endpoint::new(authority, &credentials)?;
        let pid = cluster.apiserver().pid().ok_or_else(|| Error::Ended("kube-apiserver".to_owned()))?;
        Ok(Self { name: "kube-apiserver", endpoint, pid, _held: Held::Real { _cluster: Box::new(cluster) } })
    }

    /// The memory it occupies, in bytes.
    pub(crate) fn resident(&self) -> Result<u64, Error> {
        let status = self.proc("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kibibytes.map(|count| count << 10).ok_or_else(|| Error::Proc { path: "status".to_owned() })
    }

    /// The processor time it has used.
    pub(crate) fn cpu(&self) -> Result<Duration, Error> {
        let stat = self.proc("stat")?;
        let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
        let ticks: u64 =
            fields.split_ascii_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
    }

    fn proc(&self, file: &str) -> Result<String, Error> {
        let path = format!("/proc/{}/{file}", self.pid);
        fs::read_to_string(&path).map_err(Error::file(path.as_ref()))
    }
}

/// Whom to call and how, from the file that our server writes.
fn kubeconfig(text: &str) -> Option<(String, Credentials)> {
    let field = |name: &str| {
        let rest =
            text.split(['\n', ',', '{']).find_map(|line| line.trim().trim_start_matches('"').strip_prefix(name))?;
        Some(rest.trim_start_matches(['"', ':', ' ']).trim_end_matches(['"', '}', ']', ' ']))
    };
    let pem = |name: &str| String::from_utf8(BASE64_STANDARD.decode(field(name)?).ok()?).ok();
    let authority = field("server")?.strip_prefix("https://")?.to_owned();
    let credentials = Credentials {
        ca: pem("certificate-authority-data")?,
        certificate: pem("client-certificate-data")?,
        key: pem("client-key-data")?,
    };
    Some((authority, credentials))
}
