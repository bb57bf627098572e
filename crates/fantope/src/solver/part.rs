//! One connected part of the working set, and its share of the iteration.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};

use crate::FantopeError;
use crate::linalg::{RitzPairs, exactly_symmetric_eigen, largest_eigen, symmetric_eigenvalues, weighted_gram};

/// A block of the estimate that no entry above the penalty connects with another one.
///
/// Between two such blocks the solution is zero, so each is decomposed alone. Symmetric matrices of a part are
/// vectors of its lower triangle, column by column, with the entries off the diagonal times √2: norms and inner
/// products are those of the matrices.
pub(super) struct Part {
    /// Its rows, as positions in the working set, ascending.
    pub(super) rows: Vec<usize>,
    /// Its block of the estimate, `n × n`.
    pub(super) estimate: DMatrix<f64>,
    start: usize,
    packed: Vec<f64>,
    matrix: DMatrix<f64>,
    /// Eigenvalues of the last decomposed matrix, descending: all, or the leading ones.
    values: DVector<f64>,
    /// Its eigenvectors, most important first.
    pub(super) vectors: DMatrix<f64>,
    /// What the last decomposition found if it followed known eigenvectors.
    following: Option<RitzPairs>,
    /// Positive weights of the leading eigenvectors in the projection.
    pub(super) weights: Vec<f64>,
    /// How many eigenvectors to follow, so that those with weight are surely among them.
    followed: usize,
    /// Decompositions in a row that followed them, how many of those there may be, and the weights of the last one.
    followings: usize,
    trust: usize,
    seen: usize,
    /// Decompositions before vectors are followed again, and how many those will be once following is too inexact.
    pause: usize,
    next_pause: usize,
    /// Decompositions before fewer than all eigenvectors are computed again, after they were too close.
    tied: usize,
}

/// Decompositions that follow known eigenvectors before all are computed again; it doubles as long as none was missed.
const TRUST: usize = 10;

/// The most of them.
const MOST_TRUST: usize = 160;

/// Up to this many rows all eigenvectors cost no more than a few.
const FEW_ROWS: usize = 64;

/// The eigenvectors beyond those with weight that are computed, so that their number can grow.
const SPARE: usize = 4;

impl Part {
    /// The part whose coordinates begin at `start` in the vectors of the whole working set.
    pub(super) fn new(rows: Vec<usize>, estimate: DMatrix<f64>, start: usize) -> Self {
        let count = rows.len();
        let mut packed = vec![0.0; count * (count + 1) / 2];
        pack(&estimate, &mut packed);
        let (matrix, vectors) = (DMatrix::zeros(count, count), DMatrix::zeros(count, 0));
        Self {
            rows,
            estimate,
            start,
            packed,
            matrix,
            values: DVector::zeros(0),
            vectors,
            following: None,
            weights: Vec::new(),
            followed: count,
            followings: 0,
            trust: TRUST,
            seen: 0,
            pause: 0,
            next_pause: TRUST,
            tied: 0,
        }
    }

    /// The range of its coordinates.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.packed.len()
    }

    /// Writes a matrix into its place among the coordinates of the whole working set.
    pub(super) fn pack(&self, matrix: &DMatrix<f64>, whole: &mut [f64]) {
        pack(matrix, &mut whole[self.range()]);
    }

    /// The matrix of its coordinates.
    pub(super) fn unpack(&self, coordinates: &[f64]) -> DMatrix<f64> {
        let count = self.rows.len();
        let mut matrix = DMatrix::zeros(count, count);
        unpack(coordinates, &mut matrix, |value| value);
        matrix
    }

    /// `y ← t − clip(t, limit)` off the diagonal, `t` on it; returns the squared change of `y`.
    pub(super) fn threshold(&self, t: &[f64], limit: f64, y: &mut [f64]) -> f64 {
        let limit = limit * std::f64::consts::SQRT_2;
        let mut change = 0.0;
        for range in columns(self.rows.len()) {
            let (t, y) = (&t[range.clone()], &mut y[range]);
            change += (t[0] - y[0]).powi(2);
            y[0] = t[0];
            for (y, t) in y[1..].iter_mut().zip(&t[1..]) {
                let next = t - t.clamp(-limit, limit);
                change += (next - *y).powi(2);
                *y = next;
            }
        }
        change
    }

    /// Decomposes `Y − U + S/ρ = 2Y − T + S/ρ`.
    pub(super) fn decompose(&mut self, y: &[f64], t: &[f64], rho: f64) -> Result<(), FantopeError> {
        let inverse = 1.0 / rho;
        let sums = y.iter().zip(t).zip(&self.packed).map(|((y, t), s)| 2.0 * y - t + s * inverse);
        let coordinates: Vec<f64> = sums.collect();
        unpack(&coordinates, &mut self.matrix, |value| value);
        let (count, wanted) = (self.rows.len(), self.followed);
        if count > FEW_ROWS && 6 * wanted <= count && self.followings < self.trust && self.pause == 0 {
            let guess = self.vectors.columns(0, wanted.min(self.vectors.ncols())).into_owned();
            self.following = Some(RitzPairs::near(&self.matrix, &guess, wanted + SPARE)?);
            return Ok(());
        }
        self.pause = self.pause.saturating_sub(1);
        self.decompose_leading()
    }

    /// Finds the eigenvectors with weight, or all where that costs no more.
    fn decompose_leading(&mut self) -> Result<(), FantopeError> {
        let (count, wanted) = (self.rows.len(), self.weights.len() + SPARE);
        if count > FEW_ROWS && 5 * wanted <= 3 * count && !self.weights.is_empty() && self.tied == 0 {
            if let Some(eigen) = largest_eigen(&self.matrix, wanted)? {
                (self.values, self.vectors) = (eigen.values, eigen.vectors);
                return Ok(());
            }
            self.tied = TRUST;
        }
        self.tied = self.tied.saturating_sub(1);
        self.decompose_whole()
    }

    fn decompose_whole(&mut self) -> Result<(), FantopeError> {
        let eigen = exactly_symmetric_eigen(&self.matrix)?;
        (self.values, self.vectors) = (eigen.values, eigen.vectors);
        Ok(())
    }

    /// The eigenvalues that the decomposition found, descending.
    pub(super) fn values(&self) -> &DVector<f64> {
        self.following.as_ref().map_or(&self.values, |pairs| &pairs.values)
    }

    /// Decomposes more accurately and returns true if the projection that this threshold gives may be off by more than
    /// `accuracy`, or if eigenvalues above the threshold may be missing.
    pub(super) fn refine(&mut self, threshold: f64, accuracy: f64) -> Result<bool, FantopeError> {
        let known = self.values().len();
        let positive = self.values().iter().take_while(|value| **value > threshold).count();
        if let Some(pairs) = &self.following {
            if positive < known && pairs.residual(positive) <= accuracy {
                self.next_pause = TRUST;
                return Ok(false);
            }
            self.following = None;
            self.pause = self.next_pause;
            self.next_pause = (2 * self.next_pause).min(MOST_TRUST);
            self.decompose_leading()?;
            return Ok(true);
        }
        let missing = positive == known && known < self.rows.len();
        if missing {
            self.decompose_whole()?;
        }
        Ok(missing)
    }

    /// Decides how many eigenvectors to follow, from the eigenvalues of the last decomposition, the threshold that
    /// gave the weights, and how far below it an eigenvalue may soon come to carry weight. After a decomposition of
    /// those with weight only few more are known.
    ///
    /// Following cannot find an eigenvector that it has lost: many that tie at the threshold turn into each other. So
    /// those with weight are computed again from time to time, and sooner where weights were missing.
    pub(super) fn settle(&mut self, threshold: f64, reach: f64) {
        let with_margin = |count: usize| count + (count / 2).clamp(4, 16);
        let positive = self.weights.len();
        if let Some(pairs) = self.following.take() {
            (self.values, self.vectors) = (pairs.values, pairs.vectors);
            (self.followings, self.seen) = (self.followings + 1, positive);
            self.followed = self.followed.max(with_margin(positive));
            return;
        }
        if self.followings > 0 {
            let missed = positive > self.seen + 1;
            self.trust = if missed { TRUST } else { (2 * self.trust).min(MOST_TRUST) };
            self.followings = 0;
        }
        let near = self.values.iter().take_while(|value| **value > threshold - reach).count();
        self.followed = with_margin(near.max(positive));
    }

    /// The leading eigenvalues of a matrix whose eigenvectors are near those of the last one, from below.
    pub(super) fn leading_values(&self, matrix: &DMatrix<f64>) -> Result<DVector<f64>, FantopeError> {
        let wanted = self.followed.min(self.vectors.ncols()).min(self.rows.len() / 2);
        if wanted == 0 {
            return Ok(symmetric_eigenvalues(matrix)?);
        }
        Ok(RitzPairs::near(matrix, &self.vectors.columns(0, wanted).into_owned(), wanted)?.values)
    }

    /// `x ← Σ w_i v_i v_iᵀ`.
    pub(super) fn project(&mut self, x: &mut [f64]) {
        if self.weights.is_empty() {
            x.fill(0.0);
            return;
        }
        weighted_gram(&self.vectors, &self.weights, &mut self.matrix);
        pack(&self.matrix, x);
    }

    /// `⟨S, X⟩ − penalty Σ_{i≠j} |X_ij|`.
    pub(super) fn value(&self, x: &[f64], penalty: f64) -> f64 {
        let product: f64 = x.iter().zip(&self.packed).map(|(x, s)| x * s).sum();
        let magnitudes: f64 =
            columns(self.rows.len()).map(|range| x[range][1..].iter().map(|x| x.abs()).sum::<f64>()).sum();
        product - penalty * std::f64::consts::SQRT_2 * magnitudes
    }

    /// `Z = ρ (T − Y)`, clipped once more because the product may round past the penalty; zero on the diagonal.
    pub(super) fn dual(&self, t: &[f64], y: &[f64], rho: f64, penalty: f64) -> DMatrix<f64> {
        let count = self.rows.len();
        let coordinates: Vec<f64> = t.iter().zip(y).map(|(t, y)| t - y).collect();
        let mut matrix = DMatrix::zeros(count, count);
        unpack(&coordinates, &mut matrix, |value| (value * rho).clamp(-penalty, penalty));
        matrix.fill_diagonal(0.0);
        matrix
    }
}

/// The places of the lower triangle's columns among the coordinates.
fn columns(count: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    (0..count).map(move |column| {
        let range = start..start + count - column;
        start = range.end;
        range
    })
}

fn pack(matrix: &DMatrix<f64>, coordinates: &mut [f64]) {
    let count = matrix.nrows();
    for (column, range) in columns(count).enumerate() {
        let entries = &matrix.as_slice()[column * count + column..(column + 1) * count];
        let out = &mut coordinates[range];
        out[0] = entries[0];
        out[1..].iter_mut().zip(&entries[1..]).for_each(|(out, entry)| *out = std::f64::consts::SQRT_2 * entry);
    }
}

fn unpack(coordinates: &[f64], matrix: &mut DMatrix<f64>, map: impl Fn(f64) -> f64) {
    let count = matrix.nrows();
    for (column, range) in columns(count).enumerate() {
        let entries = &mut matrix.as_mut_slice()[column * count + column..(column + 1) * count];
        let source = &coordinates[range];
        entries[0] = map(source[0]);
        let rest = entries[1..].iter_mut().zip(&source[1..]);
        rest.for_each(|(entry, value)| *entry = map(std::f64::consts::FRAC_1_SQRT_2 * value));
    }
    matrix.fill_upper_triangle_with_lower_triangle();
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 80;

    /// Decomposes a matrix and settles with as many weights of 1; whether that followed, and the largest eigenvalue.
    fn decompose(part: &mut Part, matrix: &DMatrix<f64>, weights: usize, accuracy: f64) -> (bool, f64) {
        let mut y = vec![0.0; part.range().len()];
        part.pack(&(0.5 * matrix), &mut y);
        part.decompose(&y, &vec![0.0; y.len()], 1.0).unwrap();
        while part.refine(4.5, accuracy).unwrap() {}
        let followed = part.following.is_some();
        part.weights = vec![1.0; weights];
        part.settle(4.5, 0.0);
        (followed, part.values[0])
    }

    fn falling(row: usize) -> f64 {
        5.0 - row as f64
    }

    /// An eigenvector that no other leads to: the block Lanczos step from the others cannot see it.
    #[test]
    fn eigenvectors_that_following_cannot_find_are_found_again() {
        let mut part = Part::new((0..COUNT).collect(), DMatrix::zeros(COUNT, COUNT), 0);
        let mut decompose = |last: f64, weights: usize| {
            let diagonal = DVector::from_fn(COUNT, |row, _| if row == COUNT - 1 { last } else { falling(row) });
            decompose(&mut part, &DMatrix::from_diagonal(&diagonal), weights, 1e-9)
        };
        assert_eq!(decompose(-100.0, 1), (false, 5.0));
        for _ in 0..TRUST {
            let (followed, largest) = decompose(10.0, 1);
            assert!(followed && (largest - 5.0).abs() < 1e-12, "{largest}");
        }
        let found = |(followed, largest): (bool, f64)| !followed && (largest - 10.0).abs() < 1e-12;
        // Two more weights than the last one showed: as little trust as before.
        assert!(found(decompose(10.0, 3)));
        (0..TRUST).for_each(|_| assert!(decompose(10.0, 3).0));
        // The same weights: twice the trust.
        assert!(found(decompose(10.0, 3)));
        (0..2 * TRUST).for_each(|_| assert!(decompose(10.0, 3).0));
        assert!(found(decompose(10.0, 3)));
    }

    /// The eigenvectors turn by 0.1, which one step follows to a residual of some hundredths.
    #[test]
    fn eigenvectors_that_following_leaves_inexact_are_computed_for_a_while() {
        let diagonal = DMatrix::from_diagonal(&DVector::from_fn(COUNT, |row, _| falling(row)));
        let mut turned = diagonal.clone();
        for row in 1..COUNT {
            turned[(0, row)] = 0.1;
            turned[(row, 0)] = 0.1;
        }
        let largest = symmetric_eigenvalues(&turned).unwrap()[0];
        for (accuracy, follows) in [(1.0, true), (1e-3, false)] {
            let mut part = Part::new((0..COUNT).collect(), DMatrix::zeros(COUNT, COUNT), 0);
            decompose(&mut part, &diagonal, 1, accuracy);
            assert!(decompose(&mut part, &diagonal, 1, accuracy).0);
            let (followed, value) = decompose(&mut part, &turned, 1, accuracy);
            assert_eq!((followed, (value - largest).abs() < 1e-12), (follows, !follows), "{value} {largest}");
            if !follows {
                (0..TRUST).for_each(|_| assert!(!decompose(&mut part, &turned, 1, accuracy).0));
            }
            assert!(decompose(&mut part, &turned, 1, accuracy).0);
        }
    }

    /// More eigenvalues above the threshold than had weight before.
    #[test]
    fn eigenvalues_that_rise_above_the_threshold_are_all_found() {
        let mut part = Part::new((0..COUNT).collect(), DMatrix::zeros(COUNT, COUNT), 0);
        let values = |many: usize| {
            DVector::from_fn(COUNT, |row, _| if row < many { 9.0 - 0.1 * row as f64 } else { -(row as f64) })
        };
        part.pause = 3;
        for (many, known) in [(1, COUNT), (2, 1 + SPARE), (30, COUNT)] {
            decompose(&mut part, &DMatrix::from_diagonal(&values(many)), many, 0.0);
            assert_eq!(part.values.len(), known, "{many}");
            assert!(part.values.iter().filter(|value| **value > 4.5).count() == many);
        }
    }

    /// All eigenvectors within reach of the threshold are followed, whether they carry weight or not.
    #[test]
    fn ties_at_the_threshold_are_followed_together() {
        let mut part = Part::new((0..COUNT).collect(), DMatrix::zeros(COUNT, COUNT), 0);
        part.weights = vec![1.0];
        part.values = DVector::from_fn(COUNT, |row, _| {
            if row == 0 {
                2.0
            } else if row < 30 {
                0.9
            } else {
                0.0
            }
        });
        part.settle(1.0, 0.2);
        assert_eq!(part.followed, 30 + 15);
        part.settle(1.0, 0.05);
        assert_eq!(part.followed, 1 + 4);
    }
}
