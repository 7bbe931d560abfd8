//! When roles, bindings or groups change, publishers may have gained or lost the right to publish: their entries are looked at
//! again, soon and once more later.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::api::PartialObjectMeta;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::{PURPOSE, Shared};
use crate::follow::{Changes, everything, follow};

/// Roles often change together.
const SOON: Duration = Duration::from_millis(500);
/// Whoever decides by roles learns of them by a watch, as this controller does, and may learn of them after it. By then they know.
const LATER: Duration = Duration::from_secs(5);

/// Where rights have changed.
#[derive(Default)]
pub(super) struct Rights {
    soon: Changed,
    later: Changed,
}

/// Where rights have changed since entries were looked at again.
#[derive(Default)]
struct Changed {
    /// Namespaces; the empty name is all of them.
    namespaces: Mutex<BTreeSet<String>>,
    news: Notify,
}

// === impl Shared ===

impl Shared {
    /// Follows a kind of role, binding or group. Which rights it gives is not looked at.
    pub(super) async fn follow_rights<K>(&self, client: Client, what: &str)
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let tell = |changes: Changes<PartialObjectMeta<K>>| {
            // Those that were there in the beginning were there before any entry was looked at.
            if !changes.is_complete && !changes.objects.is_empty() {
                let namespaces: BTreeSet<String> =
                    changes.objects.into_iter().map(|(place, _)| place.namespace).collect();
                self.rights.soon.tell(&namespaces);
                self.rights.later.tell(&namespaces);
            }
            self.first_look.saw(changes.is_complete);
        };
        follow(Api::<PartialObjectMeta<K>>::all(client), everything(), what, PURPOSE, tell).await;
    }

    /// Looks again at what changed rights may concern, for as long as it is polled.
    pub(super) async fn look_again(&self) {
        tokio::join!(self.look_after(&self.rights.soon, SOON), self.look_after(&self.rights.later, LATER));
    }

    async fn look_after(&self, changed: &Changed, pause: Duration) {
        loop {
            changed.news.notified().await;
            sleep(pause).await;
            let namespaces = changed.take();
            self.accept.forget();
            let index = self.index();
            if namespaces.contains("") {
                self.queue.extend(index.touched_by_rights(None));
            } else {
                namespaces.iter().for_each(|name| self.queue.extend(index.touched_by_rights(Some(name))));
            }
        }
    }
}

// === impl Changed ===

impl Changed {
    fn tell(&self, namespaces: &BTreeSet<String>) {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner).extend(namespaces.iter().cloned());
        self.news.notify_one();
    }

    fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.namespaces.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
