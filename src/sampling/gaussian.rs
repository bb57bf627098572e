//! Exact Gaussian deviates on a lattice, in integer arithmetic.
//!
//! A deviate is `16 G = cell + U` with an integer `cell` and a fraction `U` in [0, 1) known to 64 bits, where G is a
//! standard normal. Adding a real number and rounding down is then a carry, and the result is the rounding of a
//! *real* Gaussian mechanism: post-processing, so its analytic calibration holds without a term for the lattice
//! (unlike noise drawn in floating point: Mironov 2012; and unlike noise that is discrete itself, it costs no
//! sensitivity).
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

use super::{EntropyError, bits::Bits, gaussian_table::CELL_WEIGHTS};

/// Lattice steps per standard deviation.
pub const STEPS_PER_SIGMA: u32 = 16;

/// Bound on the total variation distance between one deviate and the real law: 2^-59.
pub const TOTAL_VARIATION: f64 = 1.0 / (1u64 << 59) as f64;

/// The 64-bit words that one deviate takes, mostly.
pub(crate) const WORDS_PER_DEVIATE: usize = 3;

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
/// [`EntropyError`] when the source fails; what was filled by then must not be used.
pub fn fill<R: TryCryptoRng + ?Sized>(deviates: &mut [Deviate], bits: &mut Bits<'_, R>) -> Result<(), EntropyError> {
    let table = &*ALIAS;
    for deviate in deviates {
        *deviate = draw(table, bits)?;
    }
    Ok(())
}

#[inline]
fn draw<R: TryCryptoRng + ?Sized>(table: &Alias, bits: &mut Bits<'_, R>) -> Result<Deviate, EntropyError> {
    let (magnitude, negative) = table.draw(bits)?;
    let fraction = fraction_given(magnitude, bits)?;
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
fn fraction_given<R: TryCryptoRng + ?Sized>(magnitude: u8, bits: &mut Bits<'_, R>) -> Result<u64, EntropyError> {
    let slope = 2 * u64::from(magnitude) + 1;
    loop {
        let fraction = bits.word()?;
        let first = bits.word()?;
        // (2 m u + u^2) / 512 <= (2 m + 1) u / 512: most proposals are accepted by this bound alone.
        if first >= ((fraction >> 9) + 1) * slope || accept(magnitude, fraction, first, bits)? {
            return Ok(fraction);
        }
    }
}

/// True with probability exp(-x), x = (2 m u + u^2) / 512 < 1, where `first` is the first uniform of von Neumann's
/// method: uniforms V_1, V_2, … are drawn while V_n < x / n, and the result is whether the last n is odd.
#[cold]
fn accept<R: TryCryptoRng + ?Sized>(
    magnitude: u8,
    fraction: u64,
    first: u64,
    bits: &mut Bits<'_, R>,
) -> Result<bool, EntropyError> {
    // x 2^64 is inside [low, high], whatever the further bits of u are.
    let scaled = |u: u128| 2 * u128::from(magnitude) * u + ((u * u) >> 64);
    let u = u128::from(fraction);
    let low = (scaled(u) / 512) as u64;
    let high = (scaled(u + 1) + 1) / 512 + 1;
    let mut uniform = first;
    let mut n = 1;
    // `uniform` stands for an interval of width one: it is surely below x/n when its upper end is below low/n. What
    // neither test decides counts as not below (part of TOTAL_VARIATION).
    while uniform < low / n {
        n += 1;
        uniform = bits.word()?;
    }
    debug_assert!(high - u128::from(low) <= 4);
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
    fn draw<R: TryCryptoRng + ?Sized>(&self, bits: &mut Bits<'_, R>) -> Result<(u8, bool), EntropyError> {
        let word = bits.word()?;
        let index = word as u8;
        let column = &self.columns[usize::from(index)];
        let high = word >> 9;
        let keep = if high == column.kept_high { bits.word()? < column.kept_low } else { high < column.kept_high };
        Ok((if keep { index } else { column.other }, word & 0x100 != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    fn normal_cdf(x: f64) -> f64 {
        0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2)
    }

    fn sample(count: usize, seed: u64) -> Vec<Deviate> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut deviates = vec![Deviate { cell: 0, fraction: 0 }; count];
        fill(&mut deviates, &mut Bits::new(&mut rng, 8192)).unwrap();
        deviates
    }

    #[test]
    fn the_table_is_the_normal_law_and_sums_to_one() {
        assert_eq!(CELL_WEIGHTS.iter().sum::<u128>(), 1 << 127);
        for (m, &weight) in CELL_WEIGHTS.iter().enumerate() {
            let tail = |x: f64| libm::erfc(x / 16.0 * core::f64::consts::FRAC_1_SQRT_2);
            let expected = tail(m as f64) - tail(m as f64 + 1.0);
            let found = weight as f64 / 2f64.powi(127);
            assert!(
                (found - expected).abs() <= 1e-13 * tail(m as f64) + 2f64.powi(-127),
                "cell {m}: {found} {expected}"
            );
        }
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

    #[test]
    fn frozen_values() {
        let first: Vec<(i32, u64)> = sample(4, 1).iter().map(|d| (d.cell, d.fraction)).collect();
        assert_eq!(first, FROZEN);
    }
    const FROZEN: [(i32, u64); 4] = [
        (-13, 16_963_926_367_386_300_820),
        (-3, 13_213_576_339_810_169_882),
        (22, 2_815_945_222_763_399_310),
        (-9, 9_532_222_988_963_003_534),
    ];

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

    /// The law inside one cell, where rejection does the work: chi-square over 16 slices of the cells m = 40..60,
    /// alpha 0.001.
    #[test]
    fn fractions_follow_the_density_inside_far_cells() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut bits = Bits::new(&mut rng, 8192);
        for magnitude in [0u8, 48, 150] {
            let mut counts = [0f64; 16];
            let draws = 400_000;
            for _ in 0..draws {
                counts[(fraction_given(magnitude, &mut bits).unwrap() >> 60) as usize] += 1.0;
            }
            let m = f64::from(magnitude);
            let at = |u: f64| normal_cdf(-(m + u) / 16.0);
            let total = at(0.0) - at(1.0);
            let chi_square: f64 = (0..16)
                .map(|slice| {
                    let low = f64::from(slice) / 16.0;
                    let expected = f64::from(draws) * (at(low) - at(low + 1.0 / 16.0)) / total;
                    (counts[slice as usize] - expected).powi(2) / expected
                })
                .sum();
            assert!(
                chi_square < 37.7,
                "magnitude {magnitude}: {chi_square} exceeds the 0.999 quantile of chi-square with 15 degrees"
            );
        }
    }

    #[test]
    fn adding_and_rounding_down_is_a_carry() {
        let half = 1u64 << 63;
        assert_eq!(Deviate { cell: 3, fraction: half }.add_and_floor(5, half), 9);
        assert_eq!(Deviate { cell: 3, fraction: half - 1 }.add_and_floor(5, half), 8);
        assert_eq!(Deviate { cell: -1, fraction: u64::MAX }.add_and_floor(0, 0), -1);
        assert_eq!(Deviate { cell: -1, fraction: u64::MAX }.add_and_floor(0, 1), 0);
    }

    #[test]
    fn a_source_that_fails_midway_is_an_error() {
        let mut source = crate::sampling::bits::tests::FailingSource { left: 1024 };
        let mut deviates = vec![Deviate { cell: 0, fraction: 0 }; 1000];
        assert!(fill(&mut deviates, &mut Bits::new(&mut source, 16)).is_err());
    }
}
