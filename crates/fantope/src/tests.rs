//! Ranks and penalties, and laws of solutions, on inputs with ties, zeros and extreme ranks.

use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;

use super::{
    FantopeError, FantopeProblem, FantopeSolution, FantopeSolver, Penalty, Rank, SolverSettings, SolverStatus,
    principal_components, project_onto_fantope, soft_threshold,
};
use crate::outcome::{DualMatrix, Found};
use crate::scaled::ScaledProblem;
use crate::subspace::{Subspace, sin_theta_squared};

pub(super) fn problem(matrix: &DMatrix<f64>, rank: usize, penalty: f64) -> FantopeProblem {
    FantopeProblem::new(matrix, Rank::new(rank).unwrap(), Penalty::new(penalty).unwrap()).unwrap()
}

pub(super) fn solve(problem: &FantopeProblem) -> FantopeSolution {
    let settings = SolverSettings { tolerance: 1e-7, ..SolverSettings::default() };
    FantopeSolver::new(settings).unwrap().solve(problem).unwrap()
}

/// Two sparse spikes under a deterministic perturbation.
pub(super) fn spiked(dimension: usize) -> DMatrix<f64> {
    DMatrix::from_fn(dimension, dimension, |i, j| {
        let spike =
            if i < 3 && j < 3 { 1.0 } else { 0.0 } + if (3..5).contains(&i) && (3..5).contains(&j) { 0.8 } else { 0.0 };
        spike + 0.1 * ((i + j) as f64 * 2.3 + (i * j) as f64 * 1.7).sin()
    })
}

/// No structure at all: slow to solve.
pub(super) fn noise(dimension: usize) -> DMatrix<f64> {
    DMatrix::from_fn(dimension, dimension, |i, j| ((i * j) as f64 * 1.7 + (i + j) as f64 * 0.3).sin())
}

pub(super) fn assert_certified(problem: &FantopeProblem, solution: &FantopeSolution) {
    let scale = problem.estimate().to_double().amax().max(problem.penalty().value()).max(f64::MIN_POSITIVE);
    assert_eq!(solution.status, SolverStatus::Optimal);
    assert!(problem.infeasibility(&solution.feasible()).unwrap() < 1e-9);
    assert!((problem.objective(&solution.feasible()).unwrap() - solution.objective).abs() <= 1e-10 * scale);
    assert!(solution.dual_bound >= solution.objective - 1e-12 * scale);
    assert!(
        problem.dual_bound(&solution.dual_matrix(problem).unwrap()).unwrap() <= solution.dual_bound + 1e-10 * scale
    );
    let gram = solution.components.tr_mul(&solution.components);
    assert!((gram - DMatrix::identity(problem.rank().value(), problem.rank().value())).norm() < 1e-10);
    assert_zero_off_the_support(solution);
}

/// Components use no feature that is not named, and the variances are along the components themselves.
pub(super) fn assert_zero_off_the_support(solution: &FantopeSolution) {
    for (row, loadings) in solution.components.row_iter().enumerate() {
        assert!(solution.support.contains(&row) || loadings.iter().all(|loading| *loading == 0.0), "{row} {loadings}");
    }
}

/// Handed back as what another solver found, it has the same components and a bound as good.
#[test]
fn what_another_solver_found_is_certified_as_its_own() {
    let problem = problem(&spiked(20), 2, 0.2);
    let solution = solve(&problem);
    assert_eq!(solution.support, [0, 1, 2, 3, 4]);
    let leverages: f64 = solution.leverages.iter().sum();
    assert!((leverages - 2.0).abs() < 1e-3);
    assert!(solution.leverages.iter().all(|share| (0.0..=1.0 + 1e-12).contains(share)));
    let x = project_onto_fantope(&solution.feasible(), problem.rank()).unwrap();
    let (y, z) = (x.matrix.clone(), solution.dual_matrix(&problem).unwrap());
    let found = FantopeSolution::certified(&problem, 1e-6, &x, y.clone(), z.clone()).unwrap();
    assert_certified(&problem, &found);
    // Without a dual matrix the gap is wide, and says so.
    let wide = FantopeSolution::certified(&problem, 1e-6, &x, y.clone(), DMatrix::zeros(20, 20)).unwrap();
    assert!(wide.status == SolverStatus::Stalled && wide.relative_gap > 0.1, "{}", wide.relative_gap);
    assert!(found.relative_gap < 1e-6 && (found.objective - solution.objective).abs() < 1e-9);
    for (y, z) in [(DMatrix::zeros(1, 1), z), (y, DMatrix::zeros(1, 1))] {
        let refused = FantopeSolution::certified(&problem, 1e-6, &x, y, z);
        assert_eq!(refused, Err(FantopeError::ShapeMismatch { rows: 1, columns: 1, dimension: 20 }));
    }
}

/// `Y` has 26 and all 60 rows here.
#[test]
fn the_support_is_the_same_at_tolerances_where_the_rows_of_y_differ() {
    for (rank, narrowest) in [(2, 1e-7), (3, 1e-5)] {
        let problem = problem(&spiked(60), rank, 0.071);
        for tolerance in [1e-3, 1e-4, 1e-5, 1e-6, 1e-7].into_iter().filter(|tolerance| *tolerance >= narrowest) {
            let settings = SolverSettings { tolerance, ..SolverSettings::default() };
            let solution = FantopeSolver::new(settings).unwrap().solve(&problem).unwrap();
            assert_eq!(solution.support, (0..rank + 3).collect::<Vec<_>>(), "{rank} {tolerance}");
        }
    }
}

/// One component with a variance of 10 on three rows and, with this loading, on a fourth, of which `Y` has entries. A
/// leverage of `(2 × 0.2 / 10)²` = 0.0016 is needed.
#[test]
fn a_row_with_a_small_loading_does_not_count() {
    for (loading, leverage, support) in [(0.06f64, 7e-4, &[0, 1, 2][..]), (0.1, 4.7e-3, &[0, 1, 2, 3][..])] {
        let other = ((1.0 - loading * loading) / 3.0).sqrt();
        let vector = DVector::from_vec(vec![other, other, other, loading, 0.0, 0.0]);
        let problem = problem(&(10.0 * &vector * vector.transpose()), 1, 0.2);
        let solution = solve(&problem);
        let fourth = solution.rows.iter().position(|row| *row == 3).unwrap();
        assert!(solution.sparse_block[(fourth, 0)] > 0.0);
        assert!((solution.feasible()[(3, 3)] / leverage - 1.0).abs() < 0.1, "{}", solution.feasible());
        assert_eq!(solution.support, support);
    }
}

/// Without noise. Each loading of the strong component is below what a row needs in the weak one.
#[test]
fn a_weak_component_does_not_hide_the_rows_of_a_strong_one() {
    for (dimension, many, strong, few, weak) in [(130, 120, 240.0, 1, 16.0), (260, 250, 500.0, 2, 18.0)] {
        let spike = |rows: std::ops::Range<usize>| {
            let loading = 1.0 / (rows.len() as f64).sqrt();
            DVector::from_fn(dimension, |row, _| if rows.contains(&row) { loading } else { 0.0 })
        };
        let (first, second) = (spike(0..many), spike(many + 5..many + 5 + few));
        let matrix = strong * &first * first.transpose() + weak * &second * second.transpose();
        let solution = solve(&problem(&matrix, 2, 1.0));
        assert_eq!(solution.support, (0..many).chain(many + 5..many + 5 + few).collect::<Vec<_>>());
        assert!((solution.variances - DVector::from_vec(vec![strong, weak])).amax() < 1e-3);
    }
}

/// One large loading, and 200 equal ones below a tenth of it and below `2 × 0.5 / 10`: where they hold more than half,
/// they stay.
#[test]
fn a_component_keeps_the_rows_without_which_little_of_it_is_left() {
    for (large, support) in [(0.6f64, 201), (0.8, 1)] {
        let small = ((1.0 - large * large) / 200.0).sqrt();
        let vector = DVector::from_fn(201, |row, _| if row == 0 { large } else { small });
        let matrix = &vector * vector.transpose();
        let problem = problem(&(10.0 * &matrix), 1, 0.5);
        let rows = Vec::from_iter(0..201);
        let found = Found {
            value: 0.0,
            bound: 0.0,
            vectors: DMatrix::from_column_slice(201, 1, vector.as_slice()),
            weights: DVector::from_element(1, 1.0),
            sparse_block: matrix,
            dual: DualMatrix { rows: rows.clone(), block: DMatrix::zeros(201, 201), cross: Vec::new() },
            rows,
        };
        let solution = FantopeSolution::new(&problem, &ScaledProblem::new(&problem, 10.0).unwrap(), found).unwrap();
        assert_eq!(solution.support.len(), support);
    }
}

/// Rough solutions have entries in rows that they do not name.
#[test]
fn components_of_rough_solutions_are_orthonormal_on_their_support_and_zero_elsewhere() {
    let mut cut = 0;
    for (dimension, rank, penalty) in [(40, 2, 0.2), (40, 3, 0.15), (60, 5, 0.3), (30, 6, 0.09)] {
        let problem = problem(&spiked(dimension), rank, penalty);
        for max_iterations in [1, 10, 40, 20_000] {
            let settings = SolverSettings { tolerance: 1e-4, max_iterations, ..Default::default() };
            let solution = FantopeSolver::new(settings).unwrap().solve(&problem).unwrap();
            assert_zero_off_the_support(&solution);
            let gram = solution.components.tr_mul(&solution.components);
            assert!((gram - DMatrix::identity(rank, rank)).norm() < 1e-12 && solution.support.len() >= rank);
            let moved = problem.estimate().to_double() * &solution.components;
            assert!((solution.components.tr_mul(&moved).diagonal() - &solution.variances).norm() < 1e-12);
            let nonzero = solution.feasible().diagonal().iter().filter(|entry| **entry > 0.0).count();
            cut += usize::from(nonzero > solution.support.len());
        }
    }
    assert!(cut > 0, "{cut} solutions have entries elsewhere");
}

#[test]
fn solution_does_not_depend_on_multiples_of_the_identity() {
    // On every row, and on a working set of a larger matrix.
    for dimension in [20, 60] {
        let matrix = spiked(dimension);
        let base = solve(&problem(&matrix, 2, 0.2));
        for shift in [-50.0, 1e-3, 1e6] {
            let shifted = &matrix + DMatrix::from_diagonal_element(dimension, dimension, shift);
            let moved = solve(&problem(&shifted, 2, 0.2));
            assert!((moved.feasible() - base.feasible()).norm() < 1e-6, "shift {shift}");
            assert!((moved.relative_gap - base.relative_gap).abs() < 1e-7);
        }
    }
}

/// And the bound is the sum of their eigenvalues and a margin.
#[test]
fn without_penalty_the_solution_is_ordinary_principal_components() {
    for rank in 1..8 {
        let problem = problem(&spiked(8), rank, 0.0);
        let solution = solve(&problem);
        assert_certified(&problem, &solution);
        let pca = principal_components(&problem.estimate().to_double(), problem.rank()).unwrap();
        assert!((&pca.vectors - &solution.components).norm() < 1e-10 && solution.iterations == 0, "{rank}");
        assert!((&pca.values - &solution.variances).norm() < 1e-12, "{rank}");
        assert!((solution.objective - pca.values.sum()).abs() < 1e-13, "{rank}");
        let gap = solution.dual_bound - solution.objective;
        assert!(gap > 0.0 && gap < 1e-12, "{rank} {gap}");
        assert_eq!(solution.dual_matrix(&problem).unwrap(), DMatrix::zeros(8, 8));
    }
}

#[test]
fn a_tiny_penalty_continues_the_unpenalised_solution() {
    let exact = solve(&problem(&spiked(20), 2, 0.0));
    let of = |solution: &FantopeSolution| Subspace::new(&solution.components).unwrap();
    let near = solve(&problem(&spiked(20), 2, 1e-9));
    assert!(near.iterations > 0);
    assert!(sin_theta_squared(&of(&exact), &of(&near)).unwrap() < 1e-6);
}

/// Whatever the penalty and the matrix, nothing else is feasible. Without a penalty the gap was rounding over 0.
#[test]
fn full_rank_has_no_gap_and_the_trace_for_its_objective() {
    let tied = DMatrix::from_fn(4, 4, |i, j| if i == j { 2.0 } else { 0.5 });
    for matrix in [spiked(1), spiked(5), noise(9), tied, DMatrix::zeros(3, 3), DMatrix::identity(6, 6) * 0.1] {
        let (dimension, trace) = (matrix.nrows(), matrix.trace());
        for penalty in [0.0, 5e-324, 1e-20, 1e-12, 0.3, 1e6] {
            let solution = solve(&problem(&matrix, dimension, penalty));
            let objective = trace - dimension as f64 * penalty;
            assert_eq!((solution.status, solution.relative_gap), (SolverStatus::Optimal, 0.0));
            assert_eq!((solution.iterations, solution.support.len()), (0, dimension));
            assert!((solution.objective - objective).abs() <= 1e-14 * (trace.abs() + objective.abs()));
            assert!(solution.dual_bound >= solution.objective);
            assert_eq!(solution.feasible(), DMatrix::identity(dimension, dimension));
        }
    }
}

/// Estimate and penalty are whole numbers, so that their multiples are exact down to the smallest number.
#[test]
fn the_certificate_is_right_at_every_power_of_two() {
    const D: usize = 5;
    let matrix = (noise(D) * 700.0).map(f64::round);
    let unit = f64::from_bits(1);
    for (rank, penalty) in (1..=D).flat_map(|rank| [0.0, 150.0, 1000.0].map(|penalty| (rank, penalty))) {
        let base = solve(&problem(&matrix, rank, penalty));
        assert_eq!(base.status, SolverStatus::Optimal);
        for exponent in (-1074..=1000).step_by(61) {
            let power = libm::exp2(f64::from(exponent));
            let problem = problem(&(&matrix * power), rank, penalty * power);
            let (solution, label) = (solve(&problem), format!("2^{exponent}, rank {rank}, penalty {penalty}"));
            assert_eq!((solution.status, &solution.support), (base.status, &base.support), "{label}");
            assert!(solution.relative_gap <= 1e-7, "{label}: {}", solution.relative_gap);
            let near = |found: f64, expected: f64, slack: f64| {
                let allowed = 1e-6 * (700 * D) as f64 * power + slack * unit;
                assert!((found - expected * power).abs() <= allowed, "{label}: {found:e} {expected:e}");
            };
            near(solution.objective, base.objective, 1.0);
            near(solution.dual_bound, base.dual_bound, 2.0);
            solution.variances.iter().zip(&base.variances).for_each(|(found, base)| near(*found, *base, 1.0));
            assert!(solution.dual_bound >= solution.objective, "{label}");
            // The dual matrix has whole multiples of the smallest number.
            let dual = solution.dual_matrix(&problem).unwrap();
            near(problem.dual_bound(&dual).unwrap(), base.dual_bound, (D * D) as f64);
        }
    }
}

/// On working sets, without a penalty, and beyond the dimension where all eigenvalues are computed. Estimate and
/// penalty are whole numbers again.
#[test]
fn solutions_are_the_same_to_the_last_bit_at_every_power_of_two() {
    for dimension in [60, 300] {
        let matrix = (spiked(dimension) * 1000.0).map(f64::round);
        for penalty in [400.0, 200.0, 90.0, 0.0] {
            let posed = |power: f64| problem(&(&matrix * power), 2, penalty * power);
            let at = |power: f64| FantopeSolver::default().solve(&posed(power)).unwrap();
            let base = at(1.0);
            // The smallest number, 7e-301 and 1e300.
            for power in [-1074.0, -997.0, 997.0].map(libm::exp2) {
                let (found, label) = (at(power), format!("{dimension} rows, penalty {penalty}, {power:e}"));
                assert_eq!((found.status, found.iterations), (base.status, base.iterations), "{label}");
                assert_eq!((found.certificate, found.relative_gap), (base.certificate, base.relative_gap), "{label}");
                assert_eq!((&found.support, &found.components), (&base.support, &base.components), "{label}");
                assert_eq!(found.variances, &base.variances * power, "{label}");
                assert_eq!(found.objective, base.objective * power, "{label}");
                assert!(found.dual_bound >= base.dual_bound * power, "{label}");
            }
        }
    }
}

#[test]
fn entries_lose_no_digits_beside_much_larger_numbers() {
    let unit = f64::from_bits(1);
    let diagonal = |values: &[f64]| DMatrix::from_diagonal(&DVector::from_column_slice(values));
    // The mean of the diagonal is no multiple of the smallest number.
    let smallest = solve(&problem(&diagonal(&[3.0 * unit, 2.0 * unit]), 1, 0.0));
    assert!(smallest.relative_gap < 1e-12 && smallest.objective == 3.0 * unit);
    let near_identity = DMatrix::from_fn(4, 4, |i, j| if i == j { 1.0 } else { 1e-320 });
    let solution = solve(&problem(&near_identity, 1, 0.0));
    // The rounding of a diagonal of 1 is much larger than what is certified.
    assert_eq!(solution.status, SolverStatus::Stalled);
    assert!(solution.components.iter().all(|entry| (entry - 0.5).abs() < 1e-9), "{}", solution.components);
    // Three times a third of 0.9 is not 0.9.
    let near_identity = DMatrix::from_fn(3, 3, |i, j| if i == j { 0.9 } else { 1e-300 });
    let solution = solve(&problem(&near_identity, 1, 0.0));
    assert_eq!(solution.status, SolverStatus::Optimal);
    assert!(
        solution.components.iter().all(|entry| (entry * entry - 1.0 / 3.0).abs() < 1e-9),
        "{}",
        solution.components
    );
    // Beside the penalty these entries are 0, and their order still counts.
    let hidden = problem(&diagonal(&[1e-320, 3e-320, 2e-320]), 2, 1e300);
    assert_eq!(solve(&hidden).support, [1, 2]);
    let unseen = problem(&(spiked(5) * 1e300), 2, 1e-320);
    assert!(solve(&unseen).relative_gap < 1e-12);
}

#[test]
fn entries_and_penalties_with_infinite_sums_are_refused_with_a_remedy() {
    let huge = 1.7e308;
    let identity = |dimension, level| DMatrix::from_diagonal_element(dimension, dimension, level);
    for (matrix, rank, penalty) in
        [(identity(2, huge), 2, 0.0), (identity(3, 1.0), 2, huge), (DMatrix::from_element(3, 3, huge), 1, 1e300)]
    {
        let refused = problem(&matrix, rank, penalty);
        assert_eq!(FantopeSolver::default().solve(&refused), Err(FantopeError::TooLarge));
        let solution = solve(&problem(&(matrix / 1e10), rank, penalty / 1e10));
        assert!(solution.objective.is_finite() && solution.dual_bound.is_finite());
    }
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

/// From the largest off-diagonal entry up, and not below it, the solution is on the diagonal and its bound is its
/// value, but for rounding. Its proof is a dual matrix that cancels all it may.
#[test]
fn the_closed_form_begins_at_the_largest_off_diagonal_entry() {
    let matrix = spiked(6);
    let largest = (0..6).flat_map(|i| (0..i).map(move |j| (i, j))).map(|at| matrix[at].abs()).fold(0.0, f64::max);
    let diagonal = matrix.diagonal();
    for rank in 1..6 {
        let mut order: Vec<usize> = (0..6).collect();
        order.sort_by(|a, b| diagonal[*b].total_cmp(&diagonal[*a]));
        let mut rows = order[..rank].to_vec();
        rows.sort_unstable();
        let value: f64 = rows.iter().map(|row| diagonal[*row]).sum();
        for penalty in [largest, 2.0 * largest] {
            let problem = problem(&matrix, rank, penalty);
            let solution = solve(&problem);
            assert_certified(&problem, &solution);
            assert_eq!((solution.iterations, &solution.support), (0, &rows));
            let objective = value - penalty * rank as f64;
            assert!((solution.objective - objective).abs() < 1e-14, "{rank}");
            let gap = solution.dual_bound - solution.objective;
            assert!(gap > 0.0 && gap < 1e-13, "{rank} {gap}");
            let checked = problem.dual_bound(&solution.dual_matrix(&problem).unwrap()).unwrap();
            assert!((checked - objective).abs() < 1e-12, "{rank} {checked} {objective}");
        }
        let below = solve(&problem(&matrix, rank, largest * (1.0 - 1e-9)));
        assert!(below.iterations > 0, "{rank}");
    }
}

/// With as many components as features the optimum is the trace less the penalties.
#[test]
fn a_bound_is_not_below_the_optimum_by_the_rounding_of_its_units() {
    let large = [9_999_999_999.948_025, 10_000_000_000.016_022];
    for diagonal in [&[1_000.107_680_464_641_4][..], &large[..]] {
        let matrix = DMatrix::from_diagonal(&DVector::from_column_slice(diagonal));
        let solution = solve(&problem(&matrix, diagonal.len(), 0.37));
        // Without its whole numbers, so that the difference is exact to far less than what was missing.
        let (whole, units) = (diagonal[0].round(), diagonal.len() as f64);
        let rest: f64 = diagonal.iter().map(|entry| entry - whole - 0.37).sum();
        let above = solution.dual_bound - units * whole - rest;
        assert!(above >= 0.0 && above < 1e-14 * whole, "{above:e}");
    }
}

/// Also in their serialized forms, which are numbers.
#[test]
fn ranks_are_from_one_to_the_dimension_and_penalties_finite_and_not_negative() {
    let rank = Rank::new(5).unwrap();
    assert_eq!((Rank::new(0), rank.check(5)), (Err(FantopeError::ZeroRank), Ok(())));
    assert_eq!(rank.check(3).unwrap_err().to_string(), "rank 5 exceeds the dimension 3: ask for at most 3 components");
    for penalty in [-1.0, -f64::MIN_POSITIVE, f64::INFINITY, f64::NAN] {
        assert!(matches!(Penalty::new(penalty), Err(FantopeError::InvalidPenalty(_))), "{penalty}");
    }
    assert!(Penalty::new(-0.0).unwrap().value().is_sign_positive());
    assert_eq!((serde_json::to_string(&rank).unwrap(), serde_json::from_str::<Rank>("5").unwrap()), ("5".into(), rank));
    assert_eq!(serde_json::from_str::<Penalty>("0.25").unwrap(), Penalty::new(0.25).unwrap());
    assert!(["0", "-1"].iter().all(|bad| serde_json::from_str::<Rank>(bad).is_err()));
    assert!(serde_json::from_str::<Penalty>("-0.25").is_err());
}

/// A symmetric matrix and a rank it admits.
pub(super) fn matrix_and_rank() -> impl Strategy<Value = (DMatrix<f64>, usize)> {
    (1usize..9).prop_flat_map(|dimension| {
        let entries = dimension * dimension;
        let matrix = prop_oneof![
            // Generic.
            prop::collection::vec(-3.0..3.0, entries).prop_map(move |entries| symmetric(dimension, &entries)),
            // Few distinct entries: ties, repeated rows, zero blocks.
            prop::collection::vec(prop::sample::select(vec![-1.0, 0.0, 0.0, 0.5, 1.0]), entries)
                .prop_map(move |entries| symmetric(dimension, &entries)),
            // Diagonal with tied eigenvalues, some exactly 1 apart: flat pieces of the threshold equation.
            prop::collection::vec(prop::sample::select(vec![0.0, 1.0, 2.0, 2.0]), dimension)
                .prop_map(|values| DMatrix::from_diagonal(&DVector::from_vec(values))),
            // A rotated spectrum with a tie: a reflection of a tied diagonal.
            prop::collection::vec(-1.0..1.0, dimension).prop_map(|direction| tied_reflection(&direction)),
            Just(DMatrix::zeros(dimension, dimension)),
        ];
        let rank = prop_oneof![Just(1), Just(dimension), 1..=dimension];
        (matrix, rank)
    })
}

pub(super) fn symmetric(dimension: usize, entries: &[f64]) -> DMatrix<f64> {
    DMatrix::from_fn(dimension, dimension, |row, column| entries[row.max(column) * dimension + row.min(column)])
}

fn tied_reflection(direction: &[f64]) -> DMatrix<f64> {
    let dimension = direction.len();
    let normal = DVector::from_column_slice(direction) + DVector::from_element(dimension, 1e-3);
    let reflection =
        DMatrix::identity(dimension, dimension) - &normal * normal.transpose() * (2.0 / normal.norm_squared());
    let tied =
        DMatrix::from_diagonal(&DVector::from_fn(dimension, |index, _| if index < dimension / 2 { 2.0 } else { 0.5 }));
    let mut rotated = &reflection * tied * &reflection;
    rotated.fill_lower_triangle_with_upper_triangle();
    rotated
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn soft_threshold_splits_a_matrix_into_a_shrunk_and_a_clipped_part(
        (matrix, _) in matrix_and_rank(),
        amount in 0.0..2.0f64,
    ) {
        let shrunk = soft_threshold(&matrix, Penalty::new(amount).unwrap());
        for (entry, shrunk) in matrix.iter().zip(shrunk.iter()) {
            prop_assert!((entry - shrunk).abs() <= amount + 1e-15);
            let by_amount = (entry.abs() - shrunk.abs() - amount).abs() < 1e-15;
            prop_assert!(*shrunk == 0.0 || (shrunk.signum() == entry.signum() && by_amount));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn sparse_solution_is_feasible_certified_and_beats_every_other_point(
        (matrix, rank) in matrix_and_rank(),
        penalty in prop_oneof![Just(0.0), Just(0.5), Just(10.0), 0.0..1.5],
        seeds in prop::collection::vec(-2.0..2.0, 81),
    ) {
        let problem = problem(&matrix, rank, penalty);
        let solution = solve(&problem);
        prop_assert_eq!(solution.status, SolverStatus::Optimal);
        prop_assert!(problem.infeasibility(&solution.feasible()).unwrap() <= 1e-9);
        let bound = problem.dual_bound(&solution.dual_matrix(&problem).unwrap()).unwrap();
        prop_assert!((bound - solution.dual_bound).abs() <= 1e-9 * (1.0 + bound.abs()));
        let value = problem.objective(&solution.feasible()).unwrap();
        prop_assert!((value - solution.objective).abs() <= 1e-9 * (1.0 + bound.abs()));
        let thresholded = soft_threshold(&matrix, problem.penalty()) * 1e6;
        for other in [symmetric(matrix.nrows(), &seeds), matrix.clone(), thresholded] {
            let feasible = project_onto_fantope(&other, problem.rank()).unwrap().matrix;
            prop_assert!(problem.objective(&feasible).unwrap() <= solution.dual_bound + 1e-12);
        }
    }
}
