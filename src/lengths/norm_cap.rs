//! The norm-cap mechanism: whether the record is longer than one of a few public lengths, for choosing a clipping
//! radius.
//!
//! It is randomized response on one bit (Warner 1965) about a threshold that the report names, drawn as double-cap
//! draws.
//!
//! 1. The task's radius R and its cap m give m thresholds, the lengths `t_i = R 2^(-i/4)` for i = 1, …, m.
//! 2. The report is an index j below J = 2 m, the number of candidates. The index `2 (i - 1)` says "at most `t_i`", the
//!    next one says "longer".
//! 3. The *cap* is the set of the m indices that say what is true of the record: for every threshold, one of its two.
//! 4. The index is drawn with integer weight `W = floor(2^32 e^epsilon)` inside the cap and `2^32` outside. So every
//!    threshold is as likely as any other, and what is said of it is true with the probability `W / (W + 2^32)`.
//!
//! # Statement
//! For every id, any two records x, y and every index j: `P[j | x] <= e^epsilon P[j | y]`. Delta is 0. Every record
//! gives a report.
//!
//! # Argument
//! The normaliser `m W + m 2^32` does not depend on the record, because the cap has exactly m members for every record:
//! of the two indices of a threshold exactly one, the other is its negation. So the ratio of two probabilities of the
//! same index is one of `1`, `W / 2^32`, `2^32 / W`, and `1 <= W / 2^32 <= e^epsilon`. The index is drawn by an exactly
//! uniform integer below the normaliser, and independently of the id. How a length is computed and rounded does not
//! matter: it only decides who is in the cap.
//!
//! # Assumptions
//! The statement is about one report. Who answers this task and another one has the sum of both epsilons, by
//! composition: a ledger counts them as two tasks.
//!
//! # Utility
//! The reports that name a threshold are about `1/m` of all. With the share f of them that say "longer" and `p = W / (W
//! + 2^32)`, an unbiased estimate of the share of records that are longer is `(f - 1 + p) / (2 p - 1)`, with the
//! variance `f (1 - f) / (n (2 p - 1)^2)` for n of them. [`norms`](super::norms) puts the thresholds together.

#[cfg(test)]
mod tests;

use core::f64::consts::FRAC_1_SQRT_2;
use core::num::NonZeroUsize;

use rand::rand_core::TryCryptoRng;

use crate::identity::ReportId;
use crate::mechanism::cap::{Weights, check_index, draw, index, index_report, parameters, squared_length};
use crate::mechanism::sealed::Sealed;
use crate::mechanism::{LocalRandomizer, MechanismError, MechanismSpec, PayloadError, RandomizeError, Summable};
use crate::privacy::Epsilon;
use crate::privacy::renyi::Cap;
use crate::record::{BoundedRecord, Bounding};

/// The most thresholds, m.
const MAX_THRESHOLDS: u32 = 512;

/// The norm-cap mechanism for one task.
#[derive(Clone, Debug)]
pub struct NormCap {
    dimension: usize,
    weights: Weights,
    loss: Cap,
}

impl NormCap {
    /// The mechanism with `cap` = m thresholds and twice as many `candidates` for records of `dimension` coordinates.
    ///
    /// # Errors
    /// [`MechanismError::Norms`] unless records are clipped and m is at most 512; as
    /// [`DoubleCap::new`](crate::mechanism::DoubleCap::new) for epsilon.
    pub fn new(
        dimension: usize,
        bounding: Bounding,
        epsilon: Epsilon,
        candidates: u32,
        cap: u32,
    ) -> Result<Self, MechanismError> {
        let (weights, loss) = parameters(epsilon, candidates, cap)?;
        if bounding == Bounding::UnitNorm || cap > MAX_THRESHOLDS || candidates != 2 * cap {
            return Err(MechanismError::Norms);
        }
        Ok(Self { dimension, weights, loss })
    }

    /// The squares of the thresholds, longest first, as shares of the square of the radius.
    pub(crate) fn squares(&self) -> impl Iterator<Item = f64> + use<> {
        (0..self.weights.cap()).scan(1.0, |square, _| {
            *square *= FRAC_1_SQRT_2;
            Some(*square)
        })
    }

    /// The probability that a report says what is true.
    pub(crate) fn truth(&self) -> f64 {
        self.weights.cap_probability()
    }

    /// For every index, whether it says what is true of the record: without a branch that depends on it.
    fn in_cap(&self, record: &BoundedRecord) -> Vec<bool> {
        let square = squared_length(record);
        let mut in_cap = vec![false; self.weights.candidates() as usize];
        for (said, threshold) in in_cap.chunks_exact_mut(2).zip(self.squares()) {
            let longer = square > threshold;
            said.copy_from_slice(&[!longer, longer]);
        }
        in_cap
    }
}

impl MechanismSpec {
    /// [`NormCap`] with so many lengths.
    #[must_use]
    pub fn norm_cap(epsilon: Epsilon, lengths: u32) -> Self {
        Self::NormCap { epsilon, candidates: 2 * lengths, cap: lengths }
    }
}

impl Sealed for NormCap {}

impl LocalRandomizer for NormCap {
    index_report!();

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn draws(&self) -> u64 {
        1
    }

    fn randomize_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        record: &BoundedRecord,
        _task_key: &[u8; 16],
        _id: ReportId,
        rng: &mut R,
    ) -> Result<Vec<u8>, RandomizeError> {
        record.check_dimension(self.dimension)?;
        draw(&self.in_cap(record), self.weights, rng)
    }
}

/// Its sums are the numbers of reports of every index.
impl Summable for NormCap {
    fn check(&self, payload: &[u8]) -> Result<(), PayloadError> {
        check_index(payload, self.weights.candidates())
    }

    fn sums_len(&self) -> usize {
        self.weights.candidates() as usize
    }

    fn largest_entry(&self) -> u32 {
        1
    }

    fn accumulate_with_threads(
        &self,
        _task_key: &[u8; 16],
        payloads: &[(ReportId, &[u8])],
        sums: &mut [i64],
        _threads: NonZeroUsize,
    ) {
        self.assert_summable(payloads, sums);
        payloads.iter().for_each(|(_, payload)| sums[index(payload) as usize] += 1);
    }
}
