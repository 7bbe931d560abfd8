//! SubjectAccessReview and its relatives: may they do this?

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_machinery::{FieldErrors, GroupKind, NameRule, Object, Scope};
use k8s_openapi::Resource as _;
use k8s_openapi::api::authorization::v1::{
    LocalSubjectAccessReview, NonResourceAttributes, ResourceAttributes, SelfSubjectAccessReview, SubjectAccessReview,
    SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};

use super::selectors::Selectors;
use super::{Reviewers, answer, typed, validation};
use crate::User;
use crate::authorization::{Attributes, Authorizer, Decision, Resource, Target};
use crate::error::{Error, Result};
use crate::kind::{Kind, KindError};
use crate::virtual_kind::{Virtual, VirtualCall, VirtualVerb};

const CREATE: &[VirtualVerb] = &[VirtualVerb::Create];

/// Whether someone may.
pub(super) fn subject(reviewers: Reviewers) -> Result<Kind, KindError> {
    Ok(Kind::host::<SubjectAccessReview>(Scope::Cluster, NameRule::DnsSubdomain)?.made_by(Subject(reviewers)))
}

/// Whether someone may in one namespace.
pub(super) fn local_subject(reviewers: Reviewers) -> Result<Kind, KindError> {
    let kind = Kind::host::<LocalSubjectAccessReview>(Scope::Namespaced, NameRule::DnsSubdomain)?;
    Ok(kind.made_by(LocalSubject(reviewers)))
}

/// Whether the one who asks may.
pub(super) fn self_subject(authorizer: Arc<dyn Authorizer>) -> Result<Kind, KindError> {
    let kind = Kind::host::<SelfSubjectAccessReview>(Scope::Cluster, NameRule::DnsSubdomain)?;
    Ok(kind.made_by(SelfSubject(authorizer)))
}

struct Subject(Reviewers);
struct LocalSubject(Reviewers);
struct SelfSubject(Arc<dyn Authorizer>);

// === impl Subject ===

#[async_trait]
impl Virtual for Subject {
    fn verbs(&self) -> &'static [VirtualVerb] {
        CREATE
    }

    async fn create(&self, _: VirtualCall<'_>, sent: Object) -> Result<Object> {
        let spec = checked(&sent)?;
        answer_about(&*self.0.authorizer, &self.0.memberships.in_groups(subject_of(&spec)), spec, sent).await
    }
}

/// Answers a SubjectAccessReview.
pub async fn review_access(authorizer: &dyn Authorizer, sent: Object) -> Result<Object> {
    let spec = checked(&sent)?;
    answer_about(authorizer, &subject_of(&spec), spec, sent).await
}

/// What a SubjectAccessReview asks.
fn checked(sent: &Object) -> Result<SubjectAccessReviewSpec> {
    let review: SubjectAccessReview = typed(sent)?;
    let mut errors = FieldErrors::default();
    validation::subject(&review.spec, &mut errors);
    validation::metadata(sent, &[], "must be empty", &mut errors);
    check(errors)?;
    Ok(review.spec)
}

// === impl LocalSubject ===

#[async_trait]
impl Virtual for LocalSubject {
    fn verbs(&self) -> &'static [VirtualVerb] {
        CREATE
    }

    async fn create(&self, _: VirtualCall<'_>, sent: Object) -> Result<Object> {
        let review: LocalSubjectAccessReview = typed(&sent)?;
        let mut errors = FieldErrors::default();
        validation::subject(&review.spec, &mut errors);
        validation::metadata(&sent, &["namespace"], "must be empty except for namespace", &mut errors);
        validation::local(&review.spec, sent.metadata().namespace(), &mut errors);
        check(errors)?;
        let user = self.0.memberships.in_groups(subject_of(&review.spec));
        answer_about(&*self.0.authorizer, &user, review.spec, sent).await
    }
}

// === impl SelfSubject ===

#[async_trait]
impl Virtual for SelfSubject {
    fn verbs(&self) -> &'static [VirtualVerb] {
        CREATE
    }

    async fn create(&self, call: VirtualCall<'_>, sent: Object) -> Result<Object> {
        let review: SelfSubjectAccessReview = typed(&sent)?;
        let spec = review.spec;
        let mut errors = FieldErrors::default();
        validation::attributes(&spec.resource_attributes, &spec.non_resource_attributes, &mut errors);
        validation::selectors(&spec.resource_attributes, &mut errors);
        validation::metadata(&sent, &[], "must be empty", &mut errors);
        check(errors)?;
        let status = decide(&*self.0, call.ctx.user, spec.resource_attributes, spec.non_resource_attributes).await;
        answer(sent, &status)
    }
}

/// Upstream names neither the kind nor an object in this refusal.
fn check(errors: FieldErrors) -> Result<()> {
    errors.into_result().map_err(|errors| Error::Invalid {
        kind: GroupKind::new(SubjectAccessReview::GROUP, ""),
        name: String::new(),
        errors,
    })
}

/// Answers what a user may do of that which the spec names.
async fn answer_about(
    authorizer: &dyn Authorizer,
    user: &User,
    spec: SubjectAccessReviewSpec,
    sent: Object,
) -> Result<Object> {
    let status = decide(authorizer, user, spec.resource_attributes, spec.non_resource_attributes).await;
    answer(sent, &status)
}

fn subject_of(spec: &SubjectAccessReviewSpec) -> User {
    User {
        name: spec.user.clone().unwrap_or_default(),
        uid: spec.uid.clone().unwrap_or_default(),
        groups: spec.groups.clone().unwrap_or_default(),
        extra: spec.extra.clone().unwrap_or_default(),
        ..User::default()
    }
}

/// Asks, as a request would.
async fn decide(
    authorizer: &dyn Authorizer,
    user: &User,
    resource: Option<ResourceAttributes>,
    path: Option<NonResourceAttributes>,
) -> SubjectAccessReviewStatus {
    let resource = resource.map(Wanted::from);
    let path = path.unwrap_or_default();
    let question = match &resource {
        Some(wanted) => Attributes { user, verb: &wanted.verb, target: Target::Resource(wanted.resource()) },
        None => Attributes {
            user,
            verb: path.verb.as_deref().unwrap_or_default(),
            target: Target::Path(path.path.as_deref().unwrap_or_default()),
        },
    };
    let mut problems = Vec::new();
    let decision = authorizer.authorize(&question).await.unwrap_or_else(|error| {
        problems.push(error.to_string());
        Decision::NoOpinion(String::new())
    });
    problems.extend(resource.iter().flat_map(|wanted| wanted.selectors.problems.clone()));
    let (allowed, denied, reason) = match decision {
        Decision::Allow(reason) => (true, false, reason),
        Decision::Deny(reason) => (false, true, reason),
        Decision::NoOpinion(reason) => (false, false, reason),
    };
    SubjectAccessReviewStatus {
        allowed,
        denied: Some(denied).filter(|denied| *denied),
        reason: Some(reason).filter(|reason| !reason.is_empty()),
        evaluation_error: Some(problems.join("; ")).filter(|problems| !problems.is_empty()),
    }
}

/// A question about objects.
struct Wanted {
    verb: String,
    group: String,
    version: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    selectors: Selectors,
}

// === impl Wanted ===

impl From<ResourceAttributes> for Wanted {
    fn from(attributes: ResourceAttributes) -> Self {
        let version = attributes.version.unwrap_or_default();
        Self {
            verb: attributes.verb.unwrap_or_default(),
            group: attributes.group.unwrap_or_default(),
            version: if version.is_empty() { "*".to_owned() } else { version },
            resource: attributes.resource.unwrap_or_default(),
            subresource: attributes.subresource.unwrap_or_default(),
            namespace: attributes.namespace.unwrap_or_default(),
            name: attributes.name.unwrap_or_default(),
            selectors: Selectors::read(attributes.field_selector, attributes.label_selector),
        }
    }
}

impl Wanted {
    fn resource(&self) -> Resource<'_> {
        Resource {
            group: &self.group,
            version: &self.version,
            resource: &self.resource,
            subresource: &self.subresource,
            namespace: &self.namespace,
            name: &self.name,
            field_selector: &self.selectors.field,
            label_selector: &self.selectors.label,
        }
    }
}
