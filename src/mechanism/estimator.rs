//! What a mechanism does at the aggregator: from payloads to integer sums, and from sums to an estimate with known
//! noise.

use core::num::NonZeroUsize;

use nalgebra::DMatrix;

use super::double_cap::Weights;
use super::error::PayloadError;
use super::pull::Pull;
use super::range::RangeCheck;
use crate::identity::ReportId;

/// The half of a mechanism that an aggregator runs. It never sees a record.
pub trait Estimator {
    /// Whether `payload` (of the right length) is one this mechanism can produce; if not, why.
    ///
    /// # Errors
    /// [`PayloadError`] otherwise.
    fn check(&self, payload: &[u8]) -> Result<(), PayloadError>;

    /// Rows of the summed matrix: d, or d + 1 where the mechanism lifts the record.
    fn state_dimension(&self) -> usize;

    /// The largest magnitude that one payload can add to an entry of the sums.
    fn largest_entry(&self) -> u32;

    /// Adds checked payloads to `sums`, the upper triangle (row by row, with the diagonal) of the summed matrix.
    fn accumulate(&self, task_key: &[u8; 16], payloads: &[(ReportId, &[u8])], sums: &mut [i64]) {
        self.accumulate_with_threads(task_key, payloads, sums, NonZeroUsize::MIN);
    }

    /// [`accumulate`](Self::accumulate) on up to `threads` threads, each at parts of `sums` of its own: the integers
    /// are the same and the state is held once. WebAssembly has one thread, whatever is asked for.
    fn accumulate_with_threads(
        &self,
        task_key: &[u8; 16],
        payloads: &[(ReportId, &[u8])],
        sums: &mut [i64],
        threads: NonZeroUsize,
    );

    /// The unbiased estimate (d × d) of the second-moment matrix of bounded records from the sums of `records` reports.
    /// (With [`double_cap`](super::double_cap) it is so to 1e-3, in spectral norm, of records of length one.)
    fn debias(&self, sums: &[i64], records: u64) -> DMatrix<f64>;

    /// The sums that `records` reports with this mean (d × d) would have, in the unit ball: of `x x^T` with its noise,
    /// or of `z z^T`, as [`perturbation`](Self::perturbation) says. What a lift adds is 0: no estimate looks at it.
    fn sums_of_mean(&self, mean: &DMatrix<f64>, records: u64) -> Vec<i64>;

    /// What a report makes of its record.
    fn perturbation(&self) -> Perturbation;

    /// Standard deviation that the mechanism gives to one off-diagonal entry of one debiased report: to every one with
    /// Gaussian noise, and to those across the record (both coordinates 0 in it) with double-cap.
    fn entry_deviation(&self) -> f64;

    /// Standard deviation that the mechanism gives to an off-diagonal entry ij of one debiased report whose record has
    /// `x_i^2 = energy` (0 to 1) and `x_j = 0`: [`entry_deviation`](Self::entry_deviation) is that at energy 0.
    fn deviation_beside(&self, energy: f64) -> f64;

    /// The largest eigenvalue that the debiased estimate of `records` reports would have if there were nothing but
    /// noise, in the limit of many features. What does not rise above it cannot be told from noise.
    fn noise_edge(&self, records: u64) -> f64;

    /// The check of reports for what honest noise hardly ever makes; `None` for a mechanism whose reports are bounded
    /// by their form.
    fn range_check(&self) -> Option<RangeCheck> {
        None
    }

    /// How far one hostile report can move an eigenvalue of the debiased estimate from where the mean of an honest one
    /// would put it, times the number of reports. [`Pull`] has the statement.
    fn pull(&self) -> Pull;
}

/// What one report makes of `x x^T`, in the unit ball. Laws, simulations and audits follow from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Perturbation {
    /// It adds independent normal entries with these standard deviations.
    Additive {
        /// On the diagonal.
        diagonal: f64,
        /// Off it.
        off_diagonal: f64,
    },
    /// A candidate z with second moment `I + gain x x^T` stands in place of x.
    Directions {
        /// The factor.
        gain: f64,
        /// Which of the candidates it is, by the rank of their scores.
        weights: Weights,
    },
}

/// The number of entries of the upper triangle, diagonal included, of a `rows` × `rows` matrix.
#[must_use]
pub const fn triangle(rows: usize) -> usize {
    rows * (rows + 1) / 2
}
