//! Ctrl-C in long kernels, which run without the interpreter's lock.

use core::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::{PyErr, PyResult, Python};

/// How often the interpreter is asked. Asking takes its lock, which another thread may hold for 5 ms.
const INTERVAL: Duration = Duration::from_millis(100);

/// Whether the interpreter wants the kernel to end.
pub(crate) struct Signals {
    asked: Instant,
    raised: Option<PyErr>,
}

impl Signals {
    pub(crate) fn new() -> Self {
        Self { asked: Instant::now(), raised: None }
    }

    /// `Break` when a signal's handler raised, in Python's main thread. Called where the lock is not held.
    pub(crate) fn flow(&mut self) -> ControlFlow<()> {
        if self.raised.is_none() && self.asked.elapsed() >= INTERVAL {
            #[allow(clippy::redundant_closure_for_method_calls, reason = "the method itself is for one lifetime only")]
            let outcome = Python::attach(|py| py.check_signals());
            self.raised = outcome.err();
            self.asked = Instant::now();
        }
        if self.raised.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The exception of the handler. It takes precedence over the outcome of a kernel that it ended.
    pub(crate) fn check(&mut self) -> PyResult<()> {
        self.raised.take().map_or(Ok(()), Err)
    }
}
