//! kubectl, as one user of one server: a real kube-apiserver or any other that a kubeconfig names.

use std::ffi::OsStr;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::daemon::forget_environment;
use crate::error::Error;
use crate::tool;

/// How long one command may take. Commands that wait for something have a `--timeout` of their own.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);

/// kubectl with a kubeconfig. It has a home folder of its own: neither the developer's settings nor what another one has cached
/// from discovery reach it.
#[derive(Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: TempDir,
}

/// What a command did.
#[derive(Debug)]
pub struct Output {
    /// The program's arguments, for messages.
    pub command: String,
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// Its errors and warnings.
    pub stderr: String,
}

// === impl Kubectl ===

impl Kubectl {
    /// kubectl as the user of a kubeconfig.
    pub async fn new(kubeconfig: &Path) -> Result<Self, Error> {
        let program = tool::KUBECTL.path().await?;
        let home = tempfile::Builder::new().prefix("bailiwick-kubectl-").tempdir();
        let home = home.map_err(Error::file(&std::env::temp_dir()))?;
        Ok(Self { program, kubeconfig: kubeconfig.to_owned(), home })
    }

    /// The kubeconfig it uses.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Runs a command, such as `["get", "namespaces"]`. That the command fails is no error here; see [`Output::success`].
    pub async fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Result<Output, Error> {
        self.run_with(arguments, "").await
    }

    /// Runs a command that reads `input`, such as `["create", "-f", "-"]`.
    pub async fn run_with<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: &str,
    ) -> Result<Output, Error> {
        let mut command = self.command(arguments);
        let shown = shown(&command);
        let exchange = async {
            let mut child = command.spawn()?;
            let mut stdin = child.stdin.take().expect("piped, and not taken before");
            let write = async move {
                // A command that fails early does not read to the end; its own words then say why.
                let _ = stdin.write_all(input.as_bytes()).await;
            };
            let ((), output) = tokio::join!(write, child.wait_with_output());
            output
        };
        let output = timeout(COMMAND_LIMIT, exchange)
            .await
            .map_err(|_| Error::Late { what: "the end of a kubectl command", limit: COMMAND_LIMIT })?
            .map_err(|source| Error::Spawn { program: self.program.clone(), source })?;
        Ok(Output {
            command: shown,
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Applies manifests, YAML or JSON.
    pub async fn apply(&self, manifests: &str) -> Result<(), Error> {
        self.run_with(["apply", "-f", "-"], manifests).await?.success().map(|_| ())
    }

    /// A command to be run otherwise, such as a watch that goes on. Its three streams are pipes; it is killed on drop.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments);
        forget_environment(command.as_std_mut());
        command.env("HOME", self.home.path()).env("KUBECONFIG", &self.kubeconfig);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }
}

// === impl Output ===

impl Output {
    /// What the command printed, if it succeeded.
    pub fn success(self) -> Result<String, Error> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        Err(Error::Command { command: self.command, output: self.stderr })
    }
}

fn shown(command: &Command) -> String {
    let arguments = command.as_std().get_args().map(OsStr::to_string_lossy);
    ["kubectl".into()].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}
