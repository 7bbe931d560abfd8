//! Which of several replicas does the work: whoever holds a Lease.
//!
//! A holder renews its Lease; one that cannot stops working before anyone else may begin. Others take a Lease over when it
//! has not changed for as long as it lasts, by their own clock that only goes forward: what time it says in the Lease is for
//! people to read, so that clocks which differ do no harm. A holder that stops gives its Lease back, and the next one begins
//! at once.
//!
//! This saves work and disputes, no more. A replica that was paused may wake up and write once before it notices, so what
//! is run here must be right if two do it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client, Error};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::absence::look_up;

/// How long a Lease that was given back lasts, because it may not last for no time.
const GIVEN_BACK_SECONDS: i32 = 1;

/// How long things last. Each must be shorter than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderElectionOptions {
    /// How long others wait for a holder that does not renew. In whole seconds.
    pub lease_duration: Duration,
    /// How long a holder that cannot renew goes on.
    pub renew_deadline: Duration,
    /// How often it is tried to take or renew the Lease.
    pub retry_period: Duration,
}

/// A candidate for the work.
pub struct LeaderElection {
    leases: Api<Lease>,
    name: String,
    identity: String,
    options: LeaderElectionOptions,
    leads: Leads,
}

/// Whether a candidate does the work at present. Clones tell of the same candidate.
#[derive(Clone, Debug, Default)]
pub struct Leads(Arc<AtomicBool>);

/// It does, until this is dropped.
struct Leading<'l>(&'l Leads);

/// A Lease as it was last seen, and since when.
struct Seen {
    spec: LeaseSpec,
    since: Instant,
}

// === impl LeaderElectionOptions ===

impl Default for LeaderElectionOptions {
    /// As Kubernetes' own controllers have it.
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

// === impl LeaderElection ===

impl LeaderElection {
    /// A candidate who is called `identity`, as nobody else may be, for the Lease of this name.
    pub fn new(client: Client, namespace: &str, name: &str, identity: &str, options: LeaderElectionOptions) -> Self {
        Self {
            leases: Api::namespaced(client, namespace),
            name: name.to_owned(),
            identity: identity.to_owned(),
            options,
            leads: Leads::default(),
        }
    }

    /// Who tells at any time whether this candidate does the work.
    pub fn leads(&self) -> Leads {
        self.leads.clone()
    }

    /// Does the work whenever this candidate holds the Lease, until `stop`. The work is dropped when the Lease is lost.
    pub async fn run<F: Future<Output = ()>>(&self, stop: CancellationToken, work: impl Fn() -> F) {
        let mut seen = None;
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.wait_for_lease(&mut seen) => {}
            }
            tracing::info!(lease = self.name, identity = self.identity, "leads");
            let leading = self.leads.begin();
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.keep_lease(&mut seen) => {}
                () = work() => {}
            }
            drop(leading);
            tracing::info!(lease = self.name, identity = self.identity, "leads no more");
            self.give_back().await;
        }
    }

    async fn wait_for_lease(&self, seen: &mut Option<Seen>) {
        loop {
            match timeout(self.options.renew_deadline, self.take_or_renew(seen)).await {
                Ok(Ok(true)) => return,
                Ok(Ok(false)) => {}
                Ok(Err(error)) => tracing::debug!(lease = self.name, %error, "the lease cannot be taken at present"),
                Err(_elapsed) => tracing::debug!(lease = self.name, "the lease cannot be read in time"),
            }
            sleep(self.options.retry_period).await;
        }
    }

    /// Ends when the Lease could not be renewed in time, or is someone else's.
    async fn keep_lease(&self, seen: &mut Option<Seen>) {
        let mut renewed = Instant::now();
        loop {
            sleep(self.options.retry_period).await;
            // What was begun before the deadline counts from before it was sent.
            let begun = Instant::now();
            let left = self.options.renew_deadline.saturating_sub(renewed.elapsed());
            match timeout(left, self.take_or_renew(seen)).await {
                Ok(Ok(true)) => renewed = begun,
                Ok(Ok(false)) => return,
                Ok(Err(error)) => tracing::warn!(lease = self.name, %error, "the lease cannot be renewed at present"),
                Err(_elapsed) => return,
            }
        }
    }

    /// Whether this candidate holds the Lease now.
    async fn take_or_renew(&self, seen: &mut Option<Seen>) -> Result<bool, Error> {
        let Some(mut lease) = look_up(&self.leases, &self.name).await? else {
            return self.write(None, LeaseSpec::default(), seen).await;
        };
        let spec = lease.spec.take().unwrap_or_default();
        if seen.as_ref().is_none_or(|seen| seen.spec != spec) {
            *seen = Some(Seen { spec: spec.clone(), since: Instant::now() });
        }
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let is_free = holder.is_empty() || holder == self.identity;
        if !is_free && seen.as_ref().is_some_and(|seen| seen.since.elapsed() < lasts(&seen.spec, &self.options)) {
            return Ok(false);
        }
        self.write(Some(lease), spec, seen).await
    }

    /// Writes this candidate into the Lease, unless someone was faster.
    async fn write(&self, lease: Option<Lease>, old: LeaseSpec, seen: &mut Option<Seen>) -> Result<bool, Error> {
        let now = Some(MicroTime(Timestamp::now()));
        let is_renewal = old.holder_identity.as_deref() == Some(&self.identity);
        let transitions = old.lease_transitions.unwrap_or_default();
        let spec = LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.options.lease_duration.as_secs()).ok(),
            acquire_time: if is_renewal { old.acquire_time } else { now.clone() },
            renew_time: now,
            lease_transitions: Some(if is_renewal || lease.is_none() { transitions } else { transitions + 1 }),
            ..LeaseSpec::default()
        };
        let params = PostParams::default();
        let written = match lease {
            None => {
                let mut lease = Lease { spec: Some(spec), ..Lease::default() };
                lease.metadata.name = Some(self.name.clone());
                self.leases.create(&params, &lease).await
            }
            // With its version: whoever else wrote it meanwhile wins.
            Some(lease) => self.leases.replace(&self.name, &params, &Lease { spec: Some(spec), ..lease }).await,
        };
        match written {
            Ok(lease) => {
                *seen = Some(Seen { spec: lease.spec.unwrap_or_default(), since: Instant::now() });
                Ok(true)
            }
            Err(Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives the Lease back if it is still held, so that nobody waits for it to end.
    async fn give_back(&self) {
        let giving = async {
            let Some(mut lease) = look_up(&self.leases, &self.name).await? else { return Ok(()) };
            let Some(spec) = &mut lease.spec else { return Ok(()) };
            if spec.holder_identity.as_deref() != Some(&self.identity) {
                return Ok(());
            }
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(GIVEN_BACK_SECONDS);
            self.leases.replace(&self.name, &PostParams::default(), &lease).await.map(|_| ())
        };
        match timeout(self.options.retry_period, giving).await {
            Ok(Ok(())) => {}
            Ok(Err(Error::Api(status))) if status.is_conflict() => {}
            Ok(Err(error)) => tracing::warn!(lease = self.name, %error, "the lease could not be given back"),
            Err(_elapsed) => tracing::warn!(lease = self.name, "the lease could not be given back in time"),
        }
    }
}

// === impl Leads ===

impl Leads {
    /// Whether it does.
    pub fn now(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn begin(&self) -> Leading<'_> {
        self.0.store(true, Ordering::Relaxed);
        Leading(self)
    }
}

// === impl Leading ===

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Relaxed);
    }
}

/// For how long a Lease that does not change is its holder's. What a holder says of its own Lease counts; ours is the least,
/// so that nobody is taken over from by a mistake in one place.
fn lasts(spec: &LeaseSpec, options: &LeaderElectionOptions) -> Duration {
    let said = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or_default();
    Duration::from_secs(said).max(options.lease_duration)
}
