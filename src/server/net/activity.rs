//! What a connection is doing, and since when.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Milliseconds since the server started, as of the last sweep: reading it costs a load.
#[derive(Debug, Default)]
pub(super) struct Clock(AtomicU64);

impl Clock {
    pub(super) fn set(&self, milliseconds: u64) {
        self.0.store(milliseconds, Relaxed);
    }

    pub(super) fn now(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Waits for the next request.
    Idle,
    /// Receives the head of a request, or shakes hands.
    Head,
    /// Has a request, until its answer is sent.
    Busy,
}

/// A connection's phase and its times.
#[derive(Debug)]
pub(super) struct Activity {
    clock: Arc<Clock>,
    /// Four times the time since when, and the phase.
    phase: AtomicU64,
    /// One more than the time since when the other side takes no bytes; 0 when it does.
    stalled: AtomicU64,
}

impl Activity {
    /// Of a connection that is just made: a head is due.
    pub(super) fn new(clock: &Arc<Clock>) -> Self {
        let activity = Self { clock: Arc::clone(clock), phase: AtomicU64::new(0), stalled: AtomicU64::new(0) };
        activity.enter(Phase::Head);
        activity
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase.store(self.clock.now() << 2 | phase as u64, Relaxed);
    }

    /// The phase, and for how many milliseconds it has been the one.
    pub(super) fn phase(&self) -> (Phase, u64) {
        let packed = self.phase.load(Relaxed);
        let phase = match packed & 3 {
            0 => Phase::Idle,
            1 => Phase::Head,
            _ => Phase::Busy,
        };
        (phase, self.clock.now().saturating_sub(packed >> 2))
    }

    /// For how many milliseconds the other side has taken nothing of what is there for it.
    pub(super) fn stalled(&self) -> u64 {
        match self.stalled.load(Relaxed) {
            0 => 0,
            since => (self.clock.now() + 1).saturating_sub(since),
        }
    }

    fn received(&self) {
        if self.phase.load(Relaxed) & 3 == Phase::Idle as u64 {
            self.enter(Phase::Head);
        }
    }

    fn sent<T>(&self, sent: &Poll<T>) {
        match (sent.is_pending(), self.stalled.load(Relaxed)) {
            (true, 0) => self.stalled.store(self.clock.now() + 1, Relaxed),
            (false, 1..) => self.stalled.store(0, Relaxed),
            _ => {}
        }
    }
}

/// A stream whose traffic is noted.
pub(super) struct Watched<T> {
    pub(super) stream: T,
    pub(super) activity: Arc<Activity>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, into))?;
        if into.filled().len() > before {
            self.activity.received();
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.activity.sent(&sent);
        sent
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.activity.sent(&sent);
        sent
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The body of an answer. The connection is idle again when it is gone: sent or given up.
pub(super) struct AnswerBody {
    body: Body,
    activity: Arc<Activity>,
}

impl AnswerBody {
    pub(super) fn new(body: Body, activity: Arc<Activity>) -> Self {
        Self { body, activity }
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.activity.enter(Phase::Idle);
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
