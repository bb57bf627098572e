//! The double-cap mechanism: pure epsilon, a report of one index, and far less noise than Gaussian covariance
//! perturbation.
//!
//! `PrivUnit` (Bhowmick et al. 2018; Asi, Feldman & Talwar 2022) moved from the sphere to lines, coded as one of a
//! few candidates with public randomness (Feldman & Talwar 2021; Shah et al. 2022; Isik et al. 2023).
//!
//! 1. The report's public id is a seed; together with the task it expands into J candidate vectors, nearly Gaussian
//!    ([`candidates`]).
//! 2. The *cap* is the set of the L candidates with the largest `(z . u)^2`, ties to the lower index: always exactly
//!    L of J ([`cap`]). Here u is the record (unit norm), or its lift `(x, sqrt(1 - |x|^2))` (clip).
//! 3. The report is an index j, drawn with integer weight `W = floor(2^32 e^epsilon)` inside the cap and `2^32`
//!    outside. W is that integer exactly, on every machine (`weight.rs`). A record without a direction (the zero vector
//!    under unit norm) has no cap: its index is drawn uniformly.
//!
//! # Statement
//! For every id, any two records x, y, the one without a direction among them, and every index j:
//! `P[j | x] <= e^epsilon P[j | y]`. Delta is 0. Every record gives a report, so that no report is not an outcome.
//!
//! # Argument
//! The normaliser `L W + (J - L) 2^32` does not depend on the record, because the cap has exactly L members for every
//! record. So the ratio of two probabilities of the same index is one of `1`, `W / 2^32`, `2^32 / W`, and `1 < W / 2^32
//! <= e^epsilon`: W is the floor of the real number, and an epsilon so small that W might not exceed 2^32 is refused.
//! Against the uniform law `1 / J` of a record without a direction they are `J W / N` and `J 2^32 / N`, with N the
//! normaliser, and `J 2^32 <= N <= J W` puts both between `2^32 / W` and `W / 2^32`. The index is drawn by an exactly
//! uniform integer below the normaliser, or below J. It holds for every id, and whatever happens to the scores: they only
//! decide who is in
//! the cap.
//!
//! # Utility
//! Given the record, `E[z z^T] / scale^2 = I + gain (u u^T + D)` for the chosen candidate z (u = 0
//! where there is no direction: a candidate drawn uniformly is like any other), with [`gain`] computed by
//! quadrature over order statistics, and `(mean(z z^T) / scale^2 - I) / gain` is the estimate. Its bias D would be 0 for
//! Gaussian candidates. With those there are, its spectral norm is below 1e-3, for every u and every J and L that are
//! permitted: that is what "unbiased" means here. It holds by exact convolution of the table for records of up to three
//! coordinates and for equal coordinates, on grids of directions, J and L, and by measurement for others (bias.rs); the
//! worst found is 6.4e-4, with 1024 candidates to a member of the cap, and 1e-4 at the default J and L up to epsilon 4.
//! The more coordinates a record is spread over, the less it is. An off-diagonal entry ij of one report has variance `1 / gain^2` across the record (`u_i = u_j = 0`). Along it the
//! chosen z is longer and the variance larger, `(1 + gain) / gain^2` for `u_i = 1`; on average over all entries of a
//! unit vector the factor is about `1 + 2 gain / d`.

#[cfg(test)]
mod bias;
pub mod candidates;
pub mod cap;
pub mod gain;
pub mod kernel;
mod length;
mod quantiles;
mod table;
mod weight;

use core::num::NonZeroUsize;
use core::ops::RangeInclusive;
use std::sync::OnceLock;

use nalgebra::DMatrix;
use rand::rand_core::TryCryptoRng;
use rand::{Rng, RngExt};

use self::candidates::{Candidates, KEPT};
use self::kernel::Path;
use self::table::{LARGEST_MAGNITUDE, TABLE_SECOND_MOMENT};
use super::pull::{Check, Pull, UNLUCKY_IDS};
use super::{LocalRandomizer, MechanismError, MechanismSpec, PayloadError, triangle};
use crate::identity::ReportId;
use crate::privacy::composition::PrivacyLoss;
use crate::privacy::renyi::Cap;
use crate::privacy::{Epsilon, Guarantee};
use crate::record::{BoundedRecord, Bounding};
use crate::sampling::{
    EntropyError,
    bits::{Bits, Words},
    uniform::below,
};
use crate::schema::MAX_DIMENSION;

/// The weight of a candidate outside the cap.
const UNIT_WEIGHT: u64 = 1 << 32;

/// Below it, `e^epsilon - 1` in units of 2^-32 has few digits or none, and so has the gain. From it on W exceeds 2^32,
/// which the privacy argument needs.
const SMALLEST_EPSILON: f64 = 1e-6;

/// The largest J. Beyond it the ranking is sharper than the table's steps: the bias of the estimate would show.
pub const MAX_CANDIDATES: u32 = 16_384;

/// The most candidates to a member of the cap: scores that are larger than those of one in so many are few in the table.
const MOST_TO_A_MEMBER: u32 = 1024;

/// The L that go with a J: those for which the bias of the estimate is below 1e-3 (bias.rs), and the cap at most half.
fn permitted_caps(candidates: u32) -> RangeInclusive<u32> {
    candidates.div_ceil(MOST_TO_A_MEMBER)..=candidates / 2
}

/// The double-cap mechanism for one task.
#[derive(Clone, Debug)]
pub struct DoubleCap {
    dimension: usize,
    /// Whether the record gets one more coordinate, which makes it a unit vector.
    lifted: bool,
    epsilon: Epsilon,
    candidates: u32,
    cap: u32,
    weights: Weights<UNIT_WEIGHT>,
    /// Worked out when it is first asked for: whoever makes reports never does.
    gain: OnceLock<f64>,
    loss: Cap,
}

impl DoubleCap {
    /// The mechanism for records of `dimension` coordinates with `candidates` = J and `cap` = L.
    ///
    /// # Errors
    /// [`MechanismError`] unless 2 <= J <= 16384, J / 1024 <= L <= J / 2, epsilon >= 1e-6, and the weights fit 64 bits
    /// (epsilon up to about 16).
    pub fn new(
        dimension: usize,
        bounding: Bounding,
        epsilon: Epsilon,
        candidates: u32,
        cap: u32,
    ) -> Result<Self, MechanismError> {
        if dimension == 0 || dimension > MAX_DIMENSION {
            return Err(MechanismError::Dimension(dimension));
        }
        if !(2..=MAX_CANDIDATES).contains(&candidates) || !permitted_caps(candidates).contains(&cap) {
            return Err(MechanismError::Cap { candidates, cap });
        }
        if epsilon.value() < SMALLEST_EPSILON {
            return Err(MechanismError::EpsilonTooSmall { epsilon: epsilon.value() });
        }
        let weights = weight::cap_weight(epsilon)?
            .and_then(|inside| Weights::new(candidates, cap, inside))
            .ok_or(MechanismError::Weights { epsilon: epsilon.value(), cap })?;
        let lifted = matches!(bounding, Bounding::Clip { .. });
        let loss = Cap::new(epsilon, candidates, cap)?;
        Ok(Self { dimension, lifted, epsilon, candidates, cap, weights, gain: OnceLock::new(), loss })
    }

    /// The mechanism for `epsilon` with the recommended J and the best L.
    #[must_use]
    pub fn recommended(epsilon: Epsilon) -> MechanismSpec {
        let candidates = Self::recommended_candidates(epsilon);
        MechanismSpec::DoubleCap { epsilon, candidates, cap: Self::best_cap(candidates, epsilon) }
    }

    /// The J recommended for `epsilon`: the variance is within 5 % of what any number of candidates could reach (the
    /// table is in docs/privacy/double-cap.md), and a report at d = 100 still takes well under a millisecond.
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

    /// The factor by which the record's own direction stands out: `E[z z^T] / scale^2 = I + gain u u^T`.
    #[must_use]
    pub fn gain(&self) -> f64 {
        *self.gain.get_or_init(|| {
            let inside = self.weights.of_cap() as f64 / self.weights.total as f64;
            KEPT * gain::gain(self.candidates, self.cap, inside)
        })
    }

    /// The number of candidates, J.
    #[must_use]
    pub fn candidates(&self) -> u32 {
        self.candidates
    }

    /// The number of likelier ones, L.
    #[must_use]
    pub fn cap(&self) -> u32 {
        self.cap
    }

    /// The rank, from 0 for the largest, of the reported candidate's score among the magnitudes of all J, with the
    /// randomizer's probabilities.
    pub(crate) fn draw_rank<R: Rng + ?Sized>(&self, rng: &mut R) -> u32 {
        let (inside, rank) = self.weights.place(rng.random_range(0..self.weights.total));
        if inside { rank as u32 } else { self.cap + rank as u32 }
    }

    /// The sums of `records` reports whose reported candidates z have the mean `mean` (d × d) of `z z^T / scale^2`. What
    /// a lift adds is left 0: no estimate looks at it.
    pub(crate) fn sums_of_mean(&self, mean: &DMatrix<f64>, records: u64) -> Vec<i64> {
        let (rows, unit) = (self.state_dimension(), TABLE_SECOND_MOMENT * records as f64);
        let of_entry = |row: usize, column: usize| {
            if column < self.dimension { (mean[(row, column)] * unit).round() as i64 } else { 0 }
        };
        (0..rows).flat_map(|row| (row..rows).map(move |column| of_entry(row, column))).collect()
    }

    /// The unit vector u whose line is hidden: the record, or its lift.
    pub(crate) fn direction(&self, record: &BoundedRecord) -> Vec<f64> {
        let mut direction = record.coordinates().to_vec();
        if self.lifted {
            let norm_squared: f64 = direction.iter().map(|x| x * x).sum();
            direction.push((1.0 - norm_squared).max(0.0).sqrt());
        }
        direction
    }
}

/// Integer weights of the indices: `inside` for each of the `cap` that are in the cap, `UNIT` for each other one.
#[derive(Clone, Copy, Debug)]
struct Weights<const UNIT: u64> {
    candidates: u32,
    cap: u32,
    inside: u64,
    total: u64,
}

impl<const UNIT: u64> Weights<UNIT> {
    /// `None` where their sum does not fit 64 bits.
    fn new(candidates: u32, cap: u32, inside: u64) -> Option<Self> {
        let total = inside.checked_mul(cap.into())?.checked_add(u64::from(candidates - cap) * UNIT)?;
        Some(Self { candidates, cap, inside, total })
    }

    /// The weight of the whole cap.
    fn of_cap(&self) -> u64 {
        u64::from(self.cap) * self.inside
    }

    /// Whether the index of a number below the total weight is in the cap, and which it is on its side.
    #[inline]
    fn place(&self, draw: u64) -> (bool, u64) {
        // Whether the index is from the cap is the secret. Both ranks are computed and one is kept, without a branch.
        let inside = draw < self.of_cap();
        let mask = u64::from(inside).wrapping_neg();
        (inside, mask & (draw / self.inside) | !mask & (draw.wrapping_sub(self.of_cap()) / UNIT))
    }

    /// An index with the weights of the cap, or with equal ones where there is no direction.
    #[inline]
    fn draw<const WIDTH: u32>(
        &self,
        in_cap: &[bool],
        has_direction: bool,
        words: &mut impl Words<WIDTH>,
    ) -> Result<u64, EntropyError> {
        let draw = below(words, self.total)?;
        let any_index = below(words, u64::from(self.candidates))?;
        let (inside, rank) = self.place(draw);
        let of_direction = cap::nth_member(in_cap, inside, rank) as u64;
        // Whether there is a direction is a secret too: both indices are drawn and one is kept.
        let there = u64::from(has_direction).wrapping_neg();
        Ok(there & of_direction | !there & any_index)
    }
}

impl LocalRandomizer for DoubleCap {
    fn guarantee(&self) -> Guarantee {
        Guarantee::local(self.epsilon, None)
    }

    fn privacy_loss(&self) -> PrivacyLoss {
        PrivacyLoss::Cap(self.loss)
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn payload_bytes(&self) -> usize {
        2
    }

    fn draws(&self) -> u64 {
        u64::from(self.candidates) * self.state_dimension() as u64
    }

    fn randomize_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        record: &BoundedRecord,
        task_key: &[u8; 16],
        id: ReportId,
        rng: &mut R,
    ) -> Result<Vec<u8>, EntropyError> {
        let scores =
            Candidates::new(task_key, id, self.state_dimension()).scores(&self.direction(record), self.candidates);
        let in_cap = cap::largest(&scores, self.cap);
        let index = self.weights.draw(&in_cap, record.has_direction(), &mut Bits::new(rng, 8))?;
        Ok((index as u16).to_le_bytes().to_vec())
    }

    fn check(&self, payload: &[u8]) -> Result<(), PayloadError> {
        let index = index(payload);
        if index < self.candidates {
            Ok(())
        } else {
            Err(PayloadError::CandidateOutOfRange { index, candidates: self.candidates })
        }
    }

    fn state_dimension(&self) -> usize {
        self.dimension + usize::from(self.lifted)
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
        let named: Vec<(ReportId, u32)> = payloads.iter().map(|(id, payload)| (*id, index(payload))).collect();
        Path::fastest().accumulate(task_key, self.state_dimension(), &named, sums, threads);
    }

    fn debias(&self, sums: &[i64], records: u64) -> DMatrix<f64> {
        let rows = self.state_dimension();
        let (unit, gain) = (TABLE_SECOND_MOMENT * records as f64, self.gain());
        let mut matrix = DMatrix::zeros(self.dimension, self.dimension);
        for row in 0..self.dimension {
            let start = triangle(rows) - triangle(rows - row);
            for column in row..self.dimension {
                let identity = if row == column { 1.0 } else { 0.0 };
                let value = (sums[start + column - row] as f64 / unit - identity) / gain;
                matrix[(row, column)] = value;
                matrix[(column, row)] = value;
            }
        }
        matrix
    }

    fn entry_deviation(&self) -> f64 {
        1.0 / self.gain()
    }

    fn deviation_beside(&self, energy: f64) -> f64 {
        // Given the record, z_j is normal with variance 1 and independent of z_i, which has variance 1 + gain × energy.
        (1.0 + self.gain() * energy).sqrt() / self.gain()
    }

    fn noise_edge(&self, records: u64) -> f64 {
        // The sum of z z^T over nearly Gaussian z is a Wishart matrix (Marchenko & Pastur 1967).
        let ratio = (self.state_dimension() as f64 / records as f64).sqrt();
        ((1.0 + ratio).powi(2) - 1.0) / self.gain()
    }

    fn pull(&self) -> Pull {
        // The proof is in `pull`. No estimate looks at what a lift adds.
        let of = |squared: f64| (squared / self.gain()).max(1.0 + 1.0 / self.gain());
        let issued = length::unlikely_squared(self.dimension, self.candidates, UNLUCKY_IDS.ln());
        Pull::new(of(length::longest_squared(self.dimension)), of(issued), Check::IssuedIds)
    }
}

/// The candidate a payload names.
fn index(payload: &[u8]) -> u32 {
    u32::from(u16::from_le_bytes([payload[0], payload[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::epsilon;
    use crate::record::Radius;
    use crate::sampling::bits::tests::{Script, ScriptedSource};
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    fn mechanism(dimension: usize, e: f64, candidates: u32, cap: u32) -> DoubleCap {
        DoubleCap::new(dimension, Bounding::UnitNorm, epsilon(e), candidates, cap).unwrap()
    }

    fn random_id(rng: &mut ChaCha8Rng) -> ReportId {
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        ReportId::new(id)
    }

    #[test]
    fn parameters_that_do_not_fit_are_refused() {
        let build = |e, j, l| DoubleCap::new(3, Bounding::UnitNorm, epsilon(e), j, l);
        let too_few = [(16_384, 15), (1025, 1)];
        let too_many = [(2, 2), (2, 3), (3, 2), (64, 33), (16_384, 8193)];
        for (j, l) in [(0, 0), (1, 1), (2, 0), (16_385, 100)].into_iter().chain(too_few).chain(too_many) {
            assert!(matches!(build(1.0, j, l), Err(MechanismError::Cap { .. })), "{j} {l}");
        }
        assert!(matches!(build(21.9, 64, 8), Err(MechanismError::Weights { .. })));
        assert!(matches!(build(700.0, 64, 8), Err(MechanismError::Weights { .. })));
        for (j, l) in [(2, 1), (3, 1), (64, 32), (1024, 1), (16_384, 16), (16_384, 8192)] {
            assert!(build(8.0, j, l).is_ok(), "{j} {l}");
        }
        assert!(build(16.0, 4096, 4).is_ok());
        for e in [f64::MIN_POSITIVE, 1e-300, 1e-17, 1e-9, 9.9e-7] {
            assert!(matches!(build(e, 64, 8), Err(MechanismError::EpsilonTooSmall { .. })), "{e}");
        }
        // To first order in epsilon the gain is epsilon times a constant: the integer weights keep four digits of it.
        let per_epsilon = |e| build(e, 64, 8).unwrap().gain() / e;
        assert!((per_epsilon(1e-6) / per_epsilon(1e-4) - 1.0).abs() < 1e-3);
        assert!(DoubleCap::new(0, Bounding::UnitNorm, epsilon(1.0), 8, 1).is_err());
    }

    /// How many of the pairs of two words of eight bits, of which none is drawn again, give each index.
    fn pairs_of_words<const UNIT: u64>(weights: Weights<UNIT>, in_cap: &[bool], has_direction: bool) -> Vec<u64> {
        let mut counts = vec![0; in_cap.len()];
        for first in 256 % weights.total..256 {
            for second in 256 % u64::from(weights.candidates)..256 {
                let words = [first, second];
                let mut script = Script::new(&words);
                let index = weights.draw::<8>(in_cap, has_direction, &mut script).unwrap();
                assert_eq!(script.left(), 0);
                counts[index as usize] += 1;
            }
        }
        counts
    }

    /// The exact law of the index for all caps of all sizes, from all words of eight bits: each index has its weight, and the
    /// ratio of no two records exceeds that of the weights, in both directions and with a record that has no direction.
    #[test]
    fn every_index_has_exactly_its_weight_whatever_the_cap() {
        const UNIT: u64 = 4;
        for (candidates, cap, inside) in [(2, 1, 5), (3, 1, 40), (4, 2, 7), (5, 2, 11), (6, 3, 29), (7, 2, 5)] {
            let weights = Weights::<UNIT>::new(candidates, cap, inside).unwrap();
            let total = inside * u64::from(cap) + UNIT * u64::from(candidates - cap);
            assert_eq!(weights.total, total);
            let (firsts, seconds) = (256 / total, 256 / u64::from(candidates));
            let uniform = pairs_of_words(weights, &vec![true; candidates as usize], false);
            assert_eq!(uniform, vec![total * firsts * seconds; candidates as usize]);
            let caps = (0u32..1 << candidates).filter(|members| members.count_ones() == cap);
            let mut laws = vec![uniform];
            for members in caps {
                let in_cap: Vec<bool> = (0..candidates).map(|index| members >> index & 1 == 1).collect();
                let law = pairs_of_words(weights, &in_cap, true);
                for (count, member) in law.iter().zip(&in_cap) {
                    let weight = if *member { inside } else { UNIT };
                    assert_eq!(*count, weight * firsts * seconds * u64::from(candidates), "{in_cap:?}: {law:?}");
                }
                assert_eq!(pairs_of_words(weights, &in_cap, false), laws[0], "{in_cap:?}");
                laws.push(law);
            }
            let ratios = laws.iter().flat_map(|one| laws.iter().flat_map(|other| one.iter().zip(other)));
            let mut reached = false;
            for (one, other) in ratios {
                assert!(UNIT * one <= inside * other, "J {candidates} L {cap}: {one} / {other}");
                reached |= UNIT * one == inside * other;
            }
            assert!(reached, "J {candidates} L {cap}: the bound is no better than it need be");
        }
    }

    #[test]
    fn a_word_that_is_refused_is_drawn_again_for_either_number() {
        let weights = Weights::<4>::new(5, 2, 11).unwrap();
        let in_cap = [false, true, false, false, true];
        let drawn = |words: &[u64]| {
            let mut script = Script::new(words);
            (weights.draw::<8>(&in_cap, true, &mut script).unwrap(), script.left())
        };
        // 256 mod 34 is 18, 256 mod 5 is 1: the first refusals are of the first number, the last one is of the second.
        let last_of_cap = 34 + 21;
        assert_eq!(drawn(&[0, 17, last_of_cap, 0, 1, 9]), (4, 1));
        assert_eq!(drawn(&[last_of_cap + 1, 1, 9]), (0, 1));
        assert_eq!(drawn(&[18, 1, 9]), (4, 1));
    }

    /// A word that gives `draw` for a number below `bound`, and is not drawn again.
    fn word_of(draw: u64, bound: u64) -> u64 {
        if draw >= bound.wrapping_neg() % bound { draw } else { draw + bound }
    }

    /// The whole randomizer with words at both ends of every weight. The cap is found by sorting.
    #[test]
    fn the_ends_of_every_weight_belong_to_its_index() {
        let clip = Bounding::Clip { radius: Radius::new(2.0).unwrap() };
        for (bounding, e, candidates, cap) in [
            (Bounding::UnitNorm, 1e-6, 2, 1),
            (Bounding::UnitNorm, 1.0, 64, 14),
            (clip, 4.0, 256, 10),
            (Bounding::UnitNorm, 16.0, 1024, 1),
            (clip, 8.0, MAX_CANDIDATES, 16),
        ] {
            let mechanism = DoubleCap::new(3, bounding, epsilon(e), candidates, cap).unwrap();
            let inside = weight::cap_weight(epsilon(e)).unwrap().unwrap();
            let of_cap = u64::from(cap) * inside;
            let total = of_cap + u64::from(candidates - cap) * (1 << 32);
            let record = BoundedRecord::new(vec![0.3, 0.0, -0.9], bounding).unwrap();
            let (key, id) = ([3; 16], ReportId::new([8; 16]));
            let direction = mechanism.direction(&record);
            let scores = Candidates::new(&key, id, direction.len()).scores(&direction, candidates);
            let mut order: Vec<usize> = (0..scores.len()).collect();
            order.sort_by_key(|&index| (core::cmp::Reverse(scores[index].unsigned_abs()), index));
            let (members, others) = order.split_at_mut(cap as usize);
            members.sort_unstable();
            others.sort_unstable();
            let report = |record: &BoundedRecord, words: &[u64]| {
                let mut source = ScriptedSource::of_words(words);
                let payload = mechanism.randomize_with_rng(record, &key, id, &mut source).unwrap();
                assert_eq!(source.requests, [64], "two words are drawn, of a block of eight");
                index(&payload) as usize
            };
            let ranks = |count: usize| [0, 1, count / 2, count - 1].into_iter().filter(move |&rank| rank < count);
            let ends = |start: u64, weight: u64, rank: usize| {
                let first = start + rank as u64 * weight;
                [first, first + weight / 2, first + weight - 1]
            };
            let draws =
                ranks(members.len()).flat_map(|rank| ends(0, inside, rank).map(|draw| (draw, members[rank]))).chain(
                    ranks(others.len()).flat_map(|rank| ends(of_cap, 1 << 32, rank).map(|draw| (draw, others[rank]))),
                );
            for (draw, expected) in draws {
                let second = (draw + 1) % u64::from(candidates);
                let words = [word_of(draw, total), word_of(second, candidates.into())];
                assert_eq!(report(&record, &words), expected, "eps {e} J {candidates} draw {draw}");
                if bounding == Bounding::UnitNorm {
                    let nothing = BoundedRecord::new(vec![0.0; 3], bounding).unwrap();
                    assert_eq!(report(&nothing, &words), second as usize, "eps {e} J {candidates} draw {draw}");
                }
            }
        }
    }

    /// A record of length 0 has a direction under clip: that of its lift.
    #[test]
    fn the_lift_makes_a_unit_vector_of_every_clipped_record() {
        let clip = Bounding::Clip { radius: Radius::new(2.0).unwrap() };
        let lifted = DoubleCap::new(2, clip, epsilon(1.0), 64, 14).unwrap();
        for (values, expected) in
            [([0.0, 0.0], [0.0, 0.0, 1.0]), ([0.96, -0.72], [0.48, -0.36, 0.8]), ([-6.0, 8.0], [-0.6, 0.8, 0.0])]
        {
            let record = BoundedRecord::new(values.to_vec(), clip).unwrap();
            assert!(record.has_direction());
            for (found, expected) in lifted.direction(&record).iter().zip(expected) {
                // The square root of a rounding error is larger than it.
                assert!((found - expected).abs() < 2e-8, "{values:?}: {found} {expected}");
            }
        }
        let record = BoundedRecord::new(vec![3.0, -4.0], Bounding::UnitNorm).unwrap();
        assert_eq!(mechanism(2, 1.0, 64, 14).direction(&record), [0.6, -0.8]);
    }

    /// Ranks have the randomizer's law: as many of each as the weights say, on both sides of the cap.
    #[test]
    fn every_number_has_its_place() {
        let weights = Weights::<4>::new(5, 2, 11).unwrap();
        let places: Vec<(bool, u64)> = (0..weights.total).map(|draw| weights.place(draw)).collect();
        let expected = (0..22).map(|draw| (true, draw / 11)).chain((0..12).map(|draw| (false, draw / 4)));
        assert!(places.into_iter().eq(expected));
        assert!(Weights::<4>::new(5, 2, u64::MAX / 2).is_none());
        assert!(Weights::<4>::new(5, 2, u64::MAX / 2 - 6).is_some_and(|weights| weights.total == u64::MAX - 1));
        assert!(Weights::<4>::new(5, 2, u64::MAX / 2 - 5).is_none());
    }

    /// Frequencies of every index against its exact weight, for one id and a fixed record: chi-square, alpha 0.001.
    #[test]
    fn selection_frequencies_are_the_weights() {
        let mechanism = mechanism(5, 1.0, 16, 3);
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let id = random_id(&mut rng);
        let record = BoundedRecord::new(vec![0.1, -0.4, 0.2, 0.9, 0.0], Bounding::UnitNorm).unwrap();
        let scores = Candidates::new(&[7; 16], id, 5).scores(record.coordinates(), 16);
        let in_cap = cap::largest(&scores, 3);
        assert_eq!(in_cap.iter().filter(|&&member| member).count(), 3);
        let draws = 200_000;
        let mut counts = [0f64; 16];
        for _ in 0..draws {
            let payload = mechanism.randomize_with_rng(&record, &[7; 16], id, &mut rng).unwrap();
            counts[index(&payload) as usize] += 1.0;
        }
        let chi_square: f64 = (0..16)
            .map(|j| {
                let weight = if in_cap[j] { mechanism.weights.inside } else { UNIT_WEIGHT };
                let expected = f64::from(draws) * weight as f64 / mechanism.weights.total as f64;
                (counts[j] - expected).powi(2) / expected
            })
            .sum();
        assert!(chi_square < 37.7, "{chi_square} exceeds the 0.999 quantile of chi-square with 15 degrees of freedom");
    }

    /// Every entry of the mean over n reports within 4.9 standard errors of x x^T: 1-sparse, 2-sparse, dense and
    /// lifted records.
    #[test]
    fn reports_are_unbiased_for_sparse_and_dense_records() {
        let n = 12_000u64;
        let clip = Bounding::Clip { radius: Radius::new(2.0).unwrap() };
        let cases: [(&[f64], Bounding); 4] = [
            (&[0.0, 1.0, 0.0, 0.0, 0.0], Bounding::UnitNorm),
            (&[1.0, 0.0, 0.0, -2.0, 0.0], Bounding::UnitNorm),
            (&[1.0, -1.0, 2.0, 0.5, 0.3], Bounding::UnitNorm),
            (&[0.5, 0.0, 0.9, 0.0, -0.1], clip),
        ];
        for (values, bounding) in cases {
            for (e, j, l) in [(1.0, 64, 13), (4.0, 256, 9)] {
                let mechanism = DoubleCap::new(5, bounding, epsilon(e), j, l).unwrap();
                let record = BoundedRecord::new(values.to_vec(), bounding).unwrap();
                let mut rng = ChaCha8Rng::seed_from_u64(17);
                let mut sums = vec![0i64; triangle(mechanism.state_dimension())];
                for _ in 0..n {
                    let id = random_id(&mut rng);
                    let payload = mechanism.randomize_with_rng(&record, &[1; 16], id, &mut rng).unwrap();
                    mechanism.accumulate(&[1; 16], &[(id, &payload)], &mut sums);
                }
                let estimate = mechanism.debias(&sums, n);
                for row in 0..5 {
                    for column in 0..5 {
                        let expected = record.coordinates()[row] * record.coordinates()[column];
                        // The chosen candidates are longer along u: its fourth moment is at most 3 (1 + gain)^2.
                        let factor =
                            if row == column { 3f64.sqrt() * (1.0 + mechanism.gain()) } else { 1.0 + mechanism.gain() };
                        let bound = 4.9 * factor * mechanism.entry_deviation() / (n as f64).sqrt();
                        let error = estimate[(row, column)] - expected;
                        assert!(error.abs() < bound, "{values:?} eps {e} entry {row},{column}: {error} > {bound}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_candidate_that_does_not_exist_is_refused() {
        let mechanism = mechanism(5, 1.0, 16, 3);
        assert!(mechanism.check(&15u16.to_le_bytes()).is_ok());
        assert!(mechanism.check(&16u16.to_le_bytes()).is_err());
    }

    #[test]
    fn a_failing_source_gives_an_error() {
        let record = BoundedRecord::new(vec![1.0; 5], Bounding::UnitNorm).unwrap();
        let mut source = crate::sampling::bits::tests::FailingSource { left: 0 };
        let id = ReportId::new([0; 16]);
        assert!(mechanism(5, 1.0, 16, 3).randomize_with_rng(&record, &[0; 16], id, &mut source).is_err());
    }

    /// ((1 + sqrt(d / n))^2 - 1) / gain, with the lift's coordinate, through the mechanism of a task as well.
    #[test]
    fn the_edge_of_the_noise_is_that_of_marchenko_and_pastur() {
        let clip = Bounding::Clip { radius: Radius::new(1.0).unwrap() };
        for (dimension, bounding, records, edge) in [
            (4, Bounding::UnitNorm, 16, 1.25),
            (3, clip, 16, 1.25),
            (1, Bounding::UnitNorm, 100, 0.21),
            (9, Bounding::UnitNorm, 1, 15.0),
        ] {
            let mechanism = DoubleCap::new(dimension, bounding, epsilon(2.0), 64, 8).unwrap();
            let found = mechanism.noise_edge(records) * mechanism.gain();
            assert!((found / edge - 1.0).abs() < 1e-12, "{dimension} {records}: {found}");
            assert_eq!(
                crate::mechanism::Mechanism::DoubleCap(mechanism.clone()).noise_edge(records),
                mechanism.noise_edge(records)
            );
        }
    }

    #[test]
    fn parameters_are_told_as_they_were_given_and_recommended_by_epsilon() {
        let mechanism = mechanism(3, 1.0, 64, 9);
        assert_eq!((mechanism.candidates(), mechanism.cap()), (64, 9));
        for (e, candidates) in [
            (0.1, 64),
            (1.5, 64),
            (1.6, 128),
            (2.5, 128),
            (2.6, 256),
            (4.5, 256),
            (4.6, 1024),
            (6.5, 1024),
            (6.6, 4096),
            (16.0, 4096),
        ] {
            assert_eq!(DoubleCap::recommended_candidates(epsilon(e)), candidates, "{e}");
        }
    }
}
