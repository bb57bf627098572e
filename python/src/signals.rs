//! Ctrl-C in long kernels, which run without the interpreter's lock, and the progress that they show.

use core::mem;
use core::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ldp_pca::error::Error;
use ldp_pca::recovery::Part;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::raised;

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
type Shown = (Part, usize, Option<usize>);

/// What a kernel that [`waited`] runs has in common with the thread that waits.
#[derive(Default)]
pub(crate) struct Waiting {
    left: AtomicBool,
    /// The last state of each part since that thread looked.
    states: Mutex<Vec<Shown>>,
}

impl Waiting {
    /// `Break` when nobody waits any more.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        if self.left.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Shows the progress: of each part ten times a second, and the last state.
    pub(crate) fn show(&self, state: Shown) {
        let mut states = self.states();
        states.pop_if(|last| last.0 == state.0);
        states.push(state);
    }

    fn states(&self) -> MutexGuard<'_, Vec<Shown>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a kernel in a thread of its own, so that this one hears signals whatever the kernel does: when a handler
/// raises, nobody waits any more. The kernel then ends where it looks, and its answer is dropped. `progress` is called
/// with what the kernel shows.
pub(crate) fn waited<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    kernel: impl FnOnce(&Waiting) -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    let waiting = Arc::new(Waiting::default());
    let of_kernel = Arc::clone(&waiting);
    thread::Builder::new().spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| kernel(&of_kernel)));
        // Nobody may be there to receive it.
        drop(sender.send(outcome));
    })?;
    let mut heard = || -> PyResult<T> {
        loop {
            let receiver = &mut receiver;
            let outcome = py.detach(move || receiver.recv_timeout(INTERVAL));
            let states = mem::take(&mut *waiting.states());
            for (part, done, total) in states {
                if let Some(progress) = progress {
                    progress.call1((part.to_string(), done, total))?;
                }
            }
            match outcome {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(panic)) => resume_unwind(panic),
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the kernel's thread is gone"));
                }
            }
        }
    };
    heard().inspect_err(|_| waiting.left.store(true, Ordering::Relaxed))
}

/// Runs a kernel that shows no progress as [`waited`] does, and raises its error.
pub(crate) fn computed<T: Send + 'static, E: Into<Error> + Send + 'static>(
    py: Python<'_>,
    kernel: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    waited(py, None, move |_| kernel())?.map_err(raised)
}
