//! The alternating direction method for the sparse problem, with a certificate of how close it came.

use std::ops::ControlFlow;

use nalgebra::DMatrix;

use super::fantope::{FantopeProjection, project_onto_fantope};
use super::normalised::{Candidate, Ending, NormalisedProblem};
use super::outcome::{AdmmStatus, FantopeSolution, Progress};
use super::{FantopeProblem, RecoveryError};

/// When to stop and how to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdmmSettings {
    /// Relative duality gap at which the solution counts as optimal (see [`FantopeSolution::relative_gap`]). Default 1e-7.
    pub tolerance: f64,
    /// Most iterations, each one eigendecomposition. Default 10,000.
    pub max_iterations: usize,
    /// Iterations between two certificates, each of which costs the eigenvalues of one matrix. Default 10.
    pub check_every: usize,
    /// Initial penalty parameter `ρ`, in units of its natural scale `‖clip(S, penalty)‖_F / √k`; at least 1e-6. Default 1.
    ///
    /// In these units it means the same for an estimate in any unit. It is then adapted to balance the two residuals.
    pub rho: f64,
    /// Whether `ρ` is adapted. Default true; the algorithm as printed keeps it constant.
    pub adapt_rho: bool,
    /// Over-relaxation of the step, in `(0, 2)`; 1 is the algorithm as printed. Default 1.6.
    pub relaxation: f64,
}

impl Default for AdmmSettings {
    fn default() -> Self {
        Self { tolerance: 1e-7, max_iterations: 10_000, check_every: 10, rho: 1.0, adapt_rho: true, relaxation: 1.6 }
    }
}

/// Solves the sparse problem by ADMM: Algorithm 2 of Wang & Xu (2019), after Vu, Cho, Lei & Rohe (2013).
///
/// ```text
/// X ← P_Fantope(Y − U + S/ρ)
/// Y ← soft_threshold(X + U, penalty/ρ)
/// U ← U + X − Y
/// ```
///
/// with over-relaxation, and with `ρ` adapted to the residuals (Boyd et al. 2011, section 3.4). Every `check_every`
/// iterations `Z = ρU`, whose entries the second step keeps within the penalty, certifies the gap. The best `X` and the
/// best `Z` seen are returned.
///
/// The estimate is centred and scaled first, so the solution for `a S + c I` with penalty `a penalty` is the same for every
/// `a > 0` and `c`, up to rounding. No iteration is spent where the solution is known: `k = d`; no penalty; a penalty of at
/// least every off-diagonal `|S_ij|`, where `X` selects the `k` largest diagonal entries (ties to the lower index).
///
/// `progress` is called at every certificate and may stop the solver. Running out of iterations is a status, not an error.
///
/// # Errors
///
/// [`RecoveryError::InvalidSetting`], or [`RecoveryError::Eigen`] when an eigendecomposition fails.
pub fn solve_admm(
    problem: &FantopeProblem,
    settings: &AdmmSettings,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<FantopeSolution, RecoveryError> {
    settings.check()?;
    let problem = NormalisedProblem::new(problem);
    if let Some(solution) = problem.closed_form()? {
        return Ok(solution);
    }
    let mut iterate = Iterate::start(&problem, settings)?;
    let mut best = Best::start(&problem, &iterate)?;
    let mut ending = AdmmStatus::BudgetExhausted;
    while iterate.count < settings.max_iterations {
        iterate.project()?;
        iterate.threshold();
        if iterate.count % settings.check_every != 0 && iterate.count != settings.max_iterations {
            continue;
        }
        best.improve(&problem, &iterate)?;
        let relative_gap = problem.relative_gap(best.objective, best.bound);
        let interrupted = progress(&iterate.report(relative_gap, settings)).is_break();
        if relative_gap <= settings.tolerance {
            ending = AdmmStatus::Optimal;
            break;
        } else if iterate.stands_still() {
            ending = AdmmStatus::Stalled;
            break;
        } else if interrupted {
            ending = AdmmStatus::Cancelled;
            break;
        }
        if settings.adapt_rho {
            iterate.adapt_rho();
        }
    }
    best.into_solution(ending, iterate)
}

impl AdmmSettings {
    fn check(&self) -> Result<(), RecoveryError> {
        let require = |holds: bool, name, value, requirement| {
            if holds { Ok(()) } else { Err(RecoveryError::InvalidSetting { name, value, requirement }) }
        };
        let relaxed = self.relaxation > 0.0 && self.relaxation < 2.0;
        require(self.tolerance >= 0.0, "tolerance", self.tolerance, "a number of at least 0")?;
        require(self.max_iterations >= 1, "max_iterations", self.max_iterations as f64, "at least 1")?;
        require(self.check_every >= 1, "check_every", self.check_every as f64, "at least 1")?;
        require((1e-6..=1e6).contains(&self.rho), "rho", self.rho, "between 1e-6 and 1e6")?;
        require(relaxed, "relaxation", self.relaxation, "above 0 and below 2")
    }
}

/// How many times smaller than the dual residual the primal one is kept, both relative.
///
/// The gap suffers first from the disagreement of `X` and `Y`, entry by entry. On the reference problems 5 needs a third of
/// the iterations of plain balancing at worst (1,180 against 3,500); 25 is too much for the noisiest of them.
const PRIMAL_WEIGHT: f64 = 5.0;

/// The iterates of the algorithm, in normalised units.
struct Iterate<'a> {
    problem: &'a NormalisedProblem,
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
    fn start(problem: &'a NormalisedProblem, settings: &AdmmSettings) -> Result<Self, RecoveryError> {
        let dual = problem.matrix.map(|entry| entry.clamp(-problem.penalty, problem.penalty));
        let rho = settings.rho * dual.norm() / (problem.rank.value() as f64).sqrt();
        let x = project_onto_fantope(&((&problem.matrix - &dual) / rho), problem.rank)?;
        Ok(Self {
            problem,
            y: x.matrix.clone(),
            x,
            u: dual / rho,
            rho,
            relaxation: settings.relaxation,
            count: 0,
            next_adaptation: settings.check_every,
            primal_residual: 0.0,
            step: 0.0,
        })
    }

    /// `X ← P_Fantope(Y − U + S/ρ)`.
    fn project(&mut self) -> Result<(), RecoveryError> {
        let mut target = &self.y - &self.u;
        let inverse = 1.0 / self.rho;
        target.zip_apply(&self.problem.matrix, |entry, s| *entry += s * inverse);
        self.x = project_onto_fantope(&target, self.problem.rank)?;
        self.count += 1;
        Ok(())
    }

    /// `Y ← S_{penalty/ρ}(X̂ + U)`, `U ← U + X̂ − Y`, where `X̂` is the over-relaxed `X`.
    ///
    /// What soft-thresholding takes away is exactly the new `U`, so both come from one clip.
    fn threshold(&mut self) {
        let limit = self.problem.penalty / self.rho;
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
        let penalty = self.problem.penalty;
        self.u.map(|entry| (entry * self.rho).clamp(-penalty, penalty))
    }

    /// Balances the residuals, each relative to what it must vanish against; ever more rarely, so that convergence holds.
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

    /// Whether both residuals have sunk into the rounding of the projection.
    fn stands_still(&self) -> bool {
        let rounding = 16.0 * f64::EPSILON * (self.problem.matrix.norm() / self.rho + self.x.matrix.norm());
        self.primal_residual <= rounding && self.step <= rounding
    }

    fn report(&self, relative_gap: f64, settings: &AdmmSettings) -> Progress {
        Progress {
            iterations: self.count,
            max_iterations: settings.max_iterations,
            relative_gap,
            tolerance: settings.tolerance,
            primal_residual: self.primal_residual,
            dual_residual: self.problem.in_units(self.rho * self.step),
        }
    }
}

/// The best feasible point and the best bound so far; they need not come from the same iteration.
struct Best {
    x: FantopeProjection,
    objective: f64,
    dual: DMatrix<f64>,
    bound: f64,
}

impl Best {
    fn start(problem: &NormalisedProblem, iterate: &Iterate<'_>) -> Result<Self, RecoveryError> {
        let (x, dual) = (iterate.x.clone(), iterate.dual());
        Ok(Self { objective: problem.objective(&x.matrix), x, bound: problem.bound(&dual)?, dual })
    }

    fn improve(&mut self, problem: &NormalisedProblem, iterate: &Iterate<'_>) -> Result<(), RecoveryError> {
        let objective = problem.objective(&iterate.x.matrix);
        if objective > self.objective {
            self.objective = objective;
            self.x.clone_from(&iterate.x);
        }
        let dual = iterate.dual();
        let bound = problem.bound(&dual)?;
        if bound < self.bound {
            self.bound = bound;
            self.dual = dual;
        }
        Ok(())
    }

    fn into_solution(self, status: AdmmStatus, iterate: Iterate<'_>) -> Result<FantopeSolution, RecoveryError> {
        let ending = Ending {
            status,
            iterations: iterate.count,
            primal_residual: iterate.primal_residual,
            dual_residual: iterate.rho * iterate.step,
        };
        let candidate = Candidate {
            feasible: self.x.matrix,
            weights: self.x.weights,
            vectors: self.x.vectors,
            sparse: iterate.y,
            dual: self.dual,
            objective: self.objective,
            bound: self.bound,
        };
        iterate.problem.solution(candidate, &ending)
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::DVector;

    use super::*;
    use crate::recovery::{Penalty, Rank, principal_components};
    use crate::subspace::{Subspace, sin_theta_squared};

    fn problem(matrix: &DMatrix<f64>, rank: usize, penalty: f64) -> FantopeProblem {
        FantopeProblem::new(matrix, Rank::new(rank).unwrap(), Penalty::new(penalty).unwrap()).unwrap()
    }

    fn solve(problem: &FantopeProblem) -> FantopeSolution {
        solve_admm(problem, &AdmmSettings::default(), &mut |_| ControlFlow::Continue(())).unwrap()
    }

    /// Two sparse spikes under a deterministic perturbation.
    fn spiked(dimension: usize) -> DMatrix<f64> {
        DMatrix::from_fn(dimension, dimension, |i, j| {
            let spike = if i < 3 && j < 3 { 1.0 } else { 0.0 }
                + if (3..5).contains(&i) && (3..5).contains(&j) { 0.8 } else { 0.0 };
            spike + 0.1 * ((i + j) as f64 * 2.3 + (i * j) as f64 * 1.7).sin()
        })
    }

    /// No structure at all: slow to solve.
    fn noise(dimension: usize) -> DMatrix<f64> {
        DMatrix::from_fn(dimension, dimension, |i, j| ((i * j) as f64 * 1.7 + (i + j) as f64 * 0.3).sin())
    }

    fn assert_certified(problem: &FantopeProblem, solution: &FantopeSolution) {
        let scale = problem.matrix().amax().max(problem.penalty().value()).max(f64::MIN_POSITIVE);
        assert_eq!(solution.status, AdmmStatus::Optimal);
        assert!(problem.infeasibility(&solution.feasible).unwrap() < 1e-9);
        assert!((problem.objective(&solution.feasible).unwrap() - solution.objective).abs() <= 1e-10 * scale);
        assert!(solution.dual_bound >= solution.objective - 1e-12 * scale);
        assert!(problem.dual_bound(&solution.dual).unwrap() <= solution.dual_bound + 1e-10 * scale);
        let gram = solution.components.tr_mul(&solution.components);
        assert!((gram - DMatrix::identity(problem.rank().value(), problem.rank().value())).norm() < 1e-10);
    }

    #[test]
    fn sparse_spikes_are_found_with_their_support() {
        let problem = problem(&spiked(20), 2, 0.2);
        let solution = solve(&problem);
        assert_certified(&problem, &solution);
        assert_eq!(solution.support, [0, 1, 2, 3, 4]);
        assert!(solution.iterations > 0 && solution.variances[0] >= solution.variances[1]);
    }

    #[test]
    fn solution_does_not_depend_on_unit_or_on_multiples_of_the_identity() {
        let matrix = spiked(20);
        let base = solve(&problem(&matrix, 2, 0.2));
        for factor in [1e-200, 1e-3, 1000.0, 1e200] {
            let scaled = solve(&problem(&(&matrix * factor), 2, 0.2 * factor));
            assert!((&scaled.feasible - &base.feasible).norm() < 1e-6, "factor {factor:e}");
            assert!((scaled.objective / factor - base.objective).abs() < 1e-7);
        }
        for shift in [-50.0, 1e-3, 1e6] {
            let moved = solve(&problem(&(&matrix + DMatrix::from_diagonal_element(20, 20, shift)), 2, 0.2));
            assert!((&moved.feasible - &base.feasible).norm() < 1e-6, "shift {shift}");
            assert!((moved.relative_gap - base.relative_gap).abs() < 1e-7);
        }
    }

    #[test]
    fn without_penalty_the_solution_is_ordinary_principal_components() {
        let problem = problem(&spiked(20), 2, 0.0);
        let solution = solve(&problem);
        assert_certified(&problem, &solution);
        assert_eq!(solution.iterations, 0);
        let pca = principal_components(problem.matrix(), problem.rank()).unwrap();
        assert!((&pca.vectors - &solution.components).norm() < 1e-10);
        assert!((pca.values - solution.variances).norm() < 1e-12);
    }

    #[test]
    fn a_tiny_penalty_continues_the_unpenalised_solution() {
        let exact = solve(&problem(&spiked(20), 2, 0.0));
        let near = solve(&problem(&spiked(20), 2, 1e-9));
        assert!(near.iterations > 0);
        let of = |solution: &FantopeSolution| Subspace::new(&solution.components).unwrap();
        assert!(sin_theta_squared(&of(&exact), &of(&near)).unwrap() < 1e-6);
    }

    #[test]
    fn full_rank_is_the_identity() {
        for dimension in [1, 4] {
            let problem = problem(&spiked(dimension), dimension, 0.3);
            let solution = solve(&problem);
            assert_certified(&problem, &solution);
            assert_eq!(solution.feasible, DMatrix::identity(dimension, dimension));
            assert_eq!((solution.iterations, solution.support.len()), (0, dimension));
        }
    }

    #[test]
    fn an_overwhelming_penalty_selects_the_largest_diagonal_entries_lower_index_first() {
        let mut matrix = spiked(4);
        matrix.set_diagonal(&DVector::from_vec(vec![1.0, 2.0, 2.0, 2.0]));
        let problem = problem(&matrix, 2, 10.0);
        let solution = solve(&problem);
        assert_certified(&problem, &solution);
        assert_eq!((solution.iterations, solution.support), (0, vec![1, 2]));
    }

    #[test]
    fn zero_and_constant_matrices_have_a_defined_solution() {
        for level in [0.0, 3.0, -3.0] {
            for penalty in [0.0, 0.5] {
                let problem = problem(&DMatrix::from_diagonal_element(5, 5, level), 2, penalty);
                let solution = solve(&problem);
                assert_certified(&problem, &solution);
                assert_eq!(solution.support, [0, 1]);
                assert!((solution.objective - 2.0 * (level - penalty)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn eigenvalues_tied_at_the_rank_still_get_a_certificate() {
        // Two equal blocks compete for one component.
        let block = |i: usize, j: usize| if i / 3 == j / 3 { 1.0 } else { 0.05 };
        let problem = problem(&DMatrix::from_fn(6, 6, block), 1, 0.2);
        assert_certified(&problem, &solve(&problem));
    }

    #[test]
    fn an_exhausted_budget_is_a_status_with_a_valid_gap() {
        let settings = AdmmSettings { max_iterations: 3, ..AdmmSettings::default() };
        let problem = problem(&noise(20), 2, 0.3);
        let rough = solve_admm(&problem, &settings, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((rough.status, rough.iterations), (AdmmStatus::BudgetExhausted, 3));
        assert!(rough.relative_gap > 1e-7);
        assert!(rough.dual_bound >= solve(&problem).objective);
    }

    #[test]
    fn zero_tolerance_ends_in_a_stall_once_rounding_is_reached() {
        let settings = AdmmSettings { tolerance: 0.0, ..AdmmSettings::default() };
        let solution =
            solve_admm(&problem(&spiked(20), 2, 0.2), &settings, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(solution.status, AdmmStatus::Stalled);
        assert!(solution.relative_gap < 1e-12);
    }

    #[test]
    fn progress_can_cancel_and_sees_the_gap() {
        let mut gaps = Vec::new();
        let settings = AdmmSettings { check_every: 2, ..AdmmSettings::default() };
        let solution = solve_admm(&problem(&noise(20), 2, 0.3), &settings, &mut |progress| {
            gaps.push(progress.relative_gap);
            if gaps.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!((solution.status, solution.iterations, gaps.len()), (AdmmStatus::Cancelled, 6, 3));
        assert_eq!(gaps.last(), Some(&solution.relative_gap));
        assert!(gaps.is_sorted_by(|before, after| before >= after));
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let refused = |settings: AdmmSettings| {
            let result = solve_admm(&problem(&spiked(5), 2, 0.2), &settings, &mut |_| ControlFlow::Continue(()));
            assert!(matches!(result, Err(RecoveryError::InvalidSetting { .. })), "{settings:?}");
        };
        let default = AdmmSettings::default();
        refused(AdmmSettings { tolerance: f64::NAN, ..default });
        refused(AdmmSettings { max_iterations: 0, ..default });
        refused(AdmmSettings { check_every: 0, ..default });
        refused(AdmmSettings { rho: 0.0, ..default });
        refused(AdmmSettings { relaxation: 2.0, ..default });
    }
}
