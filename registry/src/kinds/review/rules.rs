//! SelfSubjectRulesReview: what may I do in this namespace?

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_machinery::{NameRule, Object, Scope};
use k8s_openapi::api::authorization::v1::SelfSubjectRulesReview;

use super::{answer, typed};
use crate::authorization::RuleResolver;
use crate::error::{Error, Result};
use crate::kind::{Kind, KindError};
use crate::virtual_kind::{Virtual, VirtualCall, VirtualVerb};

pub(super) fn kind(rules: Arc<dyn RuleResolver>) -> Result<Kind, KindError> {
    Ok(Kind::host::<SelfSubjectRulesReview>(Scope::Cluster, NameRule::DnsSubdomain)?.made_by(Reviews(rules)))
}

struct Reviews(Arc<dyn RuleResolver>);

// === impl Reviews ===

#[async_trait]
impl Virtual for Reviews {
    fn verbs(&self) -> &'static [VirtualVerb] {
        &[VirtualVerb::Create]
    }

    /// What was sent is not in the answer.
    async fn create(&self, call: VirtualCall<'_>, sent: Object) -> Result<Object> {
        let review: SelfSubjectRulesReview = typed(&sent)?;
        let namespace = review.spec.namespace.unwrap_or_default();
        if namespace.is_empty() {
            return Err(Error::BadRequest("no namespace on request".to_owned()));
        }
        answer(Object::default(), &self.0.rules_for(call.ctx.user, &namespace).await)
    }
}
