//! Solutions for a sequence of penalties.

use std::ops::ControlFlow;

use nalgebra::{DMatrix, DVector};
use serde::{Serialize, Serializer};

use super::{DEFAULT_PENALTY_FACTOR, PathError, Sequence, SequenceProgress, default_penalty};
use crate::linalg::{SymmetricMatrix, sorted_descending};
use crate::scaled::largest_magnitudes;
use crate::{FantopeError, FantopeProblem, Penalty, Rank, SolverSettings, SolverStatus};

/// The widest gap at which a sequence stops: scores and sizes of supports need no more digits.
const SEQUENCE_TOLERANCE: f64 = 1e-4;

impl SolverSettings {
    /// These settings for [`solve_sequence`] or another [`Sequence`], which need no narrower gap than 1e-4.
    #[must_use]
    pub fn for_sequence(self) -> Self {
        Self { tolerance: self.tolerance.max(SEQUENCE_TOLERANCE), ..self }
    }
}

/// The solution for one penalty, without its matrices. The serialized form has only the number of rows, so it cannot be
/// read back.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PathPoint {
    /// The penalty, in the units of the estimate.
    pub penalty: Penalty,
    /// How the solver ended.
    pub status: SolverStatus,
    /// Rows that take part, ascending from 0; their number where it is serialized.
    #[serde(rename = "support_size", serialize_with = "length")]
    pub support: Vec<usize>,
    /// Objective of the feasible solution, in the units of the estimate.
    pub objective: f64,
    /// Certified relative gap (see [`FantopeSolution::relative_gap`](crate::FantopeSolution::relative_gap)).
    pub relative_gap: f64,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Variances of the `k` components, descending, in the units of the estimate.
    #[serde(rename = "eigenvalues", serialize_with = "entries")]
    pub variances: DVector<f64>,
}

/// A geometric sequence of `count` penalties for a symmetric `d × d` estimate, from the largest that changes anything
/// down to `smallest`.
///
/// The largest is the largest off-diagonal `|S_ij|`: from there up `X` is diagonal and selects the `k` largest diagonal
/// entries. Where that is not above `smallest`, as for a diagonal matrix, `smallest` alone is returned.
///
/// # Errors
///
/// [`FantopeError::Eigen`] when the matrix is empty, not square, not finite or not symmetric;
/// [`FantopeError::InvalidSetting`] when there are less than two points, or `smallest` is 0, which no geometric
/// sequence reaches.
pub fn penalty_sequence(
    estimate: &DMatrix<f64>,
    smallest: Penalty,
    count: usize,
) -> Result<Vec<Penalty>, FantopeError> {
    FantopeError::require(count >= 2, "count", count as f64, "at least 2, the first and the last")?;
    let largest = largest_magnitudes(&SymmetricMatrix::new(estimate.clone())?).off_diagonal;
    if largest <= smallest.value() {
        return Ok(vec![smallest]);
    }
    let reached = smallest > Penalty::ZERO;
    FantopeError::require(reached, "smallest", 0.0, "above 0, for a geometric sequence never reaches 0")?;
    // Below the smallest normal number the ratio loses its digits, and is 0 at last.
    let step = libm::log((smallest.value() / largest).max(f64::MIN_POSITIVE)) / (count - 1) as f64;
    let between = |index: usize| Penalty::new(largest * libm::exp(step * index as f64));
    let mut penalties = (0..count - 1).map(between).collect::<Result<Vec<_>, _>>()?;
    penalties.push(smallest);
    Ok(penalties)
}

/// So many penalties from the largest that changes anything to a quarter of the [`default_penalty`] for noise of this
/// standard deviation.
///
/// # Errors
///
/// As [`default_penalty`] and [`penalty_sequence`].
pub fn default_penalty_sequence(
    estimate: &DMatrix<f64>,
    noise_level: f64,
    count: usize,
) -> Result<Vec<Penalty>, FantopeError> {
    let smallest = default_penalty(noise_level, estimate.nrows(), DEFAULT_PENALTY_FACTOR / 4.0)?;
    penalty_sequence(estimate, smallest, count)
}

/// Solves the sparse problem for every penalty, largest first whatever their order, each started from the one before.
/// Adds a point to `points` for each; after an error they are there of those solved before.
///
/// `progress` is called whenever the solver certifies its gap, and may end it all.
///
/// ```
/// use fantope::{Penalty, Rank, SolverSettings, penalty_sequence, solve_sequence};
/// use nalgebra::DMatrix;
/// use std::ops::ControlFlow;
///
/// // One component on rows 0 and 1; the rest is noise of size 0.1.
/// let estimate = DMatrix::from_row_slice(3, 3, &[1.0, 0.9, 0.1, 0.9, 1.0, 0.1, 0.1, 0.1, 0.2]);
/// let penalties = penalty_sequence(&estimate, Penalty::new(0.02)?, 3)?;
/// let (rank, settings, mut points) = (Rank::new(1)?, SolverSettings::default(), vec![]);
/// solve_sequence(&estimate, rank, &penalties, &settings, &mut |_| ControlFlow::Continue(()), &mut points)?;
/// // From one row, where the penalty equals the largest off-diagonal entry, to all of them.
/// let sizes: Vec<usize> = points.iter().map(|point| point.support.len()).collect();
/// assert_eq!(sizes, [1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`PathError::NoPenalties`], [`PathError::Cancelled`], or [`PathError::Fantope`] when the problem cannot be posed
/// (see [`FantopeProblem::new`]) or solved.
pub fn solve_sequence(
    estimate: &DMatrix<f64>,
    rank: Rank,
    penalties: &[Penalty],
    settings: &SolverSettings,
    progress: &mut dyn FnMut(&SequenceProgress) -> ControlFlow<()>,
    points: &mut Vec<PathPoint>,
) -> Result<(), PathError> {
    if penalties.is_empty() {
        return Err(PathError::NoPenalties);
    }
    let penalties = sorted_descending(penalties.to_vec(), |penalty| penalty.value());
    let mut sequence = Sequence { settings, progress, solved: 0, total: penalties.len() };
    let mut last = None;
    let mut problem = FantopeProblem::new(estimate, rank, Penalty::ZERO)?;
    for penalty in penalties {
        problem = problem.with_penalty(penalty);
        let solution = sequence.solve(&problem, last.as_ref())?;
        points.push(PathPoint {
            penalty,
            status: solution.status,
            support: solution.support.clone(),
            objective: solution.objective,
            relative_gap: solution.relative_gap,
            iterations: solution.iterations,
            variances: solution.variances.clone(),
        });
        last = Some(solution);
    }
    Ok(())
}

fn length<S: Serializer>(rows: &[usize], serializer: S) -> Result<S::Ok, S::Error> {
    rows.len().serialize(serializer)
}

fn entries<S: Serializer>(values: &DVector<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    values.as_slice().serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::spiked;

    fn penalty(value: f64) -> Penalty {
        Penalty::new(value).unwrap()
    }

    fn path(estimate: &DMatrix<f64>, rank: usize, penalties: &[Penalty]) -> Result<Vec<PathPoint>, PathError> {
        let (rank, settings, mut points) = (Rank::new(rank).unwrap(), SolverSettings::default(), vec![]);
        solve_sequence(estimate, rank, penalties, &settings, &mut |_| ControlFlow::Continue(()), &mut points)?;
        Ok(points)
    }

    #[test]
    fn the_sequence_runs_from_a_diagonal_solution_to_the_smallest_penalty() {
        let penalties = penalty_sequence(&spiked(12), penalty(0.05), 6).unwrap();
        assert_eq!((penalties.len(), penalties[5]), (6, penalty(0.05)));
        assert_eq!(penalties[0].value(), largest_magnitudes(&SymmetricMatrix::new(spiked(12)).unwrap()).off_diagonal);
        let ratio = penalties[1].value() / penalties[0].value();
        assert!(penalties.windows(2).all(|pair| (pair[1].value() / pair[0].value() - ratio).abs() < 1e-12));
        let path = path(&spiked(12), 2, &penalties).unwrap();
        assert_eq!((path[0].iterations, path[0].support.len()), (0, 2));
        for (point, penalty) in path.iter().zip(&penalties) {
            assert_eq!((point.penalty, point.status, point.variances.len()), (*penalty, SolverStatus::Optimal, 2));
        }
        // No feasible point can gain from a higher penalty.
        assert!(path.is_sorted_by(|above, below| above.objective <= below.objective + 1e-6));
        assert!(path.iter().any(|point| point.support == [0, 1, 2, 3, 4]));
    }

    #[test]
    fn a_sequence_of_two_is_its_ends_and_one_that_begins_at_its_end_is_that() {
        let largest = largest_magnitudes(&SymmetricMatrix::new(spiked(12)).unwrap()).off_diagonal;
        let values = |smallest: f64, count| {
            let penalties = penalty_sequence(&spiked(12), penalty(smallest), count).unwrap();
            penalties.iter().map(|penalty| penalty.value()).collect::<Vec<f64>>()
        };
        assert_eq!(values(0.05, 2), [largest, 0.05]);
        assert_eq!(values(largest, 5), [largest]);
        assert_eq!(values(9.0, 5), [9.0]);
        let three = values(0.05, 3);
        assert!((three[1] / (largest * 0.05).sqrt() - 1.0).abs() < 1e-14 && three.len() == 3, "{three:?}");
        let huge = penalty_sequence(&(spiked(12) * 1e300), penalty(1e-300), 3).unwrap();
        assert!(huge.is_sorted_by(|above, below| above > below) && huge[2] == penalty(1e-300), "{huge:?}");
    }

    #[test]
    fn penalties_are_solved_in_descending_order() {
        let shuffled = path(&spiked(12), 2, &[penalty(0.2), penalty(0.0), penalty(9.0)]).unwrap();
        let order: Vec<f64> = shuffled.iter().map(|point| point.penalty.value()).collect();
        assert_eq!(order, [9.0, 0.2, 0.0]);
        assert_eq!(shuffled[2].support.len(), 12);
    }

    #[test]
    fn matrices_without_off_diagonal_entries_have_a_path_of_one_point() {
        for estimate in [DMatrix::zeros(3, 3), DMatrix::identity(3, 3), DMatrix::from_element(1, 1, 2.0)] {
            assert_eq!(penalty_sequence(&estimate, penalty(0.1), 9).unwrap(), [penalty(0.1)]);
            assert_eq!(penalty_sequence(&estimate, Penalty::ZERO, 9).unwrap(), [Penalty::ZERO]);
            assert_eq!(path(&estimate, 1, &[Penalty::ZERO]).unwrap()[0].support, [0]);
        }
    }

    #[test]
    fn what_is_no_sequence_or_no_problem_is_refused() {
        let setting = |smallest, count| match penalty_sequence(&spiked(12), smallest, count) {
            Err(FantopeError::InvalidSetting { name, value, .. }) => (name, value),
            other => panic!("{other:?}"),
        };
        assert_eq!(setting(penalty(0.1), 1), ("count", 1.0));
        assert_eq!(setting(penalty(0.1), 0), ("count", 0.0));
        assert_eq!(setting(Penalty::ZERO, 5), ("smallest", 0.0));
        let skew = DMatrix::from_row_slice(2, 2, &[0.0, 1.0, -1.0, 0.0]);
        assert!(matches!(penalty_sequence(&skew, penalty(0.1), 5), Err(FantopeError::Eigen(_))));
        assert_eq!(path(&spiked(12), 2, &[]), Err(PathError::NoPenalties));
        assert!(matches!(path(&skew, 1, &[penalty(0.1)]), Err(PathError::Fantope(FantopeError::Eigen(_)))));
        let wide = path(&spiked(12), 13, &[penalty(0.1)]);
        let expected = FantopeError::RankExceedsDimension { rank: 13, dimension: 12 };
        assert_eq!(wide, Err(PathError::Fantope(expected)));
    }

    #[test]
    fn the_callback_can_end_the_path() {
        let (rank, settings, mut points) = (Rank::new(2).unwrap(), SolverSettings::default(), vec![]);
        let mut calls = 0;
        let mut stop = |progress: &SequenceProgress| {
            calls += 1;
            assert_eq!((progress.solved, progress.total), (1, 2));
            ControlFlow::Break(())
        };
        let penalties = [penalty(9.0), penalty(0.2)];
        let stopped = solve_sequence(&spiked(12), rank, &penalties, &settings, &mut stop, &mut points);
        assert_eq!((stopped, calls), (Err(PathError::Cancelled { solved: 1, total: 2 }), 1));
        assert_eq!(points.len(), 1);
    }
}
