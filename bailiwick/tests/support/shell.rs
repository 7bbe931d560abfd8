//! A shell in which `kubectl` is there, and what a page of the documentation prints for it: commands are run as they are printed.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use bailiwick_test_host::Kubectl;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use super::process::{PATIENCE, folder};

/// How long a command may take.
const COMMAND: Duration = Duration::from_secs(120);
/// Between two tries of a command that takes rights which were given a moment ago.
const POLL: Duration = Duration::from_millis(200);

/// A shell of someone, in the folder that pages are about.
pub(crate) struct Shell {
    tools: tempfile::TempDir,
    kubeconfig: PathBuf,
}

/// What a command has printed.
pub(crate) struct Printed {
    pub(crate) is_done: bool,
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// Something that a page prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block<'p> {
    /// The heading that it is below.
    pub(crate) section: &'p str,
    /// `sh`, `yaml`.
    pub(crate) language: &'p str,
    pub(crate) text: &'p str,
}

// === impl Shell ===

impl Shell {
    /// The administrator's.
    pub(crate) async fn of(kubeconfig: &Path) -> Self {
        Self::with_flags(kubeconfig, "").await
    }

    /// A user's.
    pub(crate) async fn of_user(kubeconfig: &Path, user: &str) -> Self {
        Self::with_flags(kubeconfig, &format!("--as={user}")).await
    }

    async fn with_flags(kubeconfig: &Path, flags: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let tools = folder();
        let kubectl = Kubectl::new(kubeconfig).await.unwrap();
        let program = kubectl.command(["version"]).as_std().get_program().to_owned();
        let script = tools.path().join("kubectl");
        std::fs::write(&script, format!("#!/bin/sh\nexec {} {flags} \"$@\"\n", Path::new(&program).display())).unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        Self { tools, kubeconfig: kubeconfig.to_owned() }
    }

    /// Runs commands, which must succeed, and gives what they print.
    pub(crate) async fn run<C: AsRef<str>>(&self, commands: &[C]) -> String {
        let mut printed = String::new();
        for command in commands {
            printed.push_str(&self.run_one(command.as_ref()).await);
        }
        printed
    }

    /// Does what a block says: runs its commands, or applies its objects.
    pub(crate) async fn follow(&self, block: &Block<'_>) -> String {
        match block.language {
            "sh" => self.run(&block.commands()).await,
            "yaml" => self.run(&[format!("kubectl apply -f - <<'EOF'\n{}EOF", block.text)]).await,
            other => panic!("what is to be done with {other}?"),
        }
    }

    /// Runs a command, whatever becomes of it.
    pub(crate) async fn print(&self, command: &str) -> Printed {
        let path = format!("{}:{}", self.tools.path().display(), std::env::var("PATH").unwrap_or_default());
        let child = Command::new("sh")
            .args(["-c", command])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .env("PATH", path)
            .env("HOME", self.tools.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = timeout(COMMAND, child).await.expect("an end in time").unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Printed { is_done: output.status.success(), output: text(&output.stdout), errors: text(&output.stderr) }
    }

    async fn run_one(&self, command: &str) -> String {
        let began = Instant::now();
        loop {
            let Printed { is_done, output, errors } = self.print(command).await;
            if is_done {
                return output;
            }
            // A cluster knows of rights a moment after they were given.
            let is_late = began.elapsed() > PATIENCE || !errors.contains("(Forbidden)");
            assert!(!is_late, "{command}: {output}{errors}");
            sleep(POLL).await;
        }
    }
}

// === impl Block ===

impl<'p> Block<'p> {
    /// Those of a page, in its order.
    pub(crate) fn all(page: &'p str) -> Vec<Self> {
        let (mut section, mut blocks, mut rest) = ("", Vec::new(), page);
        while let Some((before, after)) = rest.split_once("```") {
            section = before.lines().rev().find_map(|line| line.strip_prefix("## ")).unwrap_or(section);
            let (language, after) = after.split_once('\n').unwrap_or_default();
            let (text, after) = after.split_once("```").expect("the end of a block");
            blocks.push(Self { section, language, text });
            rest = after;
        }
        blocks
    }

    /// Its lines.
    pub(crate) fn commands(&self) -> Vec<&'p str> {
        self.text.lines().collect()
    }
}
