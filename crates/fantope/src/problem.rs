//! The Fantope, the sparse problem over it, and the certificate of a solution.

use nalgebra::{DMatrix, DVector};

use super::{FantopeError, Penalty, Rank};
use crate::linalg::{
    SymmetricMatrix, mean, power_of_two_below, sort_ascending, symmetric_eigen, symmetric_eigenvalues,
};

/// The sparse principal subspace problem, with its arguments checked once.
///
/// ```text
/// maximise ⟨S, X⟩ − penalty Σ_ij |X_ij|   over   {X symmetric : 0 ⪯ X ⪯ I, tr X = k}
/// ```
///
/// The feasible set, the Fantope, is the convex hull of the projectors of rank `k`. The diagonal is penalised too.
/// (Vu, Cho, Lei & Rohe 2013; Wang & Xu 2019, equation 5.)
///
/// ```
/// use fantope::{FantopeProblem, Penalty, Rank};
/// use nalgebra::DMatrix;
///
/// let estimate = DMatrix::from_row_slice(2, 2, &[1.0, 0.5, 0.5, 1.0]);
/// let problem = FantopeProblem::new(&estimate, Rank::new(1)?, Penalty::new(0.1)?)?;
/// assert_eq!(problem.dimension(), 2);
/// assert!(FantopeProblem::new(&estimate, Rank::new(3)?, Penalty::ZERO).is_err(), "three components of two features");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FantopeProblem {
    estimate: SymmetricMatrix,
    rank: Rank,
    penalty: Penalty,
}

impl FantopeProblem {
    /// Poses the problem for a symmetric `d × d` covariance estimate.
    ///
    /// The types prove rank and penalty sound on their own; the estimate may be indefinite, zero or have tied
    /// eigenvalues.
    ///
    /// # Errors
    ///
    /// [`FantopeError::Eigen`] when the matrix is empty, not square, not finite or not symmetric,
    /// [`FantopeError::RankExceedsDimension`].
    pub fn new(matrix: &DMatrix<f64>, rank: Rank, penalty: Penalty) -> Result<Self, FantopeError> {
        Self::of_estimate(SymmetricMatrix::new(matrix.clone())?, rank, penalty)
    }

    /// Poses the problem for an estimate already checked, without a copy of it: for large ones, and in single
    /// precision.
    ///
    /// # Errors
    ///
    /// [`FantopeError::RankExceedsDimension`].
    pub fn of_estimate(estimate: SymmetricMatrix, rank: Rank, penalty: Penalty) -> Result<Self, FantopeError> {
        rank.check(estimate.dimension())?;
        Ok(Self { estimate, rank, penalty })
    }

    /// This problem with another penalty.
    #[must_use]
    pub fn with_penalty(self, penalty: Penalty) -> Self {
        Self { penalty, ..self }
    }

    /// The problem with estimate and penalty times a power of two.
    pub(super) fn times(&self, power: f64) -> Result<Self, FantopeError> {
        let estimate = SymmetricMatrix::new(self.estimate.to_double() * power)?;
        Ok(Self { estimate, rank: self.rank, penalty: Penalty::new(self.penalty.value() * power)? })
    }

    /// The estimate `S`, `d × d`, symmetric to the last bit.
    pub fn estimate(&self) -> &SymmetricMatrix {
        &self.estimate
    }

    /// Dimension `d` of the estimate.
    pub fn dimension(&self) -> usize {
        self.estimate.dimension()
    }

    /// Number `k` of components.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Weight of the entrywise `l1` norm, in the units of the estimate.
    pub fn penalty(&self) -> Penalty {
        self.penalty
    }

    /// Value of a `d × d` matrix: `⟨S, X⟩ − penalty Σ_ij |X_ij|`, in the units of the estimate.
    ///
    /// Says nothing about feasibility: see [`FantopeProblem::infeasibility`].
    ///
    /// # Errors
    ///
    /// [`FantopeError::ShapeMismatch`].
    pub fn objective(&self, x: &DMatrix<f64>) -> Result<f64, FantopeError> {
        FantopeError::check_shape(x.shape(), self.dimension())?;
        let (s, penalty, dimension) = (self.estimate.to_double(), self.penalty.value(), self.dimension());
        // Column by column, so that rounding grows with d and not with d².
        let columns = s.as_slice().chunks_exact(dimension).zip(x.as_slice().chunks_exact(dimension));
        let value = |(s, x): (&[f64], &[f64])| s.iter().zip(x).map(|(s, x)| s * x - penalty * x.abs()).sum::<f64>();
        Ok(columns.map(value).sum())
    }

    /// How far a symmetric matrix is from the Fantope: 0 inside, absolute (eigenvalues and trace of a projector are of
    /// size 1).
    ///
    /// ```text
    /// max(0, −λ_min(X), λ_max(X) − 1, |tr X − k|)
    /// ```
    ///
    /// # Errors
    ///
    /// [`FantopeError::ShapeMismatch`], or [`FantopeError::Eigen`] when `x` is not a finite symmetric matrix.
    pub fn infeasibility(&self, x: &DMatrix<f64>) -> Result<f64, FantopeError> {
        FantopeError::check_shape(x.shape(), self.dimension())?;
        let values = symmetric_eigenvalues(x)?;
        let trace_defect = (x.trace() - self.rank.value() as f64).abs();
        Ok(trace_defect.max(-values.min()).max(values.max() - 1.0))
    }

    /// Upper bound on the optimum from a symmetric dual matrix with `|Z_ij| ≤ penalty`.
    ///
    /// ```text
    /// ⟨S, X⟩ − penalty Σ|X_ij|  ≤  ⟨S − Z, X⟩  ≤  λ_1(S − Z) + … + λ_k(S − Z)
    /// ```
    ///
    /// The second step is Ky Fan's theorem. A rounding margin (`eigenvalue_rounding`) is added, because without it the
    /// computed sum could fall below the true optimum and certify too much. The mean diagonal of `S` is taken out first
    /// and put back, so that a large multiple of the identity does not inflate the margin.
    ///
    /// # Errors
    ///
    /// [`FantopeError::ShapeMismatch`], [`FantopeError::DualInfeasible`] when an entry exceeds the penalty, or
    /// [`FantopeError::Eigen`] when `S − Z` is not a finite symmetric matrix.
    pub fn dual_bound(&self, z: &DMatrix<f64>) -> Result<f64, FantopeError> {
        FantopeError::check_shape(z.shape(), self.dimension())?;
        let penalty = self.penalty.value();
        if let Some(position) = z.iter().position(|entry| entry.is_nan() || entry.abs() > penalty) {
            let (row, column) = (position % z.nrows(), position / z.nrows());
            return Err(FantopeError::DualInfeasible { row, column, value: z[(row, column)], penalty });
        }
        let s = self.estimate.to_double();
        // In units of the largest entry, whose squares are neither 0 nor infinite.
        let unit = power_of_two_below(s.amax().max(z.amax()).min(f64::MAX));
        let (s, z) = (s / unit, z / unit);
        let shift = mean(self.dimension(), |index| s[(index, index)]);
        let mut difference = &s - &z;
        (0..self.dimension()).for_each(|index| difference[(index, index)] -= shift);
        let count = self.rank.value() as f64;
        let leading = symmetric_eigenvalues(&difference)?.rows(0, self.rank.value()).sum();
        let rounding = eigenvalue_rounding(self.dimension(), difference.norm(), s.amax() + z.amax());
        Ok(rounded_up(leading + count * shift + count * rounding, unit))
    }
}

/// `value × unit` for a power of two, rounded up where the product is too small for all digits.
pub(super) fn rounded_up(value: f64, unit: f64) -> f64 {
    let product = value * unit;
    if product / unit < value { product.next_up() } else { product }
}

/// How far a computed eigenvalue of `S − Z` may be off: `norm` is the Frobenius norm of the `d × d` difference,
/// `entries` the largest `|S_ij|` and the largest `|Z_ij|` together.
///
/// Householder reduction and the QR iteration return the exact eigenvalues of a matrix within `4 d u ‖S − Z‖_F`
/// (`u = 2⁻⁵²`; the proofs allow a larger constant, practice shows a far smaller one), and by Weyl's theorem no
/// eigenvalue moves further than that. Forming `S − Z` and summing add a few `u` times the largest entry.
pub(super) fn eigenvalue_rounding(dimension: usize, norm: f64, entries: f64) -> f64 {
    4.0 * f64::EPSILON * (dimension as f64 * norm + entries)
}

/// The nearest point of the Fantope, in factored form.
#[derive(Clone, Debug, PartialEq)]
pub struct FantopeProjection {
    /// The projection `X`, `d × d`, symmetric to the last bit.
    pub matrix: DMatrix<f64>,
    /// Its `d` eigenvalues, descending, in `[0, 1]` and summing to `k`.
    pub weights: DVector<f64>,
    /// Its eigenvectors, which are those of the projected matrix, `d × d`, column-major, in the order of the weights.
    pub vectors: DMatrix<f64>,
    /// The threshold `θ` that was subtracted from the eigenvalues.
    pub threshold: f64,
}

/// Projects a symmetric `d × d` matrix onto the Fantope in Frobenius norm, exactly.
///
/// ```text
/// A = Σ λ_i u_i u_iᵀ   ⟶   X = Σ min(1, max(0, λ_i − θ)) u_i u_iᵀ   with   tr X = k
/// ```
///
/// The threshold `θ` solves a piecewise-linear equation, so it is computed, not iterated (Vu, Cho, Lei & Rohe 2013,
/// Lemma 4.1). Where the equation holds on a whole interval, every `θ` in it gives the same `X`.
///
/// # Errors
///
/// [`FantopeError::RankExceedsDimension`], or [`FantopeError::Eigen`] when the matrix is not a finite symmetric one.
pub fn project_onto_fantope(matrix: &DMatrix<f64>, rank: Rank) -> Result<FantopeProjection, FantopeError> {
    let eigen = symmetric_eigen(matrix)?;
    rank.check(matrix.nrows())?;
    let (weights, threshold) = fantope_weights(&eigen.values, rank.value());
    Ok(FantopeProjection {
        matrix: weighted_projectors(&eigen.vectors, &weights),
        weights,
        vectors: eigen.vectors,
        threshold,
    })
}

/// Entrywise soft-thresholding: moves every entry towards 0 by `amount`, stopping there.
///
/// ```text
/// S_t(x) = sign(x) max(|x| − t, 0)
/// ```
pub fn soft_threshold(matrix: &DMatrix<f64>, amount: Penalty) -> DMatrix<f64> {
    let amount = amount.value();
    matrix.map(|entry| entry - entry.clamp(-amount, amount))
}

/// Weights `min(1, max(0, λ_i − θ))` summing to `k`, and `θ`, for eigenvalues in descending order.
pub(super) fn fantope_weights(values: &DVector<f64>, rank: usize) -> (DVector<f64>, f64) {
    let target = rank as f64;
    // Relative to the k-th eigenvalue the threshold lies in [−1, 0]: no digits are lost to a large common shift.
    let pivot = values[rank - 1];
    let shifted = values.map(|value| value - pivot);
    let total = |threshold: f64| shifted.iter().map(|value| (value - threshold).clamp(0.0, 1.0)).sum::<f64>();

    let mut breakpoints: Vec<f64> = shifted.iter().flat_map(|value| [value - 1.0, *value]).collect();
    breakpoints.retain(|point| (-1.0..=0.0).contains(point));
    sort_ascending(&mut breakpoints);
    // total() decreases from at least k at −1, which is a breakpoint, to less than k at 0.
    let below = breakpoints.partition_point(|point| total(*point) >= target).max(1) - 1;
    let start = breakpoints[below];
    let end = breakpoints.get(below + 1).copied().unwrap_or(0.0);
    let sloping = shifted.iter().filter(|value| **value >= end && **value - 1.0 <= start && start < end).count();
    let excess = total(start) - target;
    let threshold = if sloping == 0 { start } else { (start + excess / sloping as f64).clamp(start, end) };
    (shifted.map(|value| (value - threshold).clamp(0.0, 1.0)), threshold + pivot)
}

/// `Σ w_i u_i u_iᵀ`, from whichever is fewer: the vectors with positive weight, or those with weight below 1.
pub(super) fn weighted_projectors(vectors: &DMatrix<f64>, weights: &DVector<f64>) -> DMatrix<f64> {
    let dimension = vectors.nrows();
    let positive = weights.iter().take_while(|weight| **weight > 0.0).count();
    let full = weights.iter().take_while(|weight| **weight == 1.0).count();
    if positive <= dimension - full {
        gram(&scaled_columns(vectors, 0..positive, |index| weights[index].sqrt()))
    } else {
        let factor = scaled_columns(vectors, full..dimension, |index| (1.0 - weights[index]).sqrt());
        DMatrix::identity(dimension, dimension) - gram(&factor)
    }
}

/// `F Fᵀ`, exactly symmetric.
pub(super) fn gram(factor: &DMatrix<f64>) -> DMatrix<f64> {
    let mut gram = factor * factor.transpose();
    gram.fill_lower_triangle_with_upper_triangle();
    gram
}

pub(super) fn scaled_columns(
    vectors: &DMatrix<f64>,
    range: std::ops::Range<usize>,
    factor: impl Fn(usize) -> f64,
) -> DMatrix<f64> {
    let start = range.start;
    DMatrix::from_fn(vectors.nrows(), range.len(), |row, column| {
        vectors[(row, start + column)] * factor(start + column)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::{matrix_and_rank, symmetric};

    fn rank(k: usize) -> Rank {
        Rank::new(k).unwrap()
    }

    fn weights(values: &[f64], k: usize) -> Vec<f64> {
        fantope_weights(&DVector::from_column_slice(values), k).0.as_slice().to_vec()
    }

    #[test]
    fn weights_solve_the_threshold_equation_exactly() {
        assert_eq!(weights(&[5.0, 3.0, 1.0], 2), [1.0, 1.0, 0.0]);
        assert_eq!(weights(&[3.0, 3.0, 3.0, 3.0], 2), [0.5; 4]);
        let spread = weights(&[0.5, 0.25, 0.0], 1);
        assert!(spread.iter().zip([7.0, 4.0, 1.0]).all(|(weight, twelfths)| (weight * 12.0 - twelfths).abs() < 1e-14));
        assert_eq!(weights(&[2.0, 1.0, 1.0], 2), [1.0, 0.5, 0.5]);
        assert_eq!(weights(&[9.0, -4.0, -4.0], 3), [1.0; 3]);
        assert_eq!(weights(&[-7.0], 1), [1.0]);
    }

    #[test]
    fn weights_sum_to_the_rank_at_any_magnitude() {
        for scale in [1e-12, 1e-3, 1.0, 1e3, 1e12] {
            for offset in [0.0, -1e6, 1e6] {
                let values: Vec<f64> = (0..50).map(|i| offset + scale * (3.0 - (i as f64).sqrt())).collect();
                for k in [1, 7, 49, 50] {
                    let sum: f64 = weights(&values, k).iter().sum();
                    assert!((sum - k as f64).abs() < 1e-12, "scale {scale:e}, offset {offset:e}, k {k}: {sum}");
                }
            }
        }
    }

    #[test]
    fn dual_matrices_beyond_the_penalty_are_refused() {
        let problem = FantopeProblem::new(&DMatrix::identity(2, 2), rank(1), Penalty::new(0.5).unwrap()).unwrap();
        for (place, bad) in [(3, f64::NAN), (2, -0.6), (1, 0.5f64.next_up()), (0, f64::NEG_INFINITY)] {
            let mut z = DMatrix::from_element(2, 2, -0.5);
            assert!(problem.dual_bound(&z).is_ok());
            z[place] = bad;
            let Err(FantopeError::DualInfeasible { row, column, value, penalty }) = problem.dual_bound(&z) else {
                panic!()
            };
            assert_eq!((row, column, penalty, value.to_bits()), (place % 2, place / 2, 0.5, bad.to_bits()));
        }
        assert!((problem.dual_bound(&DMatrix::from_element(2, 2, 0.5)).unwrap() - 1.0).abs() < 1e-14);
    }

    fn bound(s: &DMatrix<f64>, z: &DMatrix<f64>, k: usize) -> Result<f64, FantopeError> {
        FantopeProblem::new(s, rank(k), Penalty::new(9.0).unwrap())?.dual_bound(z)
    }

    /// Matrices whose eigenvalues are known and sum to zero or nearly so: what remains is the margin.
    #[test]
    fn the_margin_of_a_dual_bound_is_the_documented_one() {
        let unit = 4.0 * f64::EPSILON;
        let diagonal = |entries: &[f64]| DMatrix::from_diagonal(&DVector::from_row_slice(entries));
        let zero = DMatrix::zeros(2, 2);
        let margin = bound(&diagonal(&[1.0, -1.0]), &zero, 2).unwrap();
        assert!((margin / (2.0 * unit * (2.0 * 2f64.sqrt() + 1.0)) - 1.0).abs() < 1e-9, "{margin}");
        // Entries of Z count once more, as they do in the difference.
        let margin = bound(&diagonal(&[1.0, -1.0]), &diagonal(&[3.0, -3.0]), 2).unwrap();
        assert!((margin / (2.0 * unit * (2.0 * 8f64.sqrt() + 4.0)) - 1.0).abs() < 1e-9, "{margin}");
        // A multiple of the identity is taken out before there is a norm: 1 and -1 about 2^20, whose sum is exact.
        let shifted = bound(&diagonal(&[1_048_577.0, 1_048_575.0]), &zero, 1).unwrap();
        let margin = shifted - 1_048_577.0;
        assert!(margin > 0.0 && margin < 2.0 * unit * 1_048_577.0, "{margin}");
        assert_eq!(eigenvalue_rounding(7, 3.0, 5.0), unit * 26.0);
    }

    #[test]
    fn a_dual_bound_is_the_sum_of_the_leading_eigenvalues() {
        let s = DMatrix::from_row_slice(3, 3, &[2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, -4.0]);
        let z = DMatrix::from_row_slice(3, 3, &[0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -1.0]);
        for (z, sums) in [(DMatrix::zeros(3, 3), [3.0, 4.0, 0.0]), (z, [2.0, 4.0, 1.0])] {
            for (k, sum) in (1..).zip(sums) {
                let found = bound(&s, &z, k).unwrap();
                assert!(found >= sum && found < sum + 1e-13, "{k} {found}");
            }
        }
        let shape = FantopeError::ShapeMismatch { rows: 2, columns: 3, dimension: 3 };
        assert_eq!(bound(&s, &DMatrix::zeros(2, 3), 1), Err(shape));
        let excess = FantopeError::RankExceedsDimension { rank: 4, dimension: 3 };
        assert_eq!(bound(&s, &DMatrix::zeros(3, 3), 4), Err(excess));
    }

    #[test]
    fn the_objective_is_the_inner_product_less_the_penalty_on_every_entry() {
        let s = DMatrix::from_row_slice(2, 2, &[3.0, 1.0, 1.0, -2.0]);
        let problem = FantopeProblem::new(&s, rank(1), Penalty::new(0.5).unwrap()).unwrap();
        let x = DMatrix::from_row_slice(2, 2, &[0.5, -0.25, -0.25, 1.0]);
        assert_eq!(problem.objective(&x), Ok(1.5 - 0.5 - 2.0 - 0.5 * 2.0));
        for shape in [(1, 2), (2, 1), (3, 3)] {
            let error = FantopeError::ShapeMismatch { rows: shape.0, columns: shape.1, dimension: 2 };
            let other = DMatrix::zeros(shape.0, shape.1);
            assert_eq!(problem.objective(&other), Err(error.clone()));
            assert_eq!(problem.dual_bound(&other), Err(error.clone()));
            assert_eq!(problem.infeasibility(&other), Err(error));
        }
    }

    /// By both ways of summing: of the vectors with weight, and of those that lack some.
    #[test]
    fn projectors_are_weighted_one_by_one_from_whichever_are_fewer() {
        let matrix = DMatrix::from_fn(5, 5, |i, j| ((i * j) as f64 + 0.3 * (i + j) as f64).sin());
        let vectors = symmetric_eigen(&matrix).unwrap().vectors;
        for weights in [
            [1.0, 0.0, 0.0, 0.0, 0.0],
            [0.75, 0.25, 0.0, 0.0, 0.0],
            [1.0, 0.5, 0.25, 0.25, 0.0],
            [1.0, 1.0, 1.0, 0.5, 0.5],
            [1.0, 1.0, 1.0, 1.0, 0.0],
            [1.0; 5],
            [0.0; 5],
            [0.5; 5],
        ] {
            let weights = DVector::from_row_slice(&weights);
            let expected = &vectors * DMatrix::from_diagonal(&weights) * vectors.transpose();
            let found = weighted_projectors(&vectors, &weights);
            assert!((&found - expected).norm() < 1e-14, "{weights:?}");
            assert_eq!(found, found.transpose());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// `⟨A − P(A), F − P(A)⟩ ≤ 0` for every feasible `F` characterises the projection.
        #[test]
        fn the_projection_is_feasible_idempotent_and_meets_its_variational_inequality(
            (matrix, k) in matrix_and_rank(),
            seeds in prop::collection::vec(-2.0..2.0f64, 81),
            scale in prop::sample::select(vec![1e-6, 1.0, 1e6]),
        ) {
            let (matrix, rank) = (matrix * scale, rank(k));
            let projection = project_onto_fantope(&matrix, rank).unwrap();
            let problem = FantopeProblem::new(&matrix, rank, Penalty::ZERO).unwrap();
            prop_assert!(problem.infeasibility(&projection.matrix).unwrap() <= 1e-12);
            prop_assert!((projection.weights.sum() - rank.value() as f64).abs() <= 1e-13);
            for (weight, value) in projection.weights.iter().zip(&symmetric_eigenvalues(&matrix).unwrap()) {
                let clamped = (value - projection.threshold).clamp(0.0, 1.0);
                prop_assert!((weight - clamped).abs() <= 1e-12 * scale.max(1.0), "{} {}", weight, clamped);
            }
            let again = project_onto_fantope(&projection.matrix, rank).unwrap().matrix;
            prop_assert!((again - &projection.matrix).norm() <= 1e-12);

            let outward = &matrix - &projection.matrix;
            let somewhere = symmetric(matrix.nrows(), &seeds);
            // The worst feasible point is the best one for the linear functional itself.
            for other in [&somewhere, &(&outward * 1e3), &(&outward * 1e9), &-&matrix] {
                let feasible = project_onto_fantope(other, rank).unwrap().matrix;
                prop_assert!(outward.dot(&(feasible - &projection.matrix)) <= 1e-11 * scale.max(1.0));
            }
        }
    }

    #[test]
    fn infeasibility_is_the_largest_violation() {
        let problem = FantopeProblem::new(&DMatrix::identity(3, 3), rank(1), Penalty::ZERO).unwrap();
        let diagonal = |entries: [f64; 3]| DMatrix::from_diagonal(&DVector::from_row_slice(&entries));
        assert_eq!(problem.infeasibility(&diagonal([1.0, 0.0, 0.0])), Ok(0.0));
        // Each by itself, with the others smaller.
        assert_eq!(problem.infeasibility(&diagonal([1.5, -0.25, -0.25])), Ok(0.5));
        assert_eq!(problem.infeasibility(&diagonal([0.75, 0.75, -0.5])), Ok(0.5));
        assert_eq!(problem.infeasibility(&diagonal([1.0, 1.0, 0.0])), Ok(1.0));
        assert_eq!(problem.infeasibility(&diagonal([0.25, 0.0, 0.0])), Ok(0.75));
    }

    #[test]
    fn problems_without_meaning_cannot_be_posed() {
        let skew = DMatrix::from_row_slice(2, 2, &[0.0, 1.0, -1.0, 0.0]);
        assert!(matches!(FantopeProblem::new(&skew, rank(1), Penalty::ZERO), Err(FantopeError::Eigen(_))));
        let infinite = DMatrix::from_element(2, 2, f64::NEG_INFINITY);
        assert!(matches!(FantopeProblem::new(&infinite, rank(1), Penalty::ZERO), Err(FantopeError::Eigen(_))));
        let small = FantopeProblem::new(&DMatrix::zeros(2, 2), rank(3), Penalty::ZERO);
        let excess = FantopeError::RankExceedsDimension { rank: 3, dimension: 2 };
        assert_eq!(small, Err(excess.clone()));
        assert_eq!(project_onto_fantope(&DMatrix::zeros(2, 2), rank(3)), Err(excess));
    }
}
