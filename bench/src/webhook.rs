//! How long a cluster waits for a webhook, beside the floor, which is an answer to `/livez` at the same rate.
//!
//! Where a machine's processors belong to a host that lends them to others, too, everyone waits now and then, and no program
//! can mend it. So what was taken away meanwhile is told.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use rustix::param::clock_ticks_per_second;

use crate::Failure;
use crate::behind::Behind;
use crate::client::Client;
use crate::steady;
use crate::verdict;

/// What is asked, and how often.
pub struct Load<'l> {
    /// What an answer is.
    pub what: &'l str,
    /// How long 99 of 100 may take.
    pub goal: Duration,
    /// How many questions are asked a second.
    pub rate: u32,
    /// For how many seconds.
    pub seconds: u32,
}

/// Asks over these connections, one after the other, and tells what came of it.
pub async fn measure<A, F>(load: Load<'_>, ours: &Behind, clients: &[Client], question: A) -> Result<(), Failure>
where
    A: Fn(Client, u32) -> F,
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let Load { what, goal, rate, seconds } = load;
    let client = |number: u32| clients[number as usize % clients.len()].clone();
    let (used, stolen) = (ours.usage()?.processor, taken_away()?);
    let times = steady::ask(rate, rate * seconds, |number| question(client(number), number)).await?;
    let (used, stolen) = (ours.usage()?.processor - used, taken_away()? - stolen);
    let floor = steady::ask(rate, rate * seconds, |number| {
        let client = client(number);
        async move { client.expect(Method::GET, "/livez", Bytes::new()).await }
    })
    .await?;
    println!("a cluster that asks {:.0} times a second waits {times}; for /livez it waits {floor}", times.rate);
    verdict::head();
    let median = times.part(500);
    verdict::within(format!("{what} over HTTPS, p99 (the median is {median:.1?})"), goal, times.part(990));
    println!("| the same, over an answer to /livez | – | {} | – |", steady::over(&times, &floor));
    println!("| processor time of the server for each | – | {:.1?} | – |", used / (rate * seconds));
    let share = stolen.as_secs_f64() / f64::from(seconds) * 100.0;
    println!("| taken away by the machine's host meanwhile, of one processor | – | {share:.1} % | – |");
    Ok(())
}

/// For how long this machine's processors were somebody else's when they were wanted, since it started.
fn taken_away() -> Result<Duration, Failure> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let steal =
        text.lines().next().and_then(|all| all.split_ascii_whitespace().nth(8)).ok_or("no times of processors")?;
    Ok(Duration::from_secs_f64(steal.parse::<f64>()? / clock_ticks_per_second() as f64))
}
