//! Log lines, to the standard error.

use std::io::IsTerminal;

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::flags::{LogFlags, LoggingFormat};

/// From here on log lines are written.
pub(crate) fn start(flags: LogFlags) {
    let (ours, others) = match flags.v {
        0..=2 => (LevelFilter::INFO, LevelFilter::WARN),
        3..=5 => (LevelFilter::DEBUG, LevelFilter::INFO),
        _ => (LevelFilter::TRACE, LevelFilter::DEBUG),
    };
    let filter = Targets::new().with_default(others).with_target("bailiwick", ours);
    let lines = layer().with_writer(std::io::stderr);
    let lines = match flags.logging_format {
        LoggingFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LoggingFormat::Json => lines.json().boxed(),
    };
    // Fails only if it was called before.
    let _ = tracing_subscriber::registry().with(lines.with_filter(filter)).try_init();
}
