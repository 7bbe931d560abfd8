//! TokenReview: whose token is this, and for whom?

use async_trait::async_trait;
use bailiwick_machinery::{NameRule, Object, Scope};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewStatus};

use super::{Reviewers, answer, typed, user_info};
use crate::User;
use crate::error::{Error, Result};
use crate::kind::{Kind, KindError};
use crate::virtual_kind::{Virtual, VirtualCall, VirtualVerb};

/// Who can be asked what a token is worth.
#[async_trait]
pub trait TokenReviewer: Send + Sync + 'static {
    /// Whose token it is, if it is for one of these audiences, or for this server if none is named; `None` if nobody knows
    /// the token.
    async fn review(&self, token: &str, audiences: &[String]) -> Result<Option<TokenOwner>, TokenReviewError>;
}

/// Whose token it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenOwner {
    /// Who sends it.
    pub user: User,
    /// Which of the audiences it is for.
    pub audiences: Vec<String>,
}

/// Why a token is not believed. It never holds the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TokenReviewError(pub String);

/// What is said of a token that nobody knows.
const UNKNOWN: &str = "invalid bearer token";

pub(super) fn kind(reviewers: Reviewers) -> Result<Kind, KindError> {
    let kind = Kind::host::<TokenReview>(Scope::Cluster, NameRule::DnsSubdomain)?;
    Ok(kind.secret_bearing().made_by(Reviews(reviewers)))
}

struct Reviews(Reviewers);

// === impl Reviews ===

#[async_trait]
impl Virtual for Reviews {
    fn verbs(&self) -> &'static [VirtualVerb] {
        &[VirtualVerb::Create]
    }

    async fn create(&self, _: VirtualCall<'_>, sent: Object) -> Result<Object> {
        let review: TokenReview = typed(&sent)?;
        let token = review.spec.token;
        if token.is_empty() {
            return Err(Error::BadRequest("token is required for TokenReview in authentication".to_owned()));
        }
        let status = match self.0.tokens.review(&token, &review.spec.audiences.unwrap_or_default()).await {
            Ok(Some(owner)) => TokenReviewStatus {
                authenticated: Some(true),
                user: Some(user_info(&self.0.memberships.in_groups(owner.user))),
                audiences: Some(owner.audiences).filter(|audiences| !audiences.is_empty()),
                error: None,
            },
            Ok(None) => refused(UNKNOWN.to_owned()),
            Err(error) => refused(format!("[{UNKNOWN}, {error}]")),
        };
        answer(sent, &status)
    }
}

fn refused(why: String) -> TokenReviewStatus {
    TokenReviewStatus { error: Some(why), ..TokenReviewStatus::default() }
}
