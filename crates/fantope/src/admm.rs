//! The alternating direction method for the sparse problem, with a certificate of its distance from the optimum.

use nalgebra::DMatrix;

use super::closed_form::closed_form;
use super::outcome::{DualMatrix, FantopeSolution, Found, SolverStatus};
use super::problem::{FantopeProjection, dual_bound, penalised_value, project_onto_fantope};
use super::scaled::{ScaledProblem, largest_magnitudes, lifted};
use super::{FantopeError, FantopeProblem, Rank};

/// When to stop, and how to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdmmSettings {
    /// Relative duality gap at which the solution counts as optimal (see [`FantopeSolution::relative_gap`]). Default
    /// 1e-7.
    pub tolerance: f64,
    /// Most iterations, each one eigendecomposition. Default 10,000.
    pub max_iterations: usize,
    /// Whether `ρ` is constant and nothing is over-relaxed, as in the algorithm as printed. Default false: `ρ` is
    /// adapted to balance the two residuals, and the step is over-relaxed.
    pub as_printed: bool,
}

impl Default for AdmmSettings {
    fn default() -> Self {
        Self { tolerance: 1e-7, max_iterations: 10_000, as_printed: false }
    }
}

/// Iterations between two certificates, each of which costs the eigenvalues of one matrix.
const CHECK_EVERY: usize = 10;

/// Over-relaxation of the step, of which 1 is none.
const RELAXATION: f64 = 1.6;

/// Solves the sparse problem by ADMM: Algorithm 2 of Wang & Xu (2019), after Vu, Cho, Lei & Rohe (2013). It is for
/// tests, benchmarks and research: [`FantopeSolver`](super::FantopeSolver) finds the same solution sooner.
///
/// ```text
/// X ← P_Fantope(Y − U + S/ρ)
/// Y ← soft_threshold(X + U, penalty/ρ)
/// U ← U + X − Y
/// ```
///
/// `ρ` starts at its natural scale `‖clip(S, penalty)‖_F / √k`, which means the same for an estimate in any unit.
/// Unless `as_printed`, steps are over-relaxed and `ρ` is adapted to the residuals (Boyd et al. 2011, section 3.4).
/// Every 10 iterations, and after the last, `Z = ρU`, whose entries the second step keeps within the penalty, certifies
/// the gap. The best `X` and the best `Z` seen are returned.
///
/// The estimate is centred and scaled first, so the solution for `a S + c I` with penalty `a penalty` is the same for
/// every `a > 0` and `c`, up to rounding. No iteration is spent where the solution is known: `k = d`; no penalty; a
/// penalty of at least every off-diagonal `|S_ij|`, where `X` selects the `k` largest diagonal entries (ties to the
/// lower index).
///
/// Running out of iterations is a status, not an error.
///
/// # Errors
///
/// [`FantopeError::InvalidSetting`], [`FantopeError::TooLarge`] when sums overflow, or [`FantopeError::Eigen`] when an
/// eigendecomposition fails.
pub fn solve_admm(problem: &FantopeProblem, settings: &AdmmSettings) -> Result<FantopeSolution, FantopeError> {
    settings.check()?;
    let magnitudes = largest_magnitudes(problem.estimate());
    if let Some(lifted) = lifted(problem, &magnitudes)? {
        return Ok(solve_admm(&lifted, settings)?.lowered());
    }
    let scaled = ScaledProblem::new(problem, magnitudes.centred)?;
    if let Some(solution) = closed_form(problem, &scaled, magnitudes.off_diagonal, settings.tolerance)? {
        return Ok(solution);
    }
    let mut iterate = Iterate::start(problem, scaled, settings)?;
    let mut best = Best::start(&iterate)?;
    let mut ending = SolverStatus::BudgetExhausted;
    while iterate.count < settings.max_iterations {
        iterate.project()?;
        iterate.threshold();
        if iterate.count % CHECK_EVERY != 0 && iterate.count != settings.max_iterations {
            continue;
        }
        best.improve(&iterate)?;
        let (value, bound) = best.in_scaled_units(&scaled);
        let relative_gap = scaled.relative_gap(value, bound);
        if relative_gap <= settings.tolerance {
            ending = SolverStatus::Optimal;
            break;
        } else if iterate.stands_still() {
            ending = SolverStatus::Stalled;
            break;
        }
        if !settings.as_printed {
            iterate.adapt_rho();
        }
    }
    let iterations = iterate.count;
    Ok(FantopeSolution { status: ending, iterations, ..best.into_solution(problem, iterate)? })
}

impl AdmmSettings {
    fn check(&self) -> Result<(), FantopeError> {
        let require = FantopeError::require;
        require(self.tolerance >= 0.0, "tolerance", self.tolerance, "a number of at least 0")?;
        require(self.max_iterations >= 1, "max_iterations", self.max_iterations as f64, "at least 1")
    }
}

/// How many times smaller than the dual residual the primal one is kept, both relative.
///
/// The gap suffers first from the disagreement of `X` and `Y`, entry by entry. On the reference problems 5 needs a
/// third of the iterations of plain balancing at worst (1,180 against 3,500); 25 is too much for the noisiest of them.
const PRIMAL_WEIGHT: f64 = 5.0;

/// The iterates of the algorithm, in the units of the scaled problem.
struct Iterate<'a> {
    scaled: ScaledProblem<'a>,
    rank: Rank,
    /// All of the scaled estimate.
    matrix: DMatrix<f64>,
    x: FantopeProjection,
    y: DMatrix<f64>,
    u: DMatrix<f64>,
    rho: f64,
    relaxation: f64,
    count: usize,
    next_adaptation: usize,
    /// `‖X − Y‖_F`.
    primal_residual: f64,
    /// `‖Y − Y_previous‖_F`.
    step: f64,
}

impl<'a> Iterate<'a> {
    /// Starts at `Z = clip(S, penalty)`, for which `S − Z` is the soft-thresholded estimate, and its projection.
    fn start(
        problem: &FantopeProblem,
        scaled: ScaledProblem<'a>,
        settings: &AdmmSettings,
    ) -> Result<Self, FantopeError> {
        let rank = problem.rank();
        let matrix = scaled.block(&(0..problem.dimension()).collect::<Vec<_>>());
        let dual = matrix.map(|entry| entry.clamp(-scaled.penalty, scaled.penalty));
        let rho = dual.norm() / (scaled.rank as f64).sqrt();
        let x = project_onto_fantope(&((&matrix - &dual) / rho), rank)?;
        Ok(Self {
            scaled,
            rank,
            matrix,
            y: x.matrix.clone(),
            x,
            u: dual / rho,
            rho,
            relaxation: if settings.as_printed { 1.0 } else { RELAXATION },
            count: 0,
            next_adaptation: CHECK_EVERY,
            primal_residual: 0.0,
            step: 0.0,
        })
    }

    /// `X ← P_Fantope(Y − U + S/ρ)`.
    fn project(&mut self) -> Result<(), FantopeError> {
        let mut target = &self.y - &self.u;
        let inverse = 1.0 / self.rho;
        target.zip_apply(&self.matrix, |entry, s| *entry += s * inverse);
        self.x = project_onto_fantope(&target, self.rank)?;
        self.count += 1;
        Ok(())
    }

    /// `Y ← S_{penalty/ρ}(X̂ + U)`, `U ← U + X̂ − Y`, where `X̂` is the over-relaxed `X`.
    ///
    /// Soft-thresholding removes exactly the new `U`, so both come from one clip.
    fn threshold(&mut self) {
        let limit = self.scaled.penalty / self.rho;
        let (mut primal, mut step) = (0.0, 0.0);
        let iterates = self.x.matrix.iter().zip(self.y.iter_mut()).zip(self.u.iter_mut());
        for ((x, y), u) in iterates {
            let sum = self.relaxation * x + (1.0 - self.relaxation) * *y + *u;
            *u = sum.clamp(-limit, limit);
            let previous = std::mem::replace(y, sum - *u);
            primal += (x - *y).powi(2);
            step += (*y - previous).powi(2);
        }
        self.primal_residual = primal.sqrt();
        self.step = step.sqrt();
    }

    /// `Z = ρU`, clipped once more because the product may round past the penalty.
    fn dual(&self) -> DMatrix<f64> {
        let penalty = self.scaled.penalty;
        self.u.map(|entry| (entry * self.rho).clamp(-penalty, penalty))
    }

    /// Balances the residuals, each relative to what it must vanish against; ever more rarely, so that convergence
    /// holds.
    fn adapt_rho(&mut self) {
        if self.count < self.next_adaptation {
            return;
        }
        self.next_adaptation = self.count + self.count / 4;
        let primal = self.primal_residual / self.y.norm().max(self.x.matrix.norm());
        let dual = self.step / self.u.norm();
        let factor = (PRIMAL_WEIGHT * primal / dual).sqrt().clamp(0.2, 5.0);
        if !(0.8..=1.25).contains(&factor) {
            self.rho *= factor;
            self.u /= factor;
        }
    }

    /// Whether both residuals are within the rounding of the projection.
    fn stands_still(&self) -> bool {
        let rounding = 16.0 * f64::EPSILON * (self.matrix.norm() / self.rho + self.x.matrix.norm());
        self.primal_residual <= rounding && self.step <= rounding
    }
}

/// The best feasible point and the best bound so far; they need not come from the same iteration.
struct Best {
    x: FantopeProjection,
    value: f64,
    dual: DMatrix<f64>,
    bound: f64,
}

impl Best {
    fn start(iterate: &Iterate<'_>) -> Result<Self, FantopeError> {
        let dual = iterate.dual();
        Ok(Self {
            x: iterate.x.clone(),
            value: penalised_value(&iterate.matrix, &iterate.x.matrix, iterate.scaled.penalty),
            bound: dual_bound(&iterate.matrix, &dual, iterate.rank)?,
            dual,
        })
    }

    fn improve(&mut self, iterate: &Iterate<'_>) -> Result<(), FantopeError> {
        let Self { x, value, dual, bound } = Self::start(iterate)?;
        if value > self.value {
            (self.x, self.value) = (x, value);
        }
        if bound < self.bound {
            (self.dual, self.bound) = (dual, bound);
        }
        Ok(())
    }

    /// Value and bound without the penalty on the diagonal, as the scaled problem counts.
    fn in_scaled_units(&self, scaled: &ScaledProblem<'_>) -> (f64, f64) {
        (self.value + scaled.constant(), self.bound + scaled.constant())
    }

    fn into_solution(self, problem: &FantopeProblem, iterate: Iterate<'_>) -> Result<FantopeSolution, FantopeError> {
        let rows: Vec<usize> = (0..problem.dimension()).collect();
        let positive = self.x.weights.iter().take_while(|weight| **weight > 0.0).count();
        let (value, bound) = self.in_scaled_units(&iterate.scaled);
        let block = self.dual * iterate.scaled.scale;
        let found = Found {
            value,
            bound,
            vectors: self.x.vectors.columns(0, positive).into_owned(),
            weights: self.x.weights.rows(0, positive).into_owned(),
            sparse_block: iterate.y,
            dual: DualMatrix { rows: rows.clone(), block, cross: Vec::new() },
            rows,
        };
        FantopeSolution::new(problem, &iterate.scaled, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{noise, problem, spiked};

    fn solve_with(problem: &FantopeProblem, settings: &AdmmSettings) -> FantopeSolution {
        solve_admm(problem, settings).unwrap()
    }

    #[test]
    fn an_exhausted_budget_is_a_status_with_a_valid_gap() {
        let problem = problem(&noise(20), 2, 0.3);
        let rough = solve_with(&problem, &AdmmSettings { max_iterations: 3, ..AdmmSettings::default() });
        assert_eq!((rough.status, rough.iterations), (SolverStatus::BudgetExhausted, 3));
        assert!(rough.relative_gap > 1e-7);
        assert!(rough.dual_bound >= solve_with(&problem, &AdmmSettings::default()).objective);
    }

    #[test]
    fn zero_tolerance_ends_in_a_stall_once_rounding_is_reached() {
        let settings = AdmmSettings { tolerance: 0.0, ..AdmmSettings::default() };
        let solution = solve_with(&problem(&spiked(20), 2, 0.2), &settings);
        assert_eq!(solution.status, SolverStatus::Stalled);
        assert!(solution.relative_gap < 1e-12);
    }

    #[test]
    fn more_iterations_never_widen_the_gap() {
        let problem = problem(&noise(20), 2, 0.3);
        let gap = |max_iterations| {
            solve_with(&problem, &AdmmSettings { max_iterations, ..AdmmSettings::default() }).relative_gap
        };
        assert!([10, 20, 30].map(gap).is_sorted_by(|before, after| before >= after));
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let refused = |settings: AdmmSettings| {
            let result = solve_admm(&problem(&spiked(5), 2, 0.2), &settings);
            assert!(matches!(result, Err(FantopeError::InvalidSetting { .. })), "{settings:?}");
        };
        let default = AdmmSettings::default();
        refused(AdmmSettings { tolerance: f64::NAN, ..default });
        refused(AdmmSettings { max_iterations: 0, ..default });
    }
}
