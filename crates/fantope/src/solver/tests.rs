//! The solver on working sets, parts, warm starts and budgets.

use std::ops::ControlFlow;

use nalgebra::DMatrix;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use crate::linalg::SymmetricMatrix;
use crate::outcome::above_others;
use crate::subspace::{Subspace, sin_theta_squared};
use crate::tests::{assert_certified, noise, problem, solve, spiked};
use crate::{
    Certificate, FantopeError, FantopeProblem, FantopeSolution, FantopeSolver, Penalty, Progress, Rank, SolverSettings,
    SolverStatus,
};

/// A component on the first `sparsity` rows with a gap of 1 above 0, under symmetric noise of this deviation.
pub(super) fn spike_in_noise(dimension: usize, sparsity: usize, deviation: f64, seed: u64) -> DMatrix<f64> {
    let mut rng = chacha20::ChaCha8Rng::seed_from_u64(seed);
    let mut matrix = DMatrix::from_fn(dimension, dimension, |i, j| {
        let noise: f64 = StandardNormal.sample(&mut rng);
        deviation * noise + if i < sparsity && j < sparsity { 1.0 / sparsity as f64 } else { 0.0 }
    });
    matrix.fill_lower_triangle_with_upper_triangle();
    matrix
}

#[test]
fn a_clear_signal_is_solved_on_few_rows_and_certified_on_all() {
    for (dimension, probable) in [(200, false), (600, true)] {
        let deviation = 0.1 / (dimension as f64).sqrt();
        let problem = problem(&spike_in_noise(dimension, 6, deviation, 3), 1, 2.0 * deviation);
        let solution = solve(&problem);
        assert_certified(&problem, &solution);
        assert_eq!(solution.support, (0..6).collect::<Vec<_>>());
        assert!(solution.rows.len() <= 24, "{}", solution.rows.len());
        assert_eq!(matches!(solution.certificate, Certificate::Probable { .. }), probable);
        // The bound on all rows, from all eigenvalues.
        let bound = problem.dual_bound(&solution.dual_matrix(&problem).unwrap()).unwrap();
        assert!((bound - solution.dual_bound).abs() < 1e-9);
    }
}

#[test]
fn rows_that_the_first_look_missed_join_the_working_set() {
    // Noise as strong as the signal: the optimum spreads over many rows.
    let problem = problem(&spike_in_noise(120, 6, 0.08, 5), 2, 0.06);
    let mut sizes = Vec::new();
    let mut watch = |progress: &Progress| {
        sizes.push(progress.working_set);
        ControlFlow::Continue(())
    };
    let solution =
        FantopeSolver::new(SolverSettings::default()).unwrap().solve_with(&problem, None, &mut watch).unwrap();
    assert_certified(&problem, &solution);
    assert!(sizes.is_sorted() && sizes[0] < solution.rows.len(), "{sizes:?}");
    assert!(solution.history.is_sorted_by(|before, after| before.relative_gap >= after.relative_gap));
}

#[test]
fn parts_that_fall_apart_are_solved_apart() {
    // Two blocks whose cross entries the penalty removes, in interleaved rows.
    let block = |i: usize, j: usize| match (i % 2 == j % 2, i % 2) {
        (true, 0) => 1.0,
        (true, _) => 0.7,
        (false, _) => 0.05,
    };
    let problem = problem(&DMatrix::from_fn(12, 12, block), 2, 0.1);
    let solution = solve(&problem);
    assert_certified(&problem, &solution);
    let feasible = solution.feasible();
    assert!((0..12).all(|row| (0..12).all(|column| row % 2 == column % 2 || feasible[(row, column)] == 0.0)));
    assert!((feasible[(0, 2)] - 1.0 / 6.0).abs() < 1e-6 && (feasible[(1, 3)] - 1.0 / 6.0).abs() < 1e-6);
}

#[test]
fn a_warm_start_reaches_the_same_solution_in_fewer_iterations() {
    let matrix = spike_in_noise(150, 8, 0.02, 7);
    let (first, second) = (problem(&matrix, 2, 0.05), problem(&matrix, 2, 0.045));
    let solver = FantopeSolver::new(SolverSettings { tolerance: 1e-7, ..SolverSettings::default() }).unwrap();
    let start = solve(&first);
    let warm = solver.solve_with(&second, Some(&start), &mut |_| ControlFlow::Continue(())).unwrap();
    let cold = solve(&second);
    assert_certified(&second, &warm);
    assert!((warm.objective - cold.objective).abs() < 1e-6 * cold.objective);
    assert!(warm.iterations < cold.iterations, "{} {}", warm.iterations, cold.iterations);
}

#[test]
fn a_warm_start_is_worth_as_much_in_tiny_units() {
    let [usual, tiny] = [1.0, libm::exp2(-910.0)].map(|unit| {
        let problem = problem(&(spiked(20) * unit), 2, 0.2 * unit);
        let solver = FantopeSolver::new(SolverSettings { tolerance: 1e-9, ..SolverSettings::default() }).unwrap();
        solver.solve_with(&problem, Some(&solve(&problem)), &mut |_| ControlFlow::Continue(())).unwrap()
    });
    assert!(usual.iterations > 0);
    assert_eq!((usual.iterations, usual.vectors), (tiny.iterations, tiny.vectors));
}

#[test]
fn what_does_not_fit_a_problem_is_refused() {
    let matrix = spiked(30);
    let start = solve(&problem(&matrix, 2, 0.05));
    let solver = FantopeSolver::default();
    let refused = |start: &FantopeSolution, problem: &FantopeProblem| {
        let error = solver.solve_with(problem, Some(start), &mut |_| ControlFlow::Continue(()));
        let (dimension, rank) = (problem.dimension(), problem.rank().value());
        assert_eq!(error, Err(FantopeError::OtherStart { dimension, rank }));
    };
    for (dimension, rank) in [(29, 2), (31, 2), (30, 1), (30, 3), (30, 30)] {
        refused(&start, &problem(&spiked(dimension), rank, 0.05));
    }
    let changes: [fn(&mut FantopeSolution); 5] = [
        |start| start.rows.truncate(1),
        |start| start.rows.reverse(),
        |start| *start.rows.last_mut().unwrap() = 30,
        |start| start.sparse_block[0] = f64::NAN,
        |start| start.sparse_block = DMatrix::zeros(1, 1),
    ];
    for change in changes {
        let mut changed = start.clone();
        change(&mut changed);
        refused(&changed, &problem(&matrix, 2, 0.05));
    }
    for other in [29, 31] {
        let shape = FantopeError::ShapeMismatch { rows: 30, columns: 30, dimension: other };
        assert_eq!(start.dual_matrix(&problem(&spiked(other), 2, 0.05)), Err(shape));
    }
    // Of the same dimension it is a matrix, but one that proves too little or nothing.
    let other = problem(&spiked(30), 2, 0.02);
    assert!(matches!(other.dual_bound(&start.dual_matrix(&other).unwrap()), Err(FantopeError::DualInfeasible { .. })));
}

#[test]
fn single_precision_storage_gives_the_solution_of_the_rounded_estimate() {
    let matrix = spike_in_noise(80, 5, 0.02, 9);
    let single = SymmetricMatrix::from_single(matrix.map(|entry| entry as f32)).unwrap();
    let rounded = problem(&single.to_double(), 1, 0.05);
    let stored = FantopeProblem::of_estimate(single, Rank::new(1).unwrap(), Penalty::new(0.05).unwrap()).unwrap();
    let (rounded, stored) = (solve(&rounded), solve(&stored));
    assert_eq!((&rounded.vectors, rounded.objective), (&stored.vectors, stored.objective));
}

#[test]
fn budgets_and_callbacks_end_with_a_valid_certificate() {
    let problem = problem(&noise(60), 3, 0.3);
    let exact = solve(&problem);
    for most in [1, 7, 25] {
        let settings = SolverSettings { max_iterations: most, ..SolverSettings::default() };
        let solver = FantopeSolver::new(settings).unwrap();
        let rough = solver.solve(&problem).unwrap();
        assert_eq!((rough.status, rough.iterations), (SolverStatus::BudgetExhausted, most));
        assert!(rough.relative_gap > 1e-6 && rough.dual_bound >= exact.objective);
        assert!(problem.infeasibility(&rough.feasible()).unwrap() < 1e-9);
        assert!(rough.objective <= exact.dual_bound);
    }
    let solver = FantopeSolver::new(SolverSettings::default()).unwrap();
    let mut calls = 0;
    let cancelled = solver.solve_with(&problem, None, &mut |_| {
        calls += 1;
        if calls == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let cancelled = cancelled.unwrap();
    assert_eq!((cancelled.status, cancelled.iterations), (SolverStatus::Cancelled, 20));
    assert!(cancelled.dual_bound >= exact.objective);
}

/// The matrix of a certificate depends on the random vectors of all earlier certificates: a run that continues another
/// must use none of them again, nor count any failure twice.
#[test]
fn a_run_that_goes_on_counts_its_certificates_on() {
    // The second component is noise, so that what is beyond the working set matters to the bound.
    let matrix = spike_in_noise(300, 6, 0.006, 3);
    let solver = FantopeSolver::new(SolverSettings { exact_dimension: 0, ..SolverSettings::default() }).unwrap();
    let run = |penalty: f64, start: Option<&FantopeSolution>| {
        let at_once = &mut |_: &Progress| ControlFlow::Break(());
        solver.solve_with(&problem(&matrix, 2, penalty), start, at_once).unwrap()
    };
    let first = run(0.015, None);
    assert_eq!((first.certificates, first.history.len()), (1, 1));
    let second = run(0.012, Some(&first));
    assert_eq!((second.certificates, second.history.len()), (2, 1));
    assert!(matches!(second.certificate, Certificate::Probable { .. }));
    // Its bound is that of another vector and a smaller failure than with a count from 1.
    let forgetful = FantopeSolution { certificates: 0, ..first };
    assert_ne!(run(0.012, Some(&forgetful)).dual_bound, second.dual_bound);
}

/// Also without an iteration.
#[test]
fn a_tolerance_beyond_rounding_ends_in_a_stall() {
    for (penalty, most) in [(0.2, 1e-9), (0.0, 1e-12)] {
        let settings = SolverSettings { tolerance: 0.0, ..SolverSettings::default() };
        let solution = solve_to(&problem(&spiked(20), 2, penalty), settings);
        assert_eq!((solution.status, solution.iterations > 0), (SolverStatus::Stalled, penalty > 0.0));
        assert!(solution.relative_gap > 0.0 && solution.relative_gap < most, "{}", solution.relative_gap);
    }
}

/// The gap over `δ` is at most a hundredth of the noise, and the components move by less than that.
#[test]
fn noise_decides_how_far_the_solver_goes() {
    let problem = problem(&spiked(60), 2, 0.071);
    let exact = solve_to(&problem, SolverSettings { tolerance: 1e-8, ..SolverSettings::default() });
    let centre = problem.estimate().mean_diagonal();
    let above = above_others(&problem, &exact.variances.add_scalar(-centre));
    let span = |solution: &FantopeSolution| Subspace::new(&solution.components).unwrap();
    let mut iterations = Vec::new();
    for noise in [0.0, 0.03, 0.07, 0.7] {
        let found = FantopeSolver::default().solve_within_noise(&problem, noise, &mut |_| ControlFlow::Continue(()));
        let found = found.unwrap();
        assert_eq!((found.status, &found.support), (SolverStatus::Optimal, &exact.support));
        // On the three rows of five that two components leave free.
        let error: f64 = above.iter().map(|above| (3.0 * (noise / above).powi(2)).min(1.0)).sum();
        let added = found.relative_gap * (found.objective - 2.0 * centre).abs() / above[1];
        assert!(found.relative_gap <= 1e-3 && added <= (0.0101 * error).max(4e-6), "{noise}: {added} {error}");
        let moved = sin_theta_squared(&span(&found), &span(&exact)).unwrap();
        assert!(moved <= (0.01 * error).max(4e-6), "{noise}: {moved} {error}");
        iterations.push(found.iterations);
    }
    assert!(iterations.is_sorted_by(|more, fewer| more > fewer), "{iterations:?}");
}

/// The second run begins at the first one's end, and what it is worth when it is stopped is at least that.
#[test]
fn who_stops_the_solver_within_noise_keeps_what_was_certified() {
    let mut states = Vec::new();
    let mut stop_in_second = |state: &Progress| {
        states.push(state.iterations);
        assert!(state.tolerance >= 1e-3 || state.relative_gap <= 1e-3, "{state:?}");
        if state.tolerance < 1e-3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let problem = problem(&spiked(60), 2, 0.071);
    let stopped = FantopeSolver::default().solve_within_noise(&problem, 0.0, &mut stop_in_second).unwrap();
    assert_eq!((stopped.status, states.last()), (SolverStatus::Cancelled, Some(&stopped.iterations)));
    assert!(states.is_sorted_by(|before, after| before < after) && stopped.relative_gap <= 1e-3, "{states:?}");
    // Already the last state of the first run may be told to stop, or be the end of the budget.
    let last = states[states.len() - 2];
    let mut calls = 0;
    let mut stop_after_first = |state: &Progress| {
        calls += 1;
        if state.iterations < last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let stopped = FantopeSolver::default().solve_within_noise(&problem, 0.0, &mut stop_after_first).unwrap();
    assert_eq!((stopped.status, stopped.iterations, calls), (SolverStatus::Cancelled, last, states.len() - 1));
    assert!(stopped.relative_gap > 1e-6 && stopped.relative_gap <= 1e-3, "{}", stopped.relative_gap);
    // The budget is of both runs.
    for max_iterations in [last, last + 10] {
        let settings = SolverSettings { max_iterations, ..SolverSettings::default() };
        let spent = FantopeSolver::new(settings).unwrap();
        let spent = spent.solve_within_noise(&problem, 0.0, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((spent.status, spent.iterations), (SolverStatus::BudgetExhausted, max_iterations));
    }
}

#[test]
fn noise_levels_that_mean_nothing_are_refused() {
    let within = |noise: f64, rank: usize| {
        let problem = problem(&spiked(6), rank, 0.2);
        FantopeSolver::default().solve_within_noise(&problem, noise, &mut |_| ControlFlow::Continue(()))
    };
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(within(bad, 1), Err(FantopeError::InvalidNoiseLevel(_))), "{bad}");
    }
    // Where every direction is a component, noise hides none.
    let whole = within(1.0, 6).unwrap();
    assert_eq!((whole.status, whole.relative_gap), (SolverStatus::Optimal, 0.0));
}

/// Symmetric, with normal entries.
pub(crate) fn random(dimension: usize, seed: u64) -> DMatrix<f64> {
    spike_in_noise(dimension, 0, 1.0, seed)
}

fn solve_to(problem: &FantopeProblem, settings: SolverSettings) -> FantopeSolution {
    FantopeSolver::new(settings).unwrap().solve(problem).unwrap()
}

/// Noise alone, and signals that it hides: many eigenvalues of `X` are between 0 and 1, and most rows are in use.
#[test]
fn what_noise_hides_is_certified_too() {
    let both = &[0, 1][..];
    for (dimension, rank, factor, signal, seeds) in [
        (40, 1, 0.5, 0.0, both),
        (40, 5, 0.5, 0.0, both),
        (40, 8, 0.25, 0.5, both),
        (48, 5, 1.0, 0.5, both),
        (70, 1, 1.0, 0.0, both),
        (70, 5, 1.0, 0.0, both),
        // The iteration stands still on the first rows while others are missing.
        (100, 5, 1.0, 0.0, &[9, 35, 65]),
        // X has one eigenvector and some thirty eigenvalues of `S − Z` tie: following a few of them lost the others,
        // and the gap stayed at 1e-4.
        (100, 1, 0.25, 0.0, &[0]),
    ] {
        for &seed in seeds {
            let spike = signal * (dimension as f64).sqrt() * spike_in_noise(dimension, 20, 0.0, seed);
            let penalty = factor * (dimension as f64).ln().sqrt();
            let problem = problem(&(random(dimension, seed) + spike), rank, penalty);
            let solution = solve_to(&problem, SolverSettings::default());
            assert_certified(&problem, &solution);
            let (_, _, gap) = recomputed(&problem, &solution);
            assert!(gap < 1e-6, "{dimension} {rank} {factor} {seed}: {gap}");
        }
    }
}

/// A signal that noise hides: a working set on which rows are missing would take thousands of iterations.
#[test]
fn rows_join_before_a_slow_working_set_is_solved() {
    let spike = 0.5 * 70f64.sqrt() * spike_in_noise(70, 20, 0.0, 0);
    let problem = problem(&(random(70, 0) + spike), 2, 0.5 * 70f64.ln().sqrt());
    let (mut first, mut rows, mut longest) = (0, 0, 0);
    let mut watch = |progress: &Progress| {
        if progress.working_set != rows {
            (first, rows) = (progress.iterations, progress.working_set);
        }
        if rows < 70 {
            longest = longest.max(progress.iterations - first);
        }
        ControlFlow::Continue(())
    };
    let solver = FantopeSolver::new(SolverSettings::default()).unwrap();
    let solution = solver.solve_with(&problem, None, &mut watch).unwrap();
    assert_certified(&problem, &solution);
    assert!(longest <= 800, "{longest}");
}

/// Ties of all kinds, on more rows than are decomposed whole in every iteration.
#[test]
fn tied_and_repeated_rows_are_certified() {
    const D: usize = 72;
    let small = random(12, 4);
    let repeated = DMatrix::from_fn(D, D, |i, j| small[(i % 12, j % 12)]);
    let blocks = DMatrix::from_fn(D, D, |i, j| if i / 8 == j / 8 { 1.0 } else { 0.0 });
    let equal = DMatrix::from_element(D, D, 1.0);
    let signs = DMatrix::from_fn(D, D, |i, j| if (i + j) % 2 == 0 { 1.0 } else { -1.0 });
    for matrix in [repeated, blocks, equal, signs, DMatrix::identity(D, D), DMatrix::zeros(D, D)] {
        for rank in [1, 3] {
            for penalty in [0.0, 0.3, 5.0] {
                assert_certified(&problem(&matrix, rank, penalty), &solve(&problem(&matrix, rank, penalty)));
            }
        }
    }
}

/// Objective and bound again, from the definitions and with nalgebra's own eigenvalues; then the gap of the
/// documentation.
fn recomputed(problem: &FantopeProblem, solution: &FantopeSolution) -> (f64, f64, f64) {
    let (s, k, penalty) = (problem.estimate().to_double(), problem.rank().value(), problem.penalty().value());
    let (x, z) = (solution.feasible(), solution.dual_matrix(problem).unwrap());
    assert!(z.amax() <= penalty, "the dual matrix is feasible");
    let objective = s.dot(&x) - penalty * x.iter().map(|entry| entry.abs()).sum::<f64>();
    let mut values: Vec<f64> = (&s - z).symmetric_eigenvalues().iter().copied().collect();
    values.sort_by(|a, b| b.total_cmp(a));
    let bound = values[..k].iter().sum::<f64>();
    let centre = k as f64 * s.trace() / s.nrows() as f64;
    (objective, bound, (bound - objective) / (objective - centre).abs().max(k as f64 * penalty))
}

/// On all rows, and on working sets of larger problems; for tolerances that hardly ask for anything and strict ones.
#[test]
fn the_certified_gap_is_no_less_than_what_is_missing() {
    let mut kinds = [0; 3];
    for (dimension, rank, penalty) in [(6, 1, 0.3), (9, 2, 0.5), (14, 3, 0.2), (40, 2, 1.2), (48, 1, 1.5), (60, 2, 1.9)]
    {
        for seed in 0..3 {
            let matrix = random(dimension, seed) + 4.0 * spike_in_noise(dimension, 4, 0.0, seed);
            let problem = problem(&matrix, rank, penalty);
            let best = solve_to(&problem, SolverSettings { tolerance: 1e-9, ..SolverSettings::default() });
            for tolerance in [0.1, 1e-2, 1e-4, 1e-6] {
                let settings = SolverSettings { tolerance, check_every: 1, ..SolverSettings::default() };
                for max_iterations in [2, 10, 40, 20_000] {
                    let solution = solve_to(&problem, SolverSettings { max_iterations, ..settings });
                    let label = format!("{dimension} {rank} {penalty} {seed} {tolerance} {max_iterations}");
                    let optimal = solution.status == SolverStatus::Optimal;
                    assert_eq!(optimal, solution.relative_gap <= tolerance, "{label} {:?}", solution.relative_gap);
                    kinds[usize::from(optimal)] += 1;
                    kinds[2] += usize::from(solution.certificate != Certificate::Exact);
                    let (objective, bound, gap) = recomputed(&problem, &solution);
                    let close = 1e-11 * (1.0 + bound.abs());
                    assert!(
                        (solution.objective - objective).abs() < close,
                        "{label}: {} {objective}",
                        solution.objective
                    );
                    // The proven bound is above the eigenvalues; one from all of them by roundings only.
                    assert!(solution.dual_bound >= bound - 1e-14, "{label}: {} {bound}", solution.dual_bound);
                    if solution.certificate == Certificate::Exact {
                        assert!(solution.dual_bound < bound + close, "{label}: {} {bound}", solution.dual_bound);
                        assert!((solution.relative_gap - gap.max(0.0)).abs() < 1e-10, "{label}: {gap}");
                    }
                    assert!(solution.relative_gap >= gap - 1e-13, "{label}: {} {gap}", solution.relative_gap);
                    // The true gap, from a solution that is almost exact.
                    let size = (objective - rank as f64 * matrix.trace() / dimension as f64).abs();
                    let missing = (best.objective - objective) / size.max(rank as f64 * penalty);
                    assert!(solution.relative_gap >= missing - 1e-13, "{label}: {} {missing}", solution.relative_gap);
                    assert!(solution.dual_bound >= best.objective - 1e-12, "{label}");
                }
            }
        }
    }
    assert!(kinds.iter().all(|&kind| kind > 10), "both ends and both certificates occur: {kinds:?}");
}

/// After the same number of iterations the same gap, once a little above the tolerance and once a little below it.
#[test]
fn optimal_is_what_is_within_the_tolerance_and_nothing_else() {
    for (matrix, rank, penalty) in [(noise(14), 2, 0.3), (random(10, 5), 1, 0.4), (random(20, 6), 3, 0.3)] {
        let problem = problem(&matrix, rank, penalty);
        for most in [2, 3, 12] {
            let within = |tolerance: f64| {
                let settings = SolverSettings { tolerance, max_iterations: most, ..SolverSettings::default() };
                solve_to(&problem, settings)
            };
            let gap = within(0.0).relative_gap;
            assert!(gap > 1e-7 && gap < 1.0, "{gap}");
            // Tolerances that no certificate before the last one meets.
            let above = within(gap * (1.0 - 1e-6));
            assert_eq!((above.status, above.relative_gap), (SolverStatus::BudgetExhausted, gap), "{most}");
            let below = within(gap);
            assert_eq!((below.status, below.relative_gap), (SolverStatus::Optimal, gap), "{most}");
        }
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let default = SolverSettings::default();
    for settings in [
        SolverSettings { tolerance: f64::NAN, ..default },
        SolverSettings { max_iterations: 0, ..default },
        SolverSettings { check_every: 0, ..default },
        SolverSettings { failure: 0.0, ..default },
        SolverSettings { failure: 1.0, ..default },
        SolverSettings { memory: 1001, ..default },
    ] {
        assert!(matches!(FantopeSolver::new(settings), Err(FantopeError::InvalidSetting { .. })), "{settings:?}");
    }
}

#[test]
fn every_status_has_a_name_of_its_own() {
    let names = [SolverStatus::Optimal, SolverStatus::Stalled, SolverStatus::BudgetExhausted, SolverStatus::Cancelled];
    assert_eq!(names.map(|status| status.to_string()), ["optimal", "stalled", "budget-exhausted", "cancelled"]);
}
