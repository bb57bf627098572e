//! The dual matrix beyond the working set, and what it proves there.

use chacha20::ChaCha8Rng;
use nalgebra::{DMatrix, DVector};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::cross::{Canceller, Multipliers};
use super::scaled::ScaledProblem;
use super::thresholded::Thresholded;
use crate::linalg::{
    Krylov, SymmetricEigen, lanczos, scatter, sort_descending, sorted_descending, symmetric_eigenvalues,
};
use crate::recovery::RecoveryError;
use crate::recovery::outcome::{Certificate, DualMatrix};

/// `S − Z` on the whole problem, for a dual matrix found on the working set `J` and extended beyond it.
///
/// ```text
///            J        rest
///     J   [ M_J       Cᵀ  ]      C: per row the Z that makes C Q vanish, if the penalty allows ([`Canceller`])
///  rest   [ C         T   ]      T: what soft-thresholding leaves of S
/// ```
///
/// `Q` spans the leading eigenvectors of `M_J`. Where `C Q` vanishes, and every eigenvalue of the matrix on the complement of `Q`
/// lies below the `k`-th of `M_J`, the sum of the `k` largest is that of `M_J`: what is optimal on `J` is optimal.
pub(super) struct Extension<'a> {
    thresholded: &'a Thresholded<'a>,
    rows: &'a [usize],
    rank: usize,
    /// `M_J` and its eigendecomposition.
    block: &'a DMatrix<f64>,
    spectrum: &'a SymmetricEigen,
    /// The leading eigenvectors `Q`, `|J| × r`.
    leading: DMatrix<f64>,
    /// The rows of `C` that are not zero, ascending, and what stands in them: one column each.
    pub(super) cross_rows: Vec<usize>,
    pub(super) cross: DMatrix<f64>,
    /// `(C Q)ᵀ C Q`, `r × r`.
    coupling: DMatrix<f64>,
    /// Rows that cannot be cancelled, with what is left of them: `‖Qᵀ C_i‖`.
    violations: Vec<(usize, f64)>,
}

/// What an extension proves, in the units of the scaled problem.
pub(super) struct Evidence {
    /// Upper bound on the optimum.
    pub(super) bound: f64,
    /// Where the bound would be with the eigenvalues of the complement as they seem, rather than as bounded.
    pub(super) estimate: f64,
    pub(super) certificate: Certificate,
    pub(super) dual: DualMatrix,
    /// Rows to add to the working set, most wanted first.
    pub(super) growth: Vec<usize>,
}

/// How much to spend on a bound.
pub(super) struct Effort<'a> {
    pub(super) seed: u64,
    /// The number of this certificate, from 1, counted on from those of the solution that the run started from: each has a
    /// random vector of its own, for the matrix depends on those of all earlier ones.
    pub(super) number: u64,
    /// Probability that any certificate is wrong.
    pub(super) failure: f64,
    pub(super) exact_dimension: usize,
    /// Whether a bound would be good enough.
    pub(super) wanted: &'a dyn Fn(f64) -> bool,
}

/// Up to this dimension the last certificate is of all eigenvalues, since it costs little.
const CHEAP: usize = 200;

/// Lanczos steps to see the largest eigenvalue beyond the working set, and most steps to bound it.
const FIRST_STEPS: usize = 40;
const MOST_STEPS: usize = 320;

/// The numbers of steps from first to most, each twice the one before.
const STEP_CHOICES: f64 = 4.0;

/// A vector of uniform direction: number `number` of this seed.
pub(super) fn random_direction(seed: u64, number: u64, dimension: usize) -> DVector<f64> {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&number.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    DVector::from_fn(dimension, |_, _| StandardNormal.sample(&mut rng))
}

impl<'a> Extension<'a> {
    /// Extends `M_J`, of which the first `positive` eigenvectors carry the solution; the rows are cancelled from `multipliers` on.
    pub(super) fn new(
        problem: &ScaledProblem<'_>,
        thresholded: &'a Thresholded<'a>,
        rows: &'a [usize],
        block: &'a DMatrix<f64>,
        spectrum: &'a SymmetricEigen,
        positive: usize,
        multipliers: &mut Multipliers,
    ) -> Self {
        let leading = spectrum.vectors.columns(0, leading_count(&spectrum.values, problem.rank, positive)).into_owned();
        multipliers.turn(rows, &leading, problem.dimension());
        let mut canceller = Canceller::new(&leading, problem.penalty);
        let mut coupling = DMatrix::zeros(leading.ncols(), leading.ncols());
        let (mut violations, mut cross_rows, mut cross_entries) = (Vec::new(), Vec::new(), Vec::new());
        let mut entries = vec![0.0; rows.len()];
        let mut inside = rows.iter().copied().peekable();
        for row in 0..problem.dimension() {
            if inside.next_if_eq(&row).is_some() {
                continue;
            }
            entries.iter_mut().zip(rows).for_each(|(entry, column)| *entry = problem.entry(*column, row));
            if entries.iter().all(|entry| entry.abs() <= problem.penalty) {
                continue;
            }
            let (left, remainder) = canceller.cancel(&entries, multipliers.of(row));
            let size = remainder.norm();
            if size > NEGLIGIBLE * problem.penalty {
                violations.push((row, size));
            }
            coupling.ger(1.0, &remainder, &remainder, 1.0);
            cross_rows.push(row);
            cross_entries.extend_from_slice(&left);
        }
        let cross = DMatrix::from_vec(rows.len(), cross_rows.len(), cross_entries);
        Self {
            thresholded,
            rows,
            rank: problem.rank,
            block,
            spectrum,
            leading,
            cross_rows,
            cross,
            coupling,
            violations,
        }
    }

    /// Bounds the sum of the `k` largest eigenvalues of the whole matrix.
    pub(super) fn evidence(&self, problem: &ScaledProblem<'_>, effort: &Effort<'_>) -> Result<Evidence, RecoveryError> {
        let rounding = problem.rounding(self.rows.len(), self.block.norm());
        // Over all certificates, and all numbers of steps of each, the failures add up to at most the one stated.
        let number = effort.number as f64;
        let failure = effort.failure / (number * (number + 1.0) * STEP_CHOICES);
        let mut steps = FIRST_STEPS;
        let (krylov, estimate, mut bound) = loop {
            let krylov = self.complement(effort, steps)?;
            let estimate = self.sum_of_largest(krylov.values[0])? + rounding;
            let bound = self.sum_of_largest(krylov.upper_bound(failure))? + rounding;
            // More steps only where they can decide something.
            let undecided = (effort.wanted)(estimate) && !(effort.wanted)(bound);
            let more = steps < MOST_STEPS && krylov.values.len() == steps;
            if !(undecided && more) {
                break (krylov, estimate, bound);
            }
            steps *= 2;
        };
        let mut certificate = Certificate::Probable { failure: effort.failure };
        let close = (effort.wanted)(estimate);
        let undecided = close && !(effort.wanted)(bound);
        if close && problem.dimension() <= CHEAP || undecided && problem.dimension() <= effort.exact_dimension {
            let exact = self.exact_bound(problem)?;
            // A bound without a doubt is worth more than one that is smaller by a rounding margin.
            if exact < bound || (effort.wanted)(exact) {
                (bound, certificate) = (exact, Certificate::Exact);
            }
        }
        let left = self.cross.column_iter().map(nalgebra::Matrix::into_owned);
        let cross = self.cross_rows.iter().copied().zip(left).collect();
        let dual = DualMatrix { rows: self.rows.to_vec(), block: self.dual_block(problem), cross };
        Ok(Evidence { bound, estimate, certificate, dual, growth: self.growth(&krylov) })
    }

    /// `Z` on the working set.
    fn dual_block(&self, problem: &ScaledProblem<'_>) -> DMatrix<f64> {
        let penalty = problem.penalty;
        let mut block = problem.block(self.rows) - self.block;
        // Clipped because the difference may round past the penalty.
        block.apply(|entry| *entry = entry.clamp(-penalty, penalty));
        block.fill_diagonal(penalty);
        block
    }

    /// The sum of the `k` largest eigenvalues of the whole matrix, decomposed in full.
    pub(super) fn exact_bound(&self, problem: &ScaledProblem<'_>) -> Result<f64, RecoveryError> {
        let dimension = problem.dimension();
        let mut whole = DMatrix::from_fn(dimension, dimension, |row, column| {
            let entry = problem.entry(row, column);
            if row == column { entry } else { entry - entry.clamp(-problem.penalty, problem.penalty) }
        });
        for place in self.rows {
            whole.column_mut(*place).fill(0.0);
            whole.row_mut(*place).fill(0.0);
        }
        scatter(self.block, self.rows, &mut whole);
        for (row, left) in self.cross_rows.iter().zip(self.cross.column_iter()) {
            for (column, at_column) in self.rows.iter().enumerate() {
                whole[(*row, *at_column)] = left[column];
                whole[(*at_column, *row)] = left[column];
            }
        }
        let rounding = problem.rounding(dimension, whole.norm());
        let values = symmetric_eigenvalues(&whole)?;
        Ok(values.rows(0, self.rank).sum() + rounding)
    }

    /// The sum of the `k` largest eigenvalues when those of the complement are at most `beta`.
    ///
    /// For every `δ > 0` the matrix is at most `diag(Λ + (CQ)ᵀCQ / δ, B + δ)` in the order of symmetric matrices, `Λ` the leading
    /// eigenvalues of `M_J` and `B` the complement, so its eigenvalues are too.
    pub(super) fn sum_of_largest(&self, beta: f64) -> Result<f64, RecoveryError> {
        if beta.is_infinite() {
            return Ok(f64::INFINITY);
        }
        let threshold = self.spectrum.values[self.rank - 1];
        let size = self.coupling.trace();
        let mut candidates = vec![size.sqrt().max(f64::MIN_POSITIVE)];
        if threshold > beta {
            candidates.push(threshold - beta);
        }
        let mut least = f64::INFINITY;
        for delta in candidates {
            let count = self.leading.ncols();
            let mut block = &self.coupling / delta;
            (0..count).for_each(|index| block[(index, index)] += self.spectrum.values[index]);
            block.fill_lower_triangle_with_upper_triangle();
            let mut values = symmetric_eigenvalues(&block)?.as_slice().to_vec();
            if size > 0.0 || beta > threshold {
                values.extend(std::iter::repeat_n(beta + if size > 0.0 { delta } else { 0.0 }, self.rank));
            }
            sort_descending(&mut values);
            least = least.min(values[..self.rank].iter().sum());
        }
        Ok(least)
    }

    /// Krylov space of the matrix on the complement of `Q`, from a random start.
    fn complement(&self, effort: &Effort<'_>, steps: usize) -> Result<Krylov, RecoveryError> {
        let mut start = random_direction(effort.seed, effort.number, self.thresholded.dimension());
        self.project_out(&mut start);
        let mut inner = start.clone();
        let mut apply = |x: &DVector<f64>, y: &mut DVector<f64>| {
            inner.copy_from(x);
            self.project_out(&mut inner);
            self.multiply(&mut inner, y);
            self.project_out(y);
        };
        Ok(lanczos(&mut apply, &start, steps)?)
    }

    /// Takes the part in the span of `Q` out of a vector.
    fn project_out(&self, vector: &mut DVector<f64>) {
        let inside = DVector::from_iterator(self.rows.len(), self.rows.iter().map(|row| vector[*row]));
        let part = &self.leading * self.leading.tr_mul(&inside);
        self.rows.iter().zip(part.iter()).for_each(|(row, part)| vector[*row] -= part);
    }

    /// `y ← (S − Z) x`; leaves `x` with zeros on the working set.
    fn multiply(&self, x: &mut DVector<f64>, y: &mut DVector<f64>) {
        let inside = DVector::from_iterator(self.rows.len(), self.rows.iter().map(|row| x[*row]));
        self.rows.iter().for_each(|row| x[*row] = 0.0);
        self.thresholded.multiply(x, y);
        let mut image = self.block * &inside;
        let outside = DVector::from_iterator(self.cross_rows.len(), self.cross_rows.iter().map(|row| x[*row]));
        image.gemv(1.0, &self.cross, &outside, 1.0);
        let added = self.cross.tr_mul(&inside);
        self.cross_rows.iter().zip(added.iter()).for_each(|(row, added)| y[*row] += added);
        self.rows.iter().zip(image.iter()).for_each(|(row, image)| y[*row] = *image);
    }

    /// Rows that cannot be cancelled, worst first.
    pub(super) fn missing(&self) -> Vec<usize> {
        let violations = sorted_descending(self.violations.clone(), |violation| violation.1);
        violations.into_iter().map(|(row, _)| row).collect()
    }

    /// Rows that cannot be cancelled, then rows of the eigenvectors of the complement that reach above the threshold.
    fn growth(&self, krylov: &Krylov) -> Vec<usize> {
        let threshold = self.spectrum.values[self.rank - 1];
        let mut growth = self.missing();
        let above = krylov.values.iter().take_while(|value| **value > threshold).count().min(2 * self.rank);
        if above > 0 {
            let vectors = krylov.vectors(above);
            let mut leverage: Vec<(usize, f64)> =
                vectors.row_iter().enumerate().map(|(row, entries)| (row, entries.norm_squared())).collect();
            self.rows.iter().for_each(|row| leverage[*row].1 = 0.0);
            let leverage = sorted_descending(leverage, |share| share.1);
            let least = 0.05 * leverage[0].1;
            growth.extend(leverage.iter().take_while(|(_, size)| *size > least).map(|(row, _)| *row));
        }
        let mut seen = vec![false; growth.iter().max().map_or(0, |last| last + 1)];
        growth.retain(|row| !core::mem::replace(&mut seen[*row], true));
        growth
    }
}

/// Coupling below this share of the penalty is rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// The number of leading eigenvectors to keep apart: at least `k`, up to the widest gap among those that may carry the solution.
fn leading_count(values: &DVector<f64>, rank: usize, positive: usize) -> usize {
    let last = (positive + 2).max(rank).min(values.len());
    let gap = |count: usize| values.get(count).map_or(f64::INFINITY, |next| values[count - 1] - next);
    let widest = |best: usize, count: usize| if gap(count) > gap(best) { count } else { best };
    (rank + 1..=last).fold(rank, widest)
}
