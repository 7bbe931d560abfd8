//! What a cluster asks of us with each request: kube-apiserver's `AuthorizationConfiguration` names this server as a webhook.
//!
//! Who may ask is decided here and by the caller's certificate. The cluster is not asked: it would have to ask us first.

use async_trait::async_trait;
use bailiwick_machinery::decode;
use bailiwick_machinery::encode::Layout;
use bailiwick_machinery::media::MediaType;
use bailiwick_machinery::{Object, Status};
use bailiwick_registry::kinds::review_access;
use bailiwick_registry::{Attributes, AuthorizationError, AuthorizationTarget, Authorizer, Decision, User};
use http::StatusCode;
use http::request::Parts;
use k8s_openapi::Resource;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;

use crate::authentication::is_by_certificate;
use crate::body;
use crate::form::Form;
use crate::resource::{Answer, refuse};
use crate::respond;

/// Where it is asked.
pub const ACCESS_WEBHOOK_PATH: &str = "/authorize";

/// Who may ask: the holders of certificates with these names.
#[derive(Clone, Debug)]
pub struct WebhookCallers(Vec<String>);

// === impl WebhookCallers ===

impl WebhookCallers {
    /// Users of these names.
    pub fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    fn has(&self, user: &User) -> bool {
        is_by_certificate(user) && self.0.contains(&user.name)
    }
}

#[async_trait]
impl Authorizer for WebhookCallers {
    /// Nobody else has a say in it.
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        Ok(match question.target {
            AuthorizationTarget::Path(ACCESS_WEBHOOK_PATH) if question.verb == "post" && self.has(question.user) => {
                Decision::Allow("a caller of the authorization webhook".to_owned())
            }
            AuthorizationTarget::Path(ACCESS_WEBHOOK_PATH) => {
                let why = "only the clients may ask that --authorization-webhook-callers names, by their certificates";
                Decision::Deny(why.to_owned())
            }
            _ => Decision::NoOpinion(String::new()),
        })
    }
}

/// Answers a SubjectAccessReview, in JSON.
pub(crate) async fn answer<B>(authorizer: &dyn Authorizer, head: &Parts, body: B, now: std::time::SystemTime) -> Answer
where
    B: http_body::Body<Data = bytes::Bytes> + Send,
    B::Error: std::fmt::Display,
{
    let body = body::read(&head.headers, body).await?;
    let review = read(&body)?;
    let answered = review_access(authorizer, review).await.map_err(refuse)?;
    let form = Form::of_status(&head.headers, None, now);
    let form = Form { media_type: MediaType::Json, layout: Layout::Compact, ..form };
    Ok(respond::value(&form, StatusCode::OK, answered.as_value()))
}

fn read(body: &[u8]) -> Result<Object, Box<Status>> {
    let bad = |why: String| Box::new(Status::bad_request(why));
    let decoded = decode::decode(MediaType::Json, body).and_then(decode::Decoded::into_object);
    let (object, _) = decoded.map_err(|error| bad(error.to_string()))?;
    if (object.api_version(), object.kind()) == (SubjectAccessReview::API_VERSION, SubjectAccessReview::KIND) {
        return Ok(object);
    }
    let (version, kind) = (SubjectAccessReview::API_VERSION, SubjectAccessReview::KIND);
    Err(bad(format!("a {kind} of {version} is needed: set subjectAccessReviewVersion to v1")))
}

#[cfg(test)]
mod tests;
