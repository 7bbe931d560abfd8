//! Gives projects that nothing limits a ResourceQuota, where their allocation asks for it, and tells of allocations that are
//! exceeded.
//!
//! What is counted is no matter of this: the server does that when quotas are written. Whatever is made here passes the same
//! judgement as everyone's quotas.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bailiwick_api::{DERIVED_LABEL, ResourceQuotaAllocation};
use k8s_openapi::api::core::v1::{Namespace, ResourceQuota, ResourceQuotaSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::{ObjectMeta, PartialObjectMeta, PostParams};
use kube::{Api, Client, Resource, ResourceExt};

use crate::announce::Announcer;
use crate::first_look::FirstLook;
use crate::follow::{Changes, everything, follow};
use crate::queue::Queue;

mod index;

use index::{Index, Missing};

const WORKERS: usize = 4;
/// How many kinds are followed.
const KINDS: usize = 3;
/// Whom the fields belong to that are set here.
const FIELD_MANAGER: &str = "bailiwick-quota-controller";
/// What the ResourceQuota is called that is made here.
const DEFAULT: &str = "default";

/// Makes ResourceQuotas for projects that nothing limits.
pub struct QuotaController {
    own: Client,
    host: Client,
    home: String,
}

struct Shared {
    host: Client,
    announcer: Announcer,
    index: Mutex<Index>,
    queue: Queue<Work>,
    first_look: FirstLook,
}

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Work {
    /// Whether the project of this namespace is limited.
    Project(String),
    /// An allocation of this name that has something to report which it had not.
    Report(String),
}

// === impl QuotaController ===

impl QuotaController {
    /// One that reads allocations as the user of `own`; namespaces and ResourceQuotas are those of `host`. The namespace
    /// `home` is ours, and no project.
    pub fn new(own: Client, host: Client, home: &str) -> Self {
        Self { own, host, home: home.to_owned() }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        let Self { own, host, home } = self;
        let shared = Arc::new(Shared {
            host: host.clone(),
            announcer: Announcer::new(host.clone(), FIELD_MANAGER),
            index: Mutex::default(),
            queue: Queue::new("quota-controller"),
            first_look: FirstLook::at(KINDS),
        });
        let purpose = "quota allocations";
        let allocations = Api::<ResourceQuotaAllocation>::all(own);
        let namespaces = Api::<PartialObjectMeta<Namespace>>::all(host.clone());
        let quotas = Api::<ResourceQuota>::all(host);
        tokio::join!(
            shared.queue.work(
                WORKERS,
                shared.first_look.is_over(),
                &shared,
                async |shared: Arc<Shared>, work: Work| { shared.look_at(&work).await }
            ),
            follow(allocations, everything(), "quota allocations", purpose, |changes| {
                shared.take(changes, |index, place, allocation| index.set_allocation(&place.name, allocation));
            }),
            follow(namespaces, everything(), "namespaces", purpose, |changes| {
                shared.take(changes, |index, place, namespace| {
                    let labels = namespace.filter(|_| place.name != home).map(|namespace| namespace.labels().clone());
                    index.set_namespace(&place.name, labels);
                    index.to_look_at(&place.name)
                });
            }),
            follow(quotas, everything(), "quotas", purpose, |changes| {
                shared.take(changes, |index, place, quota| {
                    index.set_quota(&place.namespace, &place.name, quota);
                    index.to_look_at(&place.namespace)
                });
            }),
        );
    }
}

// === impl Shared ===

impl Shared {
    fn take<K>(
        &self,
        changes: Changes<K>,
        mut put: impl FnMut(&mut Index, crate::place::Place, Option<K>) -> Vec<Work>,
    ) {
        let mut index = self.index();
        for (place, object) in changes.objects {
            self.queue.extend(put(&mut index, place, object));
        }
        drop(index);
        self.first_look.saw(changes.is_complete);
    }

    async fn look_at(&self, work: &Work) -> Result<(), kube::Error> {
        match work {
            Work::Project(namespace) => self.limit(namespace).await,
            Work::Report(allocation) => {
                self.tell(allocation).await;
                Ok(())
            }
        }
    }

    /// Tells that an allocation is exceeded, or has projects that are not limited.
    async fn tell(&self, allocation: &str) {
        let Some((allocation, reported)) = self.index().take_report(allocation) else { return };
        for condition in reported {
            let (about, reason) = (allocation.object_ref(&()), &condition.condition_type);
            self.announcer.warn(&about, "Count", reason, &condition.message).await;
        }
    }

    /// Gives a project its ResourceQuota if it needs one.
    async fn limit(&self, namespace: &str) -> Result<(), kube::Error> {
        let Some(missing) = self.index().missing(namespace) else { return Ok(()) };
        let Missing { hard, about } = missing;
        match self.make(namespace, &hard).await {
            // Whatever else it is refused for may pass, and then it gets its quota.
            Err(kube::Error::Api(status)) if status.code == 403 && has_cause(&status, "AllocationExceeded") => {
                let note =
                    format!("the default quota of \"{namespace}\" does not fit, so it gets none: {}", status.message);
                for allocation in &about {
                    self.announcer.warn(&allocation.object_ref(&()), "Limit", "DefaultRefused", &note).await;
                }
                let nothing = hard.keys().map(|name| (name.clone(), Quantity("0".to_owned()))).collect();
                self.make(namespace, &nothing).await
            }
            made => made,
        }
    }

    /// Without an owner: a project must not become unlimited because its allocation goes.
    async fn make(&self, namespace: &str, hard: &BTreeMap<String, Quantity>) -> Result<(), kube::Error> {
        let labels = BTreeMap::from([(DERIVED_LABEL.to_owned(), "resourcequotaallocations".to_owned())]);
        let quota = ResourceQuota {
            metadata: ObjectMeta { name: Some(DEFAULT.to_owned()), labels: Some(labels), ..ObjectMeta::default() },
            spec: Some(ResourceQuotaSpec { hard: Some(hard.clone()), ..ResourceQuotaSpec::default() }),
            status: None,
        };
        let quotas: Api<ResourceQuota> = Api::namespaced(self.host.clone(), namespace);
        let options = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match quotas.create(&options, &quota).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status))
                if status.is_already_exists()
                    || status.is_not_found()
                    || has_cause(&status, "NamespaceTerminating") =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether something was refused for this reason, among others.
fn has_cause(status: &kube::core::Status, reason: &str) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == reason)
}

#[cfg(test)]
mod tests;
