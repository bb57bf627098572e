//! Ctrl-C in long kernels, which run without the interpreter's lock, and the progress that they show.

use core::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use ldp_pca::recovery::Part;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How often the interpreter is asked. Asking takes its lock, which another thread may hold for 5 ms.
const INTERVAL: Duration = Duration::from_millis(100);

/// When the interpreter was asked last whether a signal ends the kernel.
pub(crate) struct Signals {
    asked: Instant,
}

impl Signals {
    pub(crate) fn new() -> Self {
        Self { asked: Instant::now() }
    }

    /// The exception of a signal's handler, in Python's main thread, now and then. Called where the lock is not held.
    pub(crate) fn check(&mut self) -> PyResult<()> {
        if self.asked.elapsed() < INTERVAL {
            return Ok(());
        }
        #[allow(clippy::redundant_closure_for_method_calls, reason = "the method itself is for one lifetime only")]
        let outcome = Python::attach(|py| py.check_signals());
        self.asked = Instant::now();
        outcome
    }
}

/// Hears signals in work that needs the interpreter's lock, and lets other threads have it in between.
pub(crate) fn pause(py: Python<'_>) -> PyResult<()> {
    py.detach(|| ());
    py.check_signals()
}

/// A part of the work, how much of it is done, and of how much where that is known.
pub(crate) type Shown = (Part, usize, Option<usize>);

enum Message<T> {
    Shown(Shown),
    Done(thread::Result<T>),
}

/// What a kernel that [`waited`] runs knows of the thread that waits.
pub(crate) struct Waiting<'a> {
    left: &'a AtomicBool,
    send: &'a mut dyn FnMut(Shown),
    sent: Instant,
    /// What was too soon to be sent.
    latest: Option<Shown>,
}

impl Waiting<'_> {
    /// `Break` when nobody waits any more.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        if self.left.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Shows the progress: of each part ten times a second, and the last state.
    pub(crate) fn show(&mut self, state: Shown) {
        if self.latest.is_some_and(|latest| latest.0 != state.0) {
            self.flush();
        }
        self.latest = Some(state);
        if self.sent.elapsed() >= INTERVAL {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if let Some(state) = self.latest.take() {
            (self.send)(state);
            self.sent = Instant::now();
        }
    }
}

/// Runs a kernel in a thread of its own, so that this one hears signals whatever the kernel does: when a handler
/// raises, nobody waits any more. The kernel then ends where it looks, and its answer is dropped. `progress` is called
/// with what the kernel shows.
pub(crate) fn waited<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    kernel: impl FnOnce(&mut Waiting<'_>) -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    let left = Arc::new(AtomicBool::new(false));
    let of_kernel = Arc::clone(&left);
    thread::Builder::new().spawn(move || run(kernel, &of_kernel, &sender))?;
    let mut heard = || -> PyResult<T> {
        loop {
            let receiver = &mut receiver;
            match py.detach(move || receiver.recv_timeout(INTERVAL)) {
                Ok(Message::Shown((part, done, total))) => {
                    if let Some(progress) = progress {
                        progress.call1((part.to_string(), done, total))?;
                    }
                }
                Ok(Message::Done(Ok(answer))) => return Ok(answer),
                Ok(Message::Done(Err(panic))) => resume_unwind(panic),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the kernel's thread is gone"));
                }
            }
            py.check_signals()?;
        }
    };
    heard().inspect_err(|_| left.store(true, Ordering::Relaxed))
}

/// Sends what the kernel shows, and what it gives. Nobody may be there to receive it.
fn run<T>(kernel: impl FnOnce(&mut Waiting<'_>) -> T, left: &AtomicBool, sender: &Sender<Message<T>>) {
    let mut send = |state| drop(sender.send(Message::Shown(state)));
    let mut waiting = Waiting { left, send: &mut send, sent: Instant::now(), latest: None };
    let outcome = catch_unwind(AssertUnwindSafe(|| kernel(&mut waiting)));
    waiting.flush();
    drop(sender.send(Message::Done(outcome)));
}
