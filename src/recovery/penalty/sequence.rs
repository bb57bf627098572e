//! A sequence of sparse problems, with its progress.

use std::ops::ControlFlow;

use super::error::PenaltyError;
use crate::recovery::{FantopeProblem, FantopeSolution, FantopeSolver, Progress, SolverSettings};

/// The progress of a sequence of problems.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SequenceProgress {
    /// Problems solved.
    pub solved: usize,
    /// Problems in all.
    pub total: usize,
    /// The solver's progress on the present one.
    pub solver: Progress,
}

/// Solves problems one after the other, largest penalty first, each started where the last one ended.
pub(in crate::recovery) struct Sequence<'a> {
    pub(in crate::recovery) settings: &'a SolverSettings,
    pub(in crate::recovery) progress: &'a mut dyn FnMut(&SequenceProgress) -> ControlFlow<()>,
    pub(in crate::recovery) solved: usize,
    pub(in crate::recovery) total: usize,
}

impl Sequence<'_> {
    pub(in crate::recovery) fn solve(
        &mut self,
        problem: &FantopeProblem,
        warm_start: Option<&FantopeSolution>,
    ) -> Result<FantopeSolution, PenaltyError> {
        let (solved, total) = (self.solved, self.total);
        let mut cancelled = false;
        let solution = FantopeSolver::new(*self.settings)?.solve_with(problem, warm_start, &mut |solver| {
            let flow = (self.progress)(&SequenceProgress { solved, total, solver: *solver });
            cancelled |= flow.is_break();
            flow
        })?;
        if cancelled {
            return Err(PenaltyError::Cancelled { solved, total });
        }
        self.solved += 1;
        Ok(solution)
    }
}
