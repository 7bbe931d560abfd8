//! Being asked to stop. The first signal asks, the second one insists.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that stop a server.
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

// === impl StopSignals ===

impl StopSignals {
    /// From here on the signals no longer end the process by themselves.
    pub(crate) fn catch() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next one, and returns its number.
    pub(crate) async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
        }
    }
}
