//! The server's part: lines 1 and 6 to 8 of Algorithm 1. It sees only noisy messages.

use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;
use rand_distr::{Distribution, StandardNormal};

use crate::error::DpsPcaError;
use ldp_pca::recovery::Rank;

/// The state of the server between rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinator {
    basis: DMatrix<f64>,
    kept_rows: usize,
    rounds: u32,
    round: u32,
}

impl Coordinator {
    /// Line 1, from `start` = Q(0): all but `kept_rows` of its rows are zeroed. `None` keeps all rows.
    ///
    /// # Errors
    /// [`DpsPcaError`] when fewer rows than columns are kept, or `start` does not have full rank on the kept rows.
    pub fn new(start: &DMatrix<f64>, kept_rows: Option<usize>, rounds: u32) -> Result<Self, DpsPcaError> {
        let kept_rows = checked(kept_rows, start)?;
        Ok(Self { basis: sparse_qr(start.clone(), kept_rows)?, kept_rows, rounds, round: 1 })
    }

    /// From all rows of `start`; the first round is the first to zero any.
    ///
    /// # Errors
    /// As [`Coordinator::new`].
    pub fn dense(start: &DMatrix<f64>, kept_rows: Option<usize>, rounds: u32) -> Result<Self, DpsPcaError> {
        let kept_rows = checked(kept_rows, start)?;
        Ok(Self { basis: thin_qr(start.clone())?, kept_rows, rounds, round: 1 })
    }

    /// Q(t), d × k with orthonormal columns; the estimate once it is [`finished`](Self::finished).
    #[must_use]
    pub fn basis(&self) -> &DMatrix<f64> {
        &self.basis
    }

    /// t, from 1; T + 1 once it is finished.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Whether all rounds are over.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.round > self.rounds
    }

    /// Lines 6 to 8, from the sum of `n_i H_i`, or any positive multiple of it.
    ///
    /// # Errors
    /// [`DpsPcaError::Failed`] when the sum does not have full rank, and after the last round; then nothing has
    /// changed.
    pub fn advance(&mut self, sum: &DMatrix<f64>) -> Result<(), DpsPcaError> {
        if self.finished() || sum.shape() != self.basis.shape() {
            return Err(DpsPcaError::Failed("there is no such round"));
        }
        self.basis = sparse_qr(thin_qr(sum.clone())?, self.kept_rows)?;
        self.round += 1;
        Ok(())
    }
}

/// The number of kept rows: at least one for every column.
fn checked(kept_rows: Option<usize>, start: &DMatrix<f64>) -> Result<usize, DpsPcaError> {
    let (dimension, rank) = start.shape();
    let kept_rows = kept_rows.unwrap_or(dimension);
    if (rank..=dimension).contains(&kept_rows) {
        return Ok(kept_rows);
    }
    Err(DpsPcaError::OutsideTheorem {
        parameter: "the number of kept rows",
        value: kept_rows as f64,
        theorem: "Ge, Wang, Wang & Liu (2018), Algorithm 1",
        remedy: "it must be at least the number of components and at most the number of features",
    })
}

/// A d × k matrix of standard normals: its columns span a uniformly random subspace. It is public.
#[must_use]
pub fn random_start(dimension: usize, rank: Rank, rng: &mut dyn CryptoRng) -> DMatrix<f64> {
    DMatrix::from_fn(dimension, rank.value(), |_, _| StandardNormal.sample(rng))
}

/// Algorithm 2: zeroes all rows but the `kept` longest. Of rows of the same length the first are kept.
#[must_use]
pub fn threshold(mut matrix: DMatrix<f64>, kept: usize) -> DMatrix<f64> {
    let mut rows: Vec<(f64, usize)> =
        matrix.row_iter().map(|row| row.norm_squared()).enumerate().map(|(row, length)| (length, row)).collect();
    if kept < rows.len() {
        rows.select_nth_unstable_by(kept, |left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        for &(_, row) in &rows[kept..] {
            matrix.row_mut(row).fill(0.0);
        }
    }
    matrix
}

/// Algorithm 3: the Q of `matrix` = Q R, where R has a positive diagonal.
///
/// # Errors
/// [`DpsPcaError::Failed`] when the columns depend on each other.
pub fn thin_qr(matrix: DMatrix<f64>) -> Result<DMatrix<f64>, DpsPcaError> {
    let lengths: Vec<f64> = matrix.column_iter().map(|column| column.norm()).collect();
    let (mut basis, triangle) = matrix.qr().unpack();
    for ((mut column, diagonal), length) in basis.column_iter_mut().zip(triangle.diagonal().iter()).zip(lengths) {
        // A NaN is not larger than anything.
        if !(diagonal.abs() > DEPENDENT * length && length.is_finite()) {
            let what = "the iteration lost a dimension: keep more rows, ask for fewer components, or start elsewhere";
            return Err(DpsPcaError::Failed(what));
        }
        if *diagonal < 0.0 {
            column.neg_mut();
        }
    }
    Ok(basis)
}

/// Algorithms 2 and 3, one after the other: zeroed rows are exactly zero, which the factorization alone gives only up
/// to rounding.
fn sparse_qr(matrix: DMatrix<f64>, kept: usize) -> Result<DMatrix<f64>, DpsPcaError> {
    let sparse = threshold(matrix, kept);
    let zeroed: Vec<bool> = sparse.row_iter().map(|row| row.iter().all(|entry| *entry == 0.0)).collect();
    let mut basis = thin_qr(sparse)?;
    for (mut row, _) in basis.row_iter_mut().zip(zeroed).filter(|(_, zeroed)| *zeroed) {
        row.fill(0.0);
    }
    Ok(basis)
}

/// The sine of the angle between a column and those before it, below which it counts as dependent.
const DEPENDENT: f64 = 1e-13;
