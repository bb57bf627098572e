//! A sequence of sparse problems, with its progress.

use std::ops::ControlFlow;

use super::error::PathError;
use crate::{FantopeProblem, FantopeSolution, FantopeSolver, Progress, SolverSettings};

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
pub struct Sequence<'a> {
    /// The solver's settings.
    pub settings: &'a SolverSettings,
    /// Called whenever the solver certifies its gap; may end it all.
    pub progress: &'a mut dyn FnMut(&SequenceProgress) -> ControlFlow<()>,
    /// Problems solved.
    pub solved: usize,
    /// Problems in all.
    pub total: usize,
}

impl Sequence<'_> {
    /// Solves the next problem, started from the solution of a similar one when given.
    ///
    /// # Errors
    ///
    /// [`PathError::Cancelled`], or [`PathError::Fantope`] as [`FantopeSolver::solve_with`].
    pub fn solve(
        &mut self,
        problem: &FantopeProblem,
        warm_start: Option<&FantopeSolution>,
    ) -> Result<FantopeSolution, PathError> {
        let (solved, total) = (self.solved, self.total);
        let mut cancelled = false;
        let solution = FantopeSolver::new(*self.settings)?.solve_with(problem, warm_start, &mut |solver| {
            let flow = (self.progress)(&SequenceProgress { solved, total, solver: *solver });
            cancelled |= flow.is_break();
            flow
        })?;
        if cancelled {
            return Err(PathError::Cancelled { solved, total });
        }
        self.solved += 1;
        Ok(solution)
    }
}
