//! Following a range. etcd's stream breaks whenever a member or a connection does; this one does not: it goes on from
//! the last revision it delivered, and ends only if that revision is no longer kept or the store is another.
//!
//! A stream is always opened at the last revision delivered, not behind it, and what comes again is dropped. So etcd
//! itself says whether that revision is still kept, and no event that compaction may take away at its very edge is ever
//! relied on (etcd's issues 18089 and 19179).
//!
//! etcd splits large answers into fragments, which may cut a revision in two. The events of the last revision of a
//! fragment are held back until the next one shows where the revision ends.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use etcd_client::proto::{PbEvent, PbWatchResponse};
use etcd_client::{WatchOptions, WatchRequestSender, WatchResponseStream};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::Engine;
use super::backoff::Backoff;
use super::identity::Physical;
use super::layout::Range;
use super::members::{Line, Purpose};
use super::read::unseal;
use super::status::Failure;
use crate::error::{Error, Result};
use crate::fault::Fault;
use crate::key::Prefix;
use crate::revision::Revision;
use crate::store::{Batch, Change, Event, Watch};

/// After this much silence the stream asks etcd how far it is: to know that it is alive, and to have a recent revision
/// to go on from if the range is quiet while the rest of etcd is compacted.
const SILENCE: Duration = Duration::from_secs(10);
/// etcd drops the question if the watch has not caught up yet, so it is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// A stream that says nothing for this long although it was asked is given up.
const UNANSWERED: Duration = Duration::from_secs(5);
/// etcd's mark for an event that deletes.
const DELETE: i32 = 1;
/// With [`Fault::DropEvent`], one event of so many is dropped.
const DROPPED_OF: usize = 5;

/// A running watch.
pub(super) struct EtcdWatch {
    engine: Arc<Engine>,
    range: Range,
    /// Everything up to here has been delivered, in etcd's count.
    cursor: i64,
    /// The caller wants to know how far this has come.
    wanted: bool,
    state: State,
    backoff: Backoff,
    /// Why the last stream is no more, or could not be opened.
    trouble: Option<Failure>,
    /// For [`Fault::DropEvent`].
    events: usize,
}

/// What the next call of `next` has to do. Nothing is lost if that call is dropped: whatever it waits for is in here.
enum State {
    Opening(Pin<Box<dyn Future<Output = Result<Stream, Broken>> + Send>>),
    Open(Box<Stream>),
    Waiting(Instant),
    Over(Error),
}

/// A stream that etcd has accepted.
struct Stream {
    line: Arc<Line>,
    requests: WatchRequestSender,
    responses: WatchResponseStream,
    /// The revision it was opened at.
    start: i64,
    /// Events of a revision that may go on in the next fragment.
    held: Vec<PbEvent>,
    heard: Instant,
    asked: Option<Asked>,
}

/// A question that has not been answered.
#[derive(Clone, Copy)]
struct Asked {
    first: Instant,
    last: Instant,
}

/// Why there is no stream.
enum Broken {
    /// It can be opened again.
    For(Failure),
    /// It cannot.
    Forever(Error),
}

/// What a message of etcd meant.
enum Heard {
    Nothing,
    Batch(Batch),
    Broken(Failure),
    /// What is older than this is no longer kept.
    Compacted(i64),
}

// === impl EtcdWatch ===

impl EtcdWatch {
    /// Follows `prefix` after `after`. Waits until etcd has accepted the watch, but not longer than for any request.
    pub(super) async fn open(engine: Arc<Engine>, prefix: &Prefix, after: Revision) -> Result<Self> {
        engine.identity.check()?;
        let cursor = match engine.identity.physical(after) {
            Physical::Of(revision) => revision,
            Physical::Unreachable => i64::MAX,
            Physical::BeforeBase => return Err(engine.expired(after).await),
        };
        let range = engine.layout.range(prefix);
        let patience = engine.patience.call;
        let state = State::Waiting(Instant::now());
        let mut watch =
            Self { engine, range, cursor, wanted: false, state, backoff: Backoff::default(), trouble: None, events: 0 };
        match timeout(patience, watch.ready()).await {
            Ok(Ok(())) => Ok(watch),
            Ok(Err(error)) => Err(error),
            Err(_) => {
                let trouble = watch.trouble.unwrap_or_else(|| Failure::Lost("no answer".to_owned()));
                Err(Error::Unavailable { reason: format!("etcd does not accept the watch: {trouble}").into() })
            }
        }
    }

    /// Opens the stream, for as long as that takes.
    async fn ready(&mut self) -> Result<()> {
        loop {
            match &mut self.state {
                State::Open(_) => return Ok(()),
                State::Over(error) => return Err(error.clone()),
                State::Waiting(until) => {
                    sleep_until(*until).await;
                    let stream = Stream::open(self.engine.clone(), self.range.clone(), self.cursor);
                    self.state = State::Opening(Box::pin(stream));
                }
                State::Opening(stream) => match stream.await {
                    Ok(stream) => self.state = State::Open(Box::new(stream)),
                    Err(Broken::For(failure)) => self.lose(failure),
                    Err(Broken::Forever(error)) => self.state = State::Over(error),
                },
            }
        }
    }

    fn lose(&mut self, failure: Failure) {
        tracing::debug!(%failure, cursor = self.cursor, "a watch on etcd broke and will be resumed");
        self.state = State::Waiting(Instant::now() + self.backoff.next());
        self.trouble = Some(failure);
    }

    /// Waits for one message.
    async fn listen(&mut self) -> Result<Heard> {
        self.ready().await?;
        let State::Open(stream) = &mut self.state else { return Ok(Heard::Nothing) };
        if self.wanted && stream.asked.is_none() {
            stream.ask().await;
            self.wanted = false;
        }
        let alarm = match stream.asked {
            Some(asked) => asked.last + ASK_AGAIN,
            None => stream.heard + SILENCE,
        };
        let response = match timeout_at(alarm, stream.responses.message()).await {
            Ok(Ok(Some(response))) => response.0,
            Ok(Ok(None)) => return Ok(Heard::Broken(Failure::Lost("etcd ended the stream".to_owned()))),
            Ok(Err(error)) => return Ok(Heard::Broken(error.into())),
            // etcd does not answer a watch whose start it has not reached: that is no sign of death.
            Err(_) if stream.is_silent() && self.cursor <= self.engine.identity.seen() => {
                return Ok(Heard::Broken(stream.line.silent()));
            }
            Err(_) => {
                stream.ask().await;
                return Ok(Heard::Nothing);
            }
        };
        stream.heard = Instant::now();
        self.understand(response)
    }

    fn understand(&mut self, response: PbWatchResponse) -> Result<Heard> {
        let State::Open(stream) = &mut self.state else { return Ok(Heard::Nothing) };
        let revision = match &response.header {
            Some(header) => {
                self.engine.identity.observe(header.cluster_id, header.revision)?;
                header.revision
            }
            None => 0,
        };
        if response.compact_revision > 0 {
            return Ok(Heard::Compacted(response.compact_revision));
        }
        if response.canceled {
            return Ok(Heard::Broken(Failure::of_cancelled_watch(&response.cancel_reason)));
        }
        if response.created {
            return Ok(Heard::Nothing);
        }
        self.backoff = Backoff::default();
        if response.events.is_empty() {
            let asked = stream.asked.take().is_some();
            let news = revision > self.cursor || (asked && revision == self.cursor);
            if !news || !stream.held.is_empty() {
                return Ok(Heard::Nothing);
            }
            self.cursor = revision;
            return Ok(Heard::Batch(Batch { through: self.engine.identity.public(revision), events: Vec::new() }));
        }
        let mut events = std::mem::take(&mut stream.held);
        events.extend(response.events);
        if response.fragment {
            let last = events.last().map_or(0, revision_of);
            let whole = events.partition_point(|event| revision_of(event) < last);
            stream.held = events.split_off(whole);
        }
        Ok(self.batch(events).map_or(Heard::Nothing, Heard::Batch))
    }

    /// What of `events` is news.
    fn batch(&mut self, mut events: Vec<PbEvent>) -> Option<Batch> {
        let through = events.last().map(revision_of)?;
        let start = match &self.state {
            State::Open(stream) => stream.start,
            _ => self.cursor,
        };
        let repeat = self.engine.faults.is_set(Fault::RepeatEvent) && start == self.cursor;
        events.retain(|event| revision_of(event) > self.cursor || (repeat && revision_of(event) == start));
        if through <= self.cursor && events.is_empty() {
            return None;
        }
        self.cursor = self.cursor.max(through);
        if self.engine.faults.is_set(Fault::DropEvent) {
            events.retain(|_| {
                self.events += 1;
                !self.events.is_multiple_of(DROPPED_OF)
            });
        }
        let events = events.into_iter().filter_map(|event| self.engine.event(event)).collect();
        Some(Batch { through: self.engine.identity.public(self.cursor), events })
    }
}

#[async_trait]
impl Watch for EtcdWatch {
    async fn next(&mut self) -> Result<Batch> {
        loop {
            let heard = match self.engine.identity.check() {
                Ok(()) => self.listen().await,
                Err(error) => Err(error),
            };
            let error = match heard {
                Ok(Heard::Batch(batch)) => return Ok(batch),
                Ok(Heard::Nothing) => continue,
                Ok(Heard::Broken(failure)) => {
                    if let State::Open(stream) = &self.state {
                        self.engine.members.failed(&stream.line, &failure);
                        // A question that went unanswered is still a question.
                        self.wanted |= stream.asked.is_some();
                    }
                    self.lose(failure);
                    continue;
                }
                Ok(Heard::Compacted(oldest)) => {
                    self.engine.note_compacted(oldest);
                    let requested = self.engine.identity.public(self.cursor);
                    Error::Expired { requested, oldest: self.engine.identity.public(oldest) }
                }
                Err(error) => error,
            };
            self.state = State::Over(error.clone());
            return Err(error);
        }
    }

    fn request_progress(&mut self) {
        self.wanted = true;
    }
}

// === impl Stream ===

impl Stream {
    async fn open(engine: Arc<Engine>, range: Range, cursor: i64) -> Result<Self, Broken> {
        engine.identity.check().map_err(Broken::Forever)?;
        let line = engine.members.line(Purpose::Watches);
        // Zero means "from now on" to etcd. Nothing was ever written before one.
        let start = cursor.max(1);
        let stream = match timeout(engine.patience.attempt, Self::request(&line, &range, start)).await {
            Ok(stream) => stream,
            Err(_) => Err(line.silent()),
        };
        let stream = match stream {
            Ok(stream) => stream,
            Err(failure) => {
                engine.members.failed(&line, &failure);
                if matches!(failure, Failure::StaleToken(_)) {
                    let _ = timeout(engine.patience.attempt, line.renew_token()).await;
                }
                return Err(Broken::For(failure));
            }
        };
        // Only after the stream is open: what is our store now was our store then.
        match engine.verify().await {
            Ok(_) => Ok(stream),
            Err(Error::Unavailable { reason }) => Err(Broken::For(Failure::Lost(reason.to_string()))),
            Err(error) => Err(Broken::Forever(error)),
        }
    }

    async fn request(line: &Arc<Line>, range: &Range, start: i64) -> Result<Self, Failure> {
        let options = WatchOptions::new().with_range(range.end.clone()).with_start_revision(start).with_fragment();
        let mut stream = line.watch().await?.watch(range.start.clone(), Some(options)).await?;
        match stream.message().await? {
            Some(response) if response.canceled() => Err(Failure::of_cancelled_watch(response.cancel_reason())),
            Some(response) if response.created() => {
                let (requests, responses) = stream.split();
                let (line, heard) = (line.clone(), Instant::now());
                Ok(Self { line, requests, responses, start, held: Vec::new(), heard, asked: None })
            }
            Some(_) | None => Err(Failure::Lost(format!("{} did not accept the watch", line.name()))),
        }
    }

    fn is_silent(&self) -> bool {
        self.asked.is_some_and(|asked| asked.first.max(self.heard).elapsed() > UNANSWERED)
    }

    /// Asks how far etcd is. The queue has room: a question is asked at most so often before the stream is given up. A
    /// stream that is already broken says so when it is listened to.
    async fn ask(&mut self) {
        let _ = self.requests.request_progress().await;
        let now = Instant::now();
        let first = self.asked.map_or(now, |asked| asked.first);
        self.asked = Some(Asked { first, last: now });
    }
}

impl Engine {
    fn event(&self, event: PbEvent) -> Option<Event> {
        let deletes = event.r#type == DELETE;
        let found = event.kv?;
        let revision = self.identity.public(found.mod_revision);
        let key = match self.layout.key(&found.key) {
            Ok(key) => key,
            Err(error) => {
                let key = String::from_utf8_lossy(&found.key).into_owned();
                tracing::warn!(key, %error, "something that is no record was written among the records");
                return None;
            }
        };
        let change = if deletes {
            Change::Delete
        } else {
            match unseal(&key, found.value) {
                Ok(value) => Change::Put(value),
                Err(fault) => Change::Corrupt(fault),
            }
        };
        Some(Event { revision, key, change })
    }
}

fn revision_of(event: &PbEvent) -> i64 {
    event.kv.as_ref().map_or(0, |kv| kv.mod_revision)
}
