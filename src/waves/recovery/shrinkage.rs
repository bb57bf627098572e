//! Loadings that are noise, moved to zero.
//!
//! A component often has next to nothing in most features. The noise of its estimate has one known deviation s in
//! every direction. The non-negative garrote at the threshold t (Breiman 1995, Gao 1998) makes of a loading x
//!
//! ```text
//! g(x) = x - t^2 / x,     0 where |x| <= t
//! ```
//!
//! and so leaves large loadings nearly as they are. What matters is the direction. Its cosine with the true component
//! is, but for a factor that t does not change, estimated by
//!
//! ```text
//! (Sum x g(x)  -  s^2 Sum g'(x)) / |g(x)|
//! ```
//!
//! whose numerator is unbiased for normal noise (Stein 1981). t is chosen for the largest of it. t = 0 is among the
//! choices, and wins where a component uses all features alike.

use nalgebra::{DMatrix, DVectorViewMut};

/// The thresholds that are tried beside 0, in deviations of the noise.
const THRESHOLDS: [f64; 12] = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0];

/// Shrinks the loadings of each column by what its noise, of the given deviation, asks for. The length of a column
/// stays as it is. Returns the thresholds, in deviations.
pub(super) fn shrink(columns: &mut DMatrix<f64>, deviations: &[f64]) -> Vec<f64> {
    columns.column_iter_mut().zip(deviations).map(|(column, deviation)| shrink_one(column, *deviation)).collect()
}

fn shrink_one(mut column: DVectorViewMut<'_, f64>, deviation: f64) -> f64 {
    let noise = deviation * deviation;
    let shrunk = |threshold: f64| {
        let square = threshold * threshold * noise;
        column.map(|x| if x * x > square { x - square / x } else { 0.0 })
    };
    let cosine = |threshold: f64| {
        let square = threshold * threshold * noise;
        let slopes: f64 = column.iter().filter(|x| **x * **x > square).map(|x| 1.0 + square / (x * x)).sum();
        let kept = shrunk(threshold);
        (column.dot(&kept) - noise * slopes) / kept.norm()
    };
    let (mut best, mut most) = (0.0, cosine(0.0));
    for threshold in THRESHOLDS {
        let found = cosine(threshold);
        // Where nothing is kept it is no number.
        if found > most {
            (best, most) = (threshold, found);
        }
    }
    if best > 0.0 {
        let kept = shrunk(best);
        column.copy_from(&(&kept * (column.norm() / kept.norm())));
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha12Rng;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;

    /// The mean squared sine of 1,000 components of d loadings after shrinking over that before, where the noise has
    /// the squared sine `error`, and the mean threshold. Ratios of these means scatter by at most 1 %.
    fn ratio(dimension: usize, error: f64, loading: impl Fn(usize, &mut ChaCha12Rng) -> f64) -> (f64, f64) {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let (mut before, mut after, mut thresholds) = (0.0, 0.0, 0.0);
        for _ in 0..1000 {
            let truth = DMatrix::from_fn(dimension, 1, |index, _| loading(index, &mut rng)).normalize();
            let deviation = (error / (dimension - 1) as f64).sqrt();
            let noise = DMatrix::from_fn(dimension, 1, |_, _| deviation * rng.sample::<f64, _>(StandardNormal));
            let mut found = &truth + &noise - &truth * truth.dot(&noise);
            let sine = |found: &DMatrix<f64>| 1.0 - truth.dot(found).powi(2) / found.norm_squared();
            let length = found.norm();
            before += sine(&found);
            thresholds += shrink(&mut found, &[deviation])[0] / 1000.0;
            assert!((found.norm() / length - 1.0).abs() < 1e-12);
            after += sine(&found);
        }
        (after / before, thresholds)
    }

    #[test]
    fn a_component_of_few_features_loses_most_of_its_error() {
        for error in [0.002, 0.02, 0.3] {
            let (ratio, threshold) =
                ratio(116, error, |index, rng| if index < 12 { rng.sample(StandardNormal) } else { 0.0 });
            assert!(ratio < 0.35 && threshold > 1.0, "{error} {ratio} {threshold}");
        }
    }

    #[test]
    fn a_component_of_all_features_gains_little_error() {
        for (dimension, error, most) in [(12, 0.02, 1.07), (40, 0.02, 1.04), (40, 0.3, 1.08), (116, 0.3, 1.05)] {
            let (ratio, threshold) = ratio(dimension, error, |_, rng| rng.sample(StandardNormal));
            assert!(ratio < most && threshold < 1.5, "{dimension} {error} {ratio} {threshold}");
        }
        let (ratio, threshold) = ratio(40, 0.1, |_, _| 1.0);
        assert!(ratio < 1.01 && threshold < 0.2, "{ratio} {threshold}");
    }

    #[test]
    fn degenerate_columns_stay_finite() {
        for (value, deviation) in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1e-3, 1.0), (1e150, 1e-150), (1.0, 1e200)] {
            let mut column = DMatrix::from_element(7, 1, value);
            let thresholds = shrink(&mut column, &[deviation]);
            assert!(column.iter().all(|x| (x - value).abs() <= 1e-12 * value), "{value} {deviation}");
            assert_eq!(thresholds, [0.0], "{value} {deviation}: all loadings are the same");
        }
    }
}
