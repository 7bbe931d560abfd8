//! Carries out Bundles: makes their objects what they should be, in the order of their dependencies, and removes them in the
//! reverse order.
//!
//! Bundles, definitions, ReadinessRules and service accounts are followed as the controller itself. Everything that a Bundle
//! leads to is read, watched, written and removed as its service account, and as nobody else.
//!
//! All that is kept in memory can be found out again: what was created, or was about to be, stands in the Bundle's status
//! before it is done. So it may end at any point, and two may run at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bailiwick_api::{Bundle, ReadinessRule};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::PartialObjectMeta;

use crate::announce::Announcer;
use crate::first_look::FirstLook;
use crate::follow::{everything, follow};
use crate::host::Clients;
use crate::host_kinds::HostKinds;
use crate::place::Place;
use crate::queue::Queue;

mod clean_up;
mod critical_path;
mod hands;
mod look;
mod observed;
mod outcome;
mod outputs;
mod pass;
mod readiness;
mod resource;
mod tell;
mod told;
mod type_rules;
mod types;
mod update_loop;
mod values;
mod watches;

use observed::Memory;
use types::Types;
use watches::Watches;

const WORKERS: usize = 32;
/// What is followed: Bundles, rules, definitions and accounts.
const FOLLOWED: usize = 4;
/// Whom the fields belong to that are set here.
const FIELD_MANAGER: &str = "bailiwick-bundle-controller";
const PURPOSE: &str = "Bundles";
/// After which time is looked at what nobody tells of.
const FROM_TIME_TO_TIME: Duration = Duration::from_secs(15);

/// Carries out Bundles.
pub struct BundleController {
    clients: Clients,
    now: fn() -> SystemTime,
}

/// What the parts of the controller share.
struct Shared {
    clients: Clients,
    now: fn() -> SystemTime,
    announcer: Announcer,
    bundles: Mutex<HashMap<Place, Arc<Bundle>>>,
    /// The UIDs of service accounts.
    accounts: Mutex<HashMap<Place, String>>,
    types: Mutex<Types>,
    kinds: HostKinds,
    watches: Watches,
    memories: Mutex<HashMap<Place, Memory>>,
    queue: Queue<Place>,
    first_look: FirstLook,
}

/// Why a Bundle is looked at again.
#[derive(Debug, thiserror::Error)]
enum WorkError {
    #[error("the Bundle \"{name}\" could not be written")]
    NotWritten { name: Place, source: Box<kube::Error> },
    #[error("what resources of the Bundle \"{0}\" have put out is looked at once more")]
    LookAgain(Place),
    #[error("resources of the Bundle \"{0}\" could not be made")]
    NotMade(Place),
}

// === impl BundleController ===

impl BundleController {
    /// One that is the users of these clients.
    pub fn new(clients: Clients, now: fn() -> SystemTime) -> Self {
        Self { clients, now }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        let Self { clients, now } = self;
        let (own, host) = (clients.own.clone(), clients.host.clone());
        let queue = Queue::fair("bundle-controller", Place::namespace);
        let shared = Arc::new(Shared {
            announcer: Announcer::new(host.clone(), FIELD_MANAGER),
            kinds: HostKinds::new(host.clone()),
            watches: Watches::new(queue.clone()),
            clients,
            now,
            bundles: Mutex::default(),
            accounts: Mutex::default(),
            types: Mutex::default(),
            memories: Mutex::default(),
            queue,
            first_look: FirstLook::at(FOLLOWED),
        });
        let definitions: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(host.clone());
        let accounts: Api<PartialObjectMeta<ServiceAccount>> = Api::all(host);
        tokio::join!(
            shared.queue.work(
                WORKERS,
                shared.first_look.is_over(),
                &shared,
                async |shared: Arc<Shared>, place: Place| { shared.look_at(&place).await }
            ),
            follow(Api::<Bundle>::all(own.clone()), everything(), "bundles", PURPOSE, |changes| {
                changes.objects.into_iter().for_each(|(place, bundle)| shared.bundle_changed(place, bundle));
                shared.first_look.saw(changes.is_complete);
            }),
            follow(Api::<ReadinessRule>::all(own), everything(), "readinessrules", PURPOSE, |changes| {
                changes.objects.into_iter().for_each(|(place, rule)| shared.rule_changed(&place, rule));
                shared.first_look.saw(changes.is_complete);
            }),
            follow(definitions, everything(), "customresourcedefinitions", PURPOSE, |changes| {
                for (place, definition) in changes.objects {
                    let annotations = definition.map(|found| found.metadata.annotations.unwrap_or_default());
                    shared.definition_changed(&place, annotations.as_ref());
                }
                shared.first_look.saw(changes.is_complete);
            }),
            follow(accounts, everything(), "serviceaccounts", PURPOSE, |changes| {
                for (place, account) in changes.objects {
                    shared.account_changed(place, account.and_then(|account| account.metadata.uid));
                }
                shared.first_look.saw(changes.is_complete);
            }),
        );
    }
}

// === impl Shared ===

impl Shared {
    fn bundles(&self) -> MutexGuard<'_, HashMap<Place, Arc<Bundle>>> {
        self.bundles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accounts(&self) -> MutexGuard<'_, HashMap<Place, String>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn types(&self) -> MutexGuard<'_, Types> {
        self.types.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memories(&self) -> MutexGuard<'_, HashMap<Place, Memory>> {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A Bundle is there, or gone. What this controller has written itself is known.
    fn bundle_changed(&self, place: Place, bundle: Option<Bundle>) {
        let mut bundles = self.bundles();
        match bundle {
            Some(bundle) => {
                if bundles.get(&place).is_some_and(|known| is_as_new(known, &bundle)) {
                    return;
                }
                bundles.insert(place.clone(), Arc::new(bundle));
            }
            None => drop(bundles.remove(&place)),
        }
        drop(bundles);
        self.queue.add(place);
    }

    fn rule_changed(&self, place: &Place, rule: Option<ReadinessRule>) {
        let concerned = self.types().set_rule(&place.name, rule);
        self.look_at_those(|bundle| {
            kinds_of(bundle)
                .any(|(group, kind)| concerned.iter().any(|other| other.group == group && other.kind == kind))
        });
    }

    /// A definition is there, has changed, or is gone: its name says for which group.
    fn definition_changed(&self, place: &Place, annotations: Option<&std::collections::BTreeMap<String, String>>) {
        self.types().set_definition(&place.name, annotations);
        self.kinds.forget_all();
        let concerned = place.name.split_once('.').map_or("", |(_, group)| group);
        self.look_at_those(|bundle| kinds_of(bundle).any(|(group, _)| group == concerned));
    }

    fn account_changed(&self, place: Place, uid: Option<String>) {
        let before = match &uid {
            Some(uid) => self.accounts().insert(place.clone(), uid.clone()),
            None => self.accounts().remove(&place),
        };
        if before == uid {
            return;
        }
        self.look_at_those(|bundle| {
            bundle.metadata.namespace.as_ref() == Some(&place.namespace)
                && bundle.spec.service_account_name() == place.name
        });
    }

    /// Looks again at all Bundles that are like this.
    fn look_at_those(&self, is_like: impl Fn(&Bundle) -> bool) {
        let found: Vec<Place> =
            self.bundles().iter().filter(|(_, bundle)| is_like(bundle)).map(|(place, _)| place.clone()).collect();
        self.queue.extend(found);
    }
}

/// The groups and kinds of a Bundle's objects.
fn kinds_of(bundle: &Bundle) -> impl Iterator<Item = (&str, &str)> {
    bundle.spec.resources.iter().map(|resource| {
        let text = |field: &str| resource.object().get(field).and_then(|value| value.as_str()).unwrap_or_default();
        (text("apiVersion").rsplit_once('/').map_or("", |(group, _)| group), text("kind"))
    })
}

/// Whether what is known of an object is as new as what is told of it.
fn is_as_new(known: &Bundle, told: &Bundle) -> bool {
    let version =
        |bundle: &Bundle| bundle.metadata.resource_version.as_deref().and_then(|text| text.parse::<u64>().ok());
    known.metadata.uid == told.metadata.uid
        && version(known).zip(version(told)).is_some_and(|(known, told)| known >= told)
}
