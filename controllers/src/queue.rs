//! Work that is waiting to be done: each piece once, however often it is asked for, and again later if it failed.

mod metrics;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

pub use self::metrics::register_metrics;

use self::metrics::QueueMetrics;

/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Work that is waiting to be done. Clones are the same queue.
pub(crate) struct Queue<T> {
    state: Arc<Mutex<State<T>>>,
    news: Arc<Notify>,
}

struct State<T> {
    waiting: VecDeque<T>,
    /// What was asked for and not begun, and since when: what is in `waiting`, and what is to be done again.
    wanted: HashMap<T, Instant>,
    /// What is being done, and since when. Asked for meanwhile, it is done again.
    under_way: HashMap<T, Instant>,
    failures: HashMap<T, u32>,
    metrics: QueueMetrics,
}

// === impl Queue ===

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), news: self.news.clone() }
    }
}

impl<T: Clone + Debug + Eq + Hash + Send + 'static> Queue<T> {
    /// One without any work. In metrics it has the name of its controller.
    pub(crate) fn new(controller: &'static str) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            wanted: HashMap::new(),
            under_way: HashMap::new(),
            failures: HashMap::new(),
            metrics: QueueMetrics::of(controller),
        };
        Self { state: Arc::new(Mutex::new(state)), news: Arc::default() }
    }

    /// Asks for something.
    pub(crate) fn add(&self, item: T) {
        if self.state().add(item) {
            self.news.notify_one();
        }
    }

    /// Asks for several things.
    pub(crate) fn extend(&self, items: impl IntoIterator<Item = T>) {
        items.into_iter().for_each(|item| self.add(item));
    }

    /// Asks for something later.
    pub(crate) fn add_after(&self, item: T, pause: Duration) {
        self.state().metrics.retries.inc();
        let later = self.clone();
        tokio::spawn(async move {
            sleep(pause).await;
            later.add(item);
        });
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
        let mut tasks = JoinSet::new();
        for _ in 0..workers {
            let (queue, shared) = (self.clone(), with.clone());
            tasks.spawn(async move {
                loop {
                    let item = queue.next().await;
                    match look_at(shared.clone(), item.clone()).await {
                        Ok(()) => queue.done(&item),
                        Err(error) => {
                            tracing::debug!(error = &error as &dyn std::error::Error, ?item, "is tried again");
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
        let again = state.end(item);
        drop(state);
        if again {
            self.news.notify_one();
        }
    }

    /// It is not done, and is tried again after a pause.
    fn failed(&self, item: T) {
        let mut state = self.state();
        let failures = state.failures.entry(item.clone()).or_default();
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(*failures)).min(LONGEST_PAUSE);
        *failures = failures.saturating_add(1);
        let again = state.end(&item);
        drop(state);
        if again { self.news.notify_one() } else { self.add_after(item, pause) }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl<T: Clone + Eq + Hash> State<T> {
    /// Whether there is something new to take.
    fn add(&mut self, item: T) -> bool {
        if self.wanted.contains_key(&item) {
            return false;
        }
        self.wanted.insert(item.clone(), Instant::now());
        self.metrics.adds.inc();
        self.metrics.depth.inc();
        let free = !self.under_way.contains_key(&item);
        if free {
            self.waiting.push_back(item);
        }
        free
    }

    /// The next thing, and whether there are more.
    fn take(&mut self) -> Option<(T, bool)> {
        let item = self.waiting.pop_front()?;
        let now = Instant::now();
        if let Some(since) = self.wanted.remove(&item) {
            self.metrics.depth.dec();
            self.metrics.waited.observe(now.duration_since(since).as_secs_f64());
        }
        self.under_way.insert(item.clone(), now);
        Some((item, !self.waiting.is_empty()))
    }

    /// Whether it was asked for again meanwhile.
    fn end(&mut self, item: &T) -> bool {
        if let Some(since) = self.under_way.remove(item) {
            self.metrics.worked.observe(since.elapsed().as_secs_f64());
        }
        let again = self.wanted.contains_key(item);
        if again {
            self.waiting.push_back(item.clone());
        }
        again
    }
}

impl<T> Drop for State<T> {
    /// What is not done here waits nowhere any more: who leads next has a queue of its own.
    fn drop(&mut self) {
        self.metrics.depth.dec_by(i64::try_from(self.wanted.len()).unwrap_or(i64::MAX));
    }
}
