//! The members of the cluster, and which of them to ask.
//!
//! Requests go to one member until it fails, and then to the next: a member that hangs costs one attempt, and not a
//! share of all requests. Requests and watches have connections of their own, so that a long stream shares no
//! flow-control window with reads. A connection on which an answer failed to come is given up and made anew, because a
//! peer that vanished without a word is found out by nothing else for minutes.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use etcd_client::{Channel, Client, ConnectOptions, KvClient, WatchClient};
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::transport::Endpoint;

use super::backoff::Backoff;
use super::status::Failure;

/// How large an answer may be. It is the most that etcd sends; pages are kept far smaller.
const MAX_ANSWER_BYTES: usize = i32::MAX as usize;

/// What makes a connection: where to, and as whom.
#[derive(Clone)]
pub(super) struct Target {
    /// As the operator wrote it, for messages.
    pub(super) name: String,
    pub(super) endpoint: Endpoint,
    pub(super) user: Option<(String, String)>,
}

/// How long to go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// With one call, over all attempts.
    pub(super) call: Duration,
    /// With one attempt.
    pub(super) attempt: Duration,
}

/// What a connection is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Requests,
    Watches,
}

/// The members of one cluster.
pub(super) struct Members {
    members: Vec<Member>,
    preferred: AtomicUsize,
}

struct Member {
    /// For the connections that are made from now on.
    target: ArcSwap<Target>,
    requests: ArcSwap<Line>,
    watches: ArcSwap<Line>,
}

/// A connection to one member, made when it is first used.
pub(super) struct Line {
    member: usize,
    purpose: Purpose,
    target: Arc<Target>,
    client: OnceCell<Client>,
}

// === impl Members ===

impl Members {
    /// The members at `targets`, of which the one at `first` is asked first.
    pub(super) fn new(targets: Vec<Target>, first: usize) -> Self {
        let members: Vec<_> =
            targets.into_iter().enumerate().map(|(index, target)| Member::new(index, target)).collect();
        let preferred = AtomicUsize::new(first % members.len().max(1));
        Self { members, preferred }
    }

    /// The connection to use now.
    pub(super) fn line(&self, purpose: Purpose) -> Arc<Line> {
        self.members[self.preferred.load(Ordering::Relaxed)].line(purpose).load_full()
    }

    /// Tells that a call on `line` failed, so that the next call goes elsewhere if that may help.
    pub(super) fn failed(&self, line: &Arc<Line>, failure: &Failure) {
        if !failure.blames_member() {
            return;
        }
        let next = (line.member + 1) % self.members.len();
        let _ = self.preferred.compare_exchange(line.member, next, Ordering::Relaxed, Ordering::Relaxed);
        if failure.is_ambiguous() {
            let member = &self.members[line.member];
            let fresh = Arc::new(Line::new(line.member, line.purpose, member.target.load_full()));
            member.line(line.purpose).compare_and_swap(line, fresh);
        }
    }

    /// Makes all connections anew. What is under way on the old ones goes on there; `targets` are as many as ever.
    pub(super) fn replace(&self, targets: Vec<Target>) {
        for (index, (member, target)) in self.members.iter().zip(targets).enumerate() {
            let target = Arc::new(target);
            member.target.store(target.clone());
            for purpose in [Purpose::Requests, Purpose::Watches] {
                member.line(purpose).store(Arc::new(Line::new(index, purpose, target.clone())));
            }
        }
    }

    /// Makes a call that may be repeated, on one member after another, until it is answered or time runs out.
    pub(super) async fn ask<T, F>(&self, patience: Patience, call: impl Fn(KvClient) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let deadline = Instant::now() + patience.call;
        let mut backoff = Backoff::default();
        let mut tls_failures = 0;
        loop {
            let line = self.line(Purpose::Requests);
            let end = deadline.min(Instant::now() + patience.attempt);
            let failure = match timeout_at(end, line.call(&call)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(failure)) => failure,
                Err(_) => line.silent(),
            };
            self.failed(&line, &failure);
            tls_failures += usize::from(matches!(failure, Failure::Tls(_)));
            let wait = backoff.next();
            if !failure.is_passing() || tls_failures >= self.members.len() || Instant::now() + wait >= deadline {
                return Err(failure);
            }
            tracing::debug!(%failure, "asking etcd again");
            if matches!(failure, Failure::StaleToken(_)) {
                let _ = timeout_at(deadline, line.renew_token()).await;
            }
            sleep(wait).await;
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Their names, for messages.
    pub(super) fn names(&self) -> String {
        self.members.iter().map(|member| member.target.load().name.clone()).collect::<Vec<_>>().join(", ")
    }
}

// === impl Member ===

impl Member {
    fn new(index: usize, target: Target) -> Self {
        let target = Arc::new(target);
        let line = |purpose| ArcSwap::from_pointee(Line::new(index, purpose, target.clone()));
        Self { requests: line(Purpose::Requests), watches: line(Purpose::Watches), target: ArcSwap::new(target) }
    }

    fn line(&self, purpose: Purpose) -> &ArcSwap<Line> {
        match purpose {
            Purpose::Requests => &self.requests,
            Purpose::Watches => &self.watches,
        }
    }
}

// === impl Line ===

impl Line {
    fn new(member: usize, purpose: Purpose, target: Arc<Target>) -> Self {
        Self { member, purpose, target, client: OnceCell::new() }
    }

    /// A client for requests, with a token if there is a user.
    pub(super) async fn kv(&self) -> Result<KvClient, Failure> {
        Ok(self.client().await?.kv_client().max_decoding_message_size(MAX_ANSWER_BYTES))
    }

    /// A client for watches, with a token if there is a user.
    pub(super) async fn watch(&self) -> Result<WatchClient, Failure> {
        Ok(self.client().await?.watch_client().max_decoding_message_size(MAX_ANSWER_BYTES))
    }

    /// Gets a new token.
    pub(super) async fn renew_token(&self) -> Result<(), Failure> {
        Ok(self.client().await?.refresh_token().await?)
    }

    /// What it means if no answer came in time.
    pub(super) fn silent(&self) -> Failure {
        Failure::Lost(format!("{} did not answer in time", self.target.name))
    }

    /// The member's name, for messages.
    pub(super) fn name(&self) -> &str {
        &self.target.name
    }

    async fn call<T, F>(&self, call: impl Fn(KvClient) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        Ok(call(self.kv().await?).await?)
    }

    // With a user, the client fetches a token before it is handed out; without one, nothing is sent here.
    async fn client(&self) -> Result<&Client, Failure> {
        let connect = || async {
            let mut options = ConnectOptions::new()
                .with_auto_token_refresh(true)
                .with_require_leader(self.purpose == Purpose::Watches);
            if let Some((user, password)) = &self.target.user {
                options = options.with_user(user, password);
            }
            Client::from_channel(Channel::Tonic(self.target.endpoint.connect_lazy()), Some(options)).await
        };
        Ok(self.client.get_or_try_init(connect).await?)
    }
}
