//! Durations as Go's flags take them: `1m30s`.

use std::time::Duration;

use bailiwick_apiserver::{DurationError, parse_duration};

/// Why a duration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FlagDurationError {
    #[error("{0}; write it like 90s or 1m30s")]
    Unreadable(#[from] DurationError),
    #[error("it is negative; write it like 90s or 1m30s")]
    Negative,
    #[error("it must be longer than 0")]
    Zero,
}

pub(super) fn parse(text: &str) -> Result<Duration, FlagDurationError> {
    let nanoseconds = u64::try_from(parse_duration(text)?).map_err(|_| FlagDurationError::Negative)?;
    Ok(Duration::from_nanos(nanoseconds))
}

pub(super) fn parse_positive(text: &str) -> Result<Duration, FlagDurationError> {
    let duration = parse(text)?;
    if duration.is_zero() { Err(FlagDurationError::Zero) } else { Ok(duration) }
}
