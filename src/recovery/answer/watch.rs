//! The progress of an answer, its end when time is up, and its last part: what is missing then.

use std::fmt;
use std::ops::ControlFlow;

use serde::Serialize;

use super::super::{PathError, PenaltyError, Progress, SequenceProgress};

/// What was asked for and is missing.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Missing {
    /// The parts that time did not suffice for ([`Stop::OutOfTime`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<Unfinished>,
}

/// A part of an answer that time did not suffice for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Unfinished {
    /// The part.
    pub part: Part,
    /// How much of it was done: problems, iterations, methods, replicates, records.
    pub done: u64,
    /// How much there was to do; none where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
}

/// The parts of an answer that may take long.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Confirming the rank on reports held out: where it is unfinished, nothing is confirmed.
    Rank,
    /// Cross-validation of the penalty: where it is unfinished, the penalty is that of `auto`.
    Penalty,
    /// Comparing methods on reports held out: where it is unfinished, the components are those that were asked for, or
    /// plain ones.
    HeldOut,
    /// The sparse solution: where it is unfinished, its certified gap is wider than asked for.
    Solution,
    /// The sequence of penalties.
    Path,
    /// Simpler methods on the same estimate.
    Baselines,
    /// The interval of the error: where it is unfinished, it is of fewer replicates, or missing below 20.
    Bootstrap,
    /// The comparison with a reference.
    Reference,
    /// The comparison with another collection: where it is unfinished, the p-value is of fewer replicates, or missing
    /// below 20.
    Other,
}

/// The key for programs, on every interface.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The progress of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// A part after the components begins: who stops here goes without it.
    Beginning(Part),
    /// The sparse problem is solved.
    Solving(Progress),
    /// Some of the problems or the replicates of a part are done.
    Done {
        /// The part; of all that is validated, [`Part::Penalty`].
        part: Part,
        /// The number done.
        done: usize,
        /// The number that there is to do.
        of: usize,
    },
}

/// A callback's reason to stop the work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stop {
    /// Nobody waits for the answer. The last solution is returned as
    /// [`SolverStatus::Cancelled`](super::super::SolverStatus::Cancelled), and nothing follows.
    Cancelled,
    /// Time is up. The answer has what was found, the last solution as
    /// [`SolverStatus::BudgetExhausted`](super::super::SolverStatus::BudgetExhausted), and
    /// [`Missing::unfinished`] says what is missing.
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
        self.flow(step).map_break(drop)
    }

    pub(super) fn solved(&mut self, part: Part, state: &SequenceProgress) -> ControlFlow<()> {
        self.step(&Step::Done { part, done: state.solved, of: state.total })
    }

    /// Whether to do a part of so many pieces, where their number is known: the callback decides anew.
    pub(super) fn begin(&mut self, part: Part, pieces: Option<usize>) -> bool {
        self.stop = None;
        let begun = self.flow(&Step::Beginning(part)).is_continue();
        if !begun {
            self.unfinished.push(Unfinished { part, done: 0, of: pieces.map(|of| of as u64) });
        }
        begun
    }

    pub(super) fn is_late(&self) -> bool {
        self.stop == Some(Stop::OutOfTime)
    }

    /// What came of the problems of a part; nothing where time was up before the last one.
    pub(super) fn in_time<T>(&mut self, part: Part, found: Result<T, PenaltyError>) -> Result<Option<T>, PenaltyError> {
        match found {
            Err(PenaltyError::Path(PathError::Cancelled { solved, total })) if self.is_late() => {
                self.missing(part, solved, total);
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    pub(super) fn missing(&mut self, part: Part, done: usize, of: usize) {
        self.unfinished.push(Unfinished { part, done: done as u64, of: Some(of as u64) });
    }
}
