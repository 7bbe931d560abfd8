//! What users may do at the host, asked when something is about to be done because of what they wrote.

use bailiwick_api::Requester;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

/// What someone wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question<'q> {
    pub(crate) verb: &'q str,
    pub(crate) group: &'q str,
    pub(crate) resource: &'q str,
    pub(crate) namespace: &'q str,
    pub(crate) name: &'q str,
}

/// Whether someone may do something. Whoever cannot be asked has allowed nothing.
pub(crate) async fn may(host: &Client, who: &Requester, question: Question<'_>) -> kube::Result<bool> {
    let text = |text: &str| Some(text.to_owned());
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: text(&who.username),
            uid: text(&who.uid),
            groups: Some(who.groups.clone()),
            resource_attributes: Some(ResourceAttributes {
                verb: text(question.verb),
                group: text(question.group),
                resource: text(question.resource),
                namespace: text(question.namespace),
                name: text(question.name),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(host.clone());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}
