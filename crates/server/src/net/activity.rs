//! The phase of a connection, and its start.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use futures_util::task::AtomicWaker;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::head::HeadScan;

/// The state of a connection.
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
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Milliseconds since the server started, as of the last sweep: reading it costs a load.
    clock: Arc<AtomicU64>,
    /// Four times the start of the phase, plus the phase.
    phase: AtomicU64,
    /// One more than the time at which the other side stopped taking bytes; 0 while it takes them.
    stalled: AtomicU64,
    /// Whether it has to release its buffers, and the task to wake.
    resting: AtomicBool,
    waker: AtomicWaker,
    /// Whether the incoming head announces a length.
    announced: AtomicBool,
    /// Whether a part of the last request's body may still arrive.
    unread: AtomicBool,
}

impl Activity {
    /// The activity of a new connection: a head is due.
    pub(super) fn new(clock: &Arc<AtomicU64>) -> Self {
        let activity = Self { clock: Arc::clone(clock), ..Self::default() };
        activity.enter(Phase::Head);
        activity
    }

    /// Asks an idle connection to release its buffers.
    pub(super) fn rest(&self) {
        if !self.resting.swap(true, Relaxed) {
            self.waker.wake();
        }
    }

    /// Registers the task to wake when the connection has to rest.
    pub(super) fn tell(&self, context: &Context<'_>) {
        self.waker.register(context.waker());
    }

    /// Whether the connection has to rest: it has no request, the last one was read, and its answer was sent.
    pub(super) fn is_to_rest(&self) -> bool {
        self.resting.load(Relaxed)
            && self.stalled.load(Relaxed) == 0
            && !self.unread.load(Relaxed)
            && self.is(Phase::Idle)
    }

    fn now(&self) -> u64 {
        self.clock.load(Relaxed)
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase.store(self.now() << 2 | phase as u64, Relaxed);
    }

    /// The phase, and how many milliseconds it has lasted.
    pub(super) fn phase(&self) -> (Phase, u64) {
        let packed = self.phase.load(Relaxed);
        let phase = match packed & 3 {
            0 => Phase::Idle,
            1 => Phase::Head,
            _ => Phase::Busy,
        };
        (phase, self.now().saturating_sub(packed >> 2))
    }

    /// How many milliseconds the other side has taken none of the waiting bytes.
    pub(super) fn stalled(&self) -> u64 {
        match self.stalled.load(Relaxed) {
            0 => 0,
            since => (self.now() + 1).saturating_sub(since),
        }
    }

    fn received(&self) {
        if self.is(Phase::Idle) {
            self.enter(Phase::Head);
            self.resting.store(false, Relaxed);
        }
    }

    /// Whether the now complete head announced a length.
    pub(super) fn take_announced(&self) -> bool {
        self.announced.swap(false, Relaxed)
    }

    fn is(&self, phase: Phase) -> bool {
        self.phase.load(Relaxed) & 3 == phase as u64
    }

    fn sent<T>(&self, sent: &Poll<T>) {
        match (sent.is_pending(), self.stalled.load(Relaxed)) {
            (true, 0) => self.stalled.store(self.now() + 1, Relaxed),
            (false, 1..) => self.stalled.store(0, Relaxed),
            _ => {}
        }
    }
}

/// A stream whose traffic is recorded.
pub(super) struct Watched<T> {
    stream: T,
    activity: Arc<Activity>,
    /// Bytes that were read from it before.
    ahead: Bytes,
    head: HeadScan,
    /// The bytes read at once before a request arrives.
    head_bytes: usize,
}

impl<T> Watched<T> {
    pub(super) fn new(stream: T, activity: Arc<Activity>, head_bytes: usize) -> Self {
        Self { stream, activity, ahead: Bytes::new(), head: HeadScan::default(), head_bytes }
    }

    /// Puts bytes back in front of the stream, to be read again.
    pub(super) fn put_back(self, ahead: Bytes) -> Self {
        self.activity.received();
        Self { ahead, ..self }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let count = self.ahead.len().min(into.remaining());
            into.put_slice(&self.ahead.split_to(count));
            return Poll::Ready(Ok(()));
        }
        let (before, head_bytes) = (into.filled().len(), self.head_bytes);
        let has_request = self.activity.is(Phase::Busy);
        if self.activity.is(Phase::Idle) {
            self.head = HeadScan::default();
        }
        if into.remaining() > head_bytes && !has_request {
            let mut part = ReadBuf::new(into.initialize_unfilled_to(head_bytes));
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut part))?;
            let count = part.filled().len();
            into.advance(count);
        } else {
            ready!(Pin::new(&mut self.stream).poll_read(context, into))?;
        }
        if into.filled().len() > before {
            self.activity.received();
            if !has_request {
                self.head.read(&into.filled()[before..]);
                if self.head.found {
                    self.activity.announced.store(true, Relaxed);
                }
            }
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

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A body whose end updates the connection's activity.
pub(in super::super) struct Noted<B> {
    body: B,
    activity: Arc<Activity>,
    /// Called when the body is dropped.
    ended: fn(&B, &Activity),
}

/// Until it was read to its end, or the next request arrives, the next bytes on the connection are unknown.
pub(in super::super) type RequestBody = Noted<Incoming>;

/// The connection is idle again when it is gone: sent or given up.
pub(super) type AnswerBody = Noted<Body>;

impl RequestBody {
    pub(super) fn of_request(body: Incoming, activity: Arc<Activity>) -> Self {
        activity.unread.store(!body.is_end_stream(), Relaxed);
        let ended = |body: &Incoming, activity: &Activity| {
            if body.is_end_stream() {
                activity.unread.store(false, Relaxed);
            }
        };
        Self { body, activity, ended }
    }
}

impl AnswerBody {
    pub(super) fn of_answer(body: Body, activity: Arc<Activity>) -> Self {
        Self { body, activity, ended: |_, activity| activity.enter(Phase::Idle) }
    }
}

impl<B> Drop for Noted<B> {
    fn drop(&mut self) {
        (self.ended)(&self.body, &self.activity);
    }
}

impl<B: HttpBody + Unpin> HttpBody for Noted<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
