//! An answer's body on its way: in pieces, so that progress shows, and counted as under way until its end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::activity::InFlight;
use super::stream::Progress;

/// The largest piece. A client must take one in the time that a stall may last.
const PIECE_BYTES: usize = 64 << 10;

pin_project_lite::pin_project! {
    /// The body of an answer, or none.
    pub(super) struct Answer<B> {
        #[pin]
        body: Option<B>,
        // What was produced and not yet handed on.
        rest: Bytes,
        handed_on: usize,
        progress: Option<Arc<Progress>>,
        _in_flight: InFlight,
    }
}

// === impl Answer ===

impl<B> Answer<B> {
    pub(super) fn new(body: Option<B>, in_flight: InFlight, progress: Option<Arc<Progress>>) -> Self {
        Self { body, rest: Bytes::new(), handed_on: 0, progress, _in_flight: in_flight }
    }
}

impl<B: Body<Data = Bytes>> Body for Answer<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        if let Some(progress) = this.progress {
            progress.asked();
        }
        if this.rest.is_empty() {
            let Some(body) = this.body.as_pin_mut() else { return Poll::Ready(None) };
            match ready!(body.poll_frame(cx)).transpose()?.map(Frame::into_data) {
                None => return Poll::Ready(None),
                Some(Ok(data)) => *this.rest = data,
                Some(Err(frame)) => return Poll::Ready(Some(Ok(frame))),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE_BYTES));
        *this.handed_on = this.handed_on.saturating_add(piece.len());
        if let Some(progress) = this.progress {
            progress.handed_on();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    /// Whoever is told that a piece is the last one lets go of this body while the piece still waits for the client. Only
    /// small answers may: of a large one, no end is seen before the client has made room for all of it.
    fn is_end_stream(&self) -> bool {
        let small = self.progress.is_none() || self.handed_on <= PIECE_BYTES;
        small && self.rest.is_empty() && self.body.as_ref().is_none_or(Body::is_end_stream)
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
