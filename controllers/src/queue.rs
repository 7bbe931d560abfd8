//! Work that is waiting to be done: each piece once, however often it is asked for, and again later if it failed.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

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
    /// What is in `waiting`.
    wanted: HashSet<T>,
    /// What is being done. Asked for meanwhile, it is done again.
    under_way: HashSet<T>,
    failures: HashMap<T, u32>,
}

// === impl Queue ===

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), news: self.news.clone() }
    }
}

impl<T: Clone + Eq + Hash + Send + 'static> Queue<T> {
    pub(crate) fn new() -> Self {
        let state = State {
            waiting: VecDeque::new(),
            wanted: HashSet::new(),
            under_way: HashSet::new(),
            failures: HashMap::new(),
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
        let later = self.clone();
        tokio::spawn(async move {
            sleep(pause).await;
            later.add(item);
        });
    }

    /// What to do next. Whoever takes it calls [`Queue::done`] or [`Queue::failed`] afterwards.
    pub(crate) async fn next(&self) -> T {
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
    pub(crate) fn done(&self, item: &T) {
        let mut state = self.state();
        state.failures.remove(item);
        let again = state.end(item);
        drop(state);
        if again {
            self.news.notify_one();
        }
    }

    /// It is not done, and is tried again after a pause.
    pub(crate) fn failed(&self, item: T) {
        let mut state = self.state();
        let failures = state.failures.entry(item.clone()).or_default();
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(*failures)).min(LONGEST_PAUSE);
        *failures = failures.saturating_add(1);
        let again = state.end(&item);
        drop(state);
        if again {
            return self.news.notify_one();
        }
        let later = self.clone();
        tokio::spawn(async move {
            sleep(pause).await;
            later.add(item);
        });
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl<T: Clone + Eq + Hash> State<T> {
    /// Whether there is something new to take.
    fn add(&mut self, item: T) -> bool {
        if !self.wanted.insert(item.clone()) {
            return false;
        }
        let free = !self.under_way.contains(&item);
        if free {
            self.waiting.push_back(item);
        }
        free
    }

    /// The next thing, and whether there are more.
    fn take(&mut self) -> Option<(T, bool)> {
        let item = self.waiting.pop_front()?;
        self.wanted.remove(&item);
        self.under_way.insert(item.clone());
        Some((item, !self.waiting.is_empty()))
    }

    /// Whether it was asked for again meanwhile.
    fn end(&mut self, item: &T) -> bool {
        self.under_way.remove(item);
        let again = self.wanted.contains(item);
        if again {
            self.waiting.push_back(item.clone());
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_piece_of_work_is_done_once_and_again_if_asked_for_meanwhile() {
        let queue = Queue::new();
        queue.extend(["a", "b", "a"]);
        assert_eq!((queue.next().await, queue.next().await), ("a", "b"));
        queue.add("a");
        let nobody = tokio::time::timeout(Duration::from_secs(1), queue.next()).await;
        assert!(nobody.is_err(), "it is under way");
        queue.done(&"a");
        assert_eq!(queue.next().await, "a");
    }

    #[tokio::test(start_paused = true)]
    async fn what_failed_comes_again_later_and_later() {
        let queue = Queue::new();
        queue.add("a");
        let mut pauses = Vec::new();
        for _ in 0..16 {
            let began = tokio::time::Instant::now();
            let item = queue.next().await;
            pauses.push(began.elapsed());
            queue.failed(item);
        }
        assert!(pauses[1..].is_sorted(), "{pauses:?}");
        assert!(pauses[15] >= LONGEST_PAUSE && pauses[15] < LONGEST_PAUSE * 2, "{pauses:?}");
    }
}
