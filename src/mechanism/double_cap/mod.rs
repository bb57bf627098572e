//! The double-cap mechanism: pure epsilon, a report of one index, and far less noise than Gaussian covariance
//! perturbation.
//!
//! `PrivUnit` (Bhowmick et al. 2018; Asi, Feldman & Talwar 2022) moved from the sphere to lines, coded as one of a
//! few candidates with public randomness (Feldman & Talwar 2021; Shah et al. 2022; Isik et al. 2023).
//!
//! 1. The report's public id is a seed; together with the task it expands into J candidate vectors z, nearly uniform on
//!    a sphere ([`candidates`](super::cap::candidates)).
//! 2. The *cap* is the set of the L candidates with the largest `(z . u)^2`, ties to the lower index: always exactly
//!    L of J ([`members`](super::cap::members)). Here u is the record's lift `(x, sqrt(1 - |x|^2))`: a unit vector of
//!    m = d + 1 coordinates for every record of the unit ball, `(0, …, 0, 1)` for the one whose values are all 0 or
//!    missing.
//! 3. The report is an index j, drawn with integer weight `W = floor(2^32 e^epsilon)` inside the cap and `2^32`
//!    outside. W is that integer exactly, on every machine (`cap/weight.rs`).
//!
//! # Statement
//! For every id, any two records x, y and every index j: `P[j | x] <= e^epsilon P[j | y]`. Delta is 0. Every record
//! gives a report, so that no report is not an outcome.
//!
//! # Argument
//! The normaliser `L W + (J - L) 2^32` does not depend on the record, because the cap has exactly L members for every
//! record. So the ratio of two probabilities of the same index is one of `1`, `W / 2^32`, `2^32 / W`, and `1 <= W /
//! 2^32 <= e^epsilon`: W is the floor of the real number `2^32 e^epsilon`, which is above 2^32. The index is drawn by
//! an exactly uniform integer below the normaliser. It holds for every id, and whatever happens to the scores: they
//! only decide who is in the cap.
//!
//! # Utility
//! Given the record, `E[z z^T] / scale^2 = I + gain (u u^T - I/m + D)` for the chosen candidate z of m coordinates,
//! with `gain` computed by quadrature over order statistics. So `(mean(z z^T) / scale^2 - I) / gain`, with I/m added,
//! estimates the mean of `u u^T`. Its d × d block is the estimate, and the last entry of its diagonal the lift's part:
//! under unit norm the share of records that have only zeros (`DoubleCap::lift`). The bias D would be 0 for
//! candidates uniform on the sphere. With those there are, its spectral norm is below 1e-3, for every u and every J and
//! L that are permitted: that is what "unbiased" means here. It holds by exact enumeration for two coordinates, on
//! grids of directions, J and L, and by measurement for others (tests/bias.rs).
//!
//! The second moment of a report, in the d (d + 1) / 2 - 1 coordinates of a symmetric matrix of trace 1, is at most 1.8
//! times the least that any unbiased epsilon-private report has, for d from 10 to 400 and epsilon 1 and 2: that is
//! proved. For epsilon from 1.4 to 8 it is conjectured to be within 10 % of the least. Below an epsilon of 0.7 to 1,
//! `PrivUnit` on the matrix `u u^T` has less: by up to 21 % at 0.25 (docs/privacy/optimality.md).
//! An off-diagonal entry ij of one report has a variance of about `1 / gain^2` across the record (`u_i = u_j = 0`), and
//! more along it ([`Forms`]).

#[cfg(test)]
mod tests;

use core::num::NonZeroUsize;
use std::sync::OnceLock;

use nalgebra::DMatrix;
use rand::rand_core::TryCryptoRng;

use super::cap::candidates::Candidates;
use super::cap::kernel::Path;
use super::cap::sphere::Sphere;
use super::cap::table::LARGEST_MAGNITUDE;
use super::cap::{Weights, check_index, direction, draw, gain, index, index_report, largest, parameters};
use super::moments::{Forms, Moments, Perturbation, debiased, triangle};
use super::pull::{Check, Pull};
use super::{LocalRandomizer, MechanismError, PayloadError, RandomizeError, Summable};
use crate::identity::ReportId;
use crate::privacy::Epsilon;
use crate::privacy::renyi::Cap;
use crate::record::BoundedRecord;
use crate::schema::MAX_DIMENSION;

/// What estimates need to know of the reported candidate.
#[derive(Clone, Copy, Debug)]
struct Law {
    gain: f64,
    /// `E (z . u)^4`, in squares of `scale^2`.
    fourth_moment: f64,
    /// The mean square of a coordinate of any candidate: `scale^2`.
    unit: f64,
}

/// The double-cap mechanism for one task.
///
/// ```
/// use ldp_pca::{DoubleCap, Epsilon, LocalRandomizer};
/// let mechanism = DoubleCap::new(10, Epsilon::new(2.0)?, 128, 16)?;
/// assert_eq!(mechanism.guarantee().delta, None);
/// assert_eq!(mechanism.payload_bytes(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DoubleCap {
    dimension: usize,
    weights: Weights,
    /// Computed at its first use: making reports never needs it.
    law: OnceLock<Law>,
    loss: Cap,
}

impl DoubleCap {
    /// The mechanism for records of `dimension` coordinates with `candidates` = J and `cap` = L.
    ///
    /// # Errors
    /// [`MechanismError`] unless 2 <= J <= 16384, J / 1024 <= L <= J / 2, epsilon >= 1e-6, and the weights fit 64 bits
    /// (epsilon at most 21.48, and `L exp(epsilon)` below 2^32).
    pub fn new(dimension: usize, epsilon: Epsilon, candidates: u32, cap: u32) -> Result<Self, MechanismError> {
        if dimension == 0 || dimension > MAX_DIMENSION {
            return Err(MechanismError::Dimension(dimension));
        }
        let (weights, loss) = parameters(epsilon, candidates, cap)?;
        Ok(Self { dimension, weights, law: OnceLock::new(), loss })
    }

    /// The J recommended for `epsilon`: the variance is within 5 % of the best for any number of candidates (the
    /// table is in research/docs/bias.md), and a report at d = 100 still takes well under a millisecond.
    #[must_use]
    pub fn recommended_candidates(epsilon: Epsilon) -> u32 {
        match epsilon.value() {
            e if e <= 1.5 => 64,
            e if e <= 2.5 => 128,
            e if e <= 4.5 => 256,
            e if e <= 6.5 => 1024,
            _ => 4096,
        }
    }

    /// The permitted L with the least variance among J = `candidates` (at least 2) at `epsilon`.
    #[must_use]
    pub fn best_cap(candidates: u32, epsilon: Epsilon) -> u32 {
        gain::best_cap(candidates, epsilon)
    }

    /// The factor by which the record's own direction stands out: `E[z z^T] / scale^2 = I + gain (u u^T - I/m)`, with m
    /// coordinates of z.
    #[must_use]
    pub fn gain(&self) -> f64 {
        self.law().gain
    }

    fn law(&self) -> &Law {
        self.law.get_or_init(|| {
            let m = self.state_dimension() as f64;
            let [along, fourth_moment] =
                gain::moments_along(self.candidates(), self.cap(), self.weights.cap_probability(), m as usize);
            let unit = Sphere::new(self.state_dimension()).second_moment();
            Law { gain: (along - 1.0) * m / (m - 1.0), fourth_moment, unit }
        })
    }

    /// `scale^2`.
    #[cfg(test)]
    pub(crate) fn unit(&self) -> f64 {
        self.law().unit
    }

    /// The second moments of quadratic forms of one report.
    fn forms(&self) -> Forms {
        let (m, &Law { gain, fourth_moment, .. }) = (self.state_dimension() as f64, self.law());
        // With z = t u + w: E t^2, E t^4, and m^2 times E t^2 |w|^2 and E |w|^4.
        let (second, fourth) = ((1.0 + gain * (m - 1.0) / m), fourth_moment);
        let (mixed, across) = (m * second - fourth, m * m - 2.0 * m * second + fourth);
        let (mixed, across) = (mixed / (m - 1.0), across / ((m - 1.0) * (m + 1.0)));
        let over = gain * gain;
        Forms {
            coordinates: m,
            norm: 2.0 * across / over,
            energy: 4.0 * (mixed - across) / over,
            square: (fourth - 6.0 * mixed + 3.0 * across) / over,
            length: 1.0 / gain - 1.0 / m,
            // The form gets 2 z . Q e for the error e of z.
            rounding: 4.0 * Sphere::new(self.state_dimension()).rounding() / (self.law().unit * over),
        }
    }

    /// The estimate of the mean square of the lift, the last coordinate of u. 1 less it is the mean square of the
    /// length of the records, which the trace of the d × d block says worse: the candidates' lengths scatter in it, and
    /// errors of `scale^2` add up over many coordinates.
    pub(crate) fn lift(&self, sums: &[i64], records: u64) -> f64 {
        self.assert_sums(sums);
        self.entries(records)(sums[sums.len() - 1], true)
    }

    /// What the sum of an entry, on the diagonal or off it, says of the mean of `u u^T`.
    fn entries(&self, records: u64) -> impl Fn(i64, bool) -> f64 {
        let (unit, gain) = (self.law().unit * records as f64, self.gain());
        let level = 1.0 - gain / self.state_dimension() as f64;
        move |sum, on_diagonal| (sum as f64 / unit - if on_diagonal { level } else { 0.0 }) / gain
    }

    /// The mean fourth power of the length of the first d coordinates of the reported candidate, in squares of
    /// `scale^2`, where the record has length 1.
    pub(crate) fn fourth_power(&self) -> f64 {
        let (m, gain, Forms { norm, .. }) = (self.state_dimension() as f64, self.gain(), self.forms());
        // |z|^2 is m, and the last coordinate is one across u, with the mean square 1 - gain / m. The mean product of
        // two such squares is norm gain^2 / 2, and the mean fourth power of one three times that.
        m * m - 2.0 * (m - gain) + 1.5 * norm * gain * gain
    }

    /// The number of candidates, J.
    #[must_use]
    pub fn candidates(&self) -> u32 {
        self.weights.candidates()
    }

    /// The number of likelier candidates, L.
    #[must_use]
    pub fn cap(&self) -> u32 {
        self.weights.cap()
    }
}

/// The integer weights that candidates are reported with, by the rank of their scores.
impl From<&DoubleCap> for Weights {
    fn from(mechanism: &DoubleCap) -> Self {
        mechanism.weights
    }
}

impl LocalRandomizer for DoubleCap {
    index_report!();

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn draws(&self) -> u64 {
        u64::from(self.candidates()) * self.state_dimension() as u64
    }

    fn randomize_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        record: &BoundedRecord,
        task_key: &[u8; 16],
        id: ReportId,
        rng: &mut R,
    ) -> Result<Vec<u8>, RandomizeError> {
        record.check_dimension(self.dimension)?;
        let candidates = Candidates::new(task_key, id, self.state_dimension());
        let scores = candidates.scores(&direction(record), self.candidates());
        draw(&largest(&scores, self.cap()), self.weights, rng)
    }
}

impl Summable for DoubleCap {
    fn check(&self, payload: &[u8]) -> Result<(), PayloadError> {
        check_index(payload, self.candidates())
    }

    fn sums_len(&self) -> usize {
        triangle(self.state_dimension())
    }

    fn largest_entry(&self) -> u32 {
        LARGEST_MAGNITUDE * LARGEST_MAGNITUDE
    }

    fn accumulate_with_threads(
        &self,
        task_key: &[u8; 16],
        payloads: &[(ReportId, &[u8])],
        sums: &mut [i64],
        threads: NonZeroUsize,
    ) {
        self.assert_summable(payloads, sums);
        let named: Vec<(ReportId, u32)> = payloads.iter().map(|(id, payload)| (*id, index(payload))).collect();
        Path::fastest().accumulate(task_key, self.state_dimension(), &named, sums, threads);
    }
}

impl Moments for DoubleCap {
    fn state_dimension(&self) -> usize {
        self.dimension + 1
    }

    fn debias(&self, sums: &[i64], records: u64) -> DMatrix<f64> {
        self.assert_sums(sums);
        debiased(sums, self.state_dimension(), self.dimension, self.entries(records))
    }

    fn sums_of_mean(&self, mean: &DMatrix<f64>, records: u64) -> Vec<i64> {
        let (rows, unit) = (self.state_dimension(), self.law().unit * records as f64);
        let of_entry = |row: usize, column: usize| {
            if column < self.dimension { (mean[(row, column)] * unit).round() as i64 } else { 0 }
        };
        (0..rows).flat_map(|row| (row..rows).map(move |column| of_entry(row, column))).collect()
    }

    fn perturbation(&self) -> Perturbation {
        let gain = 1.0 / self.entry_deviation();
        Perturbation::Directions { gain, forms: self.forms(), weights: self.weights }
    }

    fn deviation_beside(&self, energy: f64) -> f64 {
        // The form Q with 1/2 at ij and ji: |Q|^2 = 1/2, |Q u|^2 = energy / 4 and u . Q u = 0.
        let Forms { norm, energy: slope, .. } = self.forms();
        (norm / 2.0 + slope * energy / 4.0).sqrt()
    }

    fn noise_edge(&self, records: u64) -> f64 {
        // The sum of z z^T over nearly Gaussian z is a Wishart matrix (Marchenko & Pastur 1967).
        let ratio = (self.state_dimension() as f64 / records as f64).sqrt();
        ((1.0 + ratio).powi(2) - 1.0) * self.entry_deviation()
    }

    fn pull(&self) -> Pull {
        // The proof is in `pull`.
        let squared = Sphere::new(self.state_dimension()).longest().powi(2) / self.law().unit;
        let bound = (squared / self.gain()).max(1.0 + 1.0 / self.gain());
        Pull::new(bound, bound, Check::None)
    }
}
