//! May they? The question is read from the request that will be executed, and a refusal says what was asked.

use bailiwick_machinery::{GroupResource, Reason, Status, go};
use bailiwick_registry::{
    Attributes, AuthorizationError, AuthorizationTarget, Authorizer, Decision, ResourceAttributes, User,
};

use crate::request_info::{RequestInfo, Verb};

/// Lets the request pass, or refuses it.
pub(crate) async fn authorize(authorizer: &dyn Authorizer, user: &User, info: &RequestInfo) -> Result<(), Box<Status>> {
    ask(authorizer, &attributes(user, info)).await
}

/// Lets a request pass that would make an object where there is none, though it was not sent to create one.
pub(crate) async fn authorize_create(
    authorizer: &dyn Authorizer,
    user: &User,
    info: &RequestInfo,
) -> Result<(), Box<Status>> {
    ask(authorizer, &Attributes { verb: Verb::Create.as_str(), ..attributes(user, info) }).await
}

async fn ask(authorizer: &dyn Authorizer, question: &Attributes<'_>) -> Result<(), Box<Status>> {
    match authorizer.authorize(question).await {
        Ok(Decision::Allow(_)) => Ok(()),
        Ok(Decision::Deny(reason) | Decision::NoOpinion(reason)) => Err(Box::new(forbidden(question, &reason))),
        Err(error) => Err(not_known(question, &error)),
    }
}

/// The question that a request asks.
pub(crate) fn attributes<'a>(user: &'a User, info: &'a RequestInfo) -> Attributes<'a> {
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

/// That nobody knows whether it is allowed, which is never permission. Why is for those who run the server.
pub(crate) fn not_known(question: &Attributes<'_>, error: &AuthorizationError) -> Box<Status> {
    let Attributes { user, verb, target } = question;
    tracing::error!(%error, user = user.name, verb, ?target, "whether a user may do something is not known");
    Box::new(Status::internal("whether the user may do this could not be found out; the server's logs say why"))
}

/// The refusal, in the words of Kubernetes.
pub(crate) fn forbidden(question: &Attributes<'_>, reason: &str) -> Status {
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let (user, verb) = (go::quote(&question.user.name), question.verb);
    match question.target {
        AuthorizationTarget::Path(path) => {
            let why = without_html(format!("User {user} cannot {verb} path {}", go::quote(path)));
            Status::new(Reason::Forbidden, format!("forbidden: {why}{because}"))
        }
        AuthorizationTarget::Resource(target) => {
            let place = match target.namespace {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace {}", go::quote(namespace)),
            };
            let (path, group) = (go::quote(&target.path()), go::quote(target.group));
            let why = without_html(format!("User {user} cannot {verb} resource {path} in API group {group} {place}"));
            let resource = GroupResource::new(target.group.to_owned(), target.resource.to_owned());
            Status::forbidden(&resource, target.name, &format!("{why}{because}"))
        }
    }
}

/// What a browser would take for markup is escaped: much of the text comes from the client.
fn without_html(text: String) -> String {
    if !text.contains(['&', '<', '>']) {
        return text;
    }
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
