//! What the writer of a definition must be allowed to do themselves.

use bailiwick_machinery::Cause;

use crate::admission::Proposal;
use crate::authorization::{Attributes, AuthorizationError, Authorizer, Decision, Resource, Target};
use crate::context::Ctx;
use crate::error::{Error, Result};

/// Something that a definition will lead to, everywhere in the host.
pub(super) struct Needed<'n> {
    pub(super) verb: &'n str,
    pub(super) group: &'n str,
    pub(super) version: &'n str,
    /// The plural.
    pub(super) resource: &'n str,
    pub(super) subresource: &'n str,
    /// Which one; any if it is empty.
    pub(super) name: &'n str,
    /// The field that leads to it.
    pub(super) field: String,
}

/// Refuses a write whose writer may not do all of this themselves, and says what is missing.
pub(super) async fn check(
    authorizer: &dyn Authorizer,
    ctx: &Ctx<'_>,
    proposal: &Proposal<'_>,
    needed: &[Needed<'_>],
) -> Result<()> {
    let mut causes = Vec::new();
    for right in needed {
        let Needed { verb, group, version, resource, subresource, name, .. } = *right;
        let target = Resource { group, version, resource, subresource, name, ..Resource::default() };
        let question = Attributes { user: ctx.user, verb, target: Target::Resource(target) };
        match authorizer.authorize(&question).await {
            Ok(Decision::Allow(_)) => {}
            Ok(Decision::Deny(_) | Decision::NoOpinion(_)) => causes.push(cause(ctx, right)),
            Err(AuthorizationError(why)) => return Err(Error::Failed { what: "authorization", why }),
        }
    }
    if causes.is_empty() {
        return Ok(());
    }
    let missing: Vec<&str> = causes.iter().map(|cause| cause.message.as_str()).collect();
    Err(Error::Forbidden {
        resource: proposal.kind.resource(),
        name: proposal.name().to_owned(),
        why: format!(
            "whoever writes a definition must be allowed what it makes the server's controllers do: {}",
            missing.join("; ")
        ),
        causes,
    })
}

fn cause(ctx: &Ctx<'_>, right: &Needed<'_>) -> Cause {
    let what = match right.subresource {
        "" => format!("{}.{}", right.resource, right.group),
        subresource => format!("{}.{}/{subresource}", right.resource, right.group),
    };
    let which = if right.name.is_empty() { String::new() } else { format!(" \"{}\"", right.name) };
    Cause {
        reason: "NotAllowed".to_owned(),
        message: format!("user \"{}\" cannot {} {what}{which}", ctx.user.name, right.verb),
        field: right.field.clone(),
    }
}
