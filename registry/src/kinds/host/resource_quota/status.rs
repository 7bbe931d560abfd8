//! Tells in the status of quotas how much of what there is. What is refused does not depend on it.
//!
//! As long as there are quotas, one task follows all that is made and removed, notes in which namespaces, and a moment later
//! looks at the quotas of those. Where there are none it waits for the first.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bailiwick_machinery::{GroupVersion, Object};
use bailiwick_storage::cache::{Delivery, ObjectEvent, Snapshot};
use bailiwick_storage::{At, Key, Prefix, Store, Txn};
use tokio::time::{Instant, sleep, timeout_at};

use super::super::at;
use super::counts::Counts;
use super::enforce::{bad_key, quotas_of};
use super::ledger::Rows;
use crate::context::{Clock, Ctx, SystemClock, User};
use crate::error::{Error, Result};
use crate::read::failed;
use crate::registry::Registry;
use crate::served_kind::ServedKind;
use crate::update::{Part, Update};
use crate::write::{Tracking, WriteOptions};

/// What happens within this time is told at once.
const COALESCE: Duration = Duration::from_millis(100);
/// How long to wait before quotas are followed again after a failure.
const PAUSE: Duration = Duration::from_millis(200);
/// How often all quotas are looked at: kinds come and go, too, and nothing that was missed stays so.
const RECOUNT_EVERY: Duration = Duration::from_secs(30);

/// Who follows quotas and what they count.
struct Follower<'r> {
    registry: &'r Registry,
    quotas: &'r ServedKind,
    rows: Rows,
    /// The namespaces that have quotas.
    limited: BTreeSet<String>,
    /// Those of them in which something has changed.
    changed: BTreeSet<String>,
}

/// Keeps the status of quotas true from now on. Ends only if there are none to be had.
pub async fn keep_quota_status(registry: Arc<Registry>) {
    let Some(quotas) = registry.find(&GroupVersion::new("", "v1"), "resourcequotas") else { return };
    loop {
        let followed = match Rows::new().map_err(bad_key) {
            Err(error) => Err(error),
            Ok(rows) => {
                let (limited, changed) = (BTreeSet::new(), BTreeSet::new());
                Follower { registry: &registry, quotas: &quotas, rows, limited, changed }.run().await
            }
        };
        if let Err(error) = followed {
            tracing::warn!(error = &error as &dyn std::error::Error, "quotas are counted anew");
            sleep(PAUSE).await;
        }
    }
}

// === impl Follower ===

impl Follower<'_> {
    /// Follows until there are quotas where there were none, or none where there were some: then something else is to be
    /// followed.
    async fn run(mut self) -> Result<()> {
        let state = self.state(At::Latest).await?;
        self.limited = self.namespaces(&state);
        let idle = self.limited.is_empty();
        let range = if idle { self.quotas.range(None).map_err(bad_key)? } else { Prefix::everything() };
        let watcher = self.registry.cache().watch_objects(&range, state.revision());
        let mut watcher = watcher.map_err(|error| failed("watch", self.quotas, error))?;
        let mut recount_at = Instant::now();
        loop {
            if recount_at <= Instant::now() && !idle {
                recount_at = Instant::now() + RECOUNT_EVERY;
                self.repair_rules().await?;
                self.changed.clone_from(&self.limited);
            }
            self.tell().await?;
            sleep(COALESCE).await;
            let next = match idle {
                true => Ok(watcher.next().await),
                false => timeout_at(recount_at, watcher.next()).await,
            };
            let Ok(delivery) = next else { continue };
            let delivery = delivery.map_err(|error| failed("watch", self.quotas, error))?;
            self.note(&delivery).await?;
            if self.limited.is_empty() != idle {
                return Ok(());
            }
        }
    }

    async fn state(&self, at: At) -> Result<Arc<Snapshot>> {
        self.registry.cache().snapshot(at).await.map_err(|error| failed("list", self.quotas, error))
    }

    fn namespaces(&self, state: &Snapshot) -> BTreeSet<String> {
        let all = self.quotas.kind().keys().all();
        state.range(all, None).filter_map(|quota| Some(namespace_of(quota.key())?.to_owned())).collect()
    }

    /// Notes where something has changed.
    async fn note(&mut self, delivery: &Delivery) -> Result<()> {
        let quotas = self.quotas.kind().keys().all();
        let is_quota = |event: &ObjectEvent| place(event).is_some_and(|key| quotas.contains(key));
        if delivery.events.iter().any(|event| is_quota(event)) {
            self.limited = self.namespaces(&*self.state(At::NotOlderThan(delivery.through)).await?);
        }
        for event in &delivery.events {
            let counts = event.object.is_none() || event.previous.is_none() || is_quota(event);
            let namespace = place(event).and_then(namespace_of).filter(|_| counts);
            if let Some(namespace) = namespace.filter(|namespace| self.limited.contains(*namespace)) {
                self.changed.insert(namespace.to_owned());
            }
        }
        Ok(())
    }

    /// Says how much there is, wherever that has changed.
    async fn tell(&mut self) -> Result<()> {
        let changed = std::mem::take(&mut self.changed);
        if changed.is_empty() {
            return Ok(());
        }
        let state = self.state(At::Latest).await?;
        let counts = Counts::of(self.registry, &state);
        for namespace in changed {
            for quota in quotas_of(&state, self.quotas, &namespace)? {
                match self.tell_one(&counts, &quota).await {
                    // That is a matter of whoever wrote it. It is tried again with the next change, or when all are.
                    Err(error @ (Error::TooLarge { .. } | Error::Invalid { .. })) => {
                        let (error, name) = (&error as &(dyn std::error::Error + 'static), quota.metadata().name());
                        tracing::warn!(error, namespace, name, "a quota cannot say how much there is");
                    }
                    told => told?,
                }
            }
        }
        Ok(())
    }

    async fn tell_one(&self, counts: &Counts<'_>, quota: &Object) -> Result<()> {
        if at(quota, "status") == Some(&counts.status(quota)) {
            return Ok(());
        }
        let options = WriteOptions::default();
        let change = |found: &Object| {
            let mut object = found.clone();
            object.fields_mut().insert("status".to_owned(), counts.status(found));
            self.quotas.accept(object, &options)
        };
        let user = User { name: "system:apiserver".to_owned(), ..User::default() };
        let ctx = Ctx { user: &user, now: SystemClock.now(), annotations: None };
        let tracking = Tracking::Manager("bailiwick".to_owned());
        let update = Update { part: Part::Status, change: &change, tracking: &tracking, dry_run: false };
        let metadata = quota.metadata();
        match self.registry.update(&ctx, self.quotas, metadata.namespace(), metadata.name(), update).await {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Gives a namespace that has quotas the row that says so, should it have been lost.
    async fn repair_rules(&self) -> Result<()> {
        let state = self.state(At::Latest).await?;
        for namespace in &self.limited {
            let rules = self.rows.rules(namespace).map_err(bad_key)?;
            if state.get(&rules).is_none() {
                let txn = self.rows.change_rules(namespace, &state, Txn::new()).map_err(bad_key)?;
                match self.registry.cache().commit(txn).await {
                    Ok(_) | Err(bailiwick_storage::Error::Conflict(_)) => {}
                    Err(error) => return Err(failed("create", self.quotas, error)),
                }
            }
        }
        Ok(())
    }
}

fn place(event: &ObjectEvent) -> Option<&Key> {
    Some(event.object.as_ref().or(event.previous.as_ref())?.key())
}

/// The namespace in the key of an object; none for other rows, and for objects that are in none.
fn namespace_of(key: &Key) -> Option<&str> {
    let rest = key.as_str().strip_prefix(key.resource()?)?;
    rest.split_once('/').map(|(namespace, _)| namespace)
}
