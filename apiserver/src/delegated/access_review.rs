//! Who may do what, asked of the cluster by a `SubjectAccessReview`.
//!
//! Answers are remembered for a little while, what is allowed apart from what is not, so that a flood of refused requests
//! displaces only other refusals. Whoever asks what is being asked already waits for the same answer. How many questions are
//! under way is bounded, and so is the share that one user has of them. What could not be found out is an error, and never
//! permission.

mod answers;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bailiwick_registry::{
    Attributes, AuthorizationError, AuthorizationTarget, Authorizer, Decision, field_selector_attributes,
    label_selector_attributes,
};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::api::PostParams;
use kube::{Api, Client};
use sha2::{Digest, Sha256};

use self::answers::Answers;
use super::question::ask_for_review;
use crate::metrics::ReviewMetrics;

/// Questions that take more bytes than this are asked each time: clients choose how long they are.
const MAX_REMEMBERED_BYTES: usize = 10_000;

/// How answers are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessReviewOptions {
    /// How long it is remembered that something is allowed.
    pub allowed_for: Duration,
    /// How long it is remembered that something is not.
    pub refused_for: Duration,
    /// How many answers of each kind are remembered.
    pub max_answers: usize,
    /// How many questions are under way at a time. Those about what one user may do are three quarters of them at most.
    pub max_questions: usize,
    /// How long a question waits until fewer are under way.
    pub patience: Duration,
    /// How long an answer may take, however often it is asked for.
    pub limit: Duration,
}

/// Asks the cluster.
pub struct AccessReviews {
    client: Client,
    answers: Answers,
    metrics: Arc<ReviewMetrics>,
}

// === impl AccessReviewOptions ===

impl Default for AccessReviewOptions {
    fn default() -> Self {
        Self {
            allowed_for: Duration::from_secs(10),
            refused_for: Duration::from_secs(10),
            max_answers: 8_192,
            max_questions: 400,
            patience: Duration::from_millis(500),
            limit: Duration::from_secs(30),
        }
    }
}

// === impl AccessReviews ===

impl AccessReviews {
    /// Through this client.
    pub fn new(client: Client, options: AccessReviewOptions) -> Self {
        Self { client, answers: Answers::new(options), metrics: Arc::default() }
    }

    /// The same, and what is asked is counted here.
    #[must_use]
    pub fn counted_by(self, metrics: Arc<ReviewMetrics>) -> Self {
        Self { metrics, ..self }
    }
}

#[async_trait]
impl Authorizer for AccessReviews {
    async fn authorize(&self, question: &Attributes<'_>) -> Result<Decision, AuthorizationError> {
        let spec = spec(question);
        let text = serde_json::to_vec(&spec)
            .map_err(|error| AuthorizationError(format!("a question cannot be written down: {error}")))?;
        let key: [u8; 32] = Sha256::digest(&text).into();
        let (client, metrics) = (self.client.clone(), self.metrics.clone());
        let review = async move { review(client, spec, &metrics).await };
        self.answers.get(&question.user.name, key, text.len() <= MAX_REMEMBERED_BYTES, review).await
    }
}

async fn review(
    client: Client,
    spec: SubjectAccessReviewSpec,
    metrics: &ReviewMetrics,
) -> Result<Decision, AuthorizationError> {
    let reviews: Api<SubjectAccessReview> = Api::all(client);
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let params = PostParams::default();
    let answer = ask_for_review(metrics, || reviews.create(&params, &review)).await;
    let failed = |error| AuthorizationError(format!("what a user may do could not be found out: {error}"));
    let answer = answer.map_err(failed)?;
    decision(answer.status.unwrap_or_default())
}

fn decision(status: SubjectAccessReviewStatus) -> Result<Decision, AuthorizationError> {
    let reason = status.reason.unwrap_or_default();
    match (status.allowed, status.denied.unwrap_or_default()) {
        (true, true) => Err(AuthorizationError("the cluster both allows and denies the same".to_owned())),
        (true, false) => Ok(Decision::Allow(reason)),
        (false, true) => Ok(Decision::Deny(reason)),
        (false, false) => Ok(Decision::NoOpinion(reason)),
    }
}

/// The question as it is sent.
fn spec(question: &Attributes<'_>) -> SubjectAccessReviewSpec {
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let (mut resource_attributes, mut non_resource_attributes) = (None, None);
    match &question.target {
        AuthorizationTarget::Path(path) => {
            let verb = given(question.verb);
            non_resource_attributes = Some(NonResourceAttributes { path: given(path), verb });
        }
        AuthorizationTarget::Resource(resource) => {
            resource_attributes = Some(ResourceAttributes {
                namespace: given(resource.namespace),
                verb: given(question.verb),
                group: given(resource.group),
                version: given(resource.version),
                resource: given(resource.resource),
                subresource: given(resource.subresource),
                name: given(resource.name),
                field_selector: field_selector_attributes(resource),
                label_selector: label_selector_attributes(resource),
            });
        }
    }
    let user = question.user;
    SubjectAccessReviewSpec {
        user: given(&user.name),
        uid: given(&user.uid),
        groups: Some(user.groups.clone()).filter(|groups| !groups.is_empty()),
        extra: Some(user.extra.clone()).filter(|extra| !extra.is_empty()),
        resource_attributes,
        non_resource_attributes,
    }
}

#[cfg(test)]
mod tests;
