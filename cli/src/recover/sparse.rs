//! The sparse method: its penalty, its solution, and the simpler methods beside it.

use std::ops::ControlFlow;

use clap::Args;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::covariance::Covariance;
use ldp_pca::linalg::symmetric_eigenvalues;
use ldp_pca::recovery::{
    CROSS_VALIDATION_FACTORS, Components, DEFAULT_PENALTY_FACTOR, FantopeProblem, Penalty, PenaltyChoice, PenaltyPath,
    PenaltySelection, Rank, RecoveryError, SolverSettings, default_penalty, principal_components, soft_threshold,
    sparse_noise_edge,
};
use ldp_pca::subspace::{Subspace, sin_theta_squared};
use ldp_pca::task::Task;

use super::Recovered;
use super::result::{BaselineResult, Baselines, CrossValidationResult, PathResult, RecoverResult, SparseResult};
use crate::error::Result;
use crate::output::bar;
use crate::solve::{self, SolverArguments};

/// The widest gap at which cross-validation and the path stop: neither scores nor sizes of supports need more digits.
const SEQUENCE_TOLERANCE: f64 = 1e-4;

/// The most features for which all eigenvalues are computed unasked: beyond, that takes longer than the sparse solution.
const DECOMPOSED: usize = 2_000;

#[derive(Args)]
pub(super) struct SparseArguments {
    /// Recover sparse components, by the Fantope program
    #[arg(long)]
    pub(super) sparse: bool,
    /// Penalty of the Fantope program: auto (0.5 × noise × sqrt(ln d)), cv (cross-validated over the task's folds), or
    /// a number in the units of the covariance
    #[arg(long, value_name = "auto|cv|NUMBER", default_value = "auto", value_parser = penalty_choice,
        requires = "sparse", allow_hyphen_values = true)]
    penalty: PenaltyChoice,
    /// Solve a sequence of so many penalties too, from the largest that changes anything to a quarter of `auto`, and
    /// show what each gives
    #[arg(long, value_name = "POINTS", num_args = 0..=1, require_equals = true, default_missing_value = "20",
        value_parser = clap::value_parser!(u16).range(2..=1000), requires = "sparse")]
    path: Option<u16>,
    #[command(flatten)]
    solver: SolverArguments,
}

/// Parses `auto`, `cv` or a penalty.
fn penalty_choice(text: &str) -> core::result::Result<PenaltyChoice, String> {
    match text {
        "auto" => Ok(PenaltyChoice::Auto { factor: DEFAULT_PENALTY_FACTOR }),
        "cv" => Ok(PenaltyChoice::CrossValidated { factors: CROSS_VALIDATION_FACTORS.to_vec() }),
        _ => match solve::penalty(text) {
            Err(_) if text.parse::<f64>().is_err() => Err(format!("'{text}' is neither auto, nor cv, nor a number")),
            parsed => parsed.map(PenaltyChoice::Value),
        },
    }
}

impl SparseArguments {
    /// Finds sparse components, and what simpler methods give: always when `compare`, otherwise when that is quick.
    pub(super) fn recover(
        &self,
        aggregate: &Aggregate,
        covariance: &Covariance,
        task: &Task,
        rank: Rank,
        compare: bool,
    ) -> Result<Recovered> {
        let selection = self.select(covariance, aggregate, task, rank)?;
        let penalty = selection.penalty;
        let path = self.path.map(|points| self.solve_path(covariance, rank, points.into())).transpose()?;
        let solution = self.solver.solve(&FantopeProblem::new(covariance.matrix(), rank, penalty)?)?;
        let found = Subspace::new(&solution.components)?;
        let names = task.schema().feature_names();
        let spectrum = if compare || task.dimension() <= DECOMPOSED {
            Some(principal_components(covariance.matrix(), rank)?)
        } else {
            None
        };
        let baselines = match &spectrum {
            Some(plain) => {
                let thresholded = principal_components(&soft_threshold(covariance.matrix(), penalty), rank)?;
                Some(Baselines {
                    soft_threshold: BaselineResult::new(&thresholded, covariance, &found, &names)?,
                    pca: BaselineResult::new(plain, covariance, &found, &names)?,
                })
            }
            None => None,
        };
        let mut result = RecoverResult::new(covariance, task, &solution.components, &solution.variances);
        result.method = "fantope";
        result.sparse = Some(SparseResult {
            status: solution.status.name(),
            penalty: penalty.value(),
            penalty_choice: match self.penalty {
                PenaltyChoice::Auto { .. } => "auto",
                PenaltyChoice::CrossValidated { .. } => "cv",
                PenaltyChoice::Value(_) => "value",
            },
            objective: solution.objective,
            relative_gap: solution.relative_gap,
            iterations: solution.iterations,
            support: solution.support.iter().map(|&row| names[row].clone()).collect(),
            noise_edge: sparse_noise_edge(
                covariance.noise_deviation(),
                task.dimension(),
                solution.support.len(),
                covariance.noise_edge(),
            ),
            cross_validation: selection.cross_validation.as_ref().map(CrossValidationResult::of),
            baselines,
        });
        result.path = path.map(|path| path.points().iter().map(PathResult::of).collect());
        Ok(Recovered { result, vectors: solution.components, spectrum })
    }

    fn select(
        &self,
        covariance: &Covariance,
        aggregate: &Aggregate,
        task: &Task,
        rank: Rank,
    ) -> Result<PenaltySelection> {
        let progress = bar("validating", 0);
        let selection =
            self.penalty.select(covariance, aggregate, task, rank, &self.sequence_settings(), &mut |state| {
                progress.set_length(state.total as u64);
                progress.set_position(state.solved as u64);
                ControlFlow::Continue(())
            });
        progress.finish_and_clear();
        Ok(selection?)
    }

    fn solve_path(&self, covariance: &Covariance, rank: Rank, points: usize) -> Result<PenaltyPath> {
        let dimension = covariance.matrix().nrows();
        let smallest = default_penalty(covariance.noise_deviation(), dimension, DEFAULT_PENALTY_FACTOR / 4.0)?;
        let penalties: Vec<Penalty> = PenaltyPath::penalties(covariance.matrix(), smallest, points)?;
        let progress = bar("path", penalties.len() as u64);
        let settings = self.sequence_settings();
        let path = PenaltyPath::solve(covariance.matrix(), rank, &penalties, &settings, &mut |state| {
            progress.set_position(state.solved as u64);
            ControlFlow::Continue(())
        });
        progress.finish_and_clear();
        Ok(path?)
    }

    fn sequence_settings(&self) -> SolverSettings {
        let settings = self.solver.settings();
        SolverSettings { tolerance: settings.tolerance.max(SEQUENCE_TOLERANCE), ..settings }
    }
}

impl BaselineResult {
    fn new(components: &Components, covariance: &Covariance, sparse: &Subspace, names: &[String]) -> Result<Self> {
        // In the estimate itself, which thresholding has changed, so that the methods compare.
        let mut block = components.vectors.tr_mul(&(covariance.matrix() * &components.vectors));
        block.fill_lower_triangle_with_upper_triangle();
        let variances = symmetric_eigenvalues(&block).map_err(RecoveryError::from)?;
        // Rows that thresholding has cut off come out of the decomposition as rounding.
        let support = components.vectors.row_iter().zip(names).filter(|(row, _)| row.norm() > 1e-10);
        let subspace = Subspace::new(&components.vectors)?;
        Ok(Self {
            eigenvalues: variances.iter().copied().collect(),
            support: support.map(|(_, name)| name.clone()).collect(),
            distance: sin_theta_squared(&subspace, sparse)?,
            sin_theta_squared: None,
            subspace,
        })
    }
}
