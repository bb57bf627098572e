//! A question about the reports of a collection.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::super::{
    DECOMPOSED, FantopeError, FantopeProblem, FantopeSolution, FantopeSolver, FeatureTest, PenaltyChoice, Progress,
    Rank, SolverSettings, SolverStatus,
};
use super::AnswerError;
use super::watch::Stop;
use crate::task::Task;

/// A question about the reports of a collection. [`Question::new`] asks only for plain components.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The number of components, k.
    pub rank: Rank,
    /// Whether a test of the components against the noise finds that number, in the place of `rank`. Where there is a
    /// use for reports held out, they confirm the components that it finds. It has no limit of features: without the
    /// number there is no answer.
    #[serde(default)]
    pub find_rank: bool,
    /// The choice of the penalty of sparse components; `None` for plain components.
    pub penalty: Option<PenaltyChoice>,
    /// Relative duality gap at which a sparse solution counts as optimal. `None`: the gap that adds one to two
    /// hundredths of the noise to the guaranteed error of X, from 1e-6 to 1e-3
    /// ([`FantopeSolver::solve_within_noise`]).
    pub tolerance: Option<f64>,
    /// The number of penalties to solve as well, from the largest that changes anything to a quarter of the default.
    pub path: Option<usize>,
    /// Whether to add simpler methods on the same estimate beside sparse components.
    pub baselines: When,
    /// What to do with reports held out, where there are folds, up to 2,000 features.
    pub held_out: HeldOutUse,
    /// Whether the components are tested against the noise, one after the other, up to 2,000 features.
    pub test_rank: bool,
    /// Whether the error is predicted, up to 2,000 features.
    pub predict: bool,
    /// How often the noise is drawn again, for an interval of the error.
    pub bootstrap: Option<usize>,
    /// Seed of those draws.
    pub bootstrap_seed: u64,
    /// A number of hostile reports, to bound how far they can move an eigenvalue.
    pub hostile: Option<u64>,
    /// The rate of false discoveries at which the features that take part are named: above 0 and below 1. For tasks
    /// with centring and a clip alone: about others the rate says nothing ([`AnswerError::Selection`]).
    pub select: Option<f64>,
}

/// When to do work that takes full eigendecompositions.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Never.
    #[default]
    Never,
    /// Up to 2,000 features.
    Quick,
    /// Always.
    Always,
}

/// What reports that an answer was not found from are used for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldOutUse {
    /// Nothing.
    #[default]
    Nothing,
    /// Measuring the variance that the components capture.
    Measure,
    /// Measuring the variance that the components capture, and choosing the method and its penalty where the question
    /// has no penalty.
    Choose,
}

impl Question {
    /// Asks for plain components of this rank.
    #[must_use]
    pub fn new(rank: Rank) -> Self {
        Self {
            rank,
            find_rank: false,
            penalty: None,
            tolerance: None,
            path: None,
            baselines: When::Never,
            held_out: HeldOutUse::Nothing,
            test_rank: false,
            predict: false,
            bootstrap: None,
            bootstrap_seed: 1,
            hostile: None,
            select: None,
        }
    }

    /// Refuses to name features by a rate that is none, or from reports that do not say what features covary.
    pub(super) fn check_selection(&self, task: &Task) -> Result<(), AnswerError> {
        let Some(rate) = self.select else { return Ok(()) };
        match FeatureTest::objection(task) {
            _ if !(rate > 0.0 && rate < 1.0) => Err(AnswerError::Rate(rate)),
            Some(objection) => Err(AnswerError::Selection(objection)),
            None => Ok(()),
        }
    }
}

/// Solves a sparse problem of an estimate with this noise in an off-diagonal entry, where that is known: otherwise the
/// tolerance is 1e-6 by default. `watch` is called at every certificate.
///
/// # Errors
/// As [`FantopeSolver`].
pub fn solve(
    problem: &FantopeProblem,
    tolerance: Option<f64>,
    noise_deviation: Option<f64>,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<Stop>,
) -> Result<FantopeSolution, FantopeError> {
    let mut stop = None;
    let mut progress = |state: &Progress| {
        let flow = watch(state);
        stop = flow.break_value();
        flow.map_break(drop)
    };
    let solver = FantopeSolver::new(settings(tolerance))?;
    let mut solution = match noise_deviation {
        Some(noise) if tolerance.is_none() => solver.solve_within_noise(problem, noise, &mut progress)?,
        _ => solver.solve_with(problem, None, &mut progress)?,
    };
    if stop == Some(Stop::OutOfTime) && solution.status == SolverStatus::Cancelled {
        solution.status = SolverStatus::BudgetExhausted;
    }
    Ok(solution)
}

/// The settings of [`FantopeSolver`] with this tolerance.
pub(super) fn settings(tolerance: Option<f64>) -> SolverSettings {
    let usual = SolverSettings::default();
    SolverSettings { tolerance: tolerance.unwrap_or(usual.tolerance), ..usual }
}

impl When {
    pub(super) fn decompose(self, dimension: usize) -> bool {
        match self {
            Self::Never => false,
            Self::Quick => dimension <= DECOMPOSED,
            Self::Always => true,
        }
    }
}
