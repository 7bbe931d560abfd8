//! When roles change, publishers may have gained or lost the right to publish: their entries are looked at again.

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

/// Roles often change together, and whoever decides by them learns of it no sooner than this controller.
const PAUSE: Duration = Duration::from_millis(500);

/// Where rights have changed.
#[derive(Default)]
pub(super) struct Rights {
    /// Namespaces; the empty name is all of them.
    changed: Mutex<BTreeSet<String>>,
    news: Notify,
}

// === impl Shared ===

impl Shared {
    /// Follows a kind of role or binding. Which rights it gives is not looked at.
    pub(super) async fn follow_rights<K>(&self, host: Client, what: &str)
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let tell = |changes: Changes<PartialObjectMeta<K>>| {
            // Those that were there in the beginning have been there when entries were looked at first.
            if changes.is_complete || changes.objects.is_empty() {
                return;
            }
            let namespaces = changes.objects.into_iter().map(|(place, _)| place.namespace);
            self.rights.changed.lock().unwrap_or_else(PoisonError::into_inner).extend(namespaces);
            self.rights.news.notify_one();
        };
        follow(Api::<PartialObjectMeta<K>>::all(host), everything(), what, PURPOSE, tell).await;
    }

    /// Looks again at what changed rights may concern, for as long as it is polled.
    pub(super) async fn look_again(&self) {
        loop {
            self.rights.news.notified().await;
            sleep(PAUSE).await;
            let changed = std::mem::take(&mut *self.rights.changed.lock().unwrap_or_else(PoisonError::into_inner));
            self.accept.forget();
            let index = self.index();
            if changed.contains("") {
                self.queue.extend(index.touched_by_rights(None));
            } else {
                changed.iter().for_each(|name| self.queue.extend(index.touched_by_rights(Some(name))));
            }
        }
    }
}
