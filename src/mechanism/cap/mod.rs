//! What mechanisms share whose report is an index, as that of [`double_cap`](super::double_cap) is.
//!
//! Of J indices, the L in the *cap* are likelier than the others. Who is in it depends on the record, how many are does
//! not. Each mechanism states what an index means and who is in the cap.
//!
//! | module | what |
//! |---|---|
//! | [`members`] | the permitted L, and the L largest of J scores |
//! | `weight` | the weight of the cap, and the draw by weights |
//! | `gain`, `coordinate` | how far the reported candidate is along the record |
//! | [`candidates`], `sphere`, `table`, `quantiles` | vectors of one length from a public id, and their scores |
//! | `signs` | vectors of signs from a public id, and their scores |
//! | [`kernel`] | both kinds of candidates, for each kind of processor |

pub mod candidates;
pub mod coordinate;
pub(crate) mod gain;
pub mod kernel;
pub mod members;
mod quantiles;
pub(crate) mod signs;
pub(super) mod sphere;
pub(crate) mod table;
pub(super) mod weight;

use rand::rand_core::TryCryptoRng;

use self::coordinate::Coordinate;
use self::members::permitted_caps;
use self::sphere::Sphere;
use super::{MechanismError, PayloadError, RandomizeError};
use crate::centring::zero_below;
use crate::privacy::Epsilon;
use crate::privacy::renyi::Cap;
use crate::record::BoundedRecord;
use crate::sampling::bits::Bits;

pub use self::gain::kept;
pub use self::members::{MAX_CANDIDATES, largest, nth_member};
pub(crate) use self::sphere::root;
pub use self::weight::Weights;

/// Below it, `e^epsilon - 1` in units of 2^-32 has few digits or none, and so has the gain. The arithmetic of
/// `cap_weight` is for this value on, too. Privacy needs no such limit: W is at least 2^32 for every epsilon above 0.
const SMALLEST_EPSILON: f64 = 1e-6;

/// The weights of a cap and its privacy loss, for parameters that fit together.
pub(crate) fn parameters(epsilon: Epsilon, candidates: u32, cap: u32) -> Result<(Weights, Cap), MechanismError> {
    if !(2..=MAX_CANDIDATES).contains(&candidates) || !permitted_caps(candidates).contains(&cap) {
        return Err(MechanismError::Cap { candidates, cap });
    }
    if epsilon.value() < SMALLEST_EPSILON {
        return Err(MechanismError::EpsilonTooSmall(epsilon.value()));
    }
    let weights = weight::cap_weight(epsilon)?
        .and_then(|inside| Weights::new(candidates, cap, inside))
        .ok_or(MechanismError::Weights { epsilon: epsilon.value(), cap })?;
    Ok((weights, Cap::new(epsilon, candidates, cap)?))
}

/// The square of the record's length, in the unit ball. Squares of coordinates that are left out may be subnormal,
/// which some processors multiply more slowly.
pub(crate) fn squared_length(record: &BoundedRecord) -> f64 {
    record.coordinates().iter().map(|&x| zero_below(x, 500)).map(|x| x * x).sum()
}

/// The score of double-cap's candidates of `rows` coordinates that the cap's share of them exceeds.
#[must_use]
pub fn usual_threshold(weights: &Weights, rows: usize) -> f64 {
    let share = f64::from(weights.cap()) / f64::from(weights.candidates());
    Sphere::new(rows).score_of(Coordinate::new(Some(rows)).exceeded_with(share))
}

/// The unit vector u whose line double-cap hides: the lift of the record.
#[must_use]
pub fn direction(record: &BoundedRecord) -> Vec<f64> {
    let mut direction = record.coordinates().to_vec();
    direction.push((1.0 - squared_length(record)).max(0.0).sqrt());
    direction
}

/// The payload: an index, drawn with these weights from those in the cap and the others.
pub(crate) fn draw<R: TryCryptoRng + ?Sized>(
    in_cap: &[bool],
    weights: Weights,
    rng: &mut R,
) -> Result<Vec<u8>, RandomizeError> {
    let index = weights.draw(in_cap, &mut Bits::new(rng, 8))?;
    Ok((index as u16).to_le_bytes().to_vec())
}

/// What each of them says alike in its `impl LocalRandomizer`.
macro_rules! index_report {
    () => {
        fn guarantee(&self) -> $crate::privacy::Guarantee {
            $crate::privacy::Guarantee::local(self.loss.epsilon(), None)
        }

        fn privacy_loss(&self) -> $crate::privacy::composition::PrivacyLoss {
            $crate::privacy::composition::PrivacyLoss::Cap(self.loss)
        }

        fn payload_bytes(&self) -> usize {
            2
        }
    };
}
pub(crate) use index_report;

/// Accepts two bytes that name one of so many candidates.
pub(crate) fn check_index(payload: &[u8], candidates: u32) -> Result<(), PayloadError> {
    PayloadError::check_length(2, payload)?;
    let index = index(payload);
    if index < candidates { Ok(()) } else { Err(PayloadError::CandidateOutOfRange { index, candidates }) }
}

/// The candidate that a payload names.
pub(crate) fn index(payload: &[u8]) -> u32 {
    u32::from(u16::from_le_bytes([payload[0], payload[1]]))
}

#[cfg(test)]
pub(crate) mod tests {
    use core::cmp::Reverse;

    use super::*;
    use crate::mechanism::LocalRandomizer;
    use crate::report::ReportId;
    use crate::sampling::bits::tests::{ScriptedSource, word_of};

    /// The cap of so many, by sorting.
    pub(crate) fn first_by_score(scores: &[u64], cap: u32) -> Vec<bool> {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by_key(|&index| (Reverse(scores[index]), index));
        let mut in_cap = vec![false; scores.len()];
        order[..cap as usize].iter().for_each(|&index| in_cap[index] = true);
        in_cap
    }

    /// The whole randomizer with words at both ends of every weight, or of four where there are many: each index has
    /// exactly its weight. So any two records' probabilities differ by no more than the factor `W / 2^32`.
    pub(crate) fn assert_exact_law(
        randomizer: &impl LocalRandomizer,
        record: &BoundedRecord,
        (key, id): ([u8; 16], ReportId),
        in_cap: &[bool],
    ) {
        let epsilon = randomizer.guarantee().epsilon;
        let (inside, outside) = (weight::cap_weight(epsilon).unwrap().unwrap(), 1u64 << 32);
        assert!(inside > outside && inside as f64 / outside as f64 <= epsilon.value().exp() * (1.0 + 1e-15));
        let of_side = |side: bool| (0..in_cap.len()).filter(|&index| in_cap[index] == side).collect::<Vec<_>>();
        let [members, others] = [of_side(true), of_side(false)];
        let of_cap = members.len() as u64 * inside;
        let total = of_cap + others.len() as u64 * outside;
        for (side, start, weight) in [(members, 0, inside), (others, of_cap, outside)] {
            let some = [0, 1, side.len() / 2, side.len() - 1];
            for (rank, index) in side.iter().enumerate().filter(|(rank, _)| side.len() < 100 || some.contains(rank)) {
                let first = start + rank as u64 * weight;
                for draw in [first, first + weight / 2, first + weight - 1] {
                    let mut source = ScriptedSource::of_words(&[word_of(draw, total)]);
                    let payload = randomizer.randomize_with_rng(record, &key, id, &mut source).unwrap();
                    assert_eq!(source.requests, [64], "one word is drawn, of a block of eight");
                    assert_eq!(payload, (*index as u16).to_le_bytes(), "{epsilon} {draw} {record:?}");
                }
            }
        }
    }
}
