//! The streams under a connection: one that gives up on clients that take nothing, one that notes when bytes arrive; and what the
//! system is asked to notice.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::activity::Activity;
use super::options::ListenerOptions;

/// How often the system asks whether a client is there, within the time that it may be silent.
const PROBES: u32 = 3;
/// The system counts these in whole ones, and refuses none.
const A_SECOND: Duration = Duration::from_secs(1);

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

/// Has the system notice when the other side is gone without a word, as a machine is that lost its power or its network. HTTP/2
/// has pings for that, HTTP/1 has nothing: its watches would be held until something is to be told, and then until the system has
/// repeated it for a quarter of an hour.
pub(super) fn notice_its_end(socket: &TcpStream, options: &ListenerOptions) -> io::Result<()> {
    let socket = SockRef::from(socket);
    let keepalive = TcpKeepalive::new()
        .with_time(options.ping_interval.max(A_SECOND))
        .with_interval((options.ping_timeout / PROBES).max(A_SECOND))
        .with_retries(PROBES);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(options.ping_interval + options.ping_timeout))?;
    Ok(())
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

#[cfg(test)]
mod tests;
