//! Means and variances of whole reports, above two dimensions.

use chacha20::ChaCha12Rng;
use ldp_pca::internal::mechanism::{Moments, Perturbation, triangle};
use ldp_pca::mechanism::{Calibration, DoubleCap, Gaussian, LocalRandomizer};
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::report::ReportId;
use nalgebra::{DMatrix, DVector};
use rand::{Rng, SeedableRng};

use crate::support::{delta, epsilon};

const DIMENSION: usize = 6;

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
