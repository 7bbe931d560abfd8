//! Answers that were given, and questions that are under way.

use std::collections::HashMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bailiwick_registry::{AuthorizationError, Decision};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::time::{Instant, timeout};

use super::AccessReviewOptions;
use crate::authentication::Generations;

type Key = [u8; 32];
type Answer = Result<Decision, AuthorizationError>;
type Question = Shared<BoxFuture<'static, Answer>>;

/// What was answered, and what is being asked.
pub(super) struct Answers {
    options: AccessReviewOptions,
    state: Arc<Mutex<State>>,
}

struct State {
    allowed: Generations<Decision>,
    refused: Generations<Decision>,
    under_way: HashMap<Key, Question>,
}

// === impl Answers ===

impl Answers {
    pub(super) fn new(options: AccessReviewOptions) -> Self {
        let state = State {
            allowed: Generations::new(options.max_answers),
            refused: Generations::new(options.max_answers),
            under_way: HashMap::new(),
        };
        Self { options, state: Arc::new(Mutex::new(state)) }
    }

    /// The answer to the question of this key, which `asking` finds out unless it is known or being found out.
    pub(super) async fn get(
        &self,
        key: Key,
        remember: bool,
        asking: impl Future<Output = Answer> + Send + 'static,
    ) -> Answer {
        let question = {
            let mut state = lock(&self.state);
            if let Some(decision) = state.remembered(&key, Instant::now()) {
                return Ok(decision);
            }
            match state.under_way.get(&key) {
                Some(question) => question.clone(),
                None if state.under_way.len() >= self.options.max_questions => {
                    return Err(failure("too many questions to the cluster are under way"));
                }
                None => {
                    let question = self.begin(key, remember, asking);
                    state.under_way.insert(key, question.clone());
                    question
                }
            }
        };
        question.await
    }

    /// Begins to ask. It goes on when the client whose request needed it has gone: others may wait for the answer.
    fn begin(&self, key: Key, remember: bool, asking: impl Future<Output = Answer> + Send + 'static) -> Question {
        let (state, options) = (self.state.clone(), self.options);
        let task = tokio::spawn(async move {
            let answer = match timeout(options.limit, AssertUnwindSafe(asking).catch_unwind()).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_panic)) => Err(failure("asking the cluster panicked")),
                Err(_elapsed) => Err(failure("asking the cluster took too long")),
            };
            let mut state = lock(&state);
            state.under_way.remove(&key);
            if let (true, Ok(decision)) = (remember, &answer) {
                state.remember(key, decision, &options);
            }
            answer
        });
        task.map(|answer| answer.unwrap_or_else(|_| Err(failure("asking the cluster was ended")))).boxed().shared()
    }
}

// === impl State ===

impl State {
    fn remembered(&mut self, key: &Key, now: Instant) -> Option<Decision> {
        self.allowed.get(key, now).or_else(|| self.refused.get(key, now))
    }

    fn remember(&mut self, key: Key, decision: &Decision, options: &AccessReviewOptions) {
        let now = Instant::now();
        match decision {
            Decision::Allow(_) => self.allowed.insert(key, decision.clone(), now + options.allowed_for),
            Decision::Deny(_) | Decision::NoOpinion(_) => {
                self.refused.insert(key, decision.clone(), now + options.refused_for);
            }
        }
    }
}

fn failure(what: &str) -> AuthorizationError {
    AuthorizationError(what.to_owned())
}

/// The lock is held for a few look-ups in maps, never while waiting.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
