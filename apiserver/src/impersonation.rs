//! Acting as someone else.
//!
//! A client that may do so says by headers as whom its request is to be taken. Each thing it says is asked for separately:
//! the user, the UID, every group, every value of what else is known. There are five ways in which it can be allowed,
//! tried one after the other: four that also limit what may be done in the other's name, and the one that does not.
//!
//! ```text
//! headers ──▶ Wanted ──▶ may the requestor act as that, for this request? ──▶ Impersonated, or a refusal
//! ```
//!
//! Nothing is remembered from one request to the next: a right that was taken back is gone at once.

mod checks;
mod headers;
mod mode;
mod names;

use bailiwick_machinery::Status;
use bailiwick_registry::{Authorizer, User};

pub(crate) use self::headers::Wanted;
use self::mode::Mode;
use crate::request_info::RequestInfo;

/// As whom a request was executed, if not as who sent it. Answers carry it in their extensions, for the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impersonated {
    /// The other.
    pub user: User,
    /// The verb that allowed it, if it limits what may be done: `impersonate:user-info`.
    pub constraint: Option<&'static str>,
}

/// Why a way to act as someone else is closed.
enum Refusal {
    /// It is not allowed.
    Forbidden(Box<Status>),
    /// Whether it is allowed is not known.
    Unknown(Box<Status>),
}

/// Takes the requestor for someone else, if it may act so.
pub(crate) async fn impersonate(
    authorizer: &dyn Authorizer,
    requestor: &User,
    wanted: &User,
    info: &RequestInfo,
) -> Result<Impersonated, Box<Status>> {
    let (mut forbidden, mut unknown) = (None, None);
    for mode in Mode::ALL {
        if !mode.applies(wanted, requestor) {
            continue;
        }
        match mode.check(authorizer, requestor, wanted, info).await {
            Ok(user) => return Ok(Impersonated { user, constraint: mode.constraint() }),
            Err(Refusal::Forbidden(status)) => forbidden = forbidden.or(Some(status)),
            Err(Refusal::Unknown(status)) => unknown = unknown.or(Some(status)),
        }
    }
    // A refusal is only one if everybody could be asked.
    let refusal = unknown.or(forbidden);
    Err(refusal.unwrap_or_else(|| Box::new(Status::internal("there is no way to act as another user"))))
}

#[cfg(test)]
mod tests;
