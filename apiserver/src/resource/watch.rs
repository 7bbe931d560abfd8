//! Following objects: a stream of events, made when the client can take them.
//!
//! A stream queues nothing. It holds a place in the history that all streams share, and is asked for more only when the
//! connection has room; a client that reads slowly falls behind in history, and if it falls out of it, is told that its
//! version is too old.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bailiwick_machinery::encode::Layout;
use bailiwick_machinery::field_selector::escape_value;
use bailiwick_machinery::media::MediaType;
use bailiwick_machinery::table::Headers;
use bailiwick_machinery::watch::{EventType, JSON_TAIL};
use bailiwick_machinery::{FieldSelector, Object, Status};
use bailiwick_registry::{Encoded, Error, Selection, ServedKind, WatchBatch, WatchFrom};
use bailiwick_storage as storage;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Response};
use serde_json::{Map, json};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::followed::Followed;
use super::get::at;
use super::{Answer, Call, refuse};
use crate::body::Body;
use crate::form::{Form, Subject};
use crate::metrics::{RequestMetrics, WatchMetrics};
use crate::options::{WatchOptions, WatchStart};
use crate::respond;

/// Tells a client that the objects there were when it began are complete.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";
/// How many of these objects are sent at once.
const INITIAL_STEP: usize = 256;
/// How long before its end a watch tells how far it has come, so that the next one can begin there.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// How long a watch lasts at most, whatever its client wants, unless others may last longer.
const LONGEST: Duration = Duration::from_secs(3_600);

/// What all watches have in common.
pub(crate) struct Watches {
    /// Ends them all, cleanly.
    pub(crate) shutdown: CancellationToken,
    /// How long they last at least, unless the client says otherwise; at most twice as long, or as the client says.
    pub(crate) min_duration: Duration,
    /// How often they tell how far they have come.
    pub(crate) bookmark_every: Duration,
    /// Spreads the ends of watches that began together.
    pub(crate) begun: AtomicUsize,
    /// Counts what they send.
    pub(crate) metrics: Arc<RequestMetrics>,
}

/// A stream of events.
struct Stream {
    watch: Followed,
    encoder: Encoder,
    phase: Phase,
    bookmarks: Bookmarks,
    deadline: Instant,
    /// Goes off at the deadline or when a bookmark is due, whichever comes first. It and the end are made once: a stream
    /// waits anew after every event.
    timer: Pin<Box<Sleep>>,
    /// A token of its own, so that streams do not meet at the lock of one.
    shutdown: Pin<Box<WaitForCancellationFutureOwned>>,
}

/// When a stream tells how far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bookmarks {
    /// Never, or never again.
    None,
    /// So often.
    Every(Duration),
    /// As soon as it is known.
    Due(Duration),
}

/// How far a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It sends the objects there were.
    Initial { end_marker: bool },
    /// It sends what happens.
    Live,
    /// It has told why it ends.
    Over,
}

/// Turns events into bytes.
struct Encoder {
    form: Form,
    kind: ServedKind,
    /// Whether the next table shows what its columns are.
    headers: Headers,
    metrics: Arc<WatchMetrics>,
}

/// What a stream waits for.
enum Next {
    Batch(Result<WatchBatch, Error>),
    Bookmark,
    End,
}

// === impl Call ===

impl Call<'_> {
    pub(super) async fn watch(self, kind: &ServedKind, options: WatchOptions) -> Answer {
        let form = Form { layout: Layout::Compact, ..self.form(kind, Subject::Events)? };
        let fields = self.fields_of_one(&options.field_selector)?;
        let selection = Selection::parse(kind, &options.label_selector, &fields).map_err(refuse)?;
        let (from, end_marker) = match options.start {
            WatchStart::State { freshness, end_marker } => (WatchFrom::State(at(freshness)), end_marker),
            WatchStart::Now { freshness } => (WatchFrom::Now(at(freshness)), false),
            WatchStart::After(revision) => (WatchFrom::After(revision), false),
        };
        let metrics = self.watches.metrics.watch(kind);
        let encoder = Encoder { form, kind: kind.clone(), headers: Headers::Shown, metrics };
        let content_type = encoder.content_type();
        let body = match Followed::begin(self.registry, kind, self.namespace(), selection, from).await {
            // A client that cannot begin here learns it as it would have later.
            Err(error @ Error::Storage { .. }) => Body::from(encoder.failure(&refuse(error))),
            Err(error) => return Err(refuse(error)),
            Ok(_) if self.request.method() == Method::HEAD => Body::empty(),
            Ok(watch) => Body::live(self.watches.stream(watch, encoder, &options, end_marker).pieces()),
        };
        let mut response = Response::new(body);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Ok(response)
    }

    /// The field selector of a watch. A path that names an object was authorized for that one, so no other is shown.
    fn fields_of_one<'f>(&self, selector: &'f str) -> Result<Cow<'f, str>, Box<Status>> {
        let name = self.name();
        // What cannot be read is refused where it is used.
        let Some(fields) = FieldSelector::parse(selector).ok().filter(|_| !name.is_empty()) else {
            return Ok(selector.into());
        };
        match fields.requires_exact_match("metadata.name") {
            _ if fields.is_empty() => Ok(format!("metadata.name={}", escape_value(name)).into()),
            Some(selected) if selected == name => Ok(selector.into()),
            _ => Err(Box::new(Status::bad_request("fieldSelector metadata.name doesn't match requested name"))),
        }
    }
}

// === impl Watches ===

impl Watches {
    fn stream(&self, watch: Followed, encoder: Encoder, options: &WatchOptions, end_marker: bool) -> Stream {
        let now = Instant::now();
        let deadline = now + options.timeout.map_or_else(|| self.duration(), |wanted| wanted.min(self.longest()));
        let mut stream = Stream {
            watch,
            encoder,
            phase: Phase::Initial { end_marker },
            bookmarks: if options.bookmarks { Bookmarks::Every(self.bookmark_every) } else { Bookmarks::None },
            deadline,
            timer: Box::pin(tokio::time::sleep_until(deadline)),
            shutdown: Box::pin(self.shutdown.child_token().cancelled_owned()),
        };
        stream.set_timer(now);
        stream
    }

    /// How long a watch may last that a client wants to last long. What it sees was allowed when it began, and nobody asks
    /// again until it has ended.
    fn longest(&self) -> Duration {
        LONGEST.max(2 * self.min_duration)
    }

    /// Between once and twice the least, so that watches that began together do not end together.
    fn duration(&self) -> Duration {
        let turn = self.begun.fetch_add(1, Ordering::Relaxed);
        let share = u32::try_from((turn.wrapping_mul(619)) % 1_000).unwrap_or(0);
        self.min_duration + self.min_duration * share / 1_000
    }
}

// === impl Stream ===

impl Stream {
    fn pieces(self) -> impl futures::Stream<Item = Bytes> + Send {
        futures::stream::unfold(self, |mut stream| async move {
            let piece = stream.next().await?;
            Some((piece, stream))
        })
    }

    /// The next bytes to send; none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.phase {
                Phase::Over => return None,
                Phase::Initial { end_marker } => match self.initial(end_marker) {
                    Ok(piece) if piece.is_empty() => {}
                    Ok(piece) => return Some(piece.into()),
                    Err(error) => return Some(self.fail(error)),
                },
                Phase::Live => match self.wait().await {
                    Next::End => return None,
                    Next::Bookmark => self.watch.request_progress(),
                    Next::Batch(Err(
                        Error::Storage { source: storage::Error::Closed, .. } | Error::KindGone { .. },
                    )) => return None,
                    Next::Batch(Err(error)) => return Some(self.fail(error)),
                    Next::Batch(Ok(batch)) => match self.tell(&batch) {
                        Ok(piece) if piece.is_empty() => {}
                        Ok(piece) => return Some(piece.into()),
                        Err(status) => return Some(self.fail_with(&status)),
                    },
                },
            }
        }
    }

    fn initial(&mut self, end_marker: bool) -> Result<Vec<u8>, Error> {
        let events = self.watch.initial(INITIAL_STEP)?;
        let mut piece = Vec::new();
        if events.is_empty() {
            self.phase = Phase::Live;
            if end_marker && let Err(status) = self.encoder.bookmark(&mut piece, self.watch.position(), true) {
                return Ok(self.fail_with(&status).into());
            }
        }
        for event in &events {
            if let Err(status) = self.encoder.event(&mut piece, event.event_type, &event.object) {
                return Ok(self.fail_with(&status).into());
            }
        }
        Ok(piece)
    }

    async fn wait(&mut self) -> Next {
        tokio::select! {
            biased;
            () = &mut self.shutdown => Next::End,
            () = &mut self.timer => self.time_is_up(),
            batch = self.watch.next() => Next::Batch(batch),
        }
    }

    fn time_is_up(&mut self) -> Next {
        match self.bookmarks {
            Bookmarks::Every(interval) if Instant::now() < self.deadline => {
                self.bookmarks = Bookmarks::Due(interval);
                self.timer.as_mut().reset(self.deadline);
                Next::Bookmark
            }
            _ => Next::End,
        }
    }

    /// Sets the timer to the next bookmark, or, where there is none before it, to the deadline.
    fn set_timer(&mut self, now: Instant) {
        let last = self.deadline.checked_sub(LAST_BOOKMARK).unwrap_or(now);
        match self.bookmarks {
            Bookmarks::Every(interval) if now < last => self.timer.as_mut().reset((now + interval).min(last)),
            Bookmarks::None | Bookmarks::Every(_) | Bookmarks::Due(_) => {
                self.bookmarks = Bookmarks::None;
                self.timer.as_mut().reset(self.deadline);
            }
        }
    }

    fn tell(&mut self, batch: &WatchBatch) -> Result<Vec<u8>, Box<Status>> {
        let mut piece = Vec::with_capacity(batch.events.iter().map(|event| event.object.as_bytes().len() + 192).sum());
        for event in &batch.events {
            self.encoder.event(&mut piece, event.event_type, &event.object)?;
        }
        // Everything up to here has been sent.
        if let Bookmarks::Due(interval) = self.bookmarks {
            self.encoder.bookmark(&mut piece, batch.through, false)?;
            self.bookmarks = Bookmarks::Every(interval);
            self.set_timer(Instant::now());
        }
        Ok(piece)
    }

    fn fail(&mut self, error: Error) -> Bytes {
        self.fail_with(&refuse(error))
    }

    fn fail_with(&mut self, status: &Status) -> Bytes {
        self.phase = Phase::Over;
        self.encoder.failure(status)
    }
}

// === impl Encoder ===

impl Encoder {
    fn content_type(&self) -> &'static str {
        match self.form.media_type {
            MediaType::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            MediaType::Json | MediaType::Yaml => "application/json",
        }
    }

    fn event(&mut self, out: &mut Vec<u8>, event_type: EventType, object: &Encoded) -> Result<(), Box<Status>> {
        let before = out.len();
        if self.form.is_as_stored() && self.kind.is_served_as_stored() {
            out.extend_from_slice(event_type.json_head());
            out.extend_from_slice(self.kind.head());
            out.extend_from_slice(object.as_bytes());
            out.extend_from_slice(JSON_TAIL);
        } else {
            let object = respond::read(&self.kind, object)?;
            self.object_event(out, event_type, &object)?;
        }
        self.metrics.sent(out.len() - before);
        Ok(())
    }

    fn bookmark(&mut self, out: &mut Vec<u8>, revision: u64, initial_events_end: bool) -> Result<(), Box<Status>> {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
        if initial_events_end {
            metadata.insert("annotations".to_owned(), json!({INITIAL_EVENTS_END: "true"}));
        }
        let mut object = Object::default();
        object.set_gvk(self.kind.gvk());
        *object.metadata_mut() = metadata;
        self.object_event(out, EventType::Bookmark, &object)
    }

    fn object_event(&mut self, out: &mut Vec<u8>, event_type: EventType, object: &Object) -> Result<(), Box<Status>> {
        let bytes = respond::object_bytes(&self.form, &self.kind, object, self.headers.take())?;
        self.frame(out, event_type, &bytes);
        Ok(())
    }

    fn failure(&self, status: &Status) -> Bytes {
        let mut out = Vec::new();
        self.frame(&mut out, EventType::Error, &respond::status_event_object(&self.form, status));
        out.into()
    }

    fn frame(&self, out: &mut Vec<u8>, event_type: EventType, object: &[u8]) {
        match self.form.media_type {
            MediaType::Protobuf => {
                // An object that does not fit into a frame does not fit into the store either.
                if let Ok(head) = event_type.proto_head(object.len()) {
                    out.extend_from_slice(head.as_bytes());
                    out.extend_from_slice(object);
                }
            }
            MediaType::Json | MediaType::Yaml => {
                out.extend_from_slice(event_type.json_head());
                out.extend_from_slice(object.trim_ascii_end());
                out.extend_from_slice(JSON_TAIL);
            }
        }
    }
}
