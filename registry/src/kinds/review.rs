//! Reviews: questions about who someone is and what they may do, answered by whoever decides the same for requests.

mod access;
mod rules;
mod selectors;
mod self_subject;
mod token;
mod validation;

use std::sync::Arc;

use bailiwick_machinery::Object;
use k8s_openapi::api::authentication::v1::UserInfo;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::User;
use crate::authorization::{Authorizer, RuleResolver};
use crate::error::{Error, Result};
use crate::kind::{Kind, KindError};
use crate::organizations::Memberships;

pub use access::review_access;
pub use token::{TokenOwner, TokenReviewError, TokenReviewer};

/// Who answers reviews.
#[derive(Clone)]
pub struct Reviewers {
    /// Who says what users may do.
    pub authorizer: Arc<dyn Authorizer>,
    /// Who lists it.
    pub rules: Arc<dyn RuleResolver>,
    /// Who knows tokens.
    pub tokens: Arc<dyn TokenReviewer>,
    /// Who knows of groups beyond those that are said of users.
    pub memberships: Arc<dyn Memberships>,
}

pub(super) fn all(reviewers: &Reviewers) -> Result<Vec<Kind>, KindError> {
    [
        token::kind(reviewers.clone()),
        self_subject::kind(),
        access::subject(reviewers.clone()),
        access::local_subject(reviewers.clone()),
        access::self_subject(reviewers.authorizer.clone()),
        rules::kind(reviewers.rules.clone()),
    ]
    .into_iter()
    .collect()
}

/// The object as its type. What was accepted has its form.
fn typed<T: DeserializeOwned>(object: &Object) -> Result<T> {
    T::deserialize(object.as_value()).map_err(|error| Error::BadRequest(error.to_string()))
}

/// Puts the answer into the object that was sent.
fn answer(mut object: Object, status: &impl Serialize) -> Result<Object> {
    let status = serde_json::to_value(status).map_err(|error| Error::BadRequest(error.to_string()))?;
    object.fields_mut().insert("status".to_owned(), status);
    Ok(object)
}

/// A user as answers tell of them.
fn user_info(user: &User) -> UserInfo {
    let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    UserInfo {
        username: text(&user.name),
        uid: text(&user.uid),
        groups: Some(user.groups.clone()).filter(|groups| !groups.is_empty()),
        extra: Some(user.extra.clone()).filter(|extra| !extra.is_empty()),
    }
}

#[cfg(test)]
mod tests;
