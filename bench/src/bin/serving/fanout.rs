//! Watchers of one collection, and one writer that patches its objects. What is measured is the delivery of an event to one
//! watcher: its processor time is what the server takes beyond the same patches without watchers, its delay is from the
//! writer's sending to the watcher's having read it.
//!
//! Every watcher gets every event once and in order, and an event is a line, so the nth line is the nth patch: nothing has to
//! be parsed. That the last line is the last patch proves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::Client;
use crate::error::Error;
use crate::histogram::Histogram;
use crate::load::{Clocks, Measurement};
use crate::options::Options;
use crate::script::base_name;
use crate::target::Target;

/// How long a round may take.
const LIMIT: Duration = Duration::from_secs(120);

/// How watchers are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connected {
    /// Many on a connection.
    Shared,
    /// Each on its own.
    Alone,
}

/// When each patch was sent, in nanoseconds after a beginning.
struct Sent {
    beginning: Instant,
    at: Vec<AtomicU64>,
}

/// What one watcher saw.
#[derive(Default)]
struct Seen {
    bytes: u64,
    delays: Histogram,
}

/// Writes without watchers, and then with them.
pub(crate) async fn measure(
    target: &Target,
    writer: &mut Client,
    options: &Options,
    connected: Connected,
    round: usize,
) -> Result<Measurement, Error> {
    let mark = |kind: &str| format!("{kind}-{connected:?}-{round}");
    let clocks = Clocks::read(target)?;
    write(target, writer, options, &mark("unwatched"), &Sent::new(options.events)).await?;
    let unwatched = clocks.taken(target)?;

    let (mark, sent) = (mark("watched"), Arc::new(Sent::new(options.events)));
    let mut watchers = JoinSet::new();
    // Kept until the end of the round: a connection without a handle closes.
    let (_connections, bodies) = open(target, writer, options, connected).await?;
    for body in bodies {
        let last = format!("\"{mark}-{:06}\"", options.events - 1);
        watchers.spawn(watch(target.name, body, sent.clone(), last));
    }
    let clocks = Clocks::read(target)?;
    write(target, writer, options, &mark, &sent).await?;
    let mut all = Seen::default();
    let gather = async {
        while let Some(ended) = watchers.join_next().await {
            let seen = ended.expect("a watcher does not panic")?;
            all.bytes += seen.bytes;
            all.delays.merge(&seen.delays);
        }
        Ok::<(), Error>(())
    };
    timeout(LIMIT, gather).await.map_err(|_| Error::Undelivered { target: target.name, limit: LIMIT })??;
    let watched = clocks.taken(target)?;
    Ok(Measurement {
        operations: all.delays.count(),
        bytes: all.bytes,
        latencies: all.delays,
        wall: watched.wall,
        server_cpu: watched.server_cpu.saturating_sub(unwatched.server_cpu),
        client_cpu: watched.client_cpu.saturating_sub(unwatched.client_cpu),
        etcd_cpu: watched.etcd_cpu.saturating_sub(unwatched.etcd_cpu),
    })
}

/// Has all watchers wait for what comes from now on.
async fn open(
    target: &Target,
    writer: &mut Client,
    options: &Options,
    connected: Connected,
) -> Result<(Vec<Client>, Vec<Incoming>), Error> {
    let revision = target.revision(writer).await?;
    let connections = match connected {
        Connected::Shared => options.connections,
        Connected::Alone => options.watchers,
    };
    let mut connections = target.endpoint.connect(connections).await?;
    let mut bodies = Vec::with_capacity(options.watchers);
    for nth in 0..options.watchers {
        let query = format!("?watch=true&timeoutSeconds=600&resourceVersion={revision}");
        let shared = nth % connections.len();
        bodies.push(connections[shared].open(target.list(&query)).await?.into_body());
    }
    Ok((connections, bodies))
}

/// Patches one object after the other, as many times as there are to be events.
async fn write(target: &Target, writer: &mut Client, options: &Options, mark: &str, sent: &Sent) -> Result<(), Error> {
    for nth in 0..options.events {
        let request = target.patch(&base_name(nth % options.objects), &format!("{mark}-{nth:06}"));
        sent.now(nth);
        writer.exchange(request).await?;
    }
    Ok(())
}

/// Reads events until the last one.
async fn watch(target: &'static str, mut body: Incoming, sent: Arc<Sent>, last: String) -> Result<Seen, Error> {
    let unequal = |what: String| Error::Unequal { target, what };
    let (mut seen, mut lines) = (Seen::default(), 0);
    // The end of what was read: where the last event is looked for.
    let mut line = Vec::new();
    while lines < sent.at.len() {
        let frame = body.frame().await.ok_or_else(|| unequal(format!("a watch ended after {lines} events")))?;
        let frame = frame.map_err(|source| Error::Http { uri: format!("a watch of {target}"), source })?;
        let Some(data) = frame.data_ref() else { continue };
        seen.bytes += data.len() as u64;
        let complete = data.iter().filter(|&&byte| byte == b'\n').count();
        for _ in 0..complete {
            let delay = sent.delay(lines).ok_or_else(|| unequal("a watch has more events than patches".to_owned()))?;
            seen.delays.record(delay);
            lines += 1;
        }
        if lines + 1 >= sent.at.len() {
            line.extend_from_slice(data);
        }
    }
    match line.windows(last.len()).any(|window| window == last.as_bytes()) {
        true => Ok(seen),
        false => Err(unequal(format!("the last event of a watch is not the last patch, {last}"))),
    }
}

// === impl Sent ===

impl Sent {
    fn new(events: usize) -> Self {
        Self { beginning: Instant::now(), at: (0..events).map(|_| AtomicU64::new(0)).collect() }
    }

    fn now(&self, nth: usize) {
        let elapsed = u64::try_from(self.beginning.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if let Some(at) = self.at.get(nth) {
            at.store(elapsed, Ordering::Relaxed);
        }
    }

    /// How long ago the nth patch was sent. None if there is no such patch.
    fn delay(&self, nth: usize) -> Option<Duration> {
        let at = Duration::from_nanos(self.at.get(nth)?.load(Ordering::Relaxed));
        Some(self.beginning.elapsed().saturating_sub(at))
    }
}
