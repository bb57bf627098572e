//! Exact Gaussian deviates on a lattice, in integer arithmetic.
//!
//! A deviate is `16 G = cell + U` with an integer `cell` and a fraction `U` in [0, 1) known to 64 bits, where G is a
//! standard normal. Adding a real number and rounding down is then a carry, and the result is the rounding of a *real*
//! Gaussian mechanism: post-processing, so its analytic calibration holds without a term for the lattice (unlike noise
//! drawn in floating point: Mironov 2012; and unlike noise that is itself discrete, it costs no sensitivity).
//!
//! *Law.* The magnitude's integer part comes from an alias table of exact 127-bit probabilities (scripts/tables.py),
//! the sign from one bit. Given the integer part m, the fraction has density proportional to exp(-(2 m u + u^2) /
//! 512): it is proposed uniformly and accepted with that probability, by von Neumann's comparison of uniforms, in
//! 64-bit intervals.
//!
//! *Error.* The law of one deviate is within [`TOTAL_VARIATION`] of the real Gaussian's: 2^-118 for the table
//! (rounding and the mass beyond 13 standard deviations), and at most 2^-60 for comparisons that 64 bits leave open:
//! one comparison has at most 5 of 2^64 open words, and a deviate takes under 2 comparisons on average. Mechanisms
//! book it into delta.

use std::sync::LazyLock;

use rand::rand_core::TryCryptoRng;

use super::{
    EntropyError,
    bits::{Bits, Words},
    gaussian_table::CELL_WEIGHTS,
};

/// Lattice steps per standard deviation.
pub const STEPS_PER_SIGMA: u32 = 16;

/// Bound on the total variation distance between one deviate and the real law: 2^-59.
pub const TOTAL_VARIATION: f64 = 1.0 / (1u64 << 59) as f64;

/// The 64-bit words that one deviate usually takes.
pub const WORDS_PER_DEVIATE: usize = 3;

/// `cell + U`, a normal deviate of standard deviation [`STEPS_PER_SIGMA`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviate {
    /// Integer part (rounded down).
    pub cell: i32,
    /// `floor(2^64 U)`.
    pub fraction: u64,
}

impl Deviate {
    /// `floor(x + deviate)` for `x = whole + part / 2^64`, without a branch.
    #[inline]
    #[must_use]
    pub fn add_and_floor(self, whole: i64, part: u64) -> i64 {
        // U and part/2^64 sum to at least one exactly when the 64-bit sum carries: part is exact, so further bits of
        // U do not matter.
        let (_, carry) = self.fraction.overflowing_add(part);
        whole + i64::from(self.cell) + i64::from(carry)
    }

    /// The deviate in standard deviations, for tests and plots (never for a report).
    #[must_use]
    pub fn to_f64(self) -> f64 {
        (f64::from(self.cell) + self.fraction as f64 / 2f64.powi(64)) / f64::from(STEPS_PER_SIGMA)
    }
}

/// Draws one deviate.
///
/// # Errors
/// [`EntropyError`] when the source fails.
#[inline]
pub fn deviate<R: TryCryptoRng + ?Sized>(bits: &mut Bits<'_, R>) -> Result<Deviate, EntropyError> {
    draw(&ALIAS, bits)
}

/// Fills `deviates`. The time this takes does not depend on any record: none is read.
///
/// # Errors
/// [`EntropyError`] when the source fails; the part filled by then must not be used.
pub fn fill<R: TryCryptoRng + ?Sized>(deviates: &mut [Deviate], bits: &mut Bits<'_, R>) -> Result<(), EntropyError> {
    let table = &*ALIAS;
    for deviate in deviates {
        *deviate = draw(table, bits)?;
    }
    Ok(())
}

#[inline]
fn draw(table: &Alias, words: &mut impl Words<64>) -> Result<Deviate, EntropyError> {
    let (magnitude, negative) = table.draw(words)?;
    let fraction = fraction_given(magnitude, words)?;
    let magnitude = i32::from(magnitude);
    // -(m + U) = -m - 1 + (1 - U), and the complement of a 64-bit interval is the interval of the complemented word.
    Ok(if negative {
        Deviate { cell: -magnitude - 1, fraction: !fraction }
    } else {
        Deviate { cell: magnitude, fraction }
    })
}

/// A fraction U with density proportional to exp(-(2 m u + u^2) / 512) on [0, 1).
#[inline]
fn fraction_given<const WIDTH: u32>(magnitude: u8, words: &mut impl Words<WIDTH>) -> Result<u64, EntropyError> {
    loop {
        if let Some(fraction) = proposal(magnitude, words)? {
            return Ok(fraction);
        }
    }
}

/// A uniform fraction, where it is accepted.
#[inline(always)]
fn proposal<const WIDTH: u32>(magnitude: u8, words: &mut impl Words<WIDTH>) -> Result<Option<u64>, EntropyError> {
    let slope = 2 * u64::from(magnitude) + 1;
    let fraction = words.word()?;
    let first = words.word()?;
    // (2 m u + u^2) / 512 <= (2 m + 1) u / 512: most proposals are accepted by this bound alone.
    let accepted = first >= ((fraction >> 9) + 1) * slope || accept(magnitude, fraction, first, words)?;
    Ok(accepted.then_some(fraction))
}

/// True with probability exp(-x), x = (2 m u + u^2) / 512 < 1, where `first` is the first uniform of von Neumann's
/// method: uniforms V_1, V_2, … are drawn while V_n < x / n, and the result is whether the last n is odd.
#[cold]
fn accept<const WIDTH: u32>(
    magnitude: u8,
    fraction: u64,
    first: u64,
    words: &mut impl Words<WIDTH>,
) -> Result<bool, EntropyError> {
    // x 2^WIDTH is at least this and above it by less than 2, whatever the further bits of u are.
    let u = u128::from(fraction);
    let low = ((2 * u128::from(magnitude) * u + ((u * u) >> WIDTH)) / 512) as u64;
    let mut uniform = first;
    let mut n = 1;
    // `uniform` stands for an interval of width one: it is surely below x/n when its upper end is below low/n. What
    // neither test decides counts as not below (part of TOTAL_VARIATION).
    while uniform < low / n {
        n += 1;
        uniform = words.word()?;
    }
    Ok(n % 2 == 1)
}

/// Alias table (Walker 1977) over 256 columns of equal weight 2^119, in exact integers.
struct Alias {
    columns: [Column; 256],
}

#[derive(Clone, Copy)]
struct Column {
    /// The column keeps its own index for fractions below `kept / 2^119`: the upper 55 bits …
    kept_high: u64,
    /// … and the lower 64.
    kept_low: u64,
    other: u8,
}

static ALIAS: LazyLock<Alias> = LazyLock::new(|| Alias::new(&CELL_WEIGHTS));

impl Alias {
    const COLUMN: u128 = 1 << 119;

    fn new(weights: &[u128]) -> Self {
        let mut rest = [0u128; 256];
        rest[..weights.len()].copy_from_slice(weights);
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..256).partition(|&index| rest[index] < Self::COLUMN);
        let mut columns = [Column { kept_high: 1 << 55, kept_low: 0, other: 0 }; 256];
        while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
            columns[poor] =
                Column { kept_high: (rest[poor] >> 64) as u64, kept_low: rest[poor] as u64, other: rich as u8 };
            rest[rich] -= Self::COLUMN - rest[poor];
            if rest[rich] < Self::COLUMN {
                large.pop();
                small.push(rich);
            }
        }
        Self { columns }
    }

    /// The magnitude's integer part, and whether the deviate is negative. One word: 8 bits column, 1 bit sign, 55
    /// bits fraction.
    #[inline]
    fn draw(&self, words: &mut impl Words<64>) -> Result<(u8, bool), EntropyError> {
        let word = words.word()?;
        let index = word as u8;
        let column = &self.columns[usize::from(index)];
        let high = word >> 9;
        let keep = if high == column.kept_high { words.word()? < column.kept_low } else { high < column.kept_high };
        Ok((if keep { index } else { column.other }, word & 0x100 != 0))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sampling::bits::tests::{Script, ScriptedSource};
    use chacha20::ChaCha8Rng;
    use rand::{Rng, SeedableRng};

    fn normal_cdf(x: f64) -> f64 {
        0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2)
    }

    fn sample(count: usize, seed: u64) -> Vec<Deviate> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut deviates = vec![Deviate { cell: 0, fraction: 0 }; count];
        fill(&mut deviates, &mut Bits::new(&mut rng, 8192)).unwrap();
        deviates
    }

    /// Numbers of at least 0, in units of 2^-112.
    const ONE: u128 = 1 << 112;

    /// The product, too small by less than three units.
    fn times(left: u128, right: u128) -> u128 {
        let low = (1 << 56) - 1;
        let (a, b, c, d) = (left >> 56, left & low, right >> 56, right & low);
        a * c + ((a * d + b * c + ((b * d) >> 56)) >> 56)
    }

    /// exp(-(2 m u + u^2) / 512) for u = 1, and its integral over [0, 1]: from its power series c_0, c_1, … in u, where
    /// 512 (k + 1) c_(k+1) = -2 m c_k - 2 c_(k-1).
    fn density_of_cell(magnitude: i128) -> (u128, u128) {
        let (mut before, mut term, mut end, mut integral) = (0, ONE as i128, 0, 0);
        for k in 1.. {
            end += term;
            integral += term / k;
            (before, term) = (term, -(2 * magnitude * term + 2 * before) / (512 * k));
            if term == 0 && before == 0 {
                return (end as u128, integral as u128);
            }
        }
        unreachable!()
    }

    /// Against the normal density in integers, not by the script that wrote the table: all weights together are off by
    /// less than 2^-90, where their sum is 1, and the sampler's error is said to be 2^-59.
    #[test]
    fn the_table_is_the_normal_law_far_below_the_error_that_is_booked() {
        assert_eq!(CELL_WEIGHTS.iter().sum::<u128>(), 1 << 127);
        // Of m: exp(-m^2 / 512) times the integral from there.
        let mut start = ONE;
        let cells: Vec<u128> = (0..208)
            .map(|magnitude| {
                let (end, integral) = density_of_cell(magnitude);
                let cell = times(start, integral);
                start = times(start, end);
                cell
            })
            .collect();
        let total: u128 = cells.iter().sum();
        assert!((total as f64 / ONE as f64 / (128.0 * core::f64::consts::PI).sqrt() - 1.0).abs() < 1e-15);
        let error: u128 = CELL_WEIGHTS.iter().zip(&cells).map(|(w, &cell)| times(w >> 15, total).abs_diff(cell)).sum();
        assert!(error < total >> 90, "{}", error as f64 / total as f64);
    }

    #[test]
    fn the_alias_table_has_exactly_the_weights() {
        let mut totals = [0u128; 256];
        for (index, column) in ALIAS.columns.iter().enumerate() {
            let kept = (u128::from(column.kept_high) << 64) + u128::from(column.kept_low);
            totals[index] += kept;
            totals[usize::from(column.other)] += Alias::COLUMN - kept;
        }
        for (index, total) in totals.iter().enumerate() {
            assert_eq!(*total, CELL_WEIGHTS.get(index).copied().unwrap_or(0), "cell {index}");
        }
    }

    /// Kolmogorov-Smirnov at n = 1e6: the statistic times sqrt(n) exceeds 1.95 with probability 0.001.
    #[test]
    fn deviates_follow_the_normal_law() {
        let mut values: Vec<f64> = sample(1_000_000, 2).into_iter().map(Deviate::to_f64).collect();
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        let distance = values
            .iter()
            .enumerate()
            .map(|(i, &x)| (normal_cdf(x) - i as f64 / n).abs().max((normal_cdf(x) - (i + 1) as f64 / n).abs()))
            .fold(0.0, f64::max);
        assert!(distance * n.sqrt() < 1.95, "{}", distance * n.sqrt());
    }

    /// The sampler's result for these words: it accepts the fraction, rejects it, or needs more words.
    fn outcome<const WIDTH: u32>(magnitude: u8, words: &[u64]) -> Option<bool> {
        let mut script = Script::new(words);
        let fraction = proposal::<WIDTH>(magnitude, &mut script).ok()?;
        assert_eq!(script.left(), 0, "{magnitude}: {words:?}");
        assert!(fraction.is_none_or(|fraction| fraction == words[0]));
        Some(fraction.is_some())
    }

    /// The number of words that make the sampler continue after `words`. They are the smallest ones, and all others
    /// have the same outcome: accepted after an odd number of comparisons, rejected after an even one. All words of
    /// `each` are tried.
    fn going_on<const WIDTH: u32>(magnitude: u8, words: &[u64], each: bool) -> u64 {
        let mut words = words.to_vec();
        let comparison = words.len();
        words.push(0);
        let mut of = |word| {
            words[comparison] = word;
            outcome::<WIDTH>(magnitude, &words)
        };
        let (mut low, mut high) = (0, 1 << WIDTH);
        while low < high {
            let middle = low + (high - low) / 2;
            if of(middle).is_none() { low = middle + 1 } else { high = middle }
        }
        let tried = if each { 0..1 << WIDTH } else { low.saturating_sub(1)..(low + 1).min(1 << WIDTH) };
        for word in tried {
            let expected = if word < low { None } else { Some(comparison % 2 == 1) };
            assert_eq!(of(word), expected, "{magnitude}: {words:?}");
        }
        low
    }

    /// The probability that a proposed fraction is accepted, and the mean number of its comparisons: exact up to terms
    /// below 1e-17.
    fn exactly<const WIDTH: u32>(magnitude: u8, fraction: u64, each: bool) -> (f64, f64) {
        let mut words = vec![fraction];
        let (mut reached, mut accepted, mut comparisons) = (1.0, 0.0, 0.0);
        while reached > 1e-17 {
            comparisons += reached;
            let going_on = going_on::<WIDTH>(magnitude, &words, each) as f64 / (1u64 << WIDTH) as f64;
            accepted += if words.len() % 2 == 1 { reached * (1.0 - going_on) } else { 0.0 };
            reached *= going_on;
            words.push(0);
        }
        (accepted, comparisons)
    }

    /// The mean over the fraction's interval, one of `intervals`, of exp(sign (2 m u + u^2) / 512).
    fn mean_in(interval: u64, intervals: u64, magnitude: u8, sign: f64) -> f64 {
        let at = |place: f64| {
            let u = (interval as f64 + 0.5 + 0.5 * place) / intervals as f64;
            (sign * (2.0 * f64::from(magnitude) * u + u * u) / 512.0).exp()
        };
        // Gauss and Legendre.
        (8.0 * at(0.0) + 5.0 * (at(0.6f64.sqrt()) + at(-(0.6f64.sqrt())))) / 18.0
    }

    /// The exact law of the fraction against the density, integrated over every interval. The number of open words in a
    /// comparison is the same at every width, so errors are in units of one word's probability: the bound that is
    /// booked is 32.
    fn the_law_is_that_of_the_density<const WIDTH: u32>(magnitude: u8, each: bool) {
        let all = 1u64 << WIDTH;
        let of = |fraction| exactly::<WIDTH>(magnitude, fraction, each);
        let found: Vec<(f64, f64)> = (0..all).map(of).collect();
        let wanted: Vec<f64> = (0..all).map(|fraction| mean_in(fraction, all, magnitude, -1.0)).collect();
        let total: f64 = found.iter().map(|(accepted, _)| accepted).sum();
        let total_wanted: f64 = wanted.iter().sum();
        let off = |(found, wanted): (&(f64, f64), &f64)| (found.0 / total - wanted / total_wanted).abs();
        let in_words = 0.5 * all as f64 * found.iter().zip(&wanted).map(off).sum::<f64>();
        let booked = TOTAL_VARIATION * 2f64.powi(64);
        assert!(0.06 < in_words && in_words < 0.15 && 0.15 < booked, "{WIDTH} {magnitude}: {in_words}");
        // One fraction alone, before the errors of all cancel: at most two words in each comparison.
        for ((accepted, comparisons), wanted) in found.iter().zip(&wanted) {
            let in_words = (accepted - wanted).abs() * all as f64;
            assert!(in_words <= 2.0 * comparisons, "{WIDTH} {magnitude}: {in_words}");
        }
        let comparisons = found.iter().map(|(_, comparisons)| comparisons).sum::<f64>() / total;
        let wanted: f64 = (0..all).map(|fraction| mean_in(fraction, all, magnitude, 1.0)).sum::<f64>() / total_wanted;
        assert!(
            (comparisons - wanted).abs() < 3.0 * wanted / all as f64,
            "{WIDTH} {magnitude}: {comparisons} {wanted}"
        );
    }

    #[test]
    fn the_exact_law_of_the_fraction_is_off_by_as_many_words_at_every_width() {
        for magnitude in [0, 1, 13, 48, 150, 207] {
            the_law_is_that_of_the_density::<8>(magnitude, true);
            the_law_is_that_of_the_density::<10>(magnitude, false);
        }
        for magnitude in [1, 48, 207] {
            the_law_is_that_of_the_density::<12>(magnitude, false);
        }
    }

    /// A comparison looks at its own word alone: whatever the words before it were, as many words go on.
    #[test]
    fn no_comparison_depends_on_the_words_before() {
        for magnitude in [1, 48, 207] {
            for fraction in 0..64 {
                let limits: Vec<u64> = (1..4)
                    .map(|n| going_on::<6>(magnitude, &[fraction, 0, 0][..n], true))
                    .take_while(|&l| l > 0)
                    .collect();
                let [first, second, third] = [0, 1, 2].map(|n| limits.get(n).copied().unwrap_or(0));
                for one in 0..first {
                    assert_eq!(going_on::<6>(magnitude, &[fraction, one], true), second);
                    for two in 0..second {
                        assert_eq!(going_on::<6>(magnitude, &[fraction, one, two], true), third);
                    }
                }
            }
        }
    }

    /// Every fraction and every first word of ten bits: the bound that most proposals are accepted by accepts nothing
    /// that the exact comparison would not.
    #[test]
    fn the_first_word_is_compared_exactly_whatever_accepts_it() {
        for magnitude in [0, 1, 48, 150, 207] {
            for fraction in 0..1024 {
                let limit = (2 * u64::from(magnitude) * fraction * 1024 + fraction * fraction) / (512 * 1024);
                for first in 0..1024 {
                    let expected = (first >= limit).then_some(true);
                    assert_eq!(
                        outcome::<10>(magnitude, &[fraction, first]),
                        expected,
                        "{magnitude}: {fraction} {first}"
                    );
                }
            }
        }
    }

    /// The basis of the booked bound. A word is open in the n-th comparison where its interval has a part below x/n
    /// and one above, for some u in the interval of the fraction.
    #[test]
    fn at_most_two_words_are_open_in_a_comparison_and_there_are_few_comparisons() {
        let mut most = 0;
        for magnitude in 0..208 {
            for fraction in 0..256 {
                // x in words, times 2^17, at both ends of the fraction's interval.
                let [least, largest] = [fraction, fraction + 1].map(|u: u64| 2 * magnitude * u * 256 + u * u);
                for n in 1..=10 {
                    let below = least / (n << 17);
                    // The words that the sampler takes to be below are so for every u.
                    assert!(below * (n << 17) <= least);
                    most = most.max(largest.div_ceil(n << 17) - below);
                }
            }
        }
        assert_eq!(most, 2);
        // Over all magnitudes and fractions, the rejected ones included.
        let comparisons: f64 = (0..=u8::MAX)
            .zip(CELL_WEIGHTS)
            .map(|(magnitude, weight)| {
                let mean = |sign| (0..16).map(|part| mean_in(part, 16, magnitude, sign)).sum::<f64>();
                weight as f64 / 2f64.powi(127) * mean(1.0) / mean(-1.0)
            })
            .sum();
        assert!((1.05..1.06).contains(&comparisons), "{comparisons}");
        let stated = 2f64.powi(-118) + 5.0 * 2.0 * 2f64.powi(-64);
        assert!(TOTAL_VARIATION >= stated && TOTAL_VARIATION <= 4.0 * stated);
    }

    /// Words of full width around the exact limit floor(x 2^64 / n) of each comparison.
    #[test]
    fn words_of_full_width_are_compared_with_the_exact_limit() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let random: Vec<u64> = (0..50).flat_map(|_| [rng.next_u64(), rng.next_u64() | 511]).collect();
        for magnitude in [0u8, 1, 2, 13, 48, 150, 206, 207] {
            for &fraction in [0, 1, 511, 512, 1 << 63, u64::MAX - 511, u64::MAX].iter().chain(&random) {
                let u = u128::from(fraction);
                let x = ((2 * u128::from(magnitude) * u + ((u * u) >> 64)) / 512) as u64;
                let mut words = vec![fraction];
                for n in 1..=12 {
                    let limit = x / n;
                    for (word, below) in
                        [(0, limit > 0), (limit.saturating_sub(1), limit > 0), (limit, false), (u64::MAX, false)]
                    {
                        words.push(word);
                        let expected = if below { None } else { Some(n % 2 == 1) };
                        assert_eq!(outcome::<64>(magnitude, &words), expected, "{magnitude}: {words:?}");
                        words.pop();
                    }
                    if limit == 0 {
                        break;
                    }
                    words.push(limit - 1);
                }
            }
        }
    }

    #[test]
    fn a_fraction_is_proposed_again_until_it_is_accepted() {
        // x is 1/2 or more, so a word of 0 goes on, and one of 2^63 ends.
        let (rejected, accepted) = ([u64::MAX, 0, 1 << 63], [1 << 63, u64::MAX]);
        let words = [&rejected[..], &rejected, &accepted, &[7]].concat();
        let mut script = Script::new(&words);
        assert_eq!(fraction_given::<64>(207, &mut script), Ok(1 << 63));
        assert_eq!(script.left(), 1);
    }

    /// The word that is drawn for the column: both sides of the limit, in its upper and in its lower part, for both
    /// signs.
    #[test]
    fn every_column_is_kept_below_its_limit_exactly() {
        let table = &*ALIAS;
        for (index, column) in table.columns.iter().enumerate() {
            for negative in [false, true] {
                let word = |high: u64| high << 9 | u64::from(negative) << 8 | index as u64;
                let drawn = |words: &[u64]| {
                    let mut script = Script::new(words);
                    let found = table.draw(&mut script);
                    found.map(|found| (found, script.left()))
                };
                let (own, other) = ((index as u8, negative), (column.other, negative));
                let last = (1 << 55) - 1;
                for high in [0, column.kept_high.saturating_sub(1)].into_iter().filter(|&high| high < column.kept_high)
                {
                    assert_eq!(drawn(&[word(high), 9]), Ok((own, 1)), "{index} {high}");
                }
                for high in
                    [column.kept_high + 1, last].into_iter().filter(|&high| column.kept_high < high && high <= last)
                {
                    assert_eq!(drawn(&[word(high), 0]), Ok((other, 1)), "{index} {high}");
                }
                if column.kept_high <= last {
                    assert!(drawn(&[word(column.kept_high)]).is_err(), "{index}: one more word decides");
                    assert_eq!(drawn(&[word(column.kept_high), column.kept_low, 9]), Ok((other, 1)), "{index}");
                    assert_eq!(drawn(&[word(column.kept_high), u64::MAX, 9]), Ok((other, 1)), "{index}");
                    for low in [0, column.kept_low.saturating_sub(1)].into_iter().filter(|&low| low < column.kept_low) {
                        assert_eq!(drawn(&[word(column.kept_high), low, 9]), Ok((own, 1)), "{index}");
                    }
                }
            }
        }
        // Both parts of the limit are met.
        assert!(table.columns.iter().filter(|column| column.kept_low != 0 && column.kept_high != 0).count() > 100);
    }

    /// Words that make a given deviate: its column keeps its own index at 0, and the largest word accepts any fraction.
    pub(crate) fn words_of(deviate: Deviate) -> [u64; WORDS_PER_DEVIATE] {
        let negative = deviate.cell < 0;
        let (magnitude, fraction) =
            if negative { (-1 - deviate.cell, !deviate.fraction) } else { (deviate.cell, deviate.fraction) };
        assert_ne!(ALIAS.columns[magnitude as usize].kept_high, 0);
        [u64::from(negative) << 8 | magnitude as u64, fraction, u64::MAX]
    }

    /// With the other sign, the interval [a, b] of a deviate is [-b, -a].
    #[test]
    fn a_deviate_takes_three_words_and_its_opposite_is_its_mirror_image() {
        let exact = |deviate: Deviate| (i128::from(deviate.cell) << 64) + i128::from(deviate.fraction);
        for magnitude in 0..140 {
            for fraction in [0, 1, 1 << 63, 0x0123_4567_89ab_cdef, u64::MAX] {
                let words = [magnitude, fraction, u64::MAX];
                let both = [0, 0x100].map(|sign| {
                    let words = [words[0] | sign, words[1], words[2], 9];
                    let mut script = Script::new(&words);
                    let deviate = draw(&ALIAS, &mut script).unwrap();
                    assert_eq!(script.left(), 1);
                    deviate
                });
                assert_eq!(exact(both[0]), (i128::from(magnitude) << 64) + i128::from(fraction));
                assert_eq!(exact(both[1]), -1 - exact(both[0]));
                assert_eq!(both.map(words_of), [words, [words[0] | 0x100, words[1], words[2]]]);
            }
        }
    }

    #[test]
    fn one_by_one_or_many_at_once_deviates_are_the_same() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut bits = Bits::new(&mut rng, 8192);
        assert!(sample(1000, 2).into_iter().all(|expected| deviate(&mut bits).unwrap() == expected));
    }

    /// floor(whole + part + cell + U), in integers: for every real number whose first 64 bits the fraction is.
    #[test]
    fn adding_a_number_rounds_the_exact_sum_down() {
        let ends = [0, 1, 2, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX];
        for fraction in ends {
            for part in ends {
                for cell in [-208, -17, -1, 0, 1, 207] {
                    for whole in [-32_000, -33, -1, 0, 1, 32_000] {
                        let sum = (i128::from(whole + i64::from(cell)) << 64) + i128::from(part) + i128::from(fraction);
                        let found = Deviate { cell, fraction }.add_and_floor(whole, part);
                        assert_eq!(i128::from(found), sum >> 64, "{cell} {fraction} {whole} {part}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_source_that_fails_midway_is_an_error() {
        let mut source = ScriptedSource::failing(1024);
        let mut deviates = vec![Deviate { cell: 0, fraction: 0 }; 1000];
        assert!(fill(&mut deviates, &mut Bits::new(&mut source, 16)).is_err());
    }
}
