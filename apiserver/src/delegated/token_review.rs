//! Whose a token is, asked of the cluster by a `TokenReview`.

use std::sync::Arc;

use async_trait::async_trait;
use bailiwick_registry::User;
use bailiwick_registry::kinds::TokenOwner;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::api::PostParams;
use kube::{Api, Client};

use super::question::ask_for_review;
use crate::authentication::{Audiences, Token, TokenAuthenticator, TokenError};
use crate::metrics::ReviewMetrics;

/// Asks the cluster. It remembers nothing: [`TokenCache`](crate::TokenCache) does.
pub struct TokenReviews {
    client: Client,
    audiences: Vec<String>,
    metrics: Arc<ReviewMetrics>,
}

// === impl TokenReviews ===

impl TokenReviews {
    /// Through this client. A token must be for one of the audiences; if there are none, for the cluster's own API.
    pub fn new(client: Client, audiences: Vec<String>) -> Self {
        Self { client, audiences, metrics: Arc::default() }
    }

    /// The same, and what is asked is counted here.
    #[must_use]
    pub fn counted_by(self, metrics: Arc<ReviewMetrics>) -> Self {
        Self { metrics, ..self }
    }

    async fn review(&self, token: &Token, audiences: &[String]) -> Result<Option<TokenOwner>, TokenError> {
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let wanted = Some(audiences.to_vec()).filter(|audiences| !audiences.is_empty());
        let spec = TokenReviewSpec { token: token.expose().to_owned(), audiences: wanted };
        let review = TokenReview { spec, ..TokenReview::default() };
        let params = PostParams::default();
        let answer = ask_for_review(&self.metrics, || reviews.create(&params, &review)).await;
        let answer = answer.map_err(|error| TokenError(format!("a token could not be reviewed: {error}")))?;
        owner(answer.status.unwrap_or_default(), audiences)
    }
}

#[async_trait]
impl TokenAuthenticator for TokenReviews {
    async fn authenticate(&self, token: &Token) -> Result<Option<User>, TokenError> {
        Ok(self.review(token, &self.audiences).await?.map(|owner| owner.user))
    }

    async fn authenticate_for(
        &self,
        token: &Token,
        audiences: &Audiences<'_>,
    ) -> Result<Option<TokenOwner>, TokenError> {
        self.review(token, audiences.target()).await
    }
}

/// The owner that an answer names. That it came does not mean that it names one: an answer that is not complete, or not
/// about the audiences that were asked for, is none.
fn owner(status: TokenReviewStatus, wanted: &[String]) -> Result<Option<TokenOwner>, TokenError> {
    if status.authenticated != Some(true) {
        // Also where it says why: the cluster has judged the token, and would judge it likewise a moment later.
        tracing::debug!(error = status.error.unwrap_or_default(), "the cluster does not know a token");
        return Ok(None);
    }
    if let Some(error) = status.error.filter(|error| !error.is_empty()) {
        return Err(TokenError(format!("the cluster accepts a token, but not without an error: {error}")));
    }
    let user = status.user.unwrap_or_default();
    let name = user.username.filter(|name| !name.is_empty());
    let Some(name) = name else { return Err(TokenError("the cluster accepts a token of nobody".to_owned())) };
    let mut audiences = status.audiences.unwrap_or_default();
    if !wanted.is_empty() {
        audiences.retain(|audience| wanted.contains(audience));
        if audiences.is_empty() {
            return Ok(None);
        }
    }
    let user = User {
        name,
        uid: user.uid.unwrap_or_default(),
        groups: user.groups.unwrap_or_default(),
        extra: user.extra.unwrap_or_default(),
        ..User::default()
    };
    Ok(Some(TokenOwner { user, audiences }))
}

#[cfg(test)]
mod tests;
