//! Asking the cluster something, within limits: each attempt has its time, and only what may be better a moment later is
//! tried again, as Kubernetes' own servers do.

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::metrics::ReviewMetrics;

/// How long an attempt may take.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(10);
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const PAUSE_GROWTH: f64 = 1.5;
/// By how much pauses are stretched at most, so that those who failed together do not come back together.
const JITTER: f64 = 0.2;
/// Answers after which it is tried again: the server is asked too much, or has trouble of its own.
const PASSING_CODES: [u16; 4] = [429, 500, 503, 504];

const CREATED: u16 = 201;

/// What comes of an attempt.
type Outcome<T> = Result<kube::Result<T>, Elapsed>;

/// Why there is no answer. For the log: clients are not told.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unanswered {
    #[error("the cluster does not answer within {} s", ATTEMPT_LIMIT.as_secs())]
    Late,
    #[error("the cluster answers {code}: {message}")]
    Refused { code: u16, message: String },
    #[error("the cluster cannot be asked: {}", chain(.0))]
    Failed(#[source] kube::Error),
}

/// Asks until there is an answer, or no use in asking again.
pub(super) async fn ask<T, F>(attempt: impl Fn() -> F) -> Result<T, Unanswered>
where
    F: Future<Output = kube::Result<T>>,
{
    ask_and_tell(attempt, |_, _| {}).await
}

/// The same for a review, of which each attempt is counted.
pub(super) async fn ask_for_review<T, F>(metrics: &ReviewMetrics, attempt: impl Fn() -> F) -> Result<T, Unanswered>
where
    F: Future<Output = kube::Result<T>>,
{
    ask_and_tell(attempt, |outcome, took| metrics.asked(code(outcome), took)).await
}

async fn ask_and_tell<T, F>(attempt: impl Fn() -> F, tell: impl Fn(&Outcome<T>, Duration)) -> Result<T, Unanswered>
where
    F: Future<Output = kube::Result<T>>,
{
    let mut pause = FIRST_PAUSE;
    for attempts_left in (0..ATTEMPTS).rev() {
        let began = Instant::now();
        let outcome = timeout(ATTEMPT_LIMIT, attempt()).await;
        tell(&outcome, began.elapsed());
        match outcome {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) if attempts_left > 0 && may_pass(&error) => {
                tracing::debug!(%error, "the cluster is asked again");
                sleep(pause.mul_f64(1.0 + JITTER * draw())).await;
                pause = pause.mul_f64(PAUSE_GROWTH);
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(_elapsed) => return Err(Unanswered::Late),
        }
    }
    Err(Unanswered::Late)
}

/// The code of the answer to a review, which is asked for by making it.
fn code<T>(outcome: &Outcome<T>) -> Option<u16> {
    match outcome {
        Ok(Ok(_)) => Some(CREATED),
        Ok(Err(kube::Error::Api(status))) => Some(status.code),
        Ok(Err(_)) | Err(_) => None,
    }
}

fn may_pass(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => PASSING_CODES.contains(&status.code),
        // Nobody listens: whoever waits for that to change had better wait without a request in hand.
        kube::Error::HyperError(_) | kube::Error::Service(_) => !is_refused(error),
        _ => false,
    }
}

fn is_refused(error: &kube::Error) -> bool {
    causes(error).any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

fn causes(error: &kube::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(Some(error as &(dyn StdError + 'static)), |&error| error.source())
}

/// What happened, down to what caused it: the outermost error alone says little.
fn chain(error: &kube::Error) -> String {
    let texts: Vec<String> = causes(error).map(ToString::to_string).collect();
    texts.join(": ")
}

/// A number from 0 to 1.
pub(super) fn draw() -> f64 {
    f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX)
}

// === impl Unanswered ===

impl From<kube::Error> for Unanswered {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused { code: status.code, message: status.message },
            error => Self::Failed(error),
        }
    }
}
