//! An answer's body on its way: in pieces, so that progress shows, and counted as under way until its end.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;
use tokio_util::sync::DropGuard;

use super::activity::InFlight;
use super::handler::FinishBy;
use super::stream::Progress;

/// The largest piece that a stream is given at once: one frame. A client must make room for one in the time that a stall
/// may last, and what waits for a client after the end of its answer is at most one.
const PIECE_BYTES: usize = 16 << 10;

pin_project_lite::pin_project! {
    /// The body of an answer, or none.
    pub(super) struct Answer<B> {
        #[pin]
        body: Option<B>,
        // What was produced and not yet handed on.
        rest: Bytes,
        progress: Option<Arc<Progress>>,
        finish_by: Option<FinishBy>,
        is_begun: bool,
        // Says good-bye on this connection. Clients that hear that first may take it for the answer.
        goodbye: Option<DropGuard>,
        _in_flight: InFlight,
    }
}

// === impl Answer ===

impl<B> Answer<B> {
    pub(super) fn new(body: Option<B>, in_flight: InFlight, progress: Option<Arc<Progress>>) -> Self {
        let rest = Bytes::new();
        Self { body, rest, progress, finish_by: None, is_begun: false, goodbye: None, _in_flight: in_flight }
    }

    /// Until when the client must have taken it.
    pub(super) fn finish_by(mut self, finish_by: Option<FinishBy>) -> Self {
        self.finish_by = finish_by;
        self
    }

    /// Says good-bye as soon as what there is of the answer is on its way.
    pub(super) fn then(mut self, goodbye: Option<DropGuard>) -> Self {
        self.goodbye = goodbye;
        self
    }
}

/// The client has not taken its answer in time.
#[derive(Debug, thiserror::Error)]
#[error("the client did not take the answer in time")]
struct TooSlow;

impl<B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>> Body for Answer<B> {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.project();
        if let Some(progress) = this.progress {
            progress.asked();
        }
        let is_begun = this.is_begun;
        if *is_begun && this.finish_by.is_some_and(|by| Instant::now() > by.0) {
            return Poll::Ready(Some(Err(TooSlow.into())));
        }
        if *is_begun {
            drop(this.goodbye.take());
        }
        // Looking at the clock costs more than a small answer, which is one piece.
        *is_begun = true;
        if this.rest.is_empty() {
            let Some(body) = this.body.as_pin_mut() else { return Poll::Ready(None) };
            let frame = body.poll_frame(cx);
            if frame.is_pending() {
                drop(this.goodbye.take());
            }
            match ready!(frame).transpose().map_err(Into::into)?.map(Frame::into_data) {
                None => return Poll::Ready(None),
                Some(Ok(data)) => *this.rest = data,
                Some(Err(frame)) => return Poll::Ready(Some(Ok(frame))),
            }
        }
        let piece = match this.progress {
            Some(progress) => {
                progress.handed_on();
                this.rest.split_to(this.rest.len().min(PIECE_BYTES))
            }
            // Without streams, the socket tells whether the client takes anything.
            None => std::mem::take(this.rest),
        };
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint);
        let rest = self.rest.len() as u64;
        let (lower, upper) = (hint.lower(), hint.upper());
        if let Some(upper) = upper {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(lower.saturating_add(rest));
        hint
    }
}
