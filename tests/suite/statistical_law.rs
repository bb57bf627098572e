//! The laws of whole reports, above two dimensions: norms, projections, rotations and variances.
//!
//! Kolmogorov-Smirnov statistics times sqrt(n) are compared with 2.3, which each exceeds with probability below
//! 2 exp(-2 × 2.3^2) = 5.1e-5: one false alarm in 500 new seeds for the 40 of them here.

use chacha20::ChaCha12Rng;
use ldp_pca::internal::mechanism::{Moments, Perturbation, triangle};
use ldp_pca::mechanism::{Calibration, DoubleCap, Gaussian, LocalRandomizer};
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::report::ReportId;
use nalgebra::{DMatrix, DVector};
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::StandardNormal;

use crate::support::{delta, epsilon};

const DIMENSION: usize = 6;
const REPORTS: usize = 30_000;
const LARGEST_STATISTIC: f64 = 2.3;

fn gaussian() -> Gaussian {
    Gaussian::new(DIMENSION, epsilon(1.0), delta(1e-6), Calibration::Analytic).unwrap()
}

/// The standard deviation of the noise on the diagonal.
fn diagonal_deviation(mechanism: &Gaussian) -> f64 {
    let Perturbation::Additive { diagonal, .. } = mechanism.perturbation() else { panic!("it adds noise") };
    diagonal
}

fn dense_record() -> BoundedRecord {
    BoundedRecord::new(vec![0.5, -0.1, 0.0, 0.7, 0.2, -0.4], Bounding::UnitNorm).unwrap()
}

/// The noise of one debiased report beside the record's contribution, for many reports.
fn errors(
    mechanism: &(impl LocalRandomizer + Moments),
    record: &BoundedRecord,
    reports: usize,
    seed: u64,
) -> Vec<DMatrix<f64>> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let x = DVector::from_row_slice(record.coordinates());
    let expected = &x * x.transpose();
    (0..reports)
        .map(|_| {
            let mut id = [0; 16];
            rng.fill_bytes(&mut id);
            let id = ReportId::new(id);
            let payload = mechanism.randomize_with_rng(record, &[0; 16], id, &mut rng).unwrap();
            let mut sums = vec![0; triangle(mechanism.state_dimension())];
            mechanism.accumulate(&[0; 16], &[(id, &payload)], &mut sums);
            mechanism.debias(&sums, 1) - &expected
        })
        .collect()
}

/// The Kolmogorov-Smirnov statistic times sqrt(n).
fn distance(mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let gap = |(i, &x): (usize, &f64)| (cdf(x) - i as f64 / n).abs().max((cdf(x) - (i + 1) as f64 / n).abs());
    values.iter().enumerate().map(gap).fold(0.0, f64::max) * n.sqrt()
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2)
}

/// For odd degrees of freedom, by the recursion of the incomplete gamma function.
fn chi_square_cdf(x: f64, degrees: usize) -> f64 {
    assert!(degrees % 2 == 1);
    let mut upper = libm::erfc((0.5 * x).sqrt());
    for k in (1..degrees).step_by(2) {
        let half = 0.5 * k as f64;
        upper += (half * (0.5 * x).ln() - 0.5 * x - libm::lgamma(half + 1.0)).exp();
    }
    1.0 - upper
}

/// A symmetric matrix of Frobenius norm one, uniform over all of them.
fn random_direction(rng: &mut ChaCha12Rng) -> DMatrix<f64> {
    let square = DMatrix::<f64>::from_fn(DIMENSION, DIMENSION, |_, _| rng.sample(StandardNormal));
    let symmetric = &square + square.transpose();
    &symmetric / symmetric.norm()
}

/// Its squared norm is chi-square, its projections are normal, and `R E R^T` has the law of E for every rotation R:
/// each rotated entry is normal with the deviation of its place.
#[test]
fn gaussian_noise_has_one_law_in_every_direction() {
    let mechanism = gaussian();
    let unit = diagonal_deviation(&mechanism);
    let noise = errors(&mechanism, &dense_record(), REPORTS, 5);
    let norms = noise.iter().map(|e| e.norm_squared() / unit.powi(2)).collect();
    let found = distance(norms, |x| chi_square_cdf(x, triangle(DIMENSION)));
    assert!(found < LARGEST_STATISTIC, "{found}");
    let mut rng = ChaCha12Rng::seed_from_u64(4);
    for _ in 0..16 {
        let direction = random_direction(&mut rng);
        let found = distance(noise.iter().map(|e| direction.dot(e) / unit).collect(), normal_cdf);
        assert!(found < LARGEST_STATISTIC, "{found} along {direction}");
    }
    let rotation = DMatrix::<f64>::from_fn(DIMENSION, DIMENSION, |_, _| rng.sample(StandardNormal)).qr().q();
    let noise: Vec<_> = noise.into_iter().map(|e| &rotation * e * rotation.transpose()).collect();
    for i in 0..DIMENSION {
        for j in i..DIMENSION {
            let deviation = if i == j { unit } else { mechanism.entry_deviation() };
            let found = distance(noise.iter().map(|e| e[(i, j)] / deviation).collect(), normal_cdf);
            assert!(found < LARGEST_STATISTIC, "{found} for entry {i},{j}");
        }
    }
    // Entries of one rotated report are uncorrelated: 4.9 standard errors, one false alarm in 1e6.
    let mean: f64 = noise.iter().map(|e| e[(0, 0)] * e[(1, 1)]).sum::<f64>() / REPORTS as f64;
    let error = mean / unit.powi(2) * (REPORTS as f64).sqrt();
    assert!(error.abs() < 4.9, "{error}");
}

/// The paper's noise is larger off the diagonal: the rotation test would tell.
#[test]
fn the_noise_of_the_paper_is_not_invariant_under_rotations() {
    let mechanism = Gaussian::new(DIMENSION, epsilon(1.0), delta(1e-6), Calibration::Paper).unwrap();
    let direction = DMatrix::from_element(DIMENSION, DIMENSION, 1.0 / DIMENSION as f64);
    let noise = errors(&mechanism, &dense_record(), REPORTS, 6);
    let found = distance(noise.iter().map(|e| direction.dot(e) / diagonal_deviation(&mechanism)).collect(), normal_cdf);
    assert!(found > 4.0 * LARGEST_STATISTIC, "{found}");
}

/// Mean square over all entries of one kind.
fn variance(noise: &[DMatrix<f64>], entries: impl Iterator<Item = (usize, usize)> + Clone) -> f64 {
    let squares: f64 = noise.iter().map(|e| entries.clone().map(|entry| e[entry].powi(2)).sum::<f64>()).sum();
    squares / (noise.len() * entries.count()) as f64
}

/// 1 % is five standard errors on the diagonal, eight off it, and a mean may be off by 4.9 of them: one false alarm in
/// 1e4 for 63 means. The last mechanism writes two bytes for an entry, the others one.
#[test]
fn reports_of_the_gaussian_mechanism_are_unbiased_with_the_stated_variance() {
    for (calibration, e) in [(Calibration::Analytic, 0.5), (Calibration::Paper, 0.5), (Calibration::Analytic, 20.0)] {
        let mechanism = Gaussian::new(DIMENSION, epsilon(e), delta(1e-6), calibration).unwrap();
        let noise = errors(&mechanism, &dense_record(), 85_000, 7);
        let off = (0..DIMENSION).flat_map(|i| (i + 1..DIMENSION).map(move |j| (i, j)));
        let on = (0..DIMENSION).map(|i| (i, i));
        for (entries, deviation) in [
            (off.collect::<Vec<_>>(), mechanism.entry_deviation()),
            (on.collect::<Vec<_>>(), diagonal_deviation(&mechanism)),
        ] {
            let ratio = variance(&noise, entries.iter().copied()) / deviation.powi(2);
            assert!((ratio - 1.0).abs() < 0.01, "{calibration:?} {e}: {ratio}");
            for entry in entries {
                let sum = noise.iter().map(|errors| errors[entry]).sum::<f64>() / deviation;
                assert!(sum.abs() < 4.9 * (noise.len() as f64).sqrt(), "{calibration:?} {e} {entry:?}: {sum}");
            }
        }
    }
}

/// For the record e_1, across it and between it and another coordinate. 1 % is more than three and a half standard
/// errors of either.
#[test]
fn entry_variance_of_double_cap_is_the_stated_one_within_a_percent() {
    let mechanism = DoubleCap::new(DIMENSION, epsilon(2.0), 32, 4).unwrap();
    let mut values = vec![0.0; DIMENSION];
    values[0] = 1.0;
    let record = BoundedRecord::new(values, Bounding::UnitNorm).unwrap();
    let noise = errors(&mechanism, &record, 200_000, 8);
    let across = variance(&noise, (1..DIMENSION).flat_map(|i| (i + 1..DIMENSION).map(move |j| (i, j))));
    let along = variance(&noise, (1..DIMENSION).map(|j| (0, j)));
    let across = across / mechanism.entry_deviation().powi(2);
    let along = along / mechanism.deviation_beside(1.0).powi(2);
    assert!((across - 1.0).abs() < 0.01, "{across}");
    assert!((along - 1.0).abs() < 0.01, "{along}");
}
