//! Following what a cluster has, by watches that know when they have lost it.
//!
//! Whoever decides by what a watch has seen must know whether there is a watch at all. So each begins anew, with a list, after
//! whatever goes wrong; between that and the end of the list nothing is known for certain, and [`Following`] says so. A watch is
//! never open for long: one whose connection is broken, without either side having been told, is noticed when its end does not
//! come.

use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Status;
use kube::runtime::watcher::Event;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::time::error::Elapsed;
use tokio::time::{sleep, timeout};

use super::question::draw;

/// The pause after something went wrong; it doubles each time, until there is a list.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// By how much pauses are stretched at most: what one loses when the cluster is gone for a moment, all lose, and each lists it all.
const JITTER: f64 = 1.0;
/// How long a page of a list, or the beginning of a watch, may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// How many objects a page has.
const PAGE: u32 = 500;
/// How long a watch is open, in seconds.
const WATCH_SECONDS: u32 = 5;
/// How long nothing may come of a watch, not even its end.
const SILENCE_LIMIT: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 1);

/// Whether those who follow are up to date. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Following {
    /// How many are not.
    lost: Arc<AtomicUsize>,
}

/// One who follows. It has lost what it follows until it has seen everything.
struct Standing {
    lost: Arc<AtomicUsize>,
    is_lost: bool,
}

/// Why it begins anew.
#[derive(Debug, thiserror::Error)]
enum Loss {
    #[error("the cluster does not answer in time")]
    Late(#[from] Elapsed),
    #[error(transparent)]
    Failed(#[from] kube::Error),
    #[error("the watch ended with {}: {}", .0.code, .0.message)]
    Ended(Box<Status>),
}

// === impl Following ===

impl Following {
    /// Whether everyone who follows has seen everything, and goes on seeing what changes.
    pub(super) fn is_up_to_date(&self) -> bool {
        self.lost.load(Ordering::Acquire) == 0
    }

    /// Follows all objects of a kind for as long as it is polled. `what` is for the log.
    pub(super) fn follow<K, F>(
        &self,
        api: Api<K>,
        what: &'static str,
        mut take: F,
    ) -> impl Future<Output = ()> + Send + use<K, F>
    where
        K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
        F: FnMut(Event<K>) + Send,
    {
        // From now on, also if it is not polled yet.
        let mut standing = Standing::new(self.lost.clone());
        async move {
            let (mut pause, mut is_told) = (FIRST_PAUSE, false);
            loop {
                let Err(loss) = follow_once(&api, &mut take, &mut standing).await;
                if standing.lose() {
                    (pause, is_told) = (FIRST_PAUSE, false);
                }
                match std::mem::replace(&mut is_told, true) {
                    false => tracing::warn!(
                        error = &loss as &dyn std::error::Error,
                        "{what} of the cluster cannot be followed at present; the account that asks must be allowed to get, list \
                         and watch them"
                    ),
                    true => tracing::debug!(error = &loss as &dyn std::error::Error, "{what} cannot be followed yet"),
                }
                sleep(pause.mul_f64(1.0 + JITTER * draw())).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Follows until something goes wrong.
async fn follow_once<K>(
    api: &Api<K>,
    take: &mut (impl FnMut(Event<K>) + Send),
    standing: &mut Standing,
) -> Result<std::convert::Infallible, Loss>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    take(Event::Init);
    let mut params = ListParams::default().limit(PAGE);
    let mut version = loop {
        let page = timeout(ANSWER_LIMIT, api.list(&params)).await??;
        page.items.into_iter().for_each(|object| take(Event::InitApply(object)));
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            break page.metadata.resource_version.unwrap_or_default();
        }
    };
    take(Event::InitDone);
    standing.find();
    let params = WatchParams::default().timeout(WATCH_SECONDS);
    loop {
        let mut events = pin!(timeout(ANSWER_LIMIT, api.watch(&params, &version)).await??);
        while let Some(event) = timeout(SILENCE_LIMIT, events.next()).await? {
            let (object, event): (_, fn(K) -> Event<K>) = match event? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, Event::Apply),
                WatchEvent::Deleted(object) => (object, Event::Delete),
                WatchEvent::Bookmark(mark) => {
                    version = mark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(status) => return Err(Loss::Ended(status)),
            };
            version = object.resource_version().unwrap_or_default();
            take(event(object));
        }
    }
}

// === impl Standing ===

impl Standing {
    fn new(lost: Arc<AtomicUsize>) -> Self {
        lost.fetch_add(1, Ordering::AcqRel);
        Self { lost, is_lost: true }
    }

    fn find(&mut self) {
        if std::mem::take(&mut self.is_lost) {
            self.lost.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Gives whether it was not lost before.
    fn lose(&mut self) -> bool {
        let is_news = !std::mem::replace(&mut self.is_lost, true);
        if is_news {
            self.lost.fetch_add(1, Ordering::AcqRel);
        }
        is_news
    }
}

/// Who does not follow any more does not know any more.
impl Drop for Standing {
    fn drop(&mut self) {
        self.lose();
    }
}
