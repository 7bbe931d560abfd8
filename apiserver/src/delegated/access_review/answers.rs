//! Answers that were given, and questions that are under way.
//!
//! Questions have seats in a [`Room`], so that nobody who asks very much keeps others from asking: not even someone whose
//! requests have no seat yet, because whether they may act as someone else is asked first.

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
use crate::limits::{Room, Seat, TooMany};

type Key = [u8; 32];
type Answer = Result<Decision, AuthorizationError>;
type Question = Shared<BoxFuture<'static, Answer>>;

/// What was answered, and what is being asked.
pub(super) struct Answers {
    options: AccessReviewOptions,
    state: Arc<Mutex<State>>,
    room: Arc<Room>,
}

struct State {
    allowed: Generations<Decision>,
    refused: Generations<Decision>,
    under_way: HashMap<Key, Question>,
}

/// What there is about a question.
enum Found {
    Answer(Decision),
    Question(Question),
}

// === impl Answers ===

impl Answers {
    pub(super) fn new(options: AccessReviewOptions) -> Self {
        let state = State {
            allowed: Generations::new(options.max_answers),
            refused: Generations::new(options.max_answers),
            under_way: HashMap::new(),
        };
        let room = Arc::new(Room::new(options.max_questions, options.patience));
        Self { options, state: Arc::new(Mutex::new(state)), room }
    }

    /// The answer to the question of this key, which `asking` finds out unless it is known or being found out. It is asked
    /// on account of `user`.
    pub(super) async fn get(
        &self,
        user: &str,
        key: Key,
        remember: bool,
        asking: impl Future<Output = Answer> + Send + 'static,
    ) -> Answer {
        let found = lock(&self.state).find(&key);
        let question = match found {
            Some(Found::Answer(decision)) => return Ok(decision),
            Some(Found::Question(question)) => question,
            None => {
                let seat = self.room.enter(user).await;
                let seat = seat.map_err(|TooMany| failure("too many questions to the cluster are under way"))?;
                let mut state = lock(&self.state);
                // Someone else may have asked while this one waited for a seat.
                match state.find(&key) {
                    Some(Found::Answer(decision)) => return Ok(decision),
                    Some(Found::Question(question)) => question,
                    None => {
                        let question = self.begin(key, remember, seat, asking);
                        state.under_way.insert(key, question.clone());
                        question
                    }
                }
            }
        };
        question.await
    }

    /// Begins to ask. It goes on when the client whose request needed it has gone: others may wait for the answer.
    fn begin(
        &self,
        key: Key,
        remember: bool,
        seat: Seat,
        asking: impl Future<Output = Answer> + Send + 'static,
    ) -> Question {
        let (state, options) = (self.state.clone(), self.options);
        let task = tokio::spawn(async move {
            let _seat = seat;
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
    fn find(&mut self, key: &Key) -> Option<Found> {
        let now = Instant::now();
        let remembered = self.allowed.get(key, now).or_else(|| self.refused.get(key, now));
        remembered.map(Found::Answer).or_else(|| self.under_way.get(key).cloned().map(Found::Question))
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
