//! A child process that never outlives the test: not the value that holds it, and not the test process either, however that ends.
//!
//! The second half is a shell that waits at a pipe from the test process. When the pipe closes without the shell having been
//! ended first, the test process is gone, and the shell kills what was left behind. It covers peers in a `static`, which Rust
//! never drops, and test processes that are killed.

use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

use rustix::process::Pid;
use rustix::process::Signal;
use rustix::process::WaitId;
use rustix::process::WaitIdOptions;
use rustix::process::kill_process;
use rustix::process::waitid;

use crate::error::Error;

/// The pid is `$0`; it is the shell's to use, for the process is reaped only after the shell has ended.
const GUARD: &str = "read -r _; kill -9 \"$0\" 2>/dev/null";

/// A running child, killed on drop.
#[derive(Debug)]
pub struct Process {
    child: Child,
    guard: Child,
}

// === impl Process ===

impl Process {
    /// Starts it.
    pub fn spawn(command: &mut Command) -> Result<Self, Error> {
        let failed = |program: &Path| {
            let program = program.to_owned();
            move |source| Error::Spawn { program, source }
        };
        let mut child = command.spawn().map_err(failed(Path::new(command.get_program())))?;
        let guard = Command::new("sh")
            .args(["-c", GUARD, &child.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match guard {
            Ok(guard) => Ok(Self { child, guard }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(failed(Path::new("sh"))(error))
            }
        }
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Error> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal)
            .map_err(|errno| Error::Signal { pid: pid.as_raw_nonzero().get(), source: errno.into() })
    }

    /// Whether the process has ended. Does not wait, and does not reap, so that the guard never holds the pid of a stranger.
    pub fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(Pid::from_child(&self.child)), options) {
            Ok(status) => status.is_some(),
            Err(_) => true,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests;
