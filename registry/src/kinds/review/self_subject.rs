//! SelfSubjectReview: who am I?

use async_trait::async_trait;
use bailiwick_machinery::{NameRule, Object, Scope};
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, SelfSubjectReviewStatus};

use super::{answer, user_info};
use crate::error::Result;
use crate::kind::{Kind, KindError};
use crate::virtual_kind::{Virtual, VirtualCall, VirtualVerb};

pub(super) fn kind() -> Result<Kind, KindError> {
    Ok(Kind::host::<SelfSubjectReview>(Scope::Cluster, NameRule::DnsSubdomain)?.made_by(Reviews))
}

struct Reviews;

// === impl Reviews ===

#[async_trait]
impl Virtual for Reviews {
    fn verbs(&self) -> &'static [VirtualVerb] {
        &[VirtualVerb::Create]
    }

    /// What was sent is not in the answer.
    async fn create(&self, call: VirtualCall<'_>, _: Object) -> Result<Object> {
        let mut object = Object::default();
        object.set_metadata_text("creationTimestamp", &call.ctx.timestamp());
        answer(object, &SelfSubjectReviewStatus { user_info: Some(user_info(call.ctx.user)) })
    }
}
