//! May they? The question is read from the request that will be executed, and a refusal says what was asked.

use bailiwick_machinery::{GroupResource, Reason, Status};
use bailiwick_registry::{Attributes, AuthorizationTarget, Authorizer, Decision, ResourceAttributes, User};

use crate::request_info::RequestInfo;

/// Lets the request pass, or refuses it.
pub(crate) async fn authorize(authorizer: &dyn Authorizer, user: &User, info: &RequestInfo) -> Result<(), Box<Status>> {
    let question = attributes(user, info);
    match authorizer.authorize(&question).await {
        Ok(Decision::Allow(_)) => Ok(()),
        Ok(Decision::Deny(reason) | Decision::NoOpinion(reason)) => Err(Box::new(forbidden(&question, &reason))),
        Err(error) => {
            tracing::error!(%error, user = user.name, path = info.path(), "whether a user may do something is not known");
            Err(Box::new(Status::internal(
                "whether the user may do this could not be found out; the server's logs say why",
            )))
        }
    }
}

/// The question that a request asks.
fn attributes<'a>(user: &'a User, info: &'a RequestInfo) -> Attributes<'a> {
    let target = if info.is_resource_request() {
        AuthorizationTarget::Resource(ResourceAttributes {
            group: info.api_group(),
            version: info.api_version(),
            resource: info.resource(),
            subresource: info.subresource(),
            namespace: info.namespace(),
            name: info.name(),
            field_selector: info.field_selector(),
            label_selector: info.label_selector(),
        })
    } else {
        AuthorizationTarget::Path(info.path())
    };
    Attributes { user, verb: info.verb().as_str(), target }
}

/// The refusal, in the words of Kubernetes.
pub(crate) fn forbidden(question: &Attributes<'_>, reason: &str) -> Status {
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let (user, verb) = (&question.user.name, question.verb);
    match question.target {
        AuthorizationTarget::Path(path) => {
            let why = format!("User \"{user}\" cannot {verb} path \"{path}\"{because}");
            Status::new(Reason::Forbidden, format!("forbidden: {why}"))
        }
        AuthorizationTarget::Resource(target) => {
            let place = match target.namespace {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace \"{namespace}\""),
            };
            let (path, group) = (target.path(), target.group);
            let why =
                format!("User \"{user}\" cannot {verb} resource \"{path}\" in API group \"{group}\" {place}{because}");
            Status::forbidden(&GroupResource::new(group.to_owned(), target.resource.to_owned()), target.name, &why)
        }
    }
}
