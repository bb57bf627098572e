//! The lengths of candidates, in units of the scale, which bound the effect of one report (`mechanism::pull`).

use super::table::{LARGEST_MAGNITUDE, TABLE, TABLE_SECOND_MOMENT, of_magnitudes};

/// The largest `|z|^2 / scale^2` of any vector of `rows` entries of the table. (With more than some ten, no id may have
/// it.)
pub(super) fn longest_squared(rows: usize) -> f64 {
    rows as f64 * f64::from(LARGEST_MAGNITUDE).powi(2) / TABLE_SECOND_MOMENT
}

/// A bound that `|z|^2 / scale^2` of the longest of `candidates` random vectors of `rows` entries exceeds with
/// probability at most `e^-exponent`.
///
/// For every s > 0 (Chernoff, and a union over the candidates)
///
/// ```text
/// P[some |z|^2 > t] <= candidates E[e^(s |z|^2)] e^(-s t)
/// ```
///
/// which is `e^-exponent` at `t = (ln E[e^(s |z|^2)] + ln(candidates) + exponent) / s`. The expectation is exact: the
/// words of a candidate are independent, and so are the five entries v of a word given the number n that they share, so
/// each full word has the factor `mean over n of E[e^(s v^2) | n]^5`. Every s gives a bound; the best of several is
/// taken.
pub(super) fn unlikely_squared(rows: usize, candidates: u32, exponent: f64) -> f64 {
    let law = Law::new();
    let log_of_all = f64::from(candidates).ln() + exponent;
    let bound = |s: f64| {
        let last = rows % 5;
        let of_words = (rows / 5) as f64 * law.log_moment(s, 5) + if last > 0 { law.log_moment(s, last) } else { 0.0 };
        (of_words + log_of_all) / s
    };
    // From the best s for 100,000 rows to that for a single one.
    (-40..=16).map(|step| bound(libm::exp2(f64::from(step) / 4.0))).fold(f64::INFINITY, f64::min)
}

/// The squares of the table's entries over `scale^2`: how many of the 4096 numbers have each, where the shared number
/// does not matter, and the others for each of its 16 values.
struct Law {
    inner: Vec<(f64, f64)>,
    ends: [[f64; 8]; 16],
}

impl Law {
    fn new() -> Self {
        let square = |value: i8| f64::from(value).powi(2) / TABLE_SECOND_MOMENT;
        let mut counts = vec![0u32; LARGEST_MAGNITUDE as usize + 1];
        TABLE[4..4092].iter().for_each(|value| counts[usize::from(value.unsigned_abs())] += 1);
        let inner = counts.iter().zip(0i8..=i8::MAX).filter(|(count, _)| **count > 0);
        Self {
            inner: inner.map(|(&count, magnitude)| (square(magnitude), f64::from(count))).collect(),
            ends: core::array::from_fn(|shared| {
                let numbers = [0, 1, 2, 3, 4092, 4093, 4094, 4095u16];
                numbers.map(|number| square(of_magnitudes(16 * number + shared as u16)))
            }),
        }
    }

    /// `ln E[e^(s (v_1^2 + … + v_k^2))]` for k entries of one word, `count` of them.
    fn log_moment(&self, s: f64, count: usize) -> f64 {
        // The largest exponent is taken out, so that nothing overflows.
        let largest = f64::from(LARGEST_MAGNITUDE).powi(2) / TABLE_SECOND_MOMENT;
        let term = |square: f64| (s * (square - largest)).exp();
        let inner: f64 = self.inner.iter().map(|&(square, numbers)| numbers * term(square)).sum();
        let given = |ends: &[f64; 8]| (inner + ends.iter().map(|&square| term(square)).sum::<f64>()) / 4096.0;
        let mean = self.ends.iter().map(|ends| given(ends).powi(count as i32)).sum::<f64>() / 16.0;
        count as f64 * s * largest + mean.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{DoubleCap, Estimator, Pull};
    use crate::privacy::tests::epsilon;
    use crate::record::Bounding;

    /// One row and one candidate, where the law is the table's own.
    #[test]
    fn the_bound_is_no_less_than_the_quantile_of_the_table() {
        for exponent in [0.5, 2.0, 5.0] {
            let bound = unlikely_squared(1, 1, exponent);
            let squares = (0..=u16::MAX).map(|number| f64::from(of_magnitudes(number)).powi(2) / TABLE_SECOND_MOMENT);
            let beyond = squares.filter(|&square| square > bound).count();
            assert!(beyond as f64 / 65_536.0 <= libm::exp(-exponent), "{exponent}: {beyond} beyond {bound}");
        }
    }

    /// The law is the table's: the second moment of an entry is exact, as the slope of the moment at 0.
    #[test]
    fn the_law_has_the_second_moment_of_the_table() {
        for count in 1..=5 {
            let slope = Law::new().log_moment(1e-6, count) / 1e-6;
            assert!((slope - count as f64).abs() < 1e-4, "{count}: {slope}");
        }
    }

    /// For many rows a candidate's squared length is nearly normal with mean `rows` and variance `2 rows`.
    #[test]
    fn the_bound_is_close_to_that_of_normal_entries() {
        for rows in [40, 116, 1000, 30_000] {
            let (r, exponent) = (rows as f64, 27.7);
            let of_chi_squared = r + 2.0 * (r * exponent).sqrt() + 2.0 * exponent;
            let bound = unlikely_squared(rows, 1, exponent);
            assert!(
                bound < of_chi_squared && bound > r + 1.9 * (r * exponent).sqrt(),
                "{rows}: {bound} {of_chi_squared}"
            );
        }
    }

    /// The squares of all 65,536 numbers over `scale^2`, by the four bits that the entries of a word share.
    fn squares(shared: u16) -> impl Iterator<Item = f64> {
        (0..4096).map(move |number| f64::from(of_magnitudes(16 * number + shared)).powi(2) / TABLE_SECOND_MOMENT)
    }

    #[test]
    fn the_moment_is_the_mean_over_all_numbers() {
        for s in [1e-3, 0.05, 0.2, 0.45] {
            for count in 1..=5 {
                let given = |shared| squares(shared).map(|square| (s * square).exp()).sum::<f64>() / 4096.0;
                let mean = (0..16).map(|shared| given(shared).powi(count)).sum::<f64>() / 16.0;
                let found = Law::new().log_moment(s, count as usize);
                assert!((found / mean.ln() - 1.0).abs() < 1e-10, "{s} {count}: {found} {}", mean.ln());
            }
        }
    }

    #[test]
    fn the_longest_vector_has_the_largest_entry_everywhere() {
        let largest = (0..16).flat_map(squares).fold(0.0, f64::max);
        for rows in [1, 7, 100_000] {
            let found = longest_squared(rows);
            assert!((found / (rows as f64 * largest) - 1.0).abs() < 1e-12, "{rows}: {found}");
        }
    }

    /// Every s proves a bound, and the answer is near the best of them: no less than the best of many, and within 1.5
    /// %.
    #[test]
    fn the_bound_is_the_best_of_those_that_are_proved() {
        let law = Law::new();
        let fine: Vec<f64> = (-4000..=1600).step_by(10).map(|step| libm::exp2(f64::from(step) / 400.0)).collect();
        let moments: Vec<[f64; 6]> =
            fine.iter().map(|&s| core::array::from_fn(|k| if k == 0 { 0.0 } else { law.log_moment(s, k) })).collect();
        for rows in [1, 2, 5, 7, 40, 116, 1000, 100_000] {
            for candidates in [2, 64, 16_384] {
                for exponent in [1.0, 27.7, 100.0] {
                    let proved = fine.iter().zip(&moments).map(|(s, moment)| {
                        ((rows / 5) as f64 * moment[5] + moment[rows % 5] + f64::from(candidates).ln() + exponent) / s
                    });
                    let best = proved.fold(f64::INFINITY, f64::min);
                    let found = unlikely_squared(rows, candidates, exponent);
                    let label = format!("{rows} {candidates} {exponent}: {found} {best}");
                    assert!(found >= best * (1.0 - 1e-9) && found <= best * 1.015, "{label}");
                }
            }
        }
    }

    /// The exact law of a word's length, all numbers counted: with several candidates the longest exceeds the bound
    /// with no more than the stated probability, and half of the bound with more.
    #[test]
    fn lengths_beyond_the_bound_are_as_unlikely_as_said() {
        let largest = (LARGEST_MAGNITUDE as usize).pow(2);
        for rows in [2, 4] {
            let mut law = vec![0.0; rows * largest + 1];
            for shared in 0..16 {
                let mut counts = vec![0u32; (LARGEST_MAGNITUDE as usize) + 1];
                (0..4096u16).for_each(|n| counts[usize::from(of_magnitudes(16 * n + shared).unsigned_abs())] += 1);
                let mut sums = vec![1.0];
                for _ in 0..rows {
                    let mut next = vec![0.0; sums.len() + largest];
                    for (magnitude, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                        let part = f64::from(count) / 4096.0;
                        let place = &mut next[magnitude * magnitude..];
                        place.iter_mut().zip(&sums).for_each(|(next, sum)| *next += part * sum);
                    }
                    sums = next;
                }
                law.iter_mut().zip(sums).for_each(|(law, p)| *law += p / 16.0);
            }
            let beyond = |squared: f64| {
                let place = (squared * TABLE_SECOND_MOMENT).floor() as usize + 1;
                law.iter().skip(place).sum::<f64>()
            };
            for candidates in [1, 64, 1024] {
                for exponent in [3.0, 10.0, 20.0] {
                    let bound = unlikely_squared(rows, candidates, exponent);
                    let of = |squared: f64| -libm::expm1(f64::from(candidates) * libm::log1p(-beyond(squared)));
                    let label =
                        format!("{rows} {candidates} {exponent}: {bound} {:e} {:e}", of(bound), of(0.5 * bound));
                    assert!(of(bound) <= libm::exp(-exponent) && of(0.5 * bound) > libm::exp(-exponent), "{label}");
                }
            }
        }
    }

    /// From the numbers of the mechanism, by the formulas of the proof.
    #[test]
    fn the_pull_of_double_cap_is_that_of_its_longest_candidates() {
        for (dimension, e, candidates, cap) in
            [(1, 0.5, 64, 14), (5, 1.0, 64, 13), (40, 2.0, 128, 16), (116, 4.0, 256, 9)]
        {
            let mechanism = DoubleCap::new(dimension, Bounding::UnitNorm, epsilon(e), candidates, cap).unwrap();
            let gain = mechanism.gain();
            let Pull { unchecked, checked, .. } = mechanism.pull();
            // |z|^2 / scale^2 of the longest possible; no candidate pulls down by more than the record's own share.
            let longest = dimension as f64 * 127.0 * 127.0 / TABLE_SECOND_MOMENT;
            let expected = (longest / gain).max(1.0 + 1.0 / gain);
            assert!((0.0..3e-12).contains(&(unchecked / expected - 1.0)), "{unchecked} {expected}");
            // One id of 2^40, for any of its candidates.
            let issued = unlikely_squared(dimension, candidates, 40.0 * core::f64::consts::LN_2);
            let expected = (issued / gain).max(1.0 + 1.0 / gain).min(expected);
            assert!((0.0..3e-12).contains(&(checked / expected - 1.0)), "{checked} {expected}");
        }
    }
}
