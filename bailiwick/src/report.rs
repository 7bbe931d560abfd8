//! What people read: lines on the standard output, and errors with their causes.

use std::error::Error;
use std::io::Write;

/// The program and its version.
pub(crate) const VERSION_LINE: &str = concat!("Bailiwick ", env!("CARGO_PKG_VERSION"));

/// Prints a line. Nobody reading it is no reason to stop.
pub(crate) fn line(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stdout(), "{}", text.as_ref());
}

/// What a cluster answered that did not do what it was asked to, or why it did not answer.
pub(crate) fn answer(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => chain(other),
    }
}

/// An error and its causes in one line. A cause that is already told is not told again.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
