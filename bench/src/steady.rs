//! Questions at a steady rate, whatever becomes of the answers: nobody waits for the answer of another, so that a server that
//! is slow is not asked less.

use std::fmt;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::Failure;

/// How long answers took.
pub struct Times {
    /// The shortest first.
    sorted: Vec<Duration>,
    /// How many questions were asked a second.
    pub rate: f64,
}

/// Asks so many questions, so many a second, and waits for all answers. The first failure ends it.
pub async fn ask<A, F>(rate: u32, questions: u32, question: A) -> Result<Times, Failure>
where
    A: Fn(u32) -> F,
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let (mut asked, mut sorted, began) = (JoinSet::new(), Vec::new(), Instant::now());
    for number in 0..questions {
        sleep_until(began + Duration::from_secs(1) / rate * number).await;
        // Timers are a millisecond late, which is nobody's wait.
        let (answer, sent) = (question(number), Instant::now());
        asked.spawn(async move { answer.await.map(|()| sent.elapsed()) });
        while let Some(done) = asked.try_join_next() {
            sorted.push(done??);
        }
    }
    while let Some(done) = asked.join_next().await {
        sorted.push(done??);
    }
    let rate = f64::from(questions) / began.elapsed().as_secs_f64();
    sorted.sort_unstable();
    Ok(Times { sorted, rate })
}

/// How many times as long the first took as the second.
pub fn over(times: &Times, floor: &Times) -> String {
    let ratio = |thousandths| times.part(thousandths).as_secs_f64() / floor.part(thousandths).as_secs_f64();
    format!("{:.1} times the median, {:.1} times the p99", ratio(500), ratio(990))
}

// === impl Times ===

impl Times {
    /// The time that so many thousandths of all are below.
    pub fn part(&self, thousandths: usize) -> Duration {
        let last = self.sorted.len().saturating_sub(1);
        self.sorted.get((self.sorted.len() * thousandths / 1_000).min(last)).copied().unwrap_or_default()
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1?} median, {:.1?} p99, {:.1?} at most", self.part(500), self.part(990), self.part(1_000))
    }
}
