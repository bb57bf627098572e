//! The Gaussian mechanism on covariance contributions (Wang & Xu 2019, Algorithms 1 and 2), calibrated exactly.
//!
//! # Statement
//! Let Q(x) = x x^T. For any two records x, y in the unit ball, the payloads of x and y satisfy
//! `P[payload(x) in E] <= e^epsilon P[payload(y) in E] + delta` for every event E and the (epsilon, delta) of
//! [`guarantee`](LocalRandomizer::guarantee).
//!
//! # Argument, line by line
//! 1. *Sensitivity.* The record is quantised towards zero to integers at 2^-20 and `|x_int|^2 <= 2^40` is enforced in
//!    integers. Products of two of them are exact, so the query is `x x^T` of a vector that is in the unit ball
//!    exactly, and `|x x^T - y y^T|_F^2 = |x|^4 + |y|^4 - 2 (x.y)^2 <= 2`.
//! 2. *Geometry.* In coordinates (diagonal, sqrt(2) × off-diagonal) the Frobenius norm is the Euclidean one. The
//!    noise there has standard deviation at least sigma in every coordinate: sigma on the diagonal, sigma / sqrt(2)
//!    off it. (The paper's noise, sigma everywhere, is larger off the diagonal than it need be; e_1 against e_2
//!    differs on the diagonal only, so it is not more private for it.)
//! 3. *Noise.* The released integer is `floor((Q_ij + noise) / step)` for a real Gaussian, computed in integers:
//!    `Q_ij / step` is the exact product of `x_i x_j` (at 2^-40) with `multiplier / 2^shift`, and the deviate is
//!    exact to 64 bits with a carry deciding the rounding ([`sampling::gaussian`](crate::sampling::gaussian)).
//!    Rounding down and clamping to the payload's width are post-processing.
//! 4. *Calibration.* sigma comes from the analytic formula at `delta - slack`, where slack = (1 + e^epsilon) ×
//!    entries × the sampler's total variation; `step` is rounded so that 16 steps are never less than sigma.
//!
//! # What the aggregator may rely on
//! `floor` shifts the mean by half a step (undone in [`debias`](Moments::debias)) and adds step^2/12 to the
//! variance, 0.03 %. The residual bias of rounding a Gaussian of 16 steps is below 10^-2000 steps; that of clamping
//! below 10^-9 standard deviations, since the payload's width leaves 6 of them on both sides.

use core::num::NonZeroUsize;
use core::ops::Range;

use nalgebra::DMatrix;
use rand::rand_core::TryCryptoRng;
use serde::Serialize;

use super::moments::debiased;
use super::range::RangeCheck;
use super::{
    LocalRandomizer, MechanismError, Moments, PayloadError, Perturbation, Pull, RandomizeError, Summable, triangle,
};
use crate::decimal::Decimal;
use crate::identity::ReportId;
use crate::parallel;
use crate::privacy::calibration::{
    COVARIANCE_SENSITIVITY, analytic_gaussian_sigma, gaussian_delta, gaussian_rho, paper_sigma,
};
use crate::privacy::composition::PrivacyLoss;
use crate::privacy::variation::TotalVariation;
use crate::privacy::{Delta, Epsilon, Guarantee};
use crate::record::BoundedRecord;
use crate::sampling::bits::Bits;
use crate::sampling::gaussian::{self, Deviate, STEPS_PER_SIGMA, TOTAL_VARIATION, WORDS_PER_DEVIATE};
use crate::schema::MAX_DIMENSION;

/// The rule for the noise scale, given epsilon and delta.
///
/// ```
/// use ldp_pca::mechanism::{Calibration, Gaussian, LocalRandomizer};
/// # use ldp_pca::{Delta, Epsilon};
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let analytic = Gaussian::new(10, epsilon, delta, Calibration::Analytic)?.guarantee();
/// assert!(analytic.delta_value() <= 1e-6);
/// let paper = Gaussian::new(10, epsilon, delta, Calibration::Paper)?.guarantee();
/// assert!(paper.delta_value() > 8e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Calibration {
    /// The smallest scale that is private, for every epsilon (Balle & Wang 2018), isotropic in Frobenius geometry.
    Analytic,
    /// The scale and the shape printed by Wang & Xu (2019), who take the sensitivity as 1 where it is sqrt(2). Its
    /// [`Guarantee`] states its true delta, which exceeds the one it is computed from except for small epsilons: nine
    /// times as much at epsilon = 1 and 1e-6. A task may use it up to epsilon = 1.
    Paper,
}

impl Calibration {
    /// Its name in a task.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Analytic => "analytic",
            Self::Paper => "paper",
        }
    }
}

/// The Gaussian mechanism for one task.
#[derive(Clone, Debug)]
pub struct Gaussian {
    dimension: usize,
    /// What the scale is computed from, beside epsilon.
    rule: (Calibration, Delta),
    guarantee: Guarantee,
    loss: PrivacyLoss,
    diagonal: Lattice,
    off_diagonal: Lattice,
    /// Bytes per entry: 1, or 2 where the noise is small against the signal.
    width: usize,
}

impl Gaussian {
    /// The mechanism for records of `dimension` coordinates.
    ///
    /// # Errors
    /// [`MechanismError`]: `Calibration::Paper` with epsilon > 1, and parameters outside the range of the integer grid.
    pub fn new(
        dimension: usize,
        epsilon: Epsilon,
        delta: Delta,
        calibration: Calibration,
    ) -> Result<Self, MechanismError> {
        match calibration {
            Calibration::Analytic => Self::analytic(dimension, epsilon, delta),
            Calibration::Paper if epsilon.value() > 1.0 => Err(MechanismError::PaperCalibration {
                epsilon: epsilon.value(),
                delta: delta.value(),
                real_delta: gaussian_delta(paper_sigma(epsilon, delta), COVARIANCE_SENSITIVITY, epsilon)?,
            }),
            Calibration::Paper => Self::paper_as_printed(dimension, epsilon, delta),
        }
    }

    fn analytic(dimension: usize, epsilon: Epsilon, delta: Delta) -> Result<Self, MechanismError> {
        let slack = sampler_slack(dimension, epsilon)?;
        if slack > 0.5 * delta.value() {
            let remedy = sampler_remedy(dimension, epsilon, delta, slack);
            return Err(MechanismError::DeltaBelowSampler { delta: delta.value(), error: slack, remedy });
        }
        let sigma = analytic_gaussian_sigma(epsilon, Delta::new(delta.value() - slack)?, COVARIANCE_SENSITIVITY)?;
        let (rule, guarantee) = ((Calibration::Analytic, delta), Guarantee::local(epsilon, Some(delta)));
        Self::with_deviations(dimension, rule, guarantee, [sigma, off_diagonal_deviation(sigma)])
    }

    /// The paper's mechanism at any epsilon, to compare with. Its guarantee is the (epsilon, delta) that it truly
    /// gives.
    ///
    /// # Errors
    /// [`MechanismError`] for parameters outside the range of the integer grid.
    pub(crate) fn paper_as_printed(dimension: usize, epsilon: Epsilon, delta: Delta) -> Result<Self, MechanismError> {
        let sigma = paper_sigma(epsilon, delta);
        let slack = sampler_slack(dimension, epsilon)?;
        let real = gaussian_delta(sigma, COVARIANCE_SENSITIVITY, epsilon)? + slack;
        let (rule, guarantee) = ((Calibration::Paper, delta), Guarantee::local(epsilon, Some(Delta::new(real)?)));
        Self::with_deviations(dimension, rule, guarantee, [sigma, sigma])
    }

    fn with_deviations(
        dimension: usize,
        rule: (Calibration, Delta),
        guarantee: Guarantee,
        deviations: [f64; 2],
    ) -> Result<Self, MechanismError> {
        let (diagonal, off_diagonal) = (Lattice::new(deviations[0])?, Lattice::new(deviations[1])?);
        // Entries of x x^T are at most 1 on the diagonal and 1/2 off it; one byte leaves 6 standard deviations beside
        // 32 steps.
        let largest = (1.0 / diagonal.step).max(0.5 / off_diagonal.step);
        let width = if largest <= 32.0 { 1 } else { 2 };
        // In every direction of Frobenius geometry the noise has at least the deviation on the diagonal. The total
        // variation of a product of laws is at most the sum of theirs.
        let loss = PrivacyLoss::Gaussian {
            rho: gaussian_rho(deviations[0], COVARIANCE_SENSITIVITY)?,
            total_variation: TotalVariation::new(triangle(dimension) as f64 * TOTAL_VARIATION)?,
        };
        Ok(Self { dimension, rule, guarantee, loss, diagonal, off_diagonal, width })
    }

    /// The rule for the noise scale, and the delta that it is computed from.
    pub(super) fn rule(&self) -> (Calibration, Delta) {
        self.rule
    }

    /// The range of honest payloads.
    ///
    /// In steps, an entry is `m = floor(q + g)` with `q` the record's share and g ~ N(0, 16^2), independent over the p
    /// entries, then clamped to the payload's width. So `|m + 1/2| <= |q| + |g| + 1/2`, which clamping only lowers
    /// (both ends are at half integers from zero), and over all entries
    ///
    /// ```text
    /// ||m + 1/2|| <= ||q|| + ||g|| + sqrt(p)/2
    /// ```
    ///
    /// `||q||` is at most the largest of 1/step (diagonal) and 1/(sqrt(2) step) (off it), since `||x x^T||_F <= 1`
    /// counts every off-diagonal entry twice. `||g||^2 / 16^2` is chi-squared with p degrees of freedom, and exceeds
    /// `p + 2 sqrt(p t) + 2 t` with probability at most `e^-t` (Laurent & Massart 2000, Lemma 1). With t = 40 ln 2 an
    /// honest report is refused once in 2^40.
    pub(super) fn range(&self) -> RangeCheck {
        let p = triangle(self.dimension) as f64;
        let t = 40.0 * core::f64::consts::LN_2;
        let noise = f64::from(STEPS_PER_SIGMA) * (p + 2.0 * (p * t).sqrt() + 2.0 * t).sqrt();
        RangeCheck::new(self.width, self.largest_share() + noise + 0.5 * p.sqrt())
    }

    /// The largest Euclidean norm of a record's share in a payload, in steps.
    fn largest_share(&self) -> f64 {
        (1.0 / self.diagonal.step).max(core::f64::consts::FRAC_1_SQRT_2 / self.off_diagonal.step)
    }

    /// Standard deviation of the noise on a diagonal entry of one debiased report.
    pub(crate) fn diagonal_deviation(&self) -> f64 {
        self.diagonal.deviation()
    }
}

/// sigma / sqrt(2), rounded up, so that sqrt(2) times it is not below sigma.
fn off_diagonal_deviation(sigma: f64) -> f64 {
    (sigma * core::f64::consts::FRAC_1_SQRT_2).next_up().next_up()
}

/// The sampler's total variation over all entries, as it adds to delta: (1 + e^epsilon) × entries × its bound.
fn sampler_slack(dimension: usize, epsilon: Epsilon) -> Result<f64, MechanismError> {
    if dimension == 0 || dimension > MAX_DIMENSION {
        return Err(MechanismError::Dimension(dimension));
    }
    Ok((1.0 + libm::exp(epsilon.value())) * triangle(dimension) as f64 * TOTAL_VARIATION)
}

/// A delta with which the noise fits the grid at every small epsilon.
const AMPLE_DELTA: f64 = 1e-6;

/// What makes delta exceed twice the sampler's slack, which grows with epsilon: values that are accepted.
fn sampler_remedy(dimension: usize, epsilon: Epsilon, delta: Delta, slack: f64) -> String {
    // The largest epsilon in hundredths: the slack is 1 + e^epsilon times that of an entry's sampler, for all entries.
    let most_epsilon = |delta: f64| {
        let factor = 0.5 * delta / (triangle(dimension) as f64 * TOTAL_VARIATION);
        (100.0 * libm::log((factor - 1.0).max(1.0))).floor() / 100.0
    };
    let fits = |least: f64| Delta::new(least).is_ok_and(|delta| Gaussian::analytic(dimension, epsilon, delta).is_ok());
    let least_delta = [2.0 * slack, AMPLE_DELTA].into_iter().find(|&least| least >= 2.0 * slack && fits(least));
    let raise = |least| format!("raise delta to at least {}", Decimal(least));
    let lower = |most| format!("lower epsilon to at most {}", Decimal(most));
    match (least_delta, most_epsilon(delta.value())) {
        (Some(least), most) if most > 0.0 => format!("{}, or {}", raise(least), lower(most)),
        (Some(least), _) => raise(least),
        (None, most) if most > 0.0 => lower(most),
        (None, _) => format!("{} and {}", lower(most_epsilon(AMPLE_DELTA)), raise(AMPLE_DELTA)),
    }
}

/// Integer units of a record: 2^-20.
pub(super) const RECORD_BITS: u32 = 20;

/// The lattice of one kind of entry: `entry / step = integer product × multiplier / 2^shift`, exactly.
#[derive(Clone, Copy, Debug)]
struct Lattice {
    multiplier: i64,
    shift: u32,
    /// `2^(shift - 40) / multiplier`, for the aggregator's floating-point arithmetic only.
    step: f64,
}

impl Lattice {
    /// A step that is at least `sigma / 16`, and above it by less than 1 in 2^6 to 2^21 (the finer the smaller sigma).
    fn new(sigma: f64) -> Result<Self, MechanismError> {
        // Products are at most 2^40; with multipliers below 2^22 theirs stay inside an i64.
        let steps_per_unit = f64::from(STEPS_PER_SIGMA) / sigma * (1.0 - 1e-15);
        let mut shift = 62;
        let scaled = |shift: u32| (steps_per_unit * 2f64.powi(shift as i32 - 2 * RECORD_BITS as i32)).floor();
        while shift > 40 && scaled(shift) >= f64::from(1 << 22) {
            shift -= 1;
        }
        let multiplier = scaled(shift);
        if !(64.0..f64::from(1 << 22)).contains(&multiplier) {
            return Err(MechanismError::Grid { sigma, remedy: "raise epsilon or delta" });
        }
        if steps_per_unit > 32_000.0 {
            return Err(MechanismError::Grid { sigma, remedy: "lower epsilon or delta" });
        }
        let step = 2f64.powi(shift as i32 - 2 * RECORD_BITS as i32) / multiplier;
        Ok(Self { multiplier: multiplier as i64, shift, step })
    }

    /// `floor(product / step + deviate)`.
    #[inline]
    fn noisy_floor(self, product: i64, deviate: Deviate) -> i64 {
        let scaled = product * self.multiplier;
        deviate.add_and_floor(scaled >> self.shift, (scaled as u64) << (64 - self.shift))
    }

    /// Standard deviation of one debiased entry, rounding included.
    fn deviation(self) -> f64 {
        self.step * (f64::from(STEPS_PER_SIGMA).powi(2) + 1.0 / 12.0).sqrt()
    }
}

/// Rounds towards zero to integers at 2^-20 and ensures that the integer vector is in the ball of radius 2^20.
pub(super) fn quantise(coordinates: &[f64]) -> Vec<i64> {
    let mut quantised: Vec<i64> =
        coordinates.iter().map(|&coordinate| (coordinate * f64::from(1 << RECORD_BITS)) as i64).collect();
    // Rounding left the norm slightly above one: go back into the ball step by step. That takes a handful of steps at
    // most.
    while quantised.iter().map(|x| x * x).sum::<i64>() > 1 << (2 * RECORD_BITS) {
        if let Some(largest) = quantised.iter_mut().max_by_key(|x| x.abs()) {
            *largest -= largest.signum();
        }
    }
    quantised
}

/// Entries that are summed over all payloads before the next ones: their sums stay in the first-level cache.
const PART: usize = 8192;

/// Adds the result of `add` for the bytes at `range` of each payload: first to narrow integers, which hold the sum of
/// `at_once` payloads, then to `sums`.
fn add_in_parts<T: Copy + Default + Into<i64>>(
    payloads: &[(ReportId, &[u8])],
    range: &Range<usize>,
    sums: &mut [i64],
    at_once: usize,
    add: impl Fn(&mut [T], &[u8]),
) {
    let mut partial = vec![T::default(); sums.len()];
    for payloads in payloads.chunks(at_once) {
        for (_, payload) in payloads {
            add(&mut partial, &payload[range.clone()]);
        }
        for (sum, partial) in sums.iter_mut().zip(&mut partial) {
            *sum += core::mem::take(partial).into();
        }
    }
}

fn add_bytes(sums: &mut [i16], bytes: &[u8]) {
    for (sum, &byte) in sums.iter_mut().zip(bytes) {
        *sum += i16::from(byte as i8);
    }
}

fn add_pairs(sums: &mut [i32], bytes: &[u8]) {
    for (sum, &pair) in sums.iter_mut().zip(bytes.as_chunks().0) {
        *sum += i32::from(i16::from_le_bytes(pair));
    }
}

impl LocalRandomizer for Gaussian {
    fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    fn privacy_loss(&self) -> PrivacyLoss {
        self.loss
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn payload_bytes(&self) -> usize {
        self.width * triangle(self.dimension)
    }

    fn draws(&self) -> u64 {
        triangle(self.dimension) as u64
    }

    fn randomize_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        record: &BoundedRecord,
        _task_key: &[u8; 16],
        _id: ReportId,
        rng: &mut R,
    ) -> Result<Vec<u8>, RandomizeError> {
        record.check_dimension(self.dimension)?;
        let entries = triangle(self.dimension);
        let mut bits = Bits::new(rng, WORDS_PER_DEVIATE * entries);
        // A row of noise is complete before the record meets it: drawing takes the same time for every record.
        let mut noise = vec![Deviate { cell: 0, fraction: 0 }; self.dimension];
        let x = quantise(record.coordinates());
        let mut payload = Vec::with_capacity(self.payload_bytes());
        for (row, &left) in x.iter().enumerate() {
            let noise = &mut noise[row..];
            gaussian::fill(noise, &mut bits)?;
            for (offset, (&right, &deviate)) in x[row..].iter().zip(noise.iter()).enumerate() {
                let lattice = if offset == 0 { self.diagonal } else { self.off_diagonal };
                let value = lattice.noisy_floor(left * right, deviate);
                if self.width == 1 {
                    payload.push(value.clamp(i8::MIN.into(), i8::MAX.into()) as i8 as u8);
                } else {
                    payload.extend((value.clamp(i16::MIN.into(), i16::MAX.into()) as i16).to_le_bytes());
                }
            }
        }
        Ok(payload)
    }
}

impl Summable for Gaussian {
    fn check(&self, payload: &[u8]) -> Result<(), PayloadError> {
        // Every payload of the right length is one that noise can produce.
        PayloadError::check_length(self.payload_bytes(), payload)
    }

    fn sums_len(&self) -> usize {
        triangle(self.dimension)
    }

    fn largest_entry(&self) -> u32 {
        1 << (8 * self.width - 1)
    }

    fn accumulate_with_threads(
        &self,
        _task_key: &[u8; 16],
        payloads: &[(ReportId, &[u8])],
        sums: &mut [i64],
        threads: NonZeroUsize,
    ) {
        self.assert_summable(payloads, sums);
        let starts = (0..sums.len()).step_by(PART);
        parallel::for_each(starts.zip(sums.chunks_mut(PART)), threads, |(start, sums): (usize, &mut [i64])| {
            let range = self.width * start..self.width * (start + sums.len());
            // 2^8 times the least byte is the least i16, 2^16 times the least pair the least i32.
            if self.width == 1 {
                add_in_parts(payloads, &range, sums, 1 << 8, add_bytes);
            } else {
                add_in_parts(payloads, &range, sums, 1 << 16, add_pairs);
            }
        });
    }

    fn check_range(&self, payload: &[u8]) -> Result<(), PayloadError> {
        self.range().check(payload)
    }
}

impl Moments for Gaussian {
    fn state_dimension(&self) -> usize {
        self.dimension
    }

    fn debias(&self, sums: &[i64], records: u64) -> DMatrix<f64> {
        self.assert_sums(sums);
        debiased(sums, self.dimension, self.dimension, |sum, on_diagonal| {
            let step = if on_diagonal { self.diagonal.step } else { self.off_diagonal.step };
            (sum as f64 / records as f64 + 0.5) * step
        })
    }

    fn sums_of_mean(&self, mean: &DMatrix<f64>, records: u64) -> Vec<i64> {
        let of_entry = |row: usize, column: usize| {
            let step = if row == column { self.diagonal.step } else { self.off_diagonal.step };
            ((mean[(row, column)] / step - 0.5) * records as f64).round() as i64
        };
        (0..self.dimension).flat_map(|row| (row..self.dimension).map(move |column| of_entry(row, column))).collect()
    }

    fn perturbation(&self) -> Perturbation {
        Perturbation::Additive { diagonal: self.diagonal_deviation(), off_diagonal: self.entry_deviation() }
    }

    fn deviation_beside(&self, _energy: f64) -> f64 {
        self.off_diagonal.deviation()
    }

    fn noise_edge(&self, records: u64) -> f64 {
        // The semicircle law of a symmetric matrix with independent entries (Wigner 1958).
        2.0 * self.entry_deviation() * (self.dimension as f64 / records as f64).sqrt()
    }

    fn pull(&self) -> Pull {
        let steps = [self.diagonal.step, self.off_diagonal.step];
        Pull::of_steps(self.dimension, steps, self.largest_entry(), self.range())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::{delta, epsilon};
    use crate::sampling::bits::tests::ScriptedSource;
    use crate::sampling::gaussian::tests::words_of;
    use crate::tests::unit;
    use chacha20::ChaCha8Rng;
    use rand::{Rng, RngExt, SeedableRng};

    /// Towards zero, coordinate by coordinate, and no further than the ball asks for.
    #[test]
    fn only_records_too_long_for_the_ball_are_shortened() {
        let mut rng = ChaCha8Rng::seed_from_u64(31);
        let longest = 1i128 << 40;
        let (mut kept, mut shortened) = (0, 0);
        for dimension in [1, 2, 3, 10, 400, MAX_DIMENSION] {
            for length in [0.5, 1.0 - 1e-6, 1.0, 1.0 + 1e-15, 1.0 + 1e-6] {
                let values: Vec<f64> = (0..dimension).map(|_| rng.random_range(-1.0..1.0)).collect();
                let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
                let record: Vec<f64> = values.iter().map(|value| value / norm * length).collect();
                let quantised = quantise(&record);
                let square_sum = |integers: &[i64]| integers.iter().map(|&x| i128::from(x).pow(2)).sum::<i128>();
                let cut: Vec<i64> = record.iter().map(|x| (x.abs() * 1_048_576.0).floor() as i64).collect();
                assert!(square_sum(&quantised) <= longest, "{dimension} {length}");
                if square_sum(&cut) <= longest {
                    kept += 1;
                    assert!(quantised.iter().zip(&cut).all(|(found, cut)| found.abs() == *cut), "{dimension} {length}");
                } else {
                    shortened += 1;
                    // One step more of the largest entry would leave the ball.
                    let largest = quantised.iter().map(|x| x.abs()).max().unwrap();
                    assert!(square_sum(&quantised) + i128::from(2 * largest + 3) > longest, "{dimension} {length}");
                }
                assert!(quantised.iter().zip(&record).all(|(found, x)| *found == 0 || (*found < 0) == (*x < 0.0)));
            }
        }
        assert!(kept >= 15 && shortened >= 3, "{kept} {shortened}");
        assert_eq!(quantise(&[0.75, -0.5, 9.5e-7, -9.5e-7, 1e-300, -0.0]), [786_432, -524_288, 0, 0, 0, 0]);
        assert_eq!(quantise(&[1.5 / 1_048_576.0, -1.5 / 1_048_576.0]), [1, -1]);
        // One and two units of 2^-40 too much, the least that there can be.
        let unit = 1.0 / 1_048_576.0;
        assert_eq!(quantise(&[1.0, unit]), [1_048_575, 1]);
        assert_eq!(quantise(&[-unit, -1.0, unit]), [-1, -1_048_575, 1]);
        assert_eq!(quantise(&[1.0 + 4e-16, 0.0]), [1 << 20, 0]);
        assert_eq!(quantise(&[1.1, 0.0]), [1 << 20, 0]);
    }

    /// 16 steps and sigma in integers: 16 × 2^(shift - 40) / multiplier against sigma = mantissa × 2^exponent. (Less,
    /// equal, greater; and the same for one unit more of the multiplier, whose steps would be smaller.)
    fn sixteen_steps_against(sigma: f64, lattice: &Lattice) -> [core::cmp::Ordering; 2] {
        let (mantissa, exponent) = mantissa_and_exponent(sigma);
        [0, 1].map(|more| {
            let right = u128::from(mantissa) * (lattice.multiplier as u128 + more);
            // Both sides times 2^80.
            let places = exponent + 80;
            let right = if places >= 0 { right << places } else { right.div_ceil(1 << -places) };
            (1u128 << (4 + lattice.shift + 40)).cmp(&right)
        })
    }

    /// number = mantissa × 2^exponent.
    fn mantissa_and_exponent(number: f64) -> (u64, i32) {
        let bits = number.to_bits();
        (bits & ((1 << 52) - 1) | 1 << 52, (bits >> 52) as i32 - 1075)
    }

    /// In integers, next to where 16 / sigma is an integer multiple of the lattice's unit: there the rounded quotient
    /// may be that integer where the real one is below it. Without the margin the listed deviations would have too
    /// small steps.
    #[test]
    fn no_rounding_makes_sixteen_steps_less_than_the_deviation() {
        const NEEDING_THE_MARGIN: [f64; 6] = [
            0.012392481007373163,
            0.09606274801814516,
            1.7729510563173396,
            3.8823889864403927,
            5.967039970864063,
            8.989403549474705,
        ];
        let mut rng = ChaCha8Rng::seed_from_u64(41);
        let drawn = (0..20_000).flat_map(|_| {
            let sigma =
                f64::from(1u32 << rng.random_range(7..23)) * 16.0 / f64::from(rng.random_range(1u32 << 21..1 << 22));
            [sigma.next_down(), sigma, sigma.next_up(), sigma * (1.0 - 1e-14)]
        });
        for sigma in NEEDING_THE_MARGIN {
            let lattice = Lattice::new(sigma).unwrap();
            let rounded = (16.0 / sigma * 2f64.powi(lattice.shift as i32 - 40)).floor() as i64;
            let without_margin = Lattice { multiplier: rounded, ..lattice };
            assert!(sixteen_steps_against(sigma, &without_margin)[0].is_lt(), "{sigma}");
        }
        for sigma in drawn.chain(NEEDING_THE_MARGIN) {
            let Ok(lattice) = Lattice::new(sigma) else { continue };
            let [chosen, _] = sixteen_steps_against(sigma, &lattice);
            assert!(chosen.is_ge(), "{sigma} {lattice:?}");
            // A deviation larger by more than the margin could not have one unit more.
            let [_, next] = sixteen_steps_against(sigma * (1.0 + 2e-15), &lattice);
            assert!(next.is_lt(), "{sigma} {lattice:?}: smaller steps would be as good");
        }
    }

    /// In integers: 2 × off^2 >= sigma^2, where rounding to nearest is not enough, and not above it by more than four
    /// places.
    #[test]
    fn the_deviation_off_the_diagonal_is_rounded_up() {
        let mut rng = ChaCha8Rng::seed_from_u64(43);
        let not_below = |off: f64, sigma: f64| {
            let ((off, off_exponent), (sigma, sigma_exponent)) =
                (mantissa_and_exponent(off), mantissa_and_exponent(sigma));
            let places = 2 * (sigma_exponent - off_exponent);
            2 * u128::from(off).pow(2) >= u128::from(sigma).pow(2) << places
        };
        let mut short = 0;
        for _ in 0..10_000 {
            let sigma = rng.random_range(1e-3..1e3);
            let off = off_diagonal_deviation(sigma);
            assert!(not_below(off, sigma), "{sigma}");
            assert!(!not_below((0..4).fold(off, |off, _| off.next_down()), sigma), "{sigma}");
            short += u32::from(!not_below(sigma * core::f64::consts::FRAC_1_SQRT_2, sigma));
        }
        assert!(short > 500, "{short}: without rounding up some would be too small");
    }

    /// floor(product / step + cell + U), in integers.
    #[test]
    fn an_entry_with_noise_is_the_exact_sum_rounded_down() {
        let mut rng = ChaCha8Rng::seed_from_u64(47);
        for sigma in [1e-3, 0.02, 0.5, 1.0, 5.97, 133.7, 9e5] {
            let Ok(lattice) = Lattice::new(sigma) else { continue };
            let products = [0, 1, -1, 1 << 40, -(1 << 39), (1 << 40) - 1].into_iter();
            let random: Vec<i64> = (0..100).map(|_| rng.random_range(-(1i64 << 39)..1 << 40)).collect();
            for product in products.chain(random) {
                let exact = i128::from(product * lattice.multiplier) << (64 - lattice.shift);
                // The fraction of the noise that just carries, and the ones beside it.
                let carry = (exact as u64).wrapping_neg();
                for fraction in [0, 1, carry.wrapping_sub(1), carry, carry.wrapping_add(1), u64::MAX, rng.next_u64()] {
                    for cell in [-208, -1, 0, 207] {
                        let expected = (exact + (i128::from(cell) << 64) + i128::from(fraction)) >> 64;
                        let found = lattice.noisy_floor(product, Deviate { cell, fraction });
                        assert_eq!(i128::from(found), expected, "{sigma} {product} {cell} {fraction}");
                    }
                }
            }
        }
    }

    /// The whole report from words that are known, beside the sum in integers: which deviate goes to which entry, at
    /// both widths, with the ends of the range and beyond them.
    #[test]
    fn a_report_is_the_rounded_sum_of_record_and_noise_entry_by_entry() {
        let d = 5;
        let record = unit(&[0.5, -0.1, 1e-9, 0.7, -0.4]);
        let x = quantise(record.coordinates());
        for (e, width) in [(2.0, 1), (20.0, 2), (150.0, 2)] {
            let Ok(mechanism) = Gaussian::new(d, epsilon(e), delta(1e-6), Calibration::Analytic) else { continue };
            assert_eq!(mechanism.width, width);
            for cell in [-140, -129, -128, -30, -1, 0, 1, 30, 126, 127, 128, 139] {
                let deviates: Vec<Deviate> = (0..15)
                    .map(|entry| Deviate { cell: (cell + entry).min(139), fraction: (1 << 63) + (entry as u64) })
                    .collect();
                let words: Vec<u64> = deviates.iter().copied().flat_map(words_of).collect();
                let mut source = ScriptedSource::of_words(&words);
                let id = ReportId::new([0; 16]);
                let payload = mechanism.randomize_with_rng(&record, &[0; 16], id, &mut source).unwrap();
                assert_eq!(source.requests, [15 * 3 * 8]);
                let range = if width == 1 { -128..=127 } else { -32_768..=32_767 };
                let mut expected = vec![];
                for (row, left) in x.iter().enumerate() {
                    for (column, right) in x.iter().enumerate().skip(row) {
                        let lattice = if row == column { mechanism.diagonal } else { mechanism.off_diagonal };
                        let noise = deviates[expected.len() / width];
                        let share = i128::from(left * right * lattice.multiplier) << (64 - lattice.shift);
                        let sum = (share + (i128::from(noise.cell) << 64) + i128::from(noise.fraction)) >> 64;
                        let value = (sum as i64).clamp(*range.start(), *range.end());
                        expected.extend_from_slice(&value.to_le_bytes()[..width]);
                    }
                }
                assert_eq!(payload, expected, "eps {e} from {cell}");
            }
        }
    }

    /// A row of the triangle takes what the row before it left; a longer report asks in blocks.
    #[test]
    fn the_source_is_asked_for_three_words_an_entry() {
        for (dimension, requests) in [(1, vec![64]), (10, vec![1320]), (100, vec![65_536, 65_536])] {
            let mechanism = Gaussian::new(dimension, epsilon(1.0), delta(1e-6), Calibration::Analytic).unwrap();
            // No word is refused, so there are no more than three for each of the 5050 entries.
            let words = [7, 1 << 63, u64::MAX].repeat(triangle(dimension));
            let mut source = ScriptedSource::of_words(&words);
            let id = ReportId::new([0; 16]);
            mechanism.randomize_with_rng(&unit(&vec![1.0; dimension]), &[0; 16], id, &mut source).unwrap();
            assert_eq!((source.requests, mechanism.draws()), (requests, triangle(dimension) as u64), "{dimension}");
        }
    }

    #[test]
    fn one_byte_is_for_shares_of_at_most_thirty_two_steps() {
        let width = |diagonal, off_diagonal| {
            let (rule, guarantee) =
                ((Calibration::Analytic, delta(1e-6)), Guarantee::local(epsilon(1.0), Some(delta(1e-6))));
            Gaussian::with_deviations(3, rule, guarantee, [diagonal, off_diagonal]).unwrap().width
        };
        assert_eq!([width(0.5, 0.25), width(0.499, 0.25), width(0.5, 0.249)], [1, 2, 2]);
        assert_eq!([width(9.0, 6.0), width(9.0, 0.249), width(0.499, 6.0)], [1, 2, 2]);
    }

    /// (1 + e^epsilon) × d (d + 1) / 2 × 2^-59, where it is a good part of delta, and so to be seen in the scale.
    #[test]
    fn the_samplers_error_is_booked_into_delta_and_into_the_loss() {
        for (dimension, e) in [(1usize, 1.0), (1000, 1.0f64), (4000, 0.5), (200, 8.0), (MAX_DIMENSION, 2.0)] {
            let entries = (1..=dimension).sum::<usize>() as f64;
            let slack = (1.0 + e.exp()) * entries * 2f64.powi(-59);
            let build =
                |delta_value, calibration| Gaussian::new(dimension, epsilon(e), delta(delta_value), calibration);
            for (factor, enough) in [(1.9999, false), (2.0001, true), (10.0, true)] {
                let found = build(factor * slack, Calibration::Analytic);
                if !enough {
                    let Err(MechanismError::DeltaBelowSampler { delta: stated, error, .. }) = found else {
                        panic!("{found:?}")
                    };
                    assert!(stated == factor * slack && (error / slack - 1.0).abs() < 1e-12, "{error} {slack}");
                    continue;
                }
                let mechanism = found.unwrap();
                let scale =
                    |of_delta| analytic_gaussian_sigma(epsilon(e), delta(of_delta), COVARIANCE_SENSITIVITY).unwrap();
                let (sigma, without) = (scale((factor - 1.0) * slack), scale(factor * slack));
                let steps = 16.0 * mechanism.diagonal.step;
                // The lattice's unit is a 2^21st of the step here.
                assert!(steps > sigma * (1.0 - 1e-9) && steps < sigma * (1.0 + 1e-6), "{e}: {steps} {sigma}");
                assert!(steps > without * 1.0005, "{e}: {steps} {without}");
                assert_eq!(mechanism.guarantee().delta_value(), factor * slack);
                let PrivacyLoss::Gaussian { rho, total_variation } = mechanism.privacy_loss() else { panic!() };
                assert_eq!(total_variation.value(), entries / (1u64 << 59) as f64);
                assert!((rho.value() * sigma * sigma - 1.0).abs() < 1e-9, "{e}: {rho:?} {sigma}");
            }
            let printed = Gaussian::paper_as_printed(dimension, epsilon(e), delta(10.0 * slack)).unwrap();
            let sigma = paper_sigma(epsilon(e), delta(10.0 * slack));
            let real = gaussian_delta(sigma, COVARIANCE_SENSITIVITY, epsilon(e)).unwrap();
            let added = printed.guarantee().delta_value() - real;
            assert!((added / slack - 1.0).abs() < 1e-6, "{e}: {added} {slack}");
            assert!([printed.diagonal, printed.off_diagonal].iter().all(|lattice| 16.0 * lattice.step >= sigma));
        }
    }

    /// Each entry of the estimate is the middle of the step that its mean is in.
    #[test]
    fn debiasing_adds_half_a_step_to_the_mean() {
        let mechanism = Gaussian::new(2, epsilon(2.0), delta(1e-6), Calibration::Analytic).unwrap();
        let (on, off) = (mechanism.diagonal.step, mechanism.off_diagonal.step);
        let expected = DMatrix::from_row_slice(2, 2, &[3.0 * on, -1.5 * off, -1.5 * off, 0.5 * on]);
        assert!((mechanism.debias(&[10, -8, 0], 4) - &expected).amax() < 1e-14);
        assert_eq!(mechanism.sums_of_mean(&expected, 4), [10, -8, 0]);
        // A rounded normal variable of 16 steps has the variance of the normal one and that of rounding.
        assert!((mechanism.diagonal_deviation() / on - (256.0f64 + 1.0 / 12.0).sqrt()).abs() < 1e-12);
        assert!((mechanism.entry_deviation() / off - (256.0f64 + 1.0 / 12.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn analytic_noise_is_isotropic_and_reaches_the_guarantee() {
        for (e, d) in [(0.5, 1e-6), (1.0, 1e-6), (4.0, 1e-6), (8.0, 1e-9)] {
            let mechanism = Gaussian::new(10, epsilon(e), delta(d), Calibration::Analytic).unwrap();
            let smallest =
                (16.0 * mechanism.diagonal.step).min(16.0 * mechanism.off_diagonal.step * core::f64::consts::SQRT_2);
            assert!(gaussian_delta(smallest * (1.0 + 1e-14), COVARIANCE_SENSITIVITY, epsilon(e)).unwrap() <= d);
            assert_eq!(mechanism.guarantee().delta_value(), d);
            assert_eq!(mechanism.payload_bytes(), 55);
        }
    }

    #[test]
    fn the_calibration_of_the_paper_states_what_it_really_gives() {
        let refused = Gaussian::new(4, epsilon(2.0), delta(1e-4), Calibration::Paper).unwrap_err();
        assert!(refused.to_string().contains("5.0e-4"), "{refused}");
        let mechanism = Gaussian::new(4, epsilon(1.0), delta(1e-4), Calibration::Paper).unwrap();
        assert!(mechanism.guarantee().delta_value() > 1e-4);
        let printed = Gaussian::paper_as_printed(4, epsilon(4.0), delta(1e-4)).unwrap();
        assert!((printed.guarantee().delta_value() / 2.4e-3 - 1.0).abs() < 0.03);
        assert!((printed.entry_deviation().powi(2) / 1.18 - 1.0).abs() < 0.01, "table of the design: 2.36 / 2");
    }

    #[test]
    fn parameters_outside_the_grid_are_refused() {
        assert!(Gaussian::new(0, epsilon(1.0), delta(1e-6), Calibration::Analytic).is_err());
        assert!(Gaussian::new(4, epsilon(1e-9), delta(1e-9), Calibration::Analytic).is_err());
        assert!(Gaussian::new(4, epsilon(1e6), delta(1e-6), Calibration::Analytic).is_err());
        assert!(Lattice::new(1e9).is_err() && Lattice::new(1e-6).is_err());
    }

    #[test]
    fn the_remedies_for_a_delta_below_the_samplers_error_exist_and_help() {
        let refused = |dimension, e, d| {
            let error = Gaussian::new(dimension, epsilon(e), delta(d), Calibration::Analytic).unwrap_err();
            error.to_string().split_once("at this dimension: ").unwrap().1.to_owned()
        };
        let number = |text: &str, before: &str| -> f64 {
            text.split_once(before).unwrap().1.split(',').next().unwrap().parse().unwrap()
        };
        let (raise, lower) = ("raise delta to at least ", "lower epsilon to at most ");
        for (dimension, e, d) in [(40, 100.0, 1e-6), (40, 30.0, 1e-6), (1000, 1.0, 1e-12), (4, 1e3, 1e-6)] {
            let said = refused(dimension, e, d);
            assert_eq!(said.contains(raise), e < 100.0, "{said}");
            if e < 100.0 {
                assert!(Gaussian::analytic(dimension, epsilon(e), delta(number(&said, raise))).is_ok(), "{said}");
            }
            assert_eq!(said.contains(lower), d > 1e-12, "{said}");
            if d > 1e-12 {
                let most = number(&said, lower);
                assert!(Gaussian::analytic(dimension, epsilon(most), delta(d)).is_ok(), "{said}");
                assert!(Gaussian::analytic(dimension, epsilon(most + 0.01), delta(d)).is_err(), "{said}");
            }
        }
        assert_eq!(refused(40, 100.0, 1e-19), "lower epsilon to at most 19.67 and raise delta to at least 0.000001");
        assert!(Gaussian::analytic(40, epsilon(19.67), delta(1e-6)).is_ok());
        assert!(refused(4, 1.0, 1e-19).starts_with(raise));
        // Twice the error of the sampler would be enough, if the noise fitted the grid.
        assert_eq!(refused(4, 1e-17, 1e-300), "raise delta to at least 0.000001");
        assert!(Gaussian::analytic(4, epsilon(1e-17), delta(1e-6)).is_ok());
    }

    /// Beyond what the narrow sums hold and beyond one part, at both ends of the range.
    #[test]
    fn sums_of_extreme_payloads_are_exact() {
        for (e, dimension, count) in [(2.0, 130, 600), (20.0, 2, 66_000)] {
            let mechanism = Gaussian::new(dimension, epsilon(e), delta(1e-6), Calibration::Analytic).unwrap();
            let entries = triangle(dimension);
            let (least, most) = match mechanism.width {
                1 => (vec![0x80], vec![0x7f]),
                _ => (vec![0, 0x80], vec![0xff, 0x7f]),
            };
            for (value, pattern) in
                [(-i64::from(mechanism.largest_entry()), least), (i64::from(mechanism.largest_entry()) - 1, most)]
            {
                let payload = pattern.repeat(entries);
                let payloads = vec![(ReportId::new([0; 16]), &payload[..]); count];
                let mut sums = vec![1; entries];
                mechanism.accumulate_with_threads(&[0; 16], &payloads, &mut sums, NonZeroUsize::new(2).unwrap());
                assert!(sums.iter().all(|&sum| sum == 1 + value * count as i64), "eps {e} {value}");
            }
        }
    }

    /// 2 deviations of an entry times sqrt(d / n).
    #[test]
    fn the_edge_of_the_noise_is_that_of_the_semicircle() {
        for (dimension, records, edge) in [(4, 16, 1.0), (9, 1, 6.0), (1, 100, 0.2)] {
            let mechanism = Gaussian::new(dimension, epsilon(1.0), delta(1e-6), Calibration::Analytic).unwrap();
            let expected = edge * mechanism.entry_deviation();
            assert!((mechanism.noise_edge(records) / expected - 1.0).abs() < 1e-12, "{dimension} {records}");
        }
    }

    /// In steps: e_1 has all on one diagonal entry, and no record more than what (e_1 + e_2) / sqrt(2) has off the
    /// diagonal, were it all there.
    #[test]
    fn the_largest_share_is_that_of_the_worst_record() {
        for calibration in [Calibration::Analytic, Calibration::Paper] {
            for e in [0.05, 1.0] {
                let mechanism = Gaussian::new(3, epsilon(e), delta(1e-6), calibration).unwrap();
                let (on, off) = (mechanism.diagonal.step, mechanism.off_diagonal.step);
                let share = |x: [f64; 3]| {
                    let entry = |i: usize, j: usize| x[i] * x[j] / if i == j { on } else { off };
                    (0..3)
                        .flat_map(|i| (i..3).map(move |j| (i, j)))
                        .map(|(i, j)| entry(i, j).powi(2))
                        .sum::<f64>()
                        .sqrt()
                };
                let half = 0.5f64.sqrt();
                let worst = share([1.0, 0.0, 0.0]).max(share([half, half, 0.0]));
                let bound = mechanism.largest_share();
                assert!(bound >= worst * (1.0 - 1e-12) && bound <= 1.5 * worst, "{calibration:?} {e}: {bound} {worst}");
            }
        }
    }
}
