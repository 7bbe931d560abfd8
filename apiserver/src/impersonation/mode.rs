//! The ways in which acting as someone else can be allowed.
//!
//! | way | as whom | verbs |
//! |---|---|---|
//! | `associated-node` | a service account as the node that its token is bound to | `impersonate:associated-node` on nodes, any name |
//! | `arbitrary-node` | as a node | `impersonate:arbitrary-node` on nodes |
//! | `serviceaccount` | as a service account | `impersonate:serviceaccount` on serviceaccounts |
//! | `user-info` | as anyone else, with groups, UID and the rest | `impersonate:user-info` on users, groups, uids, userextras |
//! | legacy | as anyone | `impersonate` |
//!
//! All but the last also need `impersonate-on:<way>:<verb>` on what the request is for.

use std::borrow::Cow;

use bailiwick_registry::{Attributes, Authorizer, User};

use super::Refusal;
use super::checks::Checks;
use super::names::{node, service_account, service_account_groups};
use crate::authorization::attributes;
use crate::request_info::RequestInfo;

/// What a token that is bound to a node says of it.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// What is told of a service account that acts as its node, instead of what its token says.
const ASSOCIATED_NODE_KEYS: &str = "authentication.kubernetes.io/associated-node-keys";
const NODES: &str = "system:nodes";
const ANONYMOUS: &str = "system:anonymous";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// A way in which acting as someone else can be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

// === impl Mode ===

impl Mode {
    /// In the order in which they are tried.
    pub(super) const ALL: [Self; 5] =
        [Self::AssociatedNode, Self::ArbitraryNode, Self::ServiceAccount, Self::UserInfo, Self::Legacy];

    /// Whether this way is one for these two at all.
    pub(super) fn applies(self, wanted: &User, requestor: &User) -> bool {
        let only_named = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        match self {
            Self::AssociatedNode => only_named && is_bound_to(requestor, &wanted.name),
            Self::ArbitraryNode => only_named && node(&wanted.name).is_some(),
            Self::ServiceAccount => only_named && service_account(&wanted.name).is_some(),
            Self::UserInfo => node(&wanted.name).is_none() && service_account(&wanted.name).is_none(),
            Self::Legacy => true,
        }
    }

    /// What the requestor becomes, if this way is open to it.
    pub(super) async fn check(
        self,
        authorizer: &dyn Authorizer,
        requestor: &User,
        wanted: &User,
        info: &RequestInfo,
    ) -> Result<User, Refusal> {
        let requestor = self.as_asked(requestor);
        let checks = Checks { authorizer, requestor: &requestor, mode: self };
        if let Some(name) = self.name() {
            let verb = format!("impersonate-on:{name}:{}", info.verb().as_str());
            checks.ask(&Attributes { verb: &verb, ..attributes(&requestor, info) }).await?;
        }
        checks.user(wanted).await?;
        checks.uid(&wanted.uid).await?;
        checks.groups(&wanted.groups).await?;
        checks.extra(&wanted.extra).await?;
        Ok(self.complete(wanted))
    }

    pub(super) fn constraint(self) -> Option<&'static str> {
        (self != Self::Legacy).then(|| self.verb())
    }

    /// The verb by which everything that is known of the other is asked for.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::AssociatedNode => "impersonate:associated-node",
            Self::ArbitraryNode => "impersonate:arbitrary-node",
            Self::ServiceAccount => "impersonate:serviceaccount",
            Self::UserInfo => "impersonate:user-info",
            Self::Legacy => "impersonate",
        }
    }

    fn name(self) -> Option<&'static str> {
        self.verb().strip_prefix("impersonate:")
    }

    /// For its own node a service account is the same wherever it runs, so that one answer is true of all its pods: what
    /// its token says is replaced by which things it says.
    fn as_asked(self, requestor: &User) -> Cow<'_, User> {
        if self != Self::AssociatedNode {
            return Cow::Borrowed(requestor);
        }
        let keys = requestor.extra.keys().cloned().collect();
        Cow::Owned(User { extra: [(ASSOCIATED_NODE_KEYS.to_owned(), keys)].into(), ..requestor.clone() })
    }

    /// The other, with the groups that follow from the name.
    fn complete(self, wanted: &User) -> User {
        let mut user = wanted.clone();
        if self != Self::Legacy && node(&user.name).is_some() {
            user.groups = vec![NODES.to_owned()];
        }
        if wanted.groups.is_empty()
            && let Some((namespace, _)) = service_account(&wanted.name)
        {
            user.groups = service_account_groups(namespace);
        }
        let is_in = |group: &str| user.groups.iter().any(|one| one == group);
        let missing = match user.name.as_str() {
            ANONYMOUS => Some(UNAUTHENTICATED).filter(|group| !is_in(group)),
            _ => Some(AUTHENTICATED).filter(|group| !is_in(group) && !is_in(UNAUTHENTICATED)),
        };
        user.groups.extend(missing.map(str::to_owned));
        user
    }
}

/// Whether a user is a service account whose token is bound to a node.
fn is_bound_to(requestor: &User, wanted: &str) -> bool {
    let bound_to = match requestor.extra.get(NODE_NAME).map(Vec::as_slice) {
        Some([only]) => only.as_str(),
        _ => "",
    };
    service_account(&requestor.name).is_some() && node(wanted).is_some_and(|wanted| wanted == bound_to)
}
