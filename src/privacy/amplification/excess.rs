//! The mean of the positive part of a sum of independent draws, from above, for any number of draws.
//!
//! # Statement
//! a, b and c count those of n draws that fall into three cells, of probabilities p, p and u. [`expected_excess`] is at
//! least `E[(a - B b - C c)_+]` for B >= C >= 0, and in practice within a few thousandths of it.
//!
//! # Argument
//! 1. *Noise.* Let S = a - B b - C c, and Z normal with mean 0 and deviation s, independent of S. By Jensen's
//!    inequality `E[(S + Z)_+] >= E[S_+]`. Batches with a = 0 have S <= 0: they may be left out of both means.
//! 2. *A function that is nowhere negative.* For l > 0 let `g(x) = e^(l x) E[(S + Z - x)_+]`; what is sought is at most
//!    g(0). Its Fourier transform is `G(t) = M(z) e^(s^2 z^2 / 2) / z^2` with z = l + it, where `M(z) = E e^(z S)` is
//!    `(1 + p (e^z - 1) + p (e^(-B z) - 1) + u (e^(-C z) - 1))^n`, less `(1 - p + p (e^(-B z) - 1) + u (e^(-C z) -
//!    1))^n` where a = 0 is left out.
//! 3. *A sum in place of an integral.* Poisson's summation formula with a period P and h = 2 pi / P says that `sum_k
//!    g(k P) = (1 / P) sum_j G(j h)`; both sums converge absolutely, since G falls like a normal density and g
//!    exponentially on both sides. As g >= 0, the sum on the right is at least g(0): it is an upper bound for all l, s
//!    and P. They are chosen so that little is lost: l makes G(0) least, P is [`PERIOD`] deviations of the law whose
//!    density is g's part of its integral, and s is [`NOISE`] / l.
//! 4. *The terms that are left out.* `|M(l + it)| <= M(l)`, so those beyond T are at most `M(l) e^(s^2 (l^2 - T^2) / 2)
//!    / (pi T)` in sum. They may end earlier: with the probabilities q of the cells that have the values v, tilted by
//!    `e^(l v)`, `|M(l + it)| / M(l) = (1 - 4 sum_{i<j} q_i q_j sin^2(t (v_i - v_j) / 2))^(n/2)` where nothing is left
//!    out of M, and as `sin x >= 2x / pi` up to pi / 2 that is at most `e^(-k t^2)` with `k = (2 n / pi^2) q_a sum_j
//!    q_j (1 - v_j)^2` as long as `t (1 + B) <= pi`.
//! 5. *Rounding.* Let m be the sum of the moduli of what is added up to the base of M's powers. The base is off by at
//!    most 8 roundings of m (those of p and u included), its logarithm, where the base is not below e^-2, by 55 times
//!    as much, and a power by n times that, relative. For every term [`ROUNDING`] `(1 + n m)` of a bound on its modulus
//!    is added, which is ten times that.

use core::f64::consts::{PI, TAU};

use nalgebra::Complex;

/// The deviation of the noise in units of 1 / l. It adds about half of its square, relative.
const NOISE: f64 = 0.05;

/// The period in deviations.
const PERIOD: f64 = 10.0;

/// Terms that are surely below `e^-CUT` of the first one are left out.
const CUT: f64 = 36.0;

/// With this many draws in the first cell on average, batches without any are too rare to be worth leaving out.
const MANY: f64 = 30.0;

/// The most terms that are summed: a few thousand are enough, except where the result is tiny.
const MOST_TERMS: f64 = 2e4;

const ROUNDING: f64 = 5e-13;

/// An upper bound on `E[(a - second b - third c)_+]`, where a, b and c count those of `draws` draws that fall into
/// cells of probabilities `counted`, `counted` and `idle`, and `second >= third >= 0`.
pub(super) fn expected_excess(draws: f64, counted: f64, idle: f64, second: f64, third: f64) -> f64 {
    let counts = Counts { draws, counted, others: [(counted, -second), (idle, -third)] };
    // S is at most a.
    let most = draws * counted * (1.0 + 4.0 * f64::EPSILON);
    if draws < 2.0 {
        return most;
    }
    // If rounding leaves no number at all, this bound remains.
    match counts.expected_excess() {
        found if found < most => found,
        _ => most,
    }
}

struct Counts {
    draws: f64,
    /// The probability of the first cell, whose value is 1.
    counted: f64,
    /// Probabilities and values of the other two.
    others: [(f64, f64); 2],
}

impl Counts {
    fn expected_excess(&self) -> f64 {
        let tilt = self.best_tilt();
        let moment = self.log_moment(tilt);
        let deviation = self.log_first_term_curvature(tilt).sqrt();
        let (noise, step) = (NOISE / tilt, TAU / (PERIOD * deviation));
        let terms = (self.reach(tilt, noise) / step).ceil().max(1.0);
        let tilted = Tilted::new(self, tilt, noise, moment);
        let first = tilted.term(0.0);
        let scale = libm::exp(moment) * (1.0 + ROUNDING * (1.0 + moment.abs()));
        if terms > MOST_TERMS {
            // x_+ <= e^(l x) / (e l)
            return scale * first * tilt;
        }
        let mut sum = 0.5 * first;
        let mut term = 1.0;
        while term <= terms {
            sum += tilted.term(term * step);
            term += 1.0;
        }
        let left_out = beyond(terms * step);
        scale * (2.0 * sum * step / TAU + left_out)
    }

    /// Whether batches with a = 0 are left out.
    fn leaves_out(&self) -> bool {
        self.draws * self.counted < MANY
    }

    /// `log M(tilt)`.
    fn log_moment(&self, tilt: f64) -> f64 {
        let others: f64 = self.others.iter().map(|&(p, v)| p * libm::expm1(tilt * v)).sum();
        if !self.leaves_out() {
            return self.draws * libm::log1p(others + self.counted * libm::expm1(tilt));
        }
        // A base of 0 is the result of rounding.
        let none = (others - self.counted).max(-1.0 + 0.5 * f64::EPSILON);
        let more = self.draws * libm::log1p(self.counted * libm::exp(tilt) / (1.0 + none));
        // log(e^more - 1)
        self.draws * libm::log1p(none) + more + libm::log(-libm::expm1(-more))
    }

    /// `log G(0)` without the noise.
    fn log_first_term(&self, tilt: f64) -> f64 {
        self.log_moment(tilt) - 2.0 * libm::log(tilt)
    }

    /// The second derivative of [`Counts::log_first_term`], which is a variance: nearly, and not below its last part.
    fn log_first_term_curvature(&self, tilt: f64) -> f64 {
        const PART: f64 = 0.03;
        let [below, here, above] = [1.0 - PART, 1.0, 1.0 + PART].map(|factor| self.log_first_term(factor * tilt));
        (above - 2.0 * here + below).max(2.0 * PART * PART) / (PART * tilt).powi(2)
    }

    /// The tilt l at which [`Counts::log_first_term`], a convex function, is least, nearly: the bound holds for any.
    fn best_tilt(&self) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let at = |logarithm: f64| self.log_first_term(libm::exp(logarithm));
        // No deviation of S is above 1e13, and no best tilt above 500.
        let (mut low, mut high) = (-30.0, 6.2);
        let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let (mut left_value, mut right_value) = (at(left), at(right));
        for _ in 0..24 {
            if left_value < right_value {
                (high, right, right_value) = (right, left, left_value);
                left = high - GOLDEN * (high - low);
                left_value = at(left);
            } else {
                (low, left, left_value) = (left, right, right_value);
                right = low + GOLDEN * (high - low);
                right_value = at(right);
            }
        }
        libm::exp(0.5 * (low + high))
    }

    /// The frequency T beyond which terms are left out.
    fn reach(&self, tilt: f64, noise: f64) -> f64 {
        let by_noise = (2.0 * CUT).sqrt() / noise;
        if self.leaves_out() || by_noise * (1.0 - self.others[0].1) > PI {
            return by_noise;
        }
        let tilted = |p: f64, v: f64| p * libm::exp(tilt * v);
        let left = (1.0 - self.counted - self.others.iter().map(|&(p, _)| p).sum::<f64>()).max(0.0);
        let (mut base, mut apart) = (tilted(self.counted, 1.0) + left, left);
        for &(p, v) in &self.others {
            base += tilted(p, v);
            apart += tilted(p, v) * (1.0 - v).powi(2);
        }
        let rate = 2.0 * self.draws * tilted(self.counted, 1.0) * apart / (PI * base).powi(2);
        by_noise.min((CUT / rate).sqrt() * (1.0 + 1e-6))
    }
}

/// The common part of all terms.
struct Tilted<'a> {
    counts: &'a Counts,
    /// Of every cell: its probability p and value v, `e^(l v)` and `e^(l v) - 1`.
    cells: [(f64, f64, f64, f64); 3],
    tilt: f64,
    /// s^2 / 2
    noise: f64,
    /// Terms are over e^this.
    moment: f64,
}

impl<'a> Tilted<'a> {
    fn new(counts: &'a Counts, tilt: f64, noise: f64, moment: f64) -> Self {
        let cell = |(p, v): (f64, f64)| (p, v, libm::exp(tilt * v), libm::expm1(tilt * v));
        let cells = [cell((counts.counted, 1.0)), cell(counts.others[0]), cell(counts.others[1])];
        Self { counts, cells, tilt, noise: 0.5 * noise * noise, moment }
    }

    /// The real part of G at `frequency` from above.
    fn term(&self, frequency: f64) -> f64 {
        let &Counts { draws, counted, .. } = self.counts;
        let mut moduli = 0.0;
        // p (e^(v z) - 1)
        let [first, second, third] = self.cells.map(|(p, v, size, growth)| {
            let angle = frequency * v;
            let ((sine, cosine), half) = (libm::sincos(angle), libm::sin(0.5 * angle));
            let fall = 2.0 * half * half;
            moduli += p * (growth.abs() + fall + size * (sine.abs() + angle.abs()));
            Complex::new(p * (growth * cosine - fall), p * size * sine)
        });
        let others = second + third;
        let power = |logarithm: Complex<f64>| exp(logarithm * draws - self.moment);
        let modulus = |logarithm: Complex<f64>| libm::exp(draws * logarithm.re.max(-2.0) - self.moment);
        let all = log1p(others + first);
        let (moment, bound) = if self.counts.leaves_out() {
            let (some, size) = (first + counted, counted * self.cells[0].2);
            moduli += size;
            let base = others - counted + 1.0;
            let (none, rare) = (log1p(others - counted), draws * size / base.norm_sqr().sqrt());
            let both = modulus(none) + modulus(all);
            // Without cancellation, where there is hardly a batch with a > 0.
            if rare < 0.5 {
                (power(none) * expm1(log1p(some / base) * draws), both * rare)
            } else {
                (power(all) - power(none), both)
            }
        } else {
            (power(all), modulus(all))
        };
        let z = Complex::new(self.tilt, frequency);
        let square = z * z;
        let smoothed = exp(square * self.noise) / square;
        let error = ROUNDING * (1.0 + draws * moduli) * bound * libm::exp(square.re * self.noise) / z.norm_sqr();
        (moment * smoothed).re + error
    }
}

/// Twice what is left out beyond a frequency, over M(l), for the roundings of M(l).
fn beyond(frequency: f64) -> f64 {
    2.0 * libm::exp(0.5 * NOISE * NOISE - CUT) / (PI * frequency)
}

fn exp(z: Complex<f64>) -> Complex<f64> {
    let (sine, cosine) = libm::sincos(z.im);
    Complex::new(cosine, sine) * libm::exp(z.re)
}

fn expm1(z: Complex<f64>) -> Complex<f64> {
    let ((sine, cosine), half) = (libm::sincos(z.im), libm::sin(0.5 * z.im));
    Complex::new(libm::expm1(z.re) * cosine - 2.0 * half * half, libm::exp(z.re) * sine)
}

fn log1p(z: Complex<f64>) -> Complex<f64> {
    let (base, square) = (1.0 + z.re, z.re * (2.0 + z.re) + z.im * z.im);
    // The absolute error of 1 + z is that of its parts, also where it is small.
    let real = if square < -0.5 { libm::log(base * base + z.im * z.im) } else { libm::log1p(square) };
    Complex::new(0.5 * real, libm::atan2(z.im, base))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::known;

    /// Summed over all a, b and c.
    fn enumerated(draws: u32, counted: f64, idle: f64, second: f64, third: f64) -> f64 {
        let choose = |n: u32, k: u32| -> f64 { (0..k).map(|i| f64::from(n - i) / f64::from(k - i)).product() };
        let power = |p: f64, k: u32| p.powf(k.into());
        let mut sum = 0.0;
        for a in 0..=draws {
            for b in 0..=draws - a {
                for c in 0..=draws - a - b {
                    let rest = draws - a - b - c;
                    let ways = choose(draws, a) * choose(draws - a, b) * choose(draws - a - b, c);
                    let law =
                        power(counted, a + b) * power(idle, c) * power((1.0 - 2.0 * counted - idle).max(0.0), rest);
                    sum += ways * law * (f64::from(a) - second * f64::from(b) - third * f64::from(c)).max(0.0);
                }
            }
        }
        sum
    }

    /// Every term by itself, up to 1e11 draws: the margin for roundings hides what the noise would cover in the sum.
    #[test]
    fn terms_are_those_of_a_hundred_digits_or_a_little_more() {
        for (inputs, truth) in known("transform") {
            let &[draws, counted, idle, second, third, tilt, noise, moment, frequency, allowed] = inputs else {
                panic!("{inputs:?}")
            };
            let counts = Counts { draws, counted, others: [(counted, -second), (idle, -third)] };
            let found = Tilted::new(&counts, tilt, noise, moment).term(frequency);
            // `allowed` is twice the margin of point 5, of which a tenth is for roundings.
            let least = truth[1] + 0.4 * allowed;
            assert!(found >= least && found <= truth[1] + allowed, "{inputs:?}: {found:e} {truth:?}");
            // Where M itself is the moment.
            let own = counts.log_moment(tilt);
            assert!((own - moment).abs() <= ROUNDING * (1.0 + moment.abs() + draws * counted), "{inputs:?}: {own}");
        }
    }

    /// Up to thousands of terms past the end, in both ways to end: all together less than half of what is added for
    /// them, which is twice the bound of point 4.
    #[test]
    fn terms_that_are_left_out_are_no_more_than_what_is_added_for_them() {
        let (mut by_noise, mut by_spread) = (0, 0);
        for draws in [7.0, 1e3, 1e5, 1e8] {
            for (counted, idle) in [(0.4999, 0.0), (0.3, 0.1), (0.01, 0.7), (1e-3, 0.2), (1e-6, 0.5)] {
                for (second, third) in [(1.01, 0.0), (1.3, 0.01), (4.1, 0.3), (1e3, 0.7)] {
                    let counts = Counts { draws, counted, others: [(counted, -second), (idle, -third)] };
                    let tilt = counts.best_tilt();
                    let (noise, moment) = (NOISE / tilt, counts.log_moment(tilt));
                    let reach = counts.reach(tilt, noise);
                    let step = TAU / (PERIOD * counts.log_first_term_curvature(tilt).sqrt());
                    let tilted = Tilted::new(&counts, tilt, noise, moment);
                    let sum: f64 = (0..2000).map(|term| tilted.term(reach + f64::from(term) * step).abs()).sum();
                    let left_out = 2.0 * sum * step / TAU;
                    let added = beyond(reach);
                    assert!(
                        left_out < 0.5 * added,
                        "{draws} {counted} {idle} {second} {third}: {left_out:e} {added:e}"
                    );
                    let bound = libm::exp(0.5 * (noise * tilt).powi(2) - CUT) / (PI * reach);
                    assert!((added / bound - 2.0).abs() < 1e-9, "{added} {bound}");
                    let ends = (2.0 * CUT).sqrt() / noise;
                    if reach < 0.99 * ends { by_spread += 1 } else { by_noise += 1 }
                }
            }
        }
        assert!(by_noise > 5 && by_spread > 5, "{by_noise} {by_spread}");
    }

    /// Cell by cell, with the one that is left over: point 4.
    #[test]
    fn the_sum_ends_where_either_bound_of_what_is_left_out_does() {
        for (draws, counted, idle, second, third) in
            [(1e3, 0.3, 0.1, 1.3, 0.01), (1e5, 0.01, 0.7, 1.01, 0.4), (1e8, 1e-3, 0.2, 2.1, 0.3)]
        {
            let counts = Counts { draws, counted, others: [(counted, -second), (idle, -third)] };
            for tilt in [1e-6, 1e-3, 5e-3] {
                let noise = NOISE / tilt;
                let rest = (1.0 - 2.0 * counted - idle, 0.0);
                let cells = [(counted, 1.0), (counted, -second), (idle, -third), rest];
                let mass: f64 = cells.iter().map(|(p, v)| p * libm::exp(tilt * v)).sum();
                let share = |(p, v): (f64, f64)| p * libm::exp(tilt * v) / mass;
                let apart: f64 = cells.iter().map(|&(p, v)| share((p, v)) * (1.0 - v).powi(2)).sum();
                let rate = 2.0 * draws / PI.powi(2) * share(cells[0]) * apart;
                let reach = counts.reach(tilt, noise);
                let expected = ((2.0 * CUT).sqrt() / noise).min((CUT / rate).sqrt());
                assert!(reach >= expected && reach < expected * (1.0 + 1e-5), "{draws} {tilt}: {reach} {expected}");
            }
        }
    }

    /// Where the sum is next to nothing, it would take more terms than are summed. Truths with 60 digits.
    #[test]
    fn without_a_sum_the_bound_is_one_still() {
        for (draws, counted, idle, third, truth) in [
            (1000.0, 1e-24, 0.3, 0.02, 7.46402333294657e-94),
            (400.0, 1e-30, 0.9, 0.03, 1.1617849319969066e-254),
            (2000.0, 1e-40, 0.3, 0.01, 6.4577944364923155e-168),
        ] {
            let counts = Counts { draws, counted, others: [(counted, -1.01), (idle, -third)] };
            let tilt = counts.best_tilt();
            let step = TAU / (PERIOD * counts.log_first_term_curvature(tilt).sqrt());
            assert!(counts.reach(tilt, NOISE / tilt) / step > MOST_TERMS);
            let found = expected_excess(draws, counted, idle, 1.01, third);
            assert!(found >= truth && found < 500.0 * truth, "{draws} {counted}: {found:e} {truth:e}");
        }
    }

    #[test]
    fn no_bound_is_above_the_mean_of_the_first_count() {
        for draws in [2.0, 20.0, 1e6] {
            let found = expected_excess(draws, 0.3, 0.1, 0.0, 0.0);
            assert!(found >= 0.3 * draws && found <= 0.3 * draws * (1.0 + 1e-14), "{found}");
        }
    }

    #[test]
    fn the_logarithm_of_next_to_nothing_has_all_of_its_digits() {
        for tiny in [1e-3, 1e-9, 1e-15] {
            // Exact: a difference of neighbours of 1.
            let real = -1.0 + tiny;
            let base = 1.0 + real;
            let found = log1p(Complex::new(real, base));
            let expected = Complex::new(libm::log(base) + 0.5 * libm::log(2.0), 0.25 * PI);
            assert!((found - expected).norm() < 1e-14, "{tiny}: {found} {expected}");
        }
    }

    #[test]
    fn the_bound_is_above_the_sum_over_all_counts_and_near_it() {
        let mut largest: f64 = 0.0;
        for draws in [1, 2, 3, 7, 20, 60] {
            for (counted, idle) in
                [(0.4999, 0.0), (0.3, 0.1), (0.01, 0.7), (1e-3, 0.2), (1e-9, 0.5), (0.25, 0.49), (0.5, 0.0)]
            {
                for (second, third) in [(1.01, 0.0), (1.3, 0.01), (4.1, 0.3), (3.3, 3.2), (1e6, 0.7), (1e9, 1e8)] {
                    let exact = enumerated(draws, counted, idle, second, third);
                    let found = expected_excess(draws.into(), counted, idle, second, third);
                    assert!(
                        found >= exact * (1.0 - 1e-12),
                        "{draws} {counted} {idle} {second} {third}: {found} {exact}"
                    );
                    largest = largest.max(found / exact - 1.0);
                }
            }
        }
        println!("at most {largest:.1e} above");
        assert!(largest < 0.02, "{largest}");
    }
}
