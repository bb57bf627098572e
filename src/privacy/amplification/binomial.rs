//! Binomial probabilities to nearly full precision, also where they are tiny and the number of trials is 1e9.

/// The relative error of [`probability`], with a wide margin: the deviances below are sums of positive terms, each off
/// by a few ulp, and probabilities that matter have deviances under 100.
pub(super) const ERROR: f64 = 1e-11;

/// `log Gamma(n + 1) - log(sqrt(2 pi n) (n / e)^n)` for n >= 1: Stirling's series, or the difference itself below 16.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return libm::lgamma(n + 1.0) - (n + 0.5) * libm::log(n) + n - 0.918_938_533_204_672_8;
    }
    let square = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / (1188.0 * square)) / square) / square) / square)
        / n
}

/// `x log(x / mean) + mean - x`, without cancellation where x is near the mean (Loader 2000).
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * libm::log(x / mean) + mean - x;
    }
    let v = difference / (x + mean);
    let mut sum = difference * v;
    let mut power = 2.0 * x * v;
    for odd in 1..200 {
        power *= v * v;
        let next = sum + power / f64::from(2 * odd + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// `P(Bin(trials, success) = count)` by Loader's saddle-point expansion (2000), for 0 <= count <= trials.
pub(super) fn probability(count: f64, trials: f64, success: f64) -> f64 {
    if count == 0.0 {
        return libm::exp(trials * libm::log1p(-success));
    }
    if count == trials {
        return libm::exp(trials * libm::log(success));
    }
    let rest = trials - count;
    let exponent = stirling_error(trials)
        - stirling_error(count)
        - stirling_error(rest)
        - deviance(count, trials * success)
        - deviance(rest, trials * (1.0 - success));
    let scale = trials / (2.0 * core::f64::consts::PI * count * rest);
    scale.sqrt() * libm::exp(exponent)
}

/// A lower bound, but for [`ERROR`], on `P(X >= count) / P(X = count)` for `X ~ Bin(trials, 1/2)`,
/// `trials / 2 < count <= trials`.
///
/// The tail is an incomplete beta function, whose continued fraction (DLMF 8.17.22) has convergents alternately on
/// both sides of its value, in pairs: it is followed until the last four agree. Where they do not in time the first
/// term of the tail is returned, 1, which is a lower bound.
pub(super) fn tail_ratio(count: f64, trials: f64) -> f64 {
    let (a, b) = (count, trials - count + 1.0);
    // I_{1/2}(a, b) = 2^-(a+b) / (a B(a, b)) F, and P(X = count) = 2^-trials / (a B(a, b)): the ratio is F / 2.
    const TINY: f64 = 1e-290;
    let (mut value, mut numerator, mut denominator) = (1.0, 1.0, 0.0);
    let mut agreed = 0;
    for step in 1..20_000 {
        let m = f64::from(step / 2);
        let coefficient = if step % 2 == 0 {
            0.5 * m * (b - m) / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -0.5 * (a + m) * (a + b + m) / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        // The modified Lentz algorithm (Thompson & Barnett 1986).
        denominator = 1.0 + coefficient * denominator;
        numerator = 1.0 + coefficient / numerator;
        if denominator.abs() < TINY {
            denominator = TINY;
        }
        if numerator.abs() < TINY {
            numerator = TINY;
        }
        denominator = 1.0 / denominator;
        let change: f64 = numerator * denominator;
        value *= change;
        agreed = if (change - 1.0).abs() < 1e-14 { agreed + 1 } else { 0 };
        if agreed == 4 {
            return (0.5 / value).max(1.0);
        }
    }
    1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_follow_their_recurrence_and_add_up_to_one() {
        for (trials, success) in [(1u32, 0.5), (7, 0.3), (40, 0.02), (1000, 0.5), (5000, 0.9)] {
            let n = f64::from(trials);
            let sum: f64 = (0..=trials).map(|count| probability(f64::from(count), n, success)).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{trials} {success}: {sum}");
        }
        for (count, trials, success) in [(10.0, 1e9, 1e-8), (5.001e8, 1e9, 0.5), (3.0e5, 1e6, 0.3), (20.0, 40.0, 0.7)] {
            let ratio = probability(count + 1.0, trials, success) / probability(count, trials, success);
            let exact = (trials - count) / (count + 1.0) * success / (1.0 - success);
            assert!((ratio / exact - 1.0).abs() < 1e-12, "{count} {trials}: {ratio} {exact}");
        }
    }

    #[test]
    fn tails_are_the_sums_of_their_terms() {
        for (count, trials) in [(2, 2), (3, 4), (6, 10), (600, 1000), (501, 1000), (50_400, 100_000)] {
            let (mut term, mut sum) = (1.0, 0.0);
            for k in count..=trials {
                sum += term;
                term *= f64::from(trials - k) / f64::from(k + 1);
            }
            let ratio = tail_ratio(f64::from(count), f64::from(trials));
            assert!((ratio / sum - 1.0).abs() < ERROR, "{count} of {trials}: {ratio} {sum}");
        }
    }
}
