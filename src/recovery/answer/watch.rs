//! The progress of an answer, and its end when time is up.

use std::ops::ControlFlow;

use super::super::{BootstrapProgress, Progress, SequenceProgress};
use super::{Part, Unfinished};

/// The progress of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// A part after the components begins: who stops here goes without it.
    Beginning(Part),
    /// Penalties are validated.
    Validating(SequenceProgress),
    /// A path is solved.
    Path(SequenceProgress),
    /// The sparse problem is solved.
    Solving(Progress),
    /// The noise is drawn again.
    Bootstrapping(BootstrapProgress),
}

/// A callback's reason to stop the work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stop {
    /// Nobody waits for the answer. The last solution is returned as
    /// [`SolverStatus::Cancelled`](super::super::SolverStatus::Cancelled), and nothing follows.
    Cancelled,
    /// Time is up. The answer has what was found, the last solution as
    /// [`SolverStatus::BudgetExhausted`](super::super::SolverStatus::BudgetExhausted), and
    /// [`Missing::unfinished`](super::Missing::unfinished) says what is missing.
    OutOfTime,
}

/// The callback that receives the progress, and may stop the work.
pub type Watch<'a> = dyn FnMut(&Step) -> ControlFlow<Stop> + 'a;

/// A [`Watch`] that, once stopped, stays so until the next part begins, and the parts that this left unfinished.
pub(super) struct Watched<'a, 'b> {
    watch: &'a mut Watch<'b>,
    pub(super) stop: Option<Stop>,
    pub(super) unfinished: Vec<Unfinished>,
}

impl<'a, 'b> Watched<'a, 'b> {
    pub(super) fn new(watch: &'a mut Watch<'b>) -> Self {
        Self { watch, stop: None, unfinished: vec![] }
    }

    pub(super) fn flow(&mut self, step: &Step) -> ControlFlow<Stop> {
        self.stop = self.stop.or_else(|| (self.watch)(step).break_value());
        self.stop.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }

    pub(super) fn step(&mut self, step: &Step) -> ControlFlow<()> {
        unreasoned(self.flow(step))
    }

    /// Whether to do a part of so many pieces: the callback decides anew.
    pub(super) fn begin(&mut self, part: Part, pieces: usize) -> bool {
        self.stop = None;
        let begun = self.flow(&Step::Beginning(part)).is_continue();
        if !begun {
            self.missing(part, 0, pieces);
        }
        begun
    }

    pub(super) fn is_late(&self) -> bool {
        self.stop == Some(Stop::OutOfTime)
    }

    pub(super) fn missing(&mut self, part: Part, done: usize, of: usize) {
        self.unfinished.push(Unfinished { part, done: done as u64, of: Some(of as u64) });
    }
}

/// The control flow of a callback without a reason.
pub(super) fn unreasoned(flow: ControlFlow<Stop>) -> ControlFlow<()> {
    flow.map_break(|_| ())
}
