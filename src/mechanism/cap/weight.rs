//! The weight of a candidate inside the cap, an exact integer, the same on every machine; and the draw by such weights.
//!
//! `W = floor(2^32 e^epsilon)`, where epsilon is the real number that the 64-bit floating-point number is. Only
//! integers are used, so that two clients cannot disagree, and W never exceeds `2^32 e^epsilon`.
//!
//! # Argument
//! With epsilon = m / 2^s, m < 2^53, and in units of 2^-64, the terms of the series are `t_0 = 2^96` and
//! `t_n = floor(floor(t_(n-1) m / 2^s) / n)`, until one is 0. Nothing is ever rounded up, so their sum S is at most
//! `2^96 e^epsilon`. Step n makes its term less than 2 too small. The later terms follow from that one, so they become
//! too small as well: the next by less than `2 epsilon / (n+1)`, the one after it by less than `2 epsilon^2 / ((n+1)
//! (n+2))`, and so on. Together that is less than `2 e^epsilon` for each step. So after N steps S is short by less than
//! `2 N e^epsilon`. Where `floor(S / 2^64)` is the same for both ends of that interval, it is W. Elsewhere W is not
//! known and the epsilon is refused: that is less than one in 2^31 at epsilon = 16, and in 2^50 at 4.

use rand::{Rng, RngExt};

use super::members;
use crate::mechanism::MechanismError;
use crate::privacy::Epsilon;
use crate::sampling::{EntropyError, bits::Words, uniform::uniform_below};

/// From 31 ln 2 on W needs 64 bits. Below it, the largest product is `t_20 m / 2^s` < 2^128.
const LARGEST_EPSILON: f64 = 21.48;

/// W for an epsilon of at least 1e-6; `None` where it does not fit 63 bits.
///
/// # Errors
/// [`MechanismError::UnknownWeight`] for the rare epsilon whose weight the arithmetic cannot determine.
pub(in crate::mechanism) fn cap_weight(epsilon: Epsilon) -> Result<Option<u64>, MechanismError> {
    weight::<64>(epsilon)
}

/// [`cap_weight`] from sums with `FRACTION` binary places, of which there are 64 in production. With few, more epsilons
/// are refused, but no weight differs.
#[inline]
fn weight<const FRACTION: u32>(epsilon: Epsilon) -> Result<Option<u64>, MechanismError> {
    let epsilon = epsilon.value();
    if epsilon > LARGEST_EPSILON {
        return Ok(None);
    }
    let (lower, upper) = bounds::<FRACTION>(epsilon);
    if lower >> FRACTION == upper >> FRACTION {
        Ok(Some((lower >> FRACTION) as u64))
    } else {
        Err(MechanismError::UnknownWeight(epsilon))
    }
}

/// Bounds on `2^(32 + FRACTION) e^epsilon`, the lower one included, the upper one not.
fn bounds<const FRACTION: u32>(epsilon: f64) -> (u128, u128) {
    let bits = epsilon.to_bits();
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    // epsilon = mantissa / 2^shift; the shift is 48 for 16, 72 for 1e-6.
    let shift = 1075 - (bits >> 52) as u32;
    let (mut term, mut sum, mut steps) = (1u128 << (32 + FRACTION), 0u128, 0u32);
    while term > 0 {
        sum += term;
        steps += 1;
        term = quotient(product(term, mantissa, shift), u64::from(steps));
    }
    // e^epsilon is below S / 2^(32 + FRACTION) + 1, since the sum is short by less than 2^(32 + FRACTION).
    let short = u128::from(2 * steps) * ((sum >> (32 + FRACTION)) + 2);
    (sum, sum + short)
}

/// `floor(term × mantissa / 2^shift)`.
fn product(term: u128, mantissa: u64, shift: u32) -> u128 {
    let times = |half: u64| u128::from(half) * u128::from(mantissa);
    let low = times(term as u64);
    let high = times((term >> 64) as u64) + (low >> 64);
    if shift < 64 { high << (64 - shift) | u128::from(low as u64 >> shift) } else { high >> (shift - 64) }
}

/// `floor(number / divisor)` for a divisor below 2^32, digit by digit in base 2^32: the general division of such
/// integers would be a kilobyte of every client.
fn quotient(number: u128, divisor: u64) -> u128 {
    let mut rest = 0;
    (0..4).rev().fold(0, |quotient, place| {
        let digits = rest << 32 | u64::from((number >> (32 * place)) as u32);
        rest = digits % divisor;
        quotient << 32 | u128::from(digits / divisor)
    })
}

/// The weight of a candidate outside the cap.
pub(in crate::mechanism) const UNIT_WEIGHT: u64 = 1 << 32;

/// Integer weights of the indices: `inside` for each of the `cap` that are in the cap, `UNIT` for each other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights<const UNIT: u64 = UNIT_WEIGHT> {
    candidates: u32,
    cap: u32,
    pub(in crate::mechanism) inside: u64,
    total: u64,
}

impl<const UNIT: u64> Weights<UNIT> {
    /// `None` where their sum does not fit 64 bits.
    pub(super) fn new(candidates: u32, cap: u32, inside: u64) -> Option<Self> {
        let total = inside.checked_mul(cap.into())?.checked_add(u64::from(candidates - cap) * UNIT)?;
        Some(Self { candidates, cap, inside, total })
    }

    /// The weight of the whole cap.
    pub(crate) fn of_cap(&self) -> u64 {
        u64::from(self.cap) * self.inside
    }

    /// The probability of an index from the cap.
    pub(crate) fn cap_probability(&self) -> f64 {
        self.of_cap() as f64 / self.total() as f64
    }

    /// The weight of all candidates.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Whether the index of a number below the total weight is in the cap, and its place on its side.
    #[inline]
    fn place(&self, draw: u64) -> (bool, u64) {
        // Whether the index is from the cap is the secret. Both ranks are computed and one is kept, without a branch.
        let inside = draw < self.of_cap();
        let mask = u64::from(inside).wrapping_neg();
        (inside, mask & (draw / self.inside) | !mask & (draw.wrapping_sub(self.of_cap()) / UNIT))
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
    pub fn draw_rank<R: Rng + ?Sized>(&self, rng: &mut R) -> u32 {
        let (inside, rank) = self.place(rng.random_range(0..self.total));
        if inside { rank as u32 } else { self.cap + rank as u32 }
    }

    /// An index with the weights of the cap.
    #[inline]
    pub(in crate::mechanism) fn draw<const WIDTH: u32>(
        &self,
        in_cap: &[bool],
        words: &mut impl Words<WIDTH>,
    ) -> Result<u64, EntropyError> {
        let (inside, rank) = self.place(uniform_below(words, self.total)?);
        Ok(members::nth_member(in_cap, inside, rank) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::epsilon;
    use crate::sampling::bits::tests::Script;

    #[test]
    fn quotients_are_those_of_the_general_division() {
        for number in [0, 1, u128::MAX, 1 << 96, (1 << 127) + 12_345, 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef] {
            for divisor in [1, 2, 3, 7, 107, u32::MAX] {
                assert_eq!(quotient(number, divisor.into()), number / u128::from(divisor), "{number} / {divisor}");
            }
        }
    }

    /// floor(2^32 e^epsilon) of the exact 64-bit number, computed with 80 digits by tests/independent/values.py: round
    /// numbers and multiples of ln 2 (where 2^32 e^epsilon is next to an integer).
    const WEIGHTS: &[(f64, u64)] = &[
        (0.0009765625, 4299163648),
        (0.01, 4338132434),
        (0.25, 5514847171),
        (0.5, 7081203937),
        (core::f64::consts::LN_2, 8589934591),
        (0.7, 8649002020),
        (1.1, 12902794824),
        (1.3862943611198906, 17179869183),
        (1.5, 19248707987),
        (2.0, 31735754293),
        (2.0794415416798357, 34359738367),
        (3.0, 86266724207),
        (3.4657359027997265, 137438953471),
        (4.5, 386620635015),
        (5.0, 637429664641),
        (5.545177444479562, 1099511627775),
        (6.0, 1732713474316),
        (6.5, 2856761561133),
        (7.3, 6357839777246),
        (10.0, 94602950235157),
        (11.090354888959126, 281474976710656),
        (12.0, 699026506411923),
        (13.862943611198906, 4503599627370495),
    ];

    #[test]
    fn the_weight_is_the_exact_floor() {
        let of_more_places = WITH_64_PLACES.iter().map(|&(e, exact)| (e, (exact >> 64) as u64));
        for (e, expected) in WEIGHTS.iter().copied().chain(of_more_places).filter(|(e, _)| *e != UNKNOWN) {
            assert_eq!(cap_weight(epsilon(e)).unwrap(), Some(expected), "{e}");
        }
    }

    /// Found by trying 30 million neighbours: `2^32 e^epsilon` is an integer to 25 binary places.
    const UNKNOWN: f64 = 21.478999893601276;

    /// floor(2^96 e^epsilon), with 100 digits: round numbers, both ends and the unknown one.
    const WITH_64_PLACES: &[(f64, u128)] = &[
        (1e-06, 0x1_0000_10c6_f82d_72bc_a97f_0062),
        (1e-05, 0x1_0000_a7c5_e340_e6fd_ae87_ca89),
        (0.1, 0x1_1aec_7b35_a00d_3a20_ad9d_3c71),
        (0.3, 0x1_5990_58c8_c1a9_5931_472d_a713),
        (0.6931471805599454, 0x2_0000_0000_0000_0ca8_6c38_98cf),
        (1.0, 0x2_b7e1_5162_8aed_2a6a_bf71_5880),
        (2.5, 0xc_2eb7_ec98_f05d_8ea6_f61a_6f42),
        (4.0, 0x36_9920_5c4e_74b0_cf1a_da77_fb72),
        (8.0, 0xba4_f53e_a386_36f8_5f00_7042_540a),
        (11.090354888959125, 0xffff_ffff_ffff_e543_61c4_c67f_c236),
        (16.0, 0x87_975e_8540_0102_4911_f8b8_4415_af72),
        (20.0, 0x1ceb_088b_68e8_0402_1897_97f9_599c_b8b6),
        (21.0, 0x4e9b_87f6_7bb3_f559_76a7_206a_5878_4c1e),
        (UNKNOWN, 0x7ee8_9d7c_1d0d_6bc0_ffff_ffc2_1631_ec79),
        (21.48, 0x7f09_1f9d_b521_9599_a943_12cc_4de2_17e1),
    ];

    #[test]
    fn the_exact_number_is_inside_the_interval() {
        for &(e, exact) in WITH_64_PLACES {
            let (lower, upper) = bounds::<64>(e);
            assert!(lower <= exact && exact < upper, "{e}: {lower:x} {exact:x} {upper:x}");
            // Each step loses less than 2 by itself, in the least significant places.
            assert!(exact - lower <= upper - exact, "{e}: the interval has room to spare");
        }
        let short = |place: usize| WITH_64_PLACES[place].1 - bounds::<64>(WITH_64_PLACES[place].0).0;
        assert_eq!([short(0), short(7), short(14)], [0, 25, 5_530_628]);
    }

    /// With fewer binary places the margin is needed for many epsilons: what is not refused is right, and without the
    /// margin the lower bound alone would often name another weight.
    #[test]
    fn no_epsilon_that_is_not_refused_has_another_weight() {
        fn known_and_wrong_below<const FRACTION: u32>() -> (u32, u32) {
            let (mut known, mut wrong) = (0, 0);
            for step in 1..=2148 {
                let e = f64::from(step) * 0.01 - 1.0 / 3000.0;
                let exact = cap_weight(epsilon(e)).unwrap().unwrap();
                wrong += u32::from((bounds::<FRACTION>(e).0 >> FRACTION) as u64 != exact);
                if let Ok(found) = weight::<FRACTION>(epsilon(e)) {
                    assert_eq!(found, Some(exact), "{e}");
                    known += 1;
                }
            }
            (known, wrong)
        }
        let of = [known_and_wrong_below::<8>(), known_and_wrong_below::<16>(), known_and_wrong_below::<24>()];
        assert_eq!(of, [(85, 1523), (577, 699), (1098, 36)]);
    }

    #[test]
    fn an_epsilon_whose_weight_is_not_known_is_refused_and_one_whose_weight_needs_64_bits_has_none() {
        assert_eq!(cap_weight(epsilon(UNKNOWN)), Err(MechanismError::UnknownWeight(UNKNOWN)));
        assert!(cap_weight(epsilon(UNKNOWN.next_up())).is_ok());
        for e in [21.49, 22.0, 30.0, 700.0] {
            assert_eq!(cap_weight(epsilon(e)).unwrap(), None, "{e}");
        }
    }

    /// The interval holds the real number and is as narrow as the argument says, over the whole range.
    #[test]
    fn the_interval_is_narrow() {
        let mut e = 1e-6;
        while e < LARGEST_EPSILON {
            let (lower, upper) = bounds::<64>(e);
            let real = e.exp() * 2f64.powi(96);
            assert!((lower as f64 / real - 1.0).abs() < 1e-14, "{e}");
            assert!(((upper - lower) as f64) < 300.0 * (e.exp() + 2.0), "{e}");
            e *= 1.01;
        }
    }

    /// How many of the words of eight bits give each index. The others are drawn again: there is no next one.
    fn words_of<const UNIT: u64>(weights: Weights<UNIT>, in_cap: &[bool]) -> Vec<u64> {
        let mut counts = vec![0; in_cap.len()];
        for word in 0..256 {
            if let Ok(index) = weights.draw::<8>(in_cap, &mut Script::new(&[word])) {
                counts[index as usize] += 1;
            }
        }
        counts
    }

    /// The exact law of the index for all caps of all sizes, from all words of eight bits: each index has its weight,
    /// and the ratio of no two records exceeds that of the weights.
    #[test]
    fn every_index_has_exactly_its_weight_whatever_the_cap() {
        const UNIT: u64 = 4;
        for (candidates, cap, inside) in [(2, 1, 5), (3, 1, 40), (4, 2, 7), (5, 2, 11), (6, 3, 29), (7, 2, 5)] {
            let weights = Weights::<UNIT>::new(candidates, cap, inside).unwrap();
            let total = inside * u64::from(cap) + UNIT * u64::from(candidates - cap);
            assert_eq!(weights.total, total);
            let caps = (0u32..1 << candidates).filter(|members| members.count_ones() == cap);
            let mut laws = vec![];
            for members in caps {
                let in_cap: Vec<bool> = (0..candidates).map(|index| members >> index & 1 == 1).collect();
                let law = words_of(weights, &in_cap);
                for (count, member) in law.iter().zip(&in_cap) {
                    let weight = if *member { inside } else { UNIT };
                    assert_eq!(*count, weight * (256 / total), "{in_cap:?}: {law:?}");
                }
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
}
