//! Work that is waiting to be done: each piece once, however often it is asked for, and again later if it failed.
//!
//! Where work is of namespaces, they take turns, and none of them takes all workers: whatever happens in one, the work of another
//! is begun. What fails again and again is not tried without a pause, whoever asks for it. A panic is a failure like others: it
//! costs nobody a worker.

mod lanes;
mod metrics;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

pub use self::metrics::register_metrics;

use self::lanes::Lanes;
use self::metrics::QueueMetrics;

/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// What of a pause is left if there are news. Not nothing: what fails may make news itself, by saying why it does. So that is tried
/// once a second at most, and who mends something that has just failed does not notice.
const PART_WITH_NEWS: u32 = 60;

/// Work that is waiting to be done. Clones are the same queue.
pub(crate) struct Queue<T> {
    state: Arc<Mutex<State<T>>>,
    news: Arc<Notify>,
}

struct State<T> {
    waiting: Lanes<T>,
    /// What was asked for and not begun, and since when: what is in `waiting`, and what will be there when it is done or when its
    /// pause is over.
    wanted: HashMap<T, Instant>,
    /// What is being done, and since when. Asked for meanwhile, it is done again.
    under_way: HashMap<T, Instant>,
    failures: HashMap<T, Failures>,
    /// What is to be asked for later: once, however often that is wanted.
    due: HashMap<T, Due>,
    metrics: QueueMetrics,
}

/// When something is to be asked for.
struct Due {
    at: Instant,
    /// Who waits until then.
    timer: AbortHandle,
}

/// How often something has failed since it was last done.
#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    /// Until then it is not tried again, also if there are news.
    paused_until: Instant,
}

/// What is to be done about something that was asked for.
enum Asked<T> {
    /// Nothing: it has been asked for before.
    Already,
    /// It can be taken.
    Ready,
    /// It failed just now, and can be taken when its pause is over.
    Paused(T, Instant),
}

// === impl Queue ===

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), news: self.news.clone() }
    }
}

impl<T: Clone + Debug + Eq + Hash + Send + 'static> Queue<T> {
    /// One without any work, all of which is equal. In metrics it has the name of its controller.
    pub(crate) fn new(controller: &'static str) -> Self {
        Self::fair(controller, |_| "")
    }

    /// One without any work, which is of namespaces; the empty one is nobody's, and may take all workers.
    pub(crate) fn fair(controller: &'static str, namespace: fn(&T) -> &str) -> Self {
        let state = State {
            waiting: Lanes::new(namespace),
            wanted: HashMap::new(),
            under_way: HashMap::new(),
            failures: HashMap::new(),
            due: HashMap::new(),
            metrics: QueueMetrics::of(controller),
        };
        Self { state: Arc::new(Mutex::new(state)), news: Arc::default() }
    }

    /// Asks for something.
    pub(crate) fn add(&self, item: T) {
        let asked = self.state().ask(item);
        self.follow_up(asked);
    }

    /// Asks for several things.
    pub(crate) fn extend(&self, items: impl IntoIterator<Item = T>) {
        items.into_iter().for_each(|item| self.add(item));
    }

    /// Asks for something again, later.
    pub(crate) fn add_after(&self, item: T, pause: Duration) {
        self.state().metrics.retries.inc();
        self.postpone(item, pause);
    }

    /// Asks for something that need not be done before. If that is wanted several times, the earliest counts: what is looked at then
    /// is what all of them wanted looked at.
    pub(crate) fn postpone(&self, item: T, pause: Duration) {
        let at = Instant::now() + pause;
        let mut state = self.state();
        if state.due.get(&item).is_some_and(|due| due.at <= at) {
            return;
        }
        let (later, wanted) = (self.clone(), item.clone());
        let timer = tokio::spawn(async move {
            sleep_until(at).await;
            later.add_due(wanted, at);
        });
        let due = Due { at, timer: timer.abort_handle() };
        if let Some(old) = state.due.insert(item, due) {
            old.timer.abort();
        }
    }

    /// Asks for something that is due, unless it was due before.
    fn add_due(&self, item: T, at: Instant) {
        let mut state = self.state();
        if state.due.get(&item).is_none_or(|due| due.at != at) {
            return;
        }
        state.due.remove(&item);
        let asked = state.ask(item);
        drop(state);
        self.follow_up(asked);
    }

    /// Lets the next pause of something that has failed be no longer than this, if it fails again: for what must not wait as long
    /// as the rest of the work. It grows from there as before.
    pub(crate) fn shorten_pause(&self, item: &T, longest: Duration) {
        if let Some(failures) = self.state().failures.get_mut(item) {
            let is_short = |count: &u32| FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(*count)) <= longest;
            failures.count = (0..=failures.count).take_while(is_short).last().unwrap_or_default();
        }
    }

    /// Does what is asked for, with so many workers, as long as it is polled. They begin when they are `ready`. What fails is
    /// tried again after a pause, which grows.
    pub(crate) async fn work<S, F, R, E>(
        &self,
        workers: usize,
        ready: impl Future<Output = ()>,
        with: &Arc<S>,
        look_at: F,
    ) where
        S: Send + Sync + 'static,
        F: Fn(Arc<S>, T) -> R + Copy + Send + 'static,
        R: Future<Output = Result<(), E>> + Send,
        E: std::error::Error + 'static,
    {
        ready.await;
        self.state().waiting.shared_by(workers);
        let mut tasks = JoinSet::new();
        for _ in 0..workers {
            let (queue, shared) = (self.clone(), with.clone());
            tasks.spawn(async move {
                loop {
                    let item = queue.next().await;
                    let (shared, looked_at) = (shared.clone(), item.clone());
                    // What workers share are locks that outlive a panic, and what was read anew for this item.
                    let outcome =
                        AssertUnwindSafe(async move { look_at(shared, looked_at).await }).catch_unwind().await;
                    match outcome {
                        Ok(Ok(())) => queue.done(&item),
                        Ok(Err(error)) => {
                            tracing::debug!(error = &error as &dyn std::error::Error, ?item, "is tried again");
                            queue.failed(item);
                        }
                        Err(panic) => {
                            tracing::error!(panic = said_by(&*panic), ?item, "there was a panic; it is tried again");
                            queue.failed(item);
                        }
                    }
                }
            });
        }
        // They do not end by themselves.
        while tasks.join_next().await.is_some() {}
    }

    /// What to do next. Whoever takes it calls [`Queue::done`] or [`Queue::failed`] afterwards.
    async fn next(&self) -> T {
        loop {
            let news = self.news.notified();
            if let Some((item, more)) = self.state().take() {
                if more {
                    self.news.notify_one();
                }
                return item;
            }
            news.await;
        }
    }

    /// It is done.
    fn done(&self, item: &T) {
        let mut state = self.state();
        state.failures.remove(item);
        let asked = state.end(item);
        drop(state);
        self.follow_up(asked);
    }

    /// It is not done, and is tried again after a pause.
    fn failed(&self, item: T) {
        let mut state = self.state();
        let count = state.failures.get(&item).map_or(0, |failures| failures.count);
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(count)).min(LONGEST_PAUSE);
        let paused_until = Instant::now() + pause / PART_WITH_NEWS;
        state.failures.insert(item.clone(), Failures { count: count.saturating_add(1), paused_until });
        let asked = state.end(&item);
        drop(state);
        match asked {
            Asked::Already => self.add_after(item, pause),
            asked => self.follow_up(asked),
        }
    }

    fn follow_up(&self, asked: Asked<T>) {
        match asked {
            Asked::Already => {}
            Asked::Ready => self.news.notify_one(),
            Asked::Paused(item, until) => {
                let later = self.clone();
                tokio::spawn(async move {
                    sleep_until(until).await;
                    later.state().waiting.push(item);
                    later.news.notify_one();
                });
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl<T: Clone + Eq + Hash> State<T> {
    fn ask(&mut self, item: T) -> Asked<T> {
        if self.wanted.contains_key(&item) {
            return Asked::Already;
        }
        self.wanted.insert(item.clone(), Instant::now());
        self.metrics.adds.inc();
        self.metrics.depth.inc();
        if self.under_way.contains_key(&item) { Asked::Already } else { self.put(item) }
    }

    /// Has something taken that is wanted and not under way.
    fn put(&mut self, item: T) -> Asked<T> {
        let paused_until = self.failures.get(&item).map(|failures| failures.paused_until);
        match paused_until.filter(|until| *until > Instant::now()) {
            Some(until) => Asked::Paused(item, until),
            None => {
                self.waiting.push(item);
                Asked::Ready
            }
        }
    }

    /// The next thing, and whether there are more.
    fn take(&mut self) -> Option<(T, bool)> {
        let item = self.waiting.take()?;
        let now = Instant::now();
        if let Some(since) = self.wanted.remove(&item) {
            self.metrics.depth.dec();
            self.metrics.waited.observe(now.duration_since(since).as_secs_f64());
        }
        self.under_way.insert(item.clone(), now);
        Some((item, !self.waiting.is_empty()))
    }

    /// Nobody is at it any more. It may have been asked for again meanwhile.
    fn end(&mut self, item: &T) -> Asked<T> {
        if let Some(since) = self.under_way.remove(item) {
            self.metrics.worked.observe(since.elapsed().as_secs_f64());
        }
        self.waiting.end(item);
        if self.wanted.contains_key(item) { self.put(item.clone()) } else { Asked::Already }
    }
}

/// What a panic says, if that is text.
fn said_by(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("something that is no text")
}

impl<T> Drop for State<T> {
    /// What is not done here waits nowhere any more: who leads next has a queue of its own.
    fn drop(&mut self) {
        self.metrics.depth.dec_by(i64::try_from(self.wanted.len()).unwrap_or(i64::MAX));
    }
}
