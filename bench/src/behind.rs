//! Our server, behind a cluster.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bailiwick_test_host::pki::{Authority, Identity, Pem};
use bailiwick_test_host::{Cluster, Port, Process, SERVICE_HOST};
use tempfile::TempDir;

use crate::Failure;
use crate::process::Usage;

const START_LIMIT: Duration = Duration::from_secs(60);

/// Our server, running; ends with this value.
pub struct Behind {
    process: Process,
    port: Port,
    ca: String,
    _folder: TempDir,
}

/// The program that is named, or the release build of this workspace, which is made.
pub async fn program(named: Option<OsString>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        return Ok(path.into());
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut build = tokio::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.current_dir(&workspace).args(["build", "--release", "-p", "bailiwick"]);
    if !build.status().await?.success() {
        return Err("our server could not be built: name a program, or build it with cargo build --release".into());
    }
    // This program lies beside the one that was built.
    Ok(std::env::current_exe()?.with_file_name("bailiwick"))
}

// === impl Behind ===

impl Behind {
    /// Starts it on the cluster's etcd, as sample-apiserver is, and waits until it is ready.
    pub async fn start(program: &Path, cluster: &Cluster) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("bailiwick-aggregated-").tempdir()?;
        let authority = Authority::new("bailiwick")?;
        let Identity { certificate, key } = authority.server("bailiwick", &[SERVICE_HOST])?;
        let certificate = Pem::write(&folder.path().join("serving.crt"), certificate)?;
        let key = Pem::write(&folder.path().join("serving.key"), key)?;
        let port = Port::reserve()?;
        let log = folder.path().join("log");
        let mut command = Command::new(program);
        command.arg(format!("--kubeconfig={}", cluster.kubeconfig().display()));
        command.arg(format!("--etcd-servers={}", cluster.etcd().endpoints().join(",")));
        command.arg(format!("--data-dir={}", folder.path().join("data").display()));
        command.arg(format!("--tls-cert-file={}", certificate.path().display()));
        command.arg(format!("--tls-private-key-file={}", key.path().display()));
        command.arg(format!("--secure-port={}", port.number()));
        // It takes flags from the environment too; what the developer has set must not steer a measurement.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("BAILIWICK_")) {
            command.env_remove(name);
        }
        let output = File::create(&log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let process = Process::spawn(&mut command)?;
        let began = Instant::now();
        // It says where it serves once it does.
        while !std::fs::read_to_string(&log)?.contains(" serves ") {
            if process.has_ended() || began.elapsed() > START_LIMIT {
                return Err(format!("our server does not serve: {}", std::fs::read_to_string(&log)?).into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(Self { process, port, ca: authority.certificate(), _folder: folder })
    }

    /// Where it serves, on this machine.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// What it takes.
    pub fn usage(&self) -> Result<Usage, Failure> {
        Usage::of(self.process.id())
    }

    /// Who vouches for it, in PEM.
    pub fn ca(&self) -> &str {
        &self.ca
    }
}
