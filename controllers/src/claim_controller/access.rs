//! Whether someone may do what a definition leads to: its writer, and the provisioner.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bailiwick_api::Requester;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReview,
    SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::Instant;

/// How long an answer counts. Definitions share kinds, and all are looked at when the program starts.
const KNOWN_FOR: Duration = Duration::from_secs(5);
/// How many answers are remembered.
const MAX_KNOWN: usize = 10_000;

/// Something to be done everywhere in the host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Right {
    pub(super) verb: &'static str,
    pub(super) group: String,
    /// It never decides.
    pub(super) version: String,
    /// The plural.
    pub(super) resource: String,
    pub(super) subresource: &'static str,
}

/// Who wants to do what; the provisioner, if nobody is named.
type Question = (Option<String>, Right);
/// When it was answered, and whether they may.
type Answer = (Instant, bool);

/// Who asks.
pub(super) struct Access {
    /// As the server's own account: what others may do.
    host: Client,
    /// As the provisioner: what it may do itself.
    deputy: Client,
    known: Mutex<HashMap<Question, Answer>>,
}

// === impl Access ===

impl Access {
    pub(super) fn new(host: Client, deputy: Client) -> Self {
        Self { host, deputy, known: Mutex::default() }
    }

    /// The first of these that the provisioner may not do, if any.
    pub(super) async fn refused_to_provisioner<'r>(&self, rights: &'r [Right]) -> kube::Result<Option<&'r Right>> {
        for right in rights {
            let review = SelfSubjectAccessReview {
                spec: SelfSubjectAccessReviewSpec {
                    resource_attributes: Some(right.attributes()),
                    ..SelfSubjectAccessReviewSpec::default()
                },
                ..SelfSubjectAccessReview::default()
            };
            let ask = async || {
                let reviews: Api<SelfSubjectAccessReview> = Api::all(self.deputy.clone());
                let answer = reviews.create(&PostParams::default(), &review).await?;
                Ok(answer.status.is_some_and(|status| status.allowed))
            };
            if !self.ask(None, right, ask).await? {
                return Ok(Some(right));
            }
        }
        Ok(None)
    }

    /// The first of these that someone may not do, if any.
    pub(super) async fn refused_to<'r>(&self, who: &Requester, rights: &'r [Right]) -> kube::Result<Option<&'r Right>> {
        for right in rights {
            let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
            let review = SubjectAccessReview {
                spec: SubjectAccessReviewSpec {
                    user: Some(who.username.clone()),
                    uid: some(&who.uid),
                    groups: Some(who.groups.clone()),
                    extra: who.extra.clone(),
                    resource_attributes: Some(right.attributes()),
                    ..SubjectAccessReviewSpec::default()
                },
                ..SubjectAccessReview::default()
            };
            let ask = async || {
                let reviews: Api<SubjectAccessReview> = Api::all(self.host.clone());
                let answer = reviews.create(&PostParams::default(), &review).await?;
                Ok(answer.status.is_some_and(|status| status.allowed))
            };
            let whom = format!("{:?}", (&who.username, &who.uid, &who.groups, &who.extra));
            if !self.ask(Some(whom), right, ask).await? {
                return Ok(Some(right));
            }
        }
        Ok(None)
    }

    async fn ask(
        &self,
        whom: Option<String>,
        right: &Right,
        ask: impl AsyncFnOnce() -> kube::Result<bool>,
    ) -> kube::Result<bool> {
        let key = (whom, right.clone());
        let now = Instant::now();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        if let Some((until, allowed)) = known
            && until > now
        {
            return Ok(allowed);
        }
        let allowed = ask().await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN {
            known.retain(|_, (until, _)| *until > now);
        }
        // A refusal is asked for again: someone may have done something about it.
        if allowed && known.len() < MAX_KNOWN {
            known.insert(key, (now + KNOWN_FOR, allowed));
        }
        Ok(allowed)
    }
}

// === impl Right ===

impl Right {
    fn attributes(&self) -> ResourceAttributes {
        ResourceAttributes {
            verb: Some(self.verb.to_owned()),
            group: Some(self.group.clone()),
            version: Some(self.version.clone()),
            resource: Some(self.resource.clone()),
            subresource: Some(self.subresource.to_owned()).filter(|subresource| !subresource.is_empty()),
            ..ResourceAttributes::default()
        }
    }
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { verb, group, resource, subresource, .. } = self;
        match *subresource {
            "" => write!(f, "{verb} {resource}.{group}"),
            subresource => write!(f, "{verb} {resource}.{group}/{subresource}"),
        }
    }
}
