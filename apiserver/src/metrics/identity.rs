//! Who asked, and whether they might: Kubernetes' metrics of authentication and authorization.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_registry::Decision;

use super::count::{Count, HighWater};
use super::exposition::{Exposition, Type};
use super::histogram::{CHECKS, Histogram, LOOKUPS};

/// What came of looking for a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The user is known, or nobody in particular where that is enough.
    Success,
    /// There is no credential.
    Failure,
    /// There is one that is not to be believed.
    Error,
}

/// Whether it was remembered what a token is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Hit,
    Miss,
}

/// What authentication tells.
#[derive(Debug)]
pub(crate) struct AuthenticationMetrics {
    /// In the order of [`Attempt`].
    attempts: [Histogram<15>; 3],
    /// By the categories of [`USERS`].
    users: [Count; USERS.len()],
    tokens: Arc<TokenCacheMetrics>,
}

/// What the memory of tokens tells.
#[derive(Debug)]
pub(crate) struct TokenCacheMetrics {
    /// In the order of [`Memory`].
    requests: [Histogram<11>; 2],
    /// Look-ups that were answered, and those that failed.
    fetched: [Count; 2],
    /// Requests that wait for a look-up.
    pub(crate) blocked: Arc<HighWater>,
    /// Look-ups under way.
    pub(crate) in_flight: Arc<HighWater>,
}

/// What authorization tells, in the order of [`DECISIONS`].
#[derive(Debug)]
pub(crate) struct AuthorizationMetrics([Histogram<15>; DECISIONS.len()]);

/// Names would be as many as users, and would tell who they are: these are the categories of Kubernetes.
const USERS: [&str; 7] =
    ["admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default", "email_id", "other"];
const ATTEMPTS: [&str; 3] = ["success", "failure", "error"];
const DECISIONS: [&str; 4] = ["allowed", "denied", "no-opinion", "error"];

// === impl AuthenticationMetrics ===

impl AuthenticationMetrics {
    /// Of requests, and of the tokens that they bring.
    pub(crate) fn new(tokens: Arc<TokenCacheMetrics>) -> Self {
        Self { attempts: std::array::from_fn(|_| Histogram::new(&CHECKS)), users: Default::default(), tokens }
    }

    /// Somebody was looked for.
    pub(crate) fn attempted(&self, attempt: Attempt, took: Duration) {
        self.attempts[attempt as usize].observe_duration(took);
    }

    /// This user was found.
    pub(crate) fn found(&self, name: &str) {
        self.users[user_category(name)].add(1);
    }

    pub(super) fn expose(&self, out: &mut Exposition) {
        let name = "authentication_attempts";
        out.family(name, Type::Counter, "Attempts to authenticate.");
        for (result, times) in ATTEMPTS.into_iter().zip(&self.attempts) {
            out.sample(name, &[("result", result)], times.count());
        }
        let name = "authentication_duration_seconds";
        out.family(name, Type::Histogram, "How long it took to authenticate.");
        for (result, times) in ATTEMPTS.into_iter().zip(&self.attempts) {
            out.histogram(name, &[("result", result)], times);
        }
        let name = "authenticated_user_requests";
        out.family(name, Type::Counter, "Authenticated requests by category of user.");
        for (user, count) in USERS.into_iter().zip(&self.users) {
            out.sample(name, &[("username", user)], count.get());
        }
        self.tokens.expose(out);
    }
}

// === impl TokenCacheMetrics ===

impl TokenCacheMetrics {
    /// A request was told what its token is worth.
    pub(crate) fn answered(&self, memory: Memory, took: Duration) {
        self.requests[memory as usize].observe_duration(took);
    }

    /// A look-up has ended.
    pub(crate) fn fetched(&self, is_answered: bool) {
        self.fetched[usize::from(!is_answered)].add(1);
    }

    fn expose(&self, out: &mut Exposition) {
        let requests = || ["hit", "miss"].into_iter().zip(&self.requests);
        let name = "authentication_token_cache_request_total";
        out.family(name, Type::Counter, "Requests with tokens, by whether it was remembered what they are worth.");
        for (status, times) in requests() {
            out.sample(name, &[("status", status)], times.count());
        }
        let name = "authentication_token_cache_request_duration_seconds";
        out.family(name, Type::Histogram, "How long it took to know what a token is worth.");
        for (status, times) in requests() {
            out.histogram(name, &[("status", status)], times);
        }
        let name = "authentication_token_cache_fetch_total";
        out.family(name, Type::Counter, "Look-ups of tokens.");
        for (status, count) in ["ok", "error"].into_iter().zip(&self.fetched) {
            out.sample(name, &[("status", status)], count.get());
        }
        let name = "authentication_token_cache_active_fetch_count";
        out.family(name, Type::Gauge, "Look-ups of tokens under way, and requests that wait for them.");
        for (status, level) in [("blocked", &self.blocked), ("in_flight", &self.in_flight)] {
            out.sample(name, &[("status", status)], level.now());
        }
    }
}

impl Default for TokenCacheMetrics {
    fn default() -> Self {
        Self {
            requests: std::array::from_fn(|_| Histogram::new(&LOOKUPS)),
            fetched: Default::default(),
            blocked: Arc::default(),
            in_flight: Arc::default(),
        }
    }
}

// === impl AuthorizationMetrics ===

impl AuthorizationMetrics {
    /// Whether a user may do something was asked; nothing is an error.
    pub(crate) fn asked(&self, decision: Option<&Decision>, took: Duration) {
        let result = match decision {
            Some(Decision::Allow(_)) => 0,
            Some(Decision::Deny(_)) => 1,
            Some(Decision::NoOpinion(_)) => 2,
            None => 3,
        };
        self.0[result].observe_duration(took);
    }

    pub(super) fn expose(&self, out: &mut Exposition) {
        let results = || DECISIONS.into_iter().zip(&self.0);
        let name = "authorization_attempts_total";
        out.family(name, Type::Counter, "Attempts to authorize, by result.");
        for (result, times) in results() {
            out.sample(name, &[("result", result)], times.count());
        }
        let name = "authorization_duration_seconds";
        out.family(name, Type::Histogram, "How long it took to authorize.");
        for (result, times) in results() {
            out.histogram(name, &[("result", result)], times);
        }
        let name = "apiserver_authorization_decisions_total";
        out.family(name, Type::Counter, "Decisions of the authorizers, in the end.");
        for (decision, times) in results().take(2) {
            let labels = [("decision", decision), ("name", "bailiwick"), ("type", "Chain")];
            out.sample(name, &labels, times.count());
        }
    }
}

impl Default for AuthorizationMetrics {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Histogram::new(&CHECKS)))
    }
}

fn user_category(name: &str) -> usize {
    let known = USERS.iter().take(5).position(|user| *user == name);
    known.unwrap_or(if name.contains('@') { 5 } else { 6 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_told_apart_by_category_only() {
        let metrics = AuthenticationMetrics::new(Arc::default());
        for (name, category) in [
            ("admin", 0),
            ("kubelet", 3),
            ("a@b", 5),
            ("system:serviceaccount:kube-system:default", 4),
            ("x", 6),
            ("email_id", 6),
            ("", 6),
        ] {
            let before = metrics.users[category].get();
            metrics.found(name);
            assert_eq!(metrics.users[category].get(), before + 1, "{name}");
        }
    }
}
