//! The signed-cap mechanism: the mean of a vector of length at most 1, for the task of a
//! [refinement](crate::refinement).
//!
//! It is [`double_cap`](super::double_cap) for vectors instead of lines (`PrivUnit` of Bhowmick et al. 2018, coded as
//! one of a few candidates).
//!
//! 1. The record becomes the vector u of m = k d + 1 coordinates that [`refinement`](crate::refinement) describes.
//! 2. The report's public id and the task expand into J candidates z of m coordinates, exactly those of double-cap.
//! 3. The *cap* is the set of the L candidates with the largest `z . u`, sign included, ties to the lower index.
//! 4. The report is an index, drawn with integer weight `W = floor(2^32 e^epsilon)` inside the cap and `2^32` outside.
//!
//! # Statement
//! For every id, every refinement, whoever chose its directions, weights and clip and for whatever reason, any two
//! records x, y, those without a direction among them, and every index j: `P[j | x] <= e^epsilon P[j | y]`. Delta is 0.
//! Every record gives a report.
//!
//! # Argument
//! The normaliser `L W + (J - L) 2^32` does not depend on the record, because the cap has exactly L members for every
//! record: a record without a direction has the vector `(0, …, 0, 1)`, and a cap like any other. So the ratio of two
//! probabilities of the same index is one of `1`, `W / 2^32`, `2^32 / W`, and `1 < W / 2^32 <= e^epsilon`: W is the
//! floor of the real number, and an epsilon so small that W might not exceed 2^32 is refused. The index is drawn by an
//! exactly uniform integer below the normaliser. Directions, weights and clip are public and the same for all records.
//! They, the clipping and the rounding of u only decide who is in the cap.
//!
//! # Assumptions
//! The statement is about one report. A person answers one wave alone: a ledger knows the first wave's task of a
//! refinement ([`Task::campaign`](crate::task::Task::campaign)), and refuses the second. Who answers both waves has the
//! sum of both epsilons, by composition. docs/privacy/double-cap.md has the statement for both waves together.
//!
//! # Utility
//! `E[z | u] = scale gain u`, with `scale` the deviation of a coordinate of all candidates and `gain` computed by
//! quadrature over order statistics (`gain.rs`). So `z / (scale gain)` is an unbiased estimate of u, up to 1e-3 of the
//! length of u, its last coordinate included. With s = z . u / scale of the reported candidate, a coordinate of it has
//! the variance `(m - E s^2) / (m - 1) / gain^2` across u, at most about `1 / gain^2`, and `(E s^2 - gain^2) / gain^2`
//! along u: about as much at the best L, up to three times as much at other permitted ones. Coordinate `(j, i)` of u is
//! `w_j a_j b_i / c`, for records that the clip does not shorten, up to the rounding of integers.

#[cfg(test)]
mod tests;

use core::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use rand::rand_core::TryCryptoRng;

use super::double_cap::candidates::Candidates;
use super::double_cap::kernel::{Path, Sides};
use super::double_cap::{DoubleCap, Weights, check_index, draw, index, mean_along, parameters, radius};
use super::estimator::{Estimator, no_moments};
use super::{LocalRandomizer, MechanismError, PayloadError, RandomizeError};
use crate::identity::ReportId;
use crate::privacy::composition::PrivacyLoss;
use crate::privacy::renyi::Cap;
use crate::privacy::{Epsilon, Guarantee};
use crate::record::BoundedRecord;
use crate::refinement::Refinement;

/// The signed-cap mechanism for one task.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct SignedCap {
    refinement: Arc<Refinement>,
    epsilon: Epsilon,
    candidates: u32,
    cap: u32,
    weights: Weights,
    /// Computed at its first use: making reports never needs it.
    gain: OnceLock<f64>,
    loss: Cap,
}

impl SignedCap {
    /// The mechanism with `candidates` = J and `cap` = L.
    ///
    /// # Errors
    /// As [`DoubleCap::new`].
    pub fn new(
        refinement: Arc<Refinement>,
        epsilon: Epsilon,
        candidates: u32,
        cap: u32,
    ) -> Result<Self, MechanismError> {
        let (weights, loss) = parameters(epsilon, candidates, cap)?;
        Ok(Self { refinement, epsilon, candidates, cap, weights, gain: OnceLock::new(), loss })
    }

    /// The J recommended for `epsilon`: that of double-cap.
    #[must_use]
    pub fn recommended_candidates(epsilon: Epsilon) -> u32 {
        DoubleCap::recommended_candidates(epsilon)
    }

    /// The permitted L with the largest gain among J = `candidates` (at least 2) at `epsilon`.
    #[must_use]
    pub fn best_cap(candidates: u32, epsilon: Epsilon) -> u32 {
        super::double_cap::best_signed_cap(candidates, epsilon)
    }

    /// The gain: `E[z | u] = scale gain u`.
    #[must_use]
    pub fn gain(&self) -> f64 {
        *self.gain.get_or_init(|| {
            let q = self.weights.of_cap() as f64 / self.weights.total() as f64;
            mean_along(self.candidates, self.cap, q, self.coordinates())
        })
    }

    /// The deviation of a coordinate of all candidates.
    #[must_use]
    pub fn scale(&self) -> f64 {
        radius(self.coordinates()) / (self.coordinates() as f64).sqrt()
    }

    /// The directions, weights and clip.
    #[must_use]
    pub fn refinement(&self) -> &Refinement {
        &self.refinement
    }

    /// The vector u of a record.
    pub(crate) fn direction(&self, record: &BoundedRecord) -> Vec<f64> {
        self.refinement.direction(record.coordinates())
    }

    /// The integer weights that candidates are reported with, by the rank of their scores.
    pub(crate) fn weights(&self) -> Weights {
        self.weights
    }

    /// m: k d + 1.
    fn coordinates(&self) -> usize {
        self.refinement.coordinates()
    }
}

impl LocalRandomizer for SignedCap {
    fn guarantee(&self) -> Guarantee {
        Guarantee::local(self.epsilon, None)
    }

    fn privacy_loss(&self) -> PrivacyLoss {
        PrivacyLoss::Cap(self.loss)
    }

    fn dimension(&self) -> usize {
        self.refinement.dimension()
    }

    fn payload_bytes(&self) -> usize {
        2
    }

    fn draws(&self) -> u64 {
        u64::from(self.candidates) * self.coordinates() as u64
    }

    fn randomize_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        record: &BoundedRecord,
        task_key: &[u8; 16],
        id: ReportId,
        rng: &mut R,
    ) -> Result<Vec<u8>, RandomizeError> {
        record.check_dimension(self.dimension())?;
        let candidates = Candidates::new(task_key, id, self.coordinates());
        draw(candidates, &self.direction(record), Sides::Towards, self.weights, true, rng)
    }
}

/// Its sums are of vectors, not of matrices: they say nothing about second moments.
impl Estimator for SignedCap {
    fn check(&self, payload: &[u8]) -> Result<(), PayloadError> {
        check_index(payload, self.candidates)
    }

    fn state_dimension(&self) -> usize {
        self.dimension()
    }

    fn sums_len(&self) -> usize {
        self.coordinates()
    }

    fn largest_entry(&self) -> u32 {
        super::double_cap::LARGEST_MAGNITUDE
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
        Path::fastest().add_vectors(task_key, &named, sums, threads);
    }

    no_moments!();
}
