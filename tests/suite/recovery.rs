//! Laws of soft thresholding and the sparse solver, on inputs biased to ties, zeros and extreme ranks.

use ldp_pca::recovery::{
    FantopeProblem, FantopeSolver, Penalty, Rank, SolverSettings, SolverStatus, project_onto_fantope, soft_threshold,
};
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;

/// A symmetric matrix and a rank it admits.
fn matrix_and_rank() -> impl Strategy<Value = (DMatrix<f64>, usize)> {
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

fn symmetric(dimension: usize, entries: &[f64]) -> DMatrix<f64> {
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
        let problem = FantopeProblem::new(&matrix, Rank::new(rank).unwrap(), Penalty::new(penalty).unwrap()).unwrap();
        let solver = FantopeSolver::new(SolverSettings { tolerance: 1e-7, ..SolverSettings::default() }).unwrap();
        let solution = solver.solve(&problem).unwrap();
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
