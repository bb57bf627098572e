//! The documented command, `simulate --epsilon 2 --trials 5` with its default seed. All seeds are fixed, so a failure
//! is a change, not bad luck; the bands say how rarely a right implementation with other seeds would leave them.

use chacha20::ChaCha12Rng;
use ldp_pca::internal::mechanism::Moments as _;
use ldp_pca::mechanism::MechanismSpec;
use ldp_pca::record::Bounding;
use ldp_pca::recovery::Rank;
use ldp_pca_simulation::{RecoveryMethod, Reports, SpikedModel, SpikedSpectrum, Trial};
use rand::SeedableRng;

use crate::support::{double_cap, gaussian};

const DIMENSION: usize = 40;
const RECORDS: u64 = 20_000;
const SIGNAL: f64 = 20.0;
const TRIALS: u64 = 5;

/// The mean error of the trials, and that of first order: `k tau^2 (d - k) / theta^2` with `tau^2 = sigma (sigma +
/// along × lambda) / n` and sigma the deviation of an entry. The noise of double-cap is larger along the record.
fn measured_and_predicted(spec: MechanismSpec, along: f64) -> [f64; 2] {
    let rank = Rank::new(3).unwrap();
    let mechanisms = &[spec.build(DIMENSION, Bounding::UnitNorm).unwrap()];
    let error = |stream| {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        rng.set_stream(stream);
        let population = SpikedModel::draw(DIMENSION, rank, SIGNAL, None, &mut rng).unwrap();
        let (records, reports) = (RECORDS, Reports::Randomized);
        let trial = Trial { population: &population, mechanisms, records, rank, reports, centring: None };
        trial.run(&[RecoveryMethod::Pca], &mut rng, |_| {}).unwrap().by_mechanism[0][0].sin_theta_squared
    };
    let SpikedSpectrum { signal: lambda, bulk } = SpikedSpectrum::new(DIMENSION, rank, SIGNAL).unwrap();
    let (k, d, deviation) = (rank.value() as f64, DIMENSION as f64, mechanisms[0].entry_deviation());
    let variance = deviation * (deviation + along * lambda) / RECORDS as f64;
    [(0..TRIALS).map(error).sum::<f64>() / TRIALS as f64, k * variance * (d - k) / (lambda - bulk).powi(2)]
}

/// Of double-cap, first order predicts 0.136; 60 trials have mean 0.135 and standard deviation 0.019, so the mean of
/// five strays by 6 %. With `--mechanism gaussian` it predicts 0.955; 60 trials have mean 1.04 (a third of k is not a
/// small error) and standard deviation 0.26, so the mean of five strays by 11 %: other seeds often leave the band, this
/// one must not.
#[test]
fn errors_are_the_documented_ones_near_first_order_and_those_of_double_cap_smaller() {
    let of_double_cap = (double_cap(2.0), 1.0, 0.10..=0.15, 0.75..=1.25);
    let of_gaussian = (gaussian(2.0), 0.0, 0.8..=1.1, 0.7..=1.5);
    let [of_double_cap, of_gaussian] = [of_double_cap, of_gaussian].map(|(spec, along, documented, near)| {
        let [error, predicted] = measured_and_predicted(spec, along);
        assert!(documented.contains(&error), "{spec:?}: {error}");
        assert!(near.contains(&(error / predicted)), "{spec:?}: measured {error}, predicted {predicted}");
        error
    });
    assert!(of_gaussian > 4.0 * of_double_cap, "the variances differ by a factor of nine");
}
