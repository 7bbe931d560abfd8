//! The bodies of answers, and reading those of requests.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bailiwick_machinery::Status;
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;

use crate::visit::Visit;

/// The most bytes of a request's body.
pub const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// How long a client that has announced too much may pause before it is told so.
const SKIP_PAUSE: Duration = Duration::from_millis(500);

/// The body of an answer.
pub struct Body {
    content: Content,
    /// Told of what is handed on, and dropped with it.
    visit: Option<Box<Visit>>,
}

enum Content {
    /// Some bytes, of which each is sent as it is.
    Whole(VecDeque<Bytes>),
    /// Bytes that are made as they are sent; how many there will be is known if it is said.
    Made { pieces: Box<dyn Iterator<Item = Bytes> + Send>, length: Option<u64> },
    /// Bytes that come when something happens.
    Live(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

// === impl Body ===

impl Body {
    /// Nothing.
    pub fn empty() -> Self {
        Self::new(Content::Whole(VecDeque::new()))
    }

    /// Pieces that are made as they are sent. If the length is given, it must be right.
    pub(crate) fn made(pieces: impl Iterator<Item = Bytes> + Send + 'static, length: Option<u64>) -> Self {
        Self::new(Content::Made { pieces: Box::new(pieces), length })
    }

    /// Pieces that come when something happens.
    pub(crate) fn live(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::new(Content::Live(Box::pin(pieces)))
    }

    /// Whether it goes on until someone ends it.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.content, Content::Live(_))
    }

    /// All bytes, which are sent all the same; none if there are more than `most`, or nobody can say.
    pub(crate) fn peek(&mut self, most: usize) -> Option<Bytes> {
        if let Content::Made { pieces, length } = &mut self.content {
            if length.is_some_and(|length| length > most as u64) {
                return None;
            }
            let mut read = VecDeque::new();
            let mut bytes = 0;
            for piece in pieces.by_ref() {
                bytes += piece.len();
                read.push_back(piece);
                if bytes > most {
                    let rest = std::mem::replace(pieces, Box::new(std::iter::empty()));
                    *pieces = Box::new(read.into_iter().chain(rest));
                    return None;
                }
            }
            self.content = Content::Whole(read);
        }
        match &self.content {
            Content::Whole(pieces) => match pieces.len() {
                1 => pieces.front().cloned(),
                _ => Some(pieces.iter().flatten().copied().collect()),
            },
            Content::Made { .. } | Content::Live(_) => None,
        }
    }

    /// The visit that ends with it.
    pub(crate) fn carry(&mut self, visit: Visit) {
        self.visit = Some(Box::new(visit));
    }

    /// The same, but what lasts ends with `end`.
    #[must_use]
    pub(crate) fn until(mut self, end: impl Future<Output = ()> + Send + 'static) -> Self {
        if let Content::Live(pieces) = self.content {
            self.content = Content::Live(Box::pin(pieces.take_until(end)));
        }
        self
    }

    fn new(content: Content) -> Self {
        Self { content, visit: None }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::new(Content::Whole(if bytes.is_empty() { VecDeque::new() } else { VecDeque::from([bytes]) }))
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.content {
            Content::Whole(_) => "Body(whole)",
            Content::Made { .. } => "Body(made)",
            Content::Live(_) => "Body(live)",
        })
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.content {
            Content::Whole(pieces) => pieces.pop_front(),
            Content::Made { pieces, length } => {
                let next = pieces.next();
                if let (Some(length), Some(next)) = (length, &next) {
                    *length = length.saturating_sub(next.len() as u64);
                }
                next
            }
            Content::Live(pieces) => std::task::ready!(pieces.as_mut().poll_next(cx)),
        };
        if let (Some(visit), Some(piece)) = (&mut self.visit, &next) {
            visit.sent(piece.len());
        }
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, Content::Whole(pieces) if pieces.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(pieces) => SizeHint::with_exact(pieces.iter().map(|piece| piece.len() as u64).sum()),
            Content::Made { length: Some(length), .. } => SizeHint::with_exact(*length),
            Content::Made { length: None, .. } | Content::Live(_) => SizeHint::default(),
        }
    }
}

/// Reads the body of a request, which must be short enough and as it is: no encoding is undone, because a few bytes could
/// become very many. What is too long is read up to the limit before it is refused: a client that is still writing would
/// otherwise see a broken connection instead of the answer.
pub(crate) async fn read<B>(headers: &HeaderMap, body: B) -> Result<Bytes, Box<Status>>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: fmt::Display,
{
    if let Some(encoding) = headers.get(CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
        let encoding = String::from_utf8_lossy(encoding.as_bytes()).into_owned();
        let message = format!("the body of the request is encoded as {encoding}: send it without Content-Encoding");
        return Err(Box::new(Status::new(bailiwick_machinery::Reason::UnsupportedMediaType, message)));
    }
    let mut body = std::pin::pin!(body);
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > MAX_BODY_BYTES as u64) {
        skip(body).await;
        return Err(too_large());
    }
    let mut first = None;
    let mut more = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Box::new(Status::bad_request(format!("the body of the request cannot be read: {error}")))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        match &first {
            None => first = Some(data),
            Some(start) => {
                if more.is_empty() {
                    more.extend_from_slice(start);
                }
                more.extend_from_slice(&data);
            }
        }
        if first.as_ref().map_or(0, Bytes::len).max(more.len()) > MAX_BODY_BYTES {
            return Err(too_large());
        }
    }
    Ok(if more.is_empty() { first.unwrap_or_default() } else { more.freeze() })
}

/// Takes what comes of a body that will be refused, up to the limit or until nothing comes for a while.
async fn skip<B: http_body::Body<Data = Bytes>>(mut body: Pin<&mut B>) {
    let mut skipped = 0;
    while skipped <= MAX_BODY_BYTES {
        match tokio::time::timeout(SKIP_PAUSE, body.frame()).await {
            Ok(Some(Ok(frame))) => skipped += frame.data_ref().map_or(0, Bytes::len),
            Ok(Some(Err(_)) | None) | Err(_) => return,
        }
    }
}

fn too_large() -> Box<Status> {
    Box::new(Status::request_too_large(&format!("limit is {MAX_BODY_BYTES}")))
}
