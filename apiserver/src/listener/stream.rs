//! The tasks of an HTTP/2 connection's streams. A stream whose client takes nothing is reset, and only that one: clients
//! run all their watches over one connection.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::task::TaskTracker;

tokio::task_local! {
    static PROGRESS: Arc<Progress>;
}

/// Whether a stream's last piece waits for the client: an odd number while it does, and another one for each piece.
#[derive(Debug, Default)]
pub(super) struct Progress(AtomicU64);

/// Starts a task for each stream.
#[derive(Clone)]
pub(super) struct StreamExecutor {
    tasks: TaskTracker,
    write_stall: Duration,
}

pin_project_lite::pin_project! {
    /// A stream's task, for as long as the client takes what it is sent.
    struct Unstalled<F> {
        #[pin]
        stream: F,
        progress: Arc<Progress>,
        write_stall: Duration,
        // The piece waited for, and until when.
        waiting: Option<(u64, Pin<Box<Sleep>>)>,
    }
}

// === impl Progress ===

impl Progress {
    /// The progress of the stream whose task this is. HTTP/1 has none: there the socket alone tells.
    pub(super) fn of_this_stream() -> Option<Arc<Self>> {
        PROGRESS.try_with(Arc::clone).ok()
    }

    /// There is room for the next piece.
    pub(super) fn asked(&self) {
        let count = self.0.load(Ordering::Relaxed);
        self.0.store(count.next_multiple_of(2), Ordering::Relaxed);
    }

    /// A piece was handed on.
    pub(super) fn handed_on(&self) {
        let count = self.0.load(Ordering::Relaxed);
        self.0.store(count.next_multiple_of(2) + 1, Ordering::Relaxed);
    }

    /// The piece that waits, if one does.
    fn waiting(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|count| count % 2 == 1)
    }
}

// === impl StreamExecutor ===

impl StreamExecutor {
    pub(super) fn new(tasks: TaskTracker, write_stall: Duration) -> Self {
        Self { tasks, write_stall }
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, stream: F) {
        let progress = Arc::new(Progress::default());
        let stream = PROGRESS.scope(progress.clone(), stream);
        let task = Unstalled { stream, progress, write_stall: self.write_stall, waiting: None };
        self.tasks.spawn(task);
    }
}

// === impl Unstalled ===

impl<F: Future<Output = ()>> Future for Unstalled<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if this.stream.poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let Some(piece) = this.progress.waiting() else { return Poll::Pending };
        let until = match this.waiting {
            Some((waited, until)) => {
                if *waited != piece {
                    *waited = piece;
                    until.as_mut().reset(Instant::now() + *this.write_stall);
                }
                until
            }
            None => &mut this.waiting.insert((piece, Box::pin(sleep(*this.write_stall)))).1,
        };
        if until.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        // Dropping the stream resets it.
        tracing::debug!("reset a stream whose client takes nothing");
        Poll::Ready(())
    }
}
