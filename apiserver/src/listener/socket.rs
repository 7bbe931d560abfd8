//! The streams under a connection: one that gives up on clients that take nothing, one that notes when bytes arrive.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::activity::Activity;

/// A socket on which writing fails once nothing could be written for a while: what waits for a client that reads nothing
/// must not be held for ever.
pub(super) struct StallGuard<S> {
    socket: S,
    write_stall: Duration,
    /// Runs while a write waits.
    until: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

/// A stream that tells an [`Activity`] when bytes arrive.
pub(super) struct Noting<S> {
    stream: S,
    activity: Option<Arc<Activity>>,
}

// === impl StallGuard ===

impl<S> StallGuard<S> {
    pub(super) fn new(socket: S, write_stall: Duration) -> Self {
        Self { socket, write_stall, until: None, waiting: false }
    }

    /// Passes on the outcome of a write, unless it has been waiting for too long.
    fn watch(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if outcome.is_ready() {
            self.waiting = false;
            return outcome;
        }
        let stall = self.write_stall;
        let until = self.until.get_or_insert_with(|| Box::pin(sleep(stall)));
        if !self.waiting {
            self.waiting = true;
            until.as_mut().reset(Instant::now() + stall);
        }
        match until.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                let problem = format!("the client took nothing for {stall:?}");
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, problem)))
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallGuard<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallGuard<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.socket).poll_write(cx, data);
        self.watch(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.socket).poll_write_vectored(cx, data);
        self.watch(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

// === impl Noting ===

impl<S> Noting<S> {
    /// Tells `activity` of what arrives, if there is one to tell.
    pub(super) fn new(stream: S, activity: Option<Arc<Activity>>) -> Self {
        Self { stream, activity }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Noting<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, into);
        if let Some(activity) = &self.activity
            && into.filled().len() > before
        {
            activity.received();
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noting<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
