//! The signed-cap mechanism: the mean of a vector of length at most 1, for the task of a
//! [refinement](super::refinement).
//!
//! It is [`double_cap`](crate::mechanism::double_cap) for vectors instead of lines (`PrivUnit` of Bhowmick et al. 2018,
//! coded as one of a few candidates).
//!
//! 1. The record becomes the vector u of m = k d + 1 coordinates that [`refinement`](super::refinement) describes.
//! 2. A public *turn* of the task (`turn.rs`), an orthogonal map to M coordinates, makes v of u: M is the power of two
//!    from 2048 on that has room for m coordinates.
//! 3. The report's public id and the task expand into J candidates z, each of M random signs (`cap/signs.rs`).
//! 4. The *cap* is the set of the L candidates with the largest `z . v`, sign included, ties to the lower index.
//! 5. The report is an index, drawn with integer weight `W = floor(2^32 e^epsilon)` inside the cap and `2^32` outside.
//!
//! # Statement
//! For every id, every refinement, whoever chose its directions, weights and clip and for whatever reason, any two
//! records x, y and every index j: `P[j | x] <= e^epsilon P[j | y]`. Delta is 0. Every record gives a report.
//!
//! # Argument
//! The normaliser `L W + (J - L) 2^32` does not depend on the record, because the cap has exactly L members for every
//! record. (The record whose values are all 0 or missing has the vector `(0, …, 0, 1)`.) So the ratio of two
//! probabilities of the same index is one of `1`, `W / 2^32`, `2^32 / W`, and `1 <= W / 2^32 <= e^epsilon`: W is the
//! floor of the real number `2^32 e^epsilon`, which is above 2^32. The index is drawn by an exactly uniform integer
//! below the normaliser. Directions, weights, clip, turn and candidates are public and the same for all records. They,
//! the clipping and the rounding of u and v only decide who is in the cap.
//!
//! # Assumptions
//! The statement is about one report. A person answers one wave alone: a ledger knows the first wave's task of a
//! refinement ([`Task::campaign`](crate::task::Task::campaign)), and refuses the second. Who answers both waves has the
//! sum of both epsilons, by composition. docs/privacy/double-cap.md has the statement for both waves together.
//!
//! # Utility
//! `E[z | u] = gain v / |v|`, with `gain` computed by quadrature over order statistics (`cap/gain.rs`) for a v of
//! uniform direction. So the sum of all reports, turned back and divided by n gain, estimates the sum of u without
//! bias, but for three things:
//!
//! - Signs are not quite normal. The bias has a length of at most about `|t^2 - 1| / M`, with t the score that the
//!   cap's share of normal candidates exceeds, and it is across u. At the recommended J and the best L it is below 1e-3
//!   of u up to epsilon 4.5, 2e-3 at 6.5, 3.3e-3 at 8, and at the smallest permitted L 4.2e-3. (Characteristic
//!   functions, for axes, flat vectors, rows of the transform and random ones.) Records share much of it.
//! - A record that was chosen with the task's digest in view can have a v of few coordinates, and then less gain. Who
//!   does so could as well report something else.
//! - u is shorter than 1 where lengths are rounded up, which matters for the smallest weights and clips alone.
//!
//! With s the score of the reported candidate, a coordinate of one report's estimate has the variance `(M - E s^2) / (M
//! - 1) / gain^2` across u, at most `1 / gain^2`, and `(E s^2 - gain^2) / gain^2` along u: about as much at the best L
//! up to epsilon 8, and less beyond; up to 3.4 times as much, or far less, at other permitted ones. Coordinate `(j, i)`
//! of u is `w_j a_j b_i / c`, for records that the clip does not shorten, up to the rounding of integers.
//!
//! # Why signs
//! An aggregator counts ones, for which it never takes words of keystream apart: over ten times as many reports a
//! second as double-cap's at 400 features (benches/pipeline.rs). And all candidates of signs have one length.

#[cfg(test)]
mod tests;
mod turn;

use core::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use rand::rand_core::TryCryptoRng;

use self::turn::Turn;
use super::refinement::Refinement;
use crate::identity::ReportId;
use crate::mechanism::cap::coordinate::Coordinate;
use crate::mechanism::cap::gain::{best_signed_cap, signed_gain};
use crate::mechanism::cap::kernel::Path;
use crate::mechanism::cap::signs::{ACROSS, Signs};
use crate::mechanism::cap::{MAX_CANDIDATES, Weights, check_index, draw, index, index_report, largest, parameters};
use crate::mechanism::sealed::Sealed;
use crate::mechanism::{
    DoubleCap, LocalRandomizer, MechanismError, MechanismSpec, PayloadError, RandomizeError, Summable,
};
use crate::privacy::Epsilon;
use crate::privacy::renyi::Cap;
use crate::record::BoundedRecord;

/// The signed-cap mechanism for one task.
#[derive(Clone, Debug)]
pub struct SignedCap {
    refinement: Arc<Refinement>,
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
        Ok(Self { refinement, weights, gain: OnceLock::new(), loss })
    }

    /// The gain: `E[z | u] = gain v / |v|`.
    #[must_use]
    pub fn gain(&self) -> f64 {
        *self.gain.get_or_init(|| {
            let (candidates, cap) = (self.weights.candidates(), self.weights.cap());
            signed_gain(candidates, cap, self.weights.cap_probability(), Some(self.turned()))
        })
    }

    /// The mean of u in `records` reports with these sums: m numbers.
    pub(crate) fn mean(&self, task_key: &[u8; 16], sums: &[i64], records: u64) -> Vec<f64> {
        let over = 1.0 / (records as f64 * self.gain());
        let turned = sums.iter().map(|&sum| sum as f64 * over).collect();
        Turn::new(task_key, self.coordinates()).back(turned, self.coordinates())
    }

    /// For each candidate of an id how far it is along the vector u.
    #[must_use]
    pub fn scores(&self, task_key: &[u8; 16], id: ReportId, u: &[f64]) -> Vec<u64> {
        let v = Turn::new(task_key, self.coordinates()).apply(u);
        Signs::new(task_key, id, v.len()).scores(&v, self.weights.candidates())
    }

    /// The directions, weights and clip.
    #[must_use]
    pub fn refinement(&self) -> &Refinement {
        &self.refinement
    }

    /// The score that the cap's share of candidates exceeds, about.
    #[must_use]
    pub fn usual_threshold(&self) -> f64 {
        let share = f64::from(self.weights.cap()) / f64::from(self.weights.candidates());
        // As many exceed it to the one side as to the other.
        let deviations = Coordinate::new(Some(self.turned())).exceeded_with(2.0 * share);
        ACROSS as f64 + deviations * turn::length(self.turned())
    }

    /// The vector u of a record.
    #[must_use]
    pub fn direction(&self, record: &BoundedRecord) -> Vec<f64> {
        self.refinement.direction(record.coordinates())
    }

    /// The integer weights that candidates are reported with, by the rank of their scores.
    #[must_use]
    pub fn weights(&self) -> Weights {
        self.weights
    }

    /// m: k d + 1.
    fn coordinates(&self) -> usize {
        self.refinement.coordinates()
    }

    /// M.
    #[must_use]
    pub fn turned(&self) -> usize {
        turn::dimension(self.coordinates())
    }
}

impl MechanismSpec {
    /// [`SignedCap`], by default with the recommended J and the best L for `epsilon`.
    pub(crate) fn signed_cap(epsilon: Epsilon, candidates: Option<u32>, cap: Option<u32>) -> Self {
        let candidates = candidates.unwrap_or_else(|| DoubleCap::recommended_candidates(epsilon));
        // As for double-cap.
        let cap = cap.unwrap_or_else(|| best_signed_cap(candidates.min(MAX_CANDIDATES), epsilon));
        Self::SignedCap { epsilon, candidates, cap }
    }
}

impl Sealed for SignedCap {}

impl LocalRandomizer for SignedCap {
    index_report!();

    fn dimension(&self) -> usize {
        self.refinement.dimension()
    }

    fn draws(&self) -> u64 {
        u64::from(self.weights.candidates()) * self.turned() as u64
    }

    fn randomize_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        record: &BoundedRecord,
        task_key: &[u8; 16],
        id: ReportId,
        rng: &mut R,
    ) -> Result<Vec<u8>, RandomizeError> {
        record.check_dimension(self.dimension())?;
        let scores = self.scores(task_key, id, &self.direction(record));
        draw(&largest(&scores, self.weights.cap()), self.weights, rng)
    }
}

/// Its sums are of vectors, not of matrices.
impl Summable for SignedCap {
    fn check(&self, payload: &[u8]) -> Result<(), PayloadError> {
        check_index(payload, self.weights.candidates())
    }

    fn sums_len(&self) -> usize {
        self.turned()
    }

    fn largest_entry(&self) -> u32 {
        1
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
        Path::fastest().add_signs(task_key, &named, sums, threads);
    }
}
