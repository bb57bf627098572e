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
//! `floor` shifts the mean by half a step (undone in [`debias`](LocalRandomizer::debias)) and adds step^2/12 to the
//! variance, 0.03 %. The residual bias of rounding a Gaussian of 16 steps is below 10^-2000 steps; that of clamping
//! below 10^-9 standard deviations, since the payload's width leaves 6 of them on both sides.

use core::num::NonZeroUsize;
use core::ops::Range;

use nalgebra::DMatrix;
use rand::rand_core::TryCryptoRng;
use serde::Serialize;

use super::pull::{Check, Pull};
use super::{LocalRandomizer, MechanismError, PayloadError, RangeCheck, parallel, triangle};
use crate::privacy::calibration::{
    COVARIANCE_SENSITIVITY, analytic_gaussian_sigma, gaussian_delta, gaussian_rho, paper_sigma,
};
use crate::privacy::composition::{PrivacyLoss, TotalVariation};
use crate::privacy::{Delta, Epsilon, Guarantee};
use crate::record::BoundedRecord;
use crate::report::ReportId;
use crate::sampling::gaussian::{self, Deviate, STEPS_PER_SIGMA, TOTAL_VARIATION, WORDS_PER_DEVIATE};
use crate::sampling::{EntropyError, bits::Bits};
use crate::schema::MAX_DIMENSION;

/// How the noise scale follows from epsilon and delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calibration {
    /// The smallest scale that is private, for every epsilon (Balle & Wang 2018), isotropic in Frobenius geometry.
    Analytic,
    /// The scale and the shape printed by Wang & Xu (2019). Its [`Guarantee`] states the delta it really has, which from
    /// epsilon = 1 on is more than the one it is computed from; a task may use it up to epsilon = 1.
    Paper,
}

/// The Gaussian mechanism for one task.
#[derive(Clone, Debug)]
pub struct Gaussian {
    dimension: usize,
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
            return Err(MechanismError::DeltaBelowSampler { delta: delta.value(), error: slack });
        }
        let sigma = analytic_gaussian_sigma(epsilon, Delta::new(delta.value() - slack)?, COVARIANCE_SENSITIVITY)?;
        // Rounded up, so that sqrt(2) times the off-diagonal deviation is not below sigma.
        let off_diagonal = (sigma * core::f64::consts::FRAC_1_SQRT_2).next_up().next_up();
        Self::with_deviations(dimension, Guarantee::local(epsilon, Some(delta)), sigma, off_diagonal)
    }

    /// The paper's mechanism at any epsilon, to compare with. Its guarantee is the (epsilon, delta) that it really
    /// gives.
    ///
    /// # Errors
    /// [`MechanismError`] for parameters outside the range of the integer grid.
    pub fn paper_as_printed(dimension: usize, epsilon: Epsilon, delta: Delta) -> Result<Self, MechanismError> {
        let sigma = paper_sigma(epsilon, delta);
        let slack = sampler_slack(dimension, epsilon)?;
        let real = gaussian_delta(sigma, COVARIANCE_SENSITIVITY, epsilon)? + slack;
        Self::with_deviations(dimension, Guarantee::local(epsilon, Some(Delta::new(real)?)), sigma, sigma)
    }

    fn with_deviations(
        dimension: usize,
        guarantee: Guarantee,
        diagonal: f64,
        off_diagonal: f64,
    ) -> Result<Self, MechanismError> {
        let diagonal_deviation = diagonal;
        let diagonal = Lattice::new(diagonal)?;
        let off_diagonal = Lattice::new(off_diagonal)?;
        // Entries of x x^T are at most 1 on the diagonal and 1/2 off it; one byte leaves 6 standard deviations beside
        // 32 steps.
        let largest = (1.0 / diagonal.step).max(0.5 / off_diagonal.step);
        let width = if largest <= 32.0 { 1 } else { 2 };
        Ok(Self { dimension, guarantee, loss: loss(dimension, diagonal_deviation)?, diagonal, off_diagonal, width })
    }

    /// The sums of `records` reports that [`debias`](LocalRandomizer::debias) turns into `mean`, to half an integer.
    pub(crate) fn sums_of_mean(&self, mean: &DMatrix<f64>, records: u64) -> Vec<i64> {
        let of_entry = |row: usize, column: usize| {
            let step = if row == column { self.diagonal.step } else { self.off_diagonal.step };
            ((mean[(row, column)] / step - 0.5) * records as f64).round() as i64
        };
        (0..self.dimension).flat_map(|row| (row..self.dimension).map(move |column| of_entry(row, column))).collect()
    }

    /// Entries of a payload and the bytes of each.
    pub(super) fn entries_and_width(&self) -> (usize, usize) {
        (triangle(self.dimension), self.width)
    }

    /// The largest Euclidean norm of a record's share in a payload, in steps.
    pub(super) fn largest_share(&self) -> f64 {
        (1.0 / self.diagonal.step).max(core::f64::consts::FRAC_1_SQRT_2 / self.off_diagonal.step)
    }

    /// Standard deviation of the noise on a diagonal entry of one debiased report.
    #[must_use]
    pub fn diagonal_deviation(&self) -> f64 {
        self.diagonal.deviation()
    }
}

/// The loss of noise that has standard deviation at least `sigma` in every direction of Frobenius geometry, with the
/// sampler's total variation over all entries (that of a product of laws is at most the sum).
fn loss(dimension: usize, sigma: f64) -> Result<PrivacyLoss, MechanismError> {
    Ok(PrivacyLoss::Gaussian {
        rho: gaussian_rho(sigma, COVARIANCE_SENSITIVITY)?,
        total_variation: TotalVariation::new(triangle(dimension) as f64 * TOTAL_VARIATION)?,
    })
}

/// What the sampler's total variation over all entries adds to delta: (1 + e^epsilon) × entries × its bound.
fn sampler_slack(dimension: usize, epsilon: Epsilon) -> Result<f64, MechanismError> {
    if dimension == 0 || dimension > MAX_DIMENSION {
        return Err(MechanismError::Dimension(dimension));
    }
    Ok((1.0 + libm::exp(epsilon.value())) * triangle(dimension) as f64 * TOTAL_VARIATION)
}

/// Integer units of a record: 2^-20.
const RECORD_BITS: u32 = 20;

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

/// Rounds towards zero to integers at 2^-20 and makes sure that the integer vector is in the ball of radius 2^20.
fn quantise(coordinates: &[f64]) -> Vec<i64> {
    let mut quantised: Vec<i64> =
        coordinates.iter().map(|&coordinate| (coordinate * f64::from(1 << RECORD_BITS)) as i64).collect();
    // A norm that rounding left a hair above one: step by step back into the ball. It takes a handful of steps at the
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

/// Adds what `add` makes of the bytes at `range` of each payload: first to narrow integers, which hold the sum of
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
    ) -> Result<Vec<u8>, EntropyError> {
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

    fn check(&self, _payload: &[u8]) -> Result<(), PayloadError> {
        // Every payload of the right length is one that noise can produce.
        Ok(())
    }

    fn state_dimension(&self) -> usize {
        self.dimension
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

    fn debias(&self, sums: &[i64], records: u64) -> DMatrix<f64> {
        let mut matrix = DMatrix::zeros(self.dimension, self.dimension);
        let mut sums = sums.iter();
        for row in 0..self.dimension {
            for (column, &sum) in (row..self.dimension).zip(&mut sums) {
                let step = if row == column { self.diagonal.step } else { self.off_diagonal.step };
                let mean = (sum as f64 / records as f64 + 0.5) * step;
                matrix[(row, column)] = mean;
                matrix[(column, row)] = mean;
            }
        }
        matrix
    }

    fn entry_deviation(&self) -> f64 {
        self.off_diagonal.deviation()
    }

    fn deviation_beside(&self, _energy: f64) -> f64 {
        self.entry_deviation()
    }

    fn noise_edge(&self, records: u64) -> f64 {
        // The semicircle law of a symmetric matrix with independent entries (Wigner 1958).
        2.0 * self.entry_deviation() * (self.dimension as f64 / records as f64).sqrt()
    }

    fn pull(&self) -> Pull {
        // The proof is in `pull`. Both ends of the range are equally far from what stands for nothing.
        let (on, off) = (self.diagonal.step, self.off_diagonal.step);
        let end = f64::from(self.largest_entry()) - 0.5;
        let any = end * (on + (self.dimension - 1) as f64 * off);
        let in_range = RangeCheck::of(self).largest_norm() * on.max(core::f64::consts::SQRT_2 * off);
        // No record has a longer share than 1.
        Pull::new(any + 1.0, in_range + 1.0, Check::RangeCheck)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::{delta, epsilon};
    use crate::record::Bounding;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    fn unit(values: &[f64]) -> BoundedRecord {
        BoundedRecord::new(values.to_vec(), Bounding::UnitNorm).unwrap()
    }

    #[test]
    fn quantised_records_are_in_the_ball_exactly_and_close() {
        let rows: [&[f64]; 5] = [&[1.0], &[0.6, 0.8], &[1.0, 1.0, 1.0], &[1e-9, -1.0], &[-0.1; 400]];
        for row in rows {
            let record = unit(row);
            let quantised = quantise(record.coordinates());
            assert!(quantised.iter().map(|x| x * x).sum::<i64>() <= 1 << 40, "{row:?}");
            for (x, q) in record.coordinates().iter().zip(&quantised) {
                assert!((x * f64::from(1 << 20) - *q as f64).abs() <= 1.001, "{x} {q}");
            }
        }
        assert_eq!(quantise(&[1.0 + 4e-16, 0.0]), [1 << 20, 0]);
        assert_eq!(quantise(&[1.1, 0.0]), [1 << 20, 0]);
    }

    #[test]
    fn sixteen_steps_are_never_less_than_the_deviation_asked_for() {
        for exponent in -20..40 {
            let sigma = 1.37f64.powi(exponent);
            let Ok(lattice) = Lattice::new(sigma) else { continue };
            assert!(16.0 * lattice.step >= sigma && 16.0 * lattice.step < sigma * 1.01, "{sigma} {lattice:?}");
            // The largest product does not overflow, and its carry arithmetic is exact.
            let value = lattice.noisy_floor(1 << 40, Deviate { cell: 0, fraction: 0 });
            assert!((value as f64 - (1.0 / lattice.step).floor()).abs() <= 1.0);
            let negative = lattice.noisy_floor(-(1 << 39), Deviate { cell: 0, fraction: 0 });
            assert!((negative as f64 - (-0.5 / lattice.step).floor()).abs() <= 1.0);
        }
        assert!(Lattice::new(1e9).is_err());
        assert!(Lattice::new(1e-6).is_err());
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
        let small = Gaussian::new(1000, epsilon(1.0), delta(1e-13), Calibration::Analytic).unwrap_err();
        assert!(matches!(small, MechanismError::DeltaBelowSampler { .. }), "{small}");
    }

    /// Mean and variance of every entry over 40,000 reports, at 4.9 standard errors: one false alarm in 1e5 for 20
    /// figures.
    #[test]
    fn reports_are_unbiased_with_the_stated_variance() {
        let (n, d) = (40_000u64, 4);
        for (e, width) in [(2.0, 1), (20.0, 2)] {
            let mechanism = Gaussian::new(d, epsilon(e), delta(1e-6), Calibration::Analytic).unwrap();
            assert_eq!(mechanism.width, width);
            let mut rng = ChaCha8Rng::seed_from_u64(11);
            let record = unit(&[0.5, -0.1, 0.0, 0.7]);
            let mut sums = vec![0i64; triangle(d)];
            let mut squares = DMatrix::<f64>::zeros(d, d);
            let id = ReportId::new([0; 16]);
            let expected = {
                let x = nalgebra::DVector::from_row_slice(record.coordinates());
                &x * x.transpose()
            };
            for _ in 0..n {
                let payload = mechanism.randomize_with_rng(&record, &[0; 16], id, &mut rng).unwrap();
                let mut one = vec![0i64; triangle(d)];
                mechanism.accumulate(&[0; 16], &[(id, &payload)], &mut one);
                squares += (mechanism.debias(&one, 1) - &expected).map(|error| error * error);
                sums.iter_mut().zip(one).for_each(|(sum, value)| *sum += value);
            }
            let mean = mechanism.debias(&sums, n);
            for i in 0..d {
                for j in 0..d {
                    let deviation = if i == j { mechanism.diagonal_deviation() } else { mechanism.entry_deviation() };
                    let error = (mean[(i, j)] - expected[(i, j)]) / deviation * (n as f64).sqrt();
                    assert!(error.abs() < 4.9, "eps {e} entry {i},{j} is off by {error} standard errors");
                    let ratio = squares[(i, j)] / n as f64 / (deviation * deviation);
                    assert!((ratio - 1.0).abs() < 4.9 * (2.0 / n as f64).sqrt(), "eps {e} variance ratio {ratio}");
                }
            }
        }
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

    #[test]
    fn a_failing_source_gives_an_error_and_no_payload() {
        let mechanism = Gaussian::new(100, epsilon(1.0), delta(1e-6), Calibration::Analytic).unwrap();
        let mut source = crate::sampling::bits::tests::FailingSource { left: 70_000 };
        let record = unit(&[1.0; 100]);
        assert!(mechanism.randomize_with_rng(&record, &[0; 16], ReportId::new([0; 16]), &mut source).is_err());
    }
}
