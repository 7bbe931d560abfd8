//! What a failed call to etcd means: whether it may have been carried out, and whether another member or another try
//! may do better. etcd tells most failures apart by text only; the texts are those of its `rpctypes`.

use std::error::Error as StdError;
use std::io;

use etcd_client::Error as ClientError;
use tonic::{Code, ConnectError, Status};

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// The revision is older than what etcd keeps.
    #[error("the revision has been compacted")]
    Compacted,
    /// The member has not reached the revision.
    #[error("the revision has not been reached")]
    Future,
    /// etcd takes no more data; the call was not carried out.
    #[error("etcd's database has reached its quota")]
    NoSpace,
    /// The user may not do this, or is not who it says; the call was not carried out.
    #[error("{0}")]
    Unauthorized(String),
    /// The token is no longer good; the call was not carried out, and may be with a new token.
    #[error("{0}")]
    StaleToken(String),
    /// The two sides do not agree about certificates; the call was not carried out.
    #[error("{0}")]
    Tls(String),
    /// The call was not carried out, and trying again will not help.
    #[error("{0}")]
    Refused(String),
    /// The call did not reach a member, or the member turned it away before doing anything.
    #[error("{0}")]
    NotDone(String),
    /// No answer came: the call may have been carried out or not.
    #[error("{0}")]
    Lost(String),
}

// === impl Failure ===

impl Failure {
    /// Whether the call may be carried out if it is sent again, perhaps to another member.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::StaleToken(_) | Self::Tls(_) | Self::NotDone(_) | Self::Lost(_) => true,
            Self::Compacted | Self::Future | Self::NoSpace | Self::Unauthorized(_) | Self::Refused(_) => false,
        }
    }

    /// Whether another member is worth a try: this one did not answer, or is not fit to.
    pub(super) fn blames_member(&self) -> bool {
        matches!(self, Self::Tls(_) | Self::NotDone(_) | Self::Lost(_))
    }

    /// Whether the call may have been carried out all the same.
    pub(super) fn is_ambiguous(&self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// What the reason for which etcd ended a watch means.
    pub(super) fn of_cancelled_watch(reason: &str) -> Self {
        if reason.contains("invalid auth token") || reason.contains("revision of auth store is old") {
            Self::StaleToken(reason.to_owned())
        } else if reason.contains("permission denied") || reason.contains("user name is empty") {
            Self::Unauthorized(reason.to_owned())
        } else {
            Self::Lost(format!("etcd ended the watch: {reason:?}"))
        }
    }

    fn of_status(status: &Status) -> Self {
        let message = status.message();
        let says = |text: &str| message.contains(text);
        match status.code() {
            Code::OutOfRange if says("has been compacted") => Self::Compacted,
            Code::OutOfRange if says("is a future revision") => Self::Future,
            Code::ResourceExhausted if says("database space exceeded") => Self::NoSpace,
            Code::ResourceExhausted if says("too many requests") => Self::NotDone(message.to_owned()),
            Code::Unauthenticated => Self::StaleToken(message.to_owned()),
            Code::InvalidArgument if says("revision of auth store is old") => Self::StaleToken(message.to_owned()),
            Code::InvalidArgument if says("authentication failed") || says("user name is empty") => {
                Self::Unauthorized(message.to_owned())
            }
            Code::FailedPrecondition if says("authentication is not enabled") || says("user name not found") => {
                Self::Unauthorized(message.to_owned())
            }
            Code::PermissionDenied => Self::Unauthorized(message.to_owned()),
            // A member that is a learner, or that is not yet fit for the cluster's version.
            Code::FailedPrecondition => Self::NotDone(message.to_owned()),
            Code::InvalidArgument | Code::Unimplemented | Code::DataLoss => Self::Refused(message.to_owned()),
            Code::Unavailable if says("no leader") => Self::NotDone(message.to_owned()),
            _ => Self::of_transport(status),
        }
    }

    // Only a connection that was never made proves that the request was not sent.
    fn of_transport(error: &(dyn StdError + 'static)) -> Self {
        let text = describe(error);
        if sources(error).any(is_tls_failure) {
            Self::Tls(text)
        } else if sources(error).any(<dyn StdError>::is::<ConnectError>) {
            Self::NotDone(text)
        } else {
            Self::Lost(text)
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match &error {
            ClientError::GRpcStatus(status) => Self::of_status(status),
            ClientError::TransportError(transport) => Self::of_transport(transport),
            ClientError::IoError(_) | ClientError::WatchError(_) => Self::Lost(error.to_string()),
            _ => Self::Refused(error.to_string()),
        }
    }
}

/// An error and its causes in one line.
pub(super) fn describe(error: &(dyn StdError + 'static)) -> String {
    let mut text = String::new();
    for source in sources(error) {
        let next = match source.downcast_ref::<Status>() {
            Some(status) => status.message().to_owned(),
            None => source.to_string(),
        };
        if !text.contains(&next) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&next);
        }
    }
    text
}

// The TLS layer reports every disagreement, its own and the other side's, as invalid data.
fn is_tls_failure(error: &(dyn StdError + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::InvalidData)
}

fn sources<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| StdError::source(*error))
}

#[cfg(test)]
mod tests;
