//! Figures of simulated collections against their predictions. All seeds are fixed, so a failure is a change, not bad
//! luck; the bands say how rarely a right implementation with other seeds would leave them.

use chacha20::ChaCha12Rng;
use ldp_pca::internal::mechanism::Moments as _;
use ldp_pca::mechanism::{Mechanism, MechanismSpec};
use ldp_pca::record::Bounding;
use ldp_pca::recovery::Rank;
use ldp_pca_simulation::{RecoveryMethod, Reports, SpikedModel, SpikedSpectrum, Trial};
use rand::SeedableRng;

use crate::support::{double_cap, gaussian};

const TRIALS: u64 = 5;

struct Setting {
    dimension: usize,
    rank: usize,
    records: u64,
}

const SIGNAL: f64 = 20.0;

impl Setting {
    fn mechanism(&self, spec: MechanismSpec) -> Mechanism {
        spec.build(self.dimension, Bounding::UnitNorm).unwrap()
    }

    fn mean_error(&self, spec: MechanismSpec) -> f64 {
        let (rank, mechanisms) = (Rank::new(self.rank).unwrap(), &[self.mechanism(spec)]);
        let error = |stream| {
            let mut rng = ChaCha12Rng::seed_from_u64(1);
            rng.set_stream(stream);
            let population = SpikedModel::draw(self.dimension, rank, SIGNAL, None, &mut rng).unwrap();
            let (records, reports) = (self.records, Reports::Randomized);
            let trial = Trial { population: &population, mechanisms, records, rank, reports, centring: None };
            trial.run(&[RecoveryMethod::Pca], &mut rng, |_| {}).unwrap().by_mechanism[0][0].sin_theta_squared
        };
        (0..TRIALS).map(error).sum::<f64>() / TRIALS as f64
    }

    /// `k tau^2 (d - k) / theta^2` with `tau^2 = entry variance × (1 + gain lambda) / n`: the noise of double-cap is
    /// larger along the record.
    fn predicted_error(&self, entry_deviation: f64, gain: f64) -> f64 {
        let (k, d) = (self.rank as f64, self.dimension as f64);
        let SpikedSpectrum { signal: lambda, bulk } =
            SpikedSpectrum::new(self.dimension, Rank::new(self.rank).unwrap(), SIGNAL).unwrap();
        let variance = entry_deviation.powi(2) * (1.0 + gain * lambda) / self.records as f64;
        k * variance * (d - k) / (lambda - bulk).powi(2)
    }
}

const DOCUMENTED: Setting = Setting { dimension: 40, rank: 3, records: 20_000 };

/// The documented command, `simulate --epsilon 2 --trials 5` with its default seed, and its band of 0.10 to 0.15. First
/// order predicts 0.136; 60 trials have mean 0.135 and standard deviation 0.019, so the mean of five strays by 6 %.
#[test]
fn double_cap_has_the_documented_error() {
    let error = DOCUMENTED.mean_error(double_cap(2.0));
    assert!((0.10..=0.15).contains(&error), "{error}");
    let mechanism = DOCUMENTED.mechanism(double_cap(2.0));
    let gain = mechanism.entry_deviation().recip();
    let predicted = DOCUMENTED.predicted_error(mechanism.entry_deviation(), gain);
    assert!((0.75..1.25).contains(&(error / predicted)), "measured {error}, predicted {predicted}");
}

/// The documented command with `--mechanism gaussian`, and its band of 0.8 to 1.1. First order predicts 0.955; 60
/// trials have mean 1.04 (a third of k is not a small error) and standard deviation 0.26, so the mean of five strays by
/// 11 %: other seeds often leave the band, this one must not.
#[test]
fn gaussian_has_the_documented_error_and_loses_to_double_cap() {
    let error = DOCUMENTED.mean_error(gaussian(2.0));
    assert!((0.8..=1.1).contains(&error), "{error}");
    let predicted = DOCUMENTED.predicted_error(DOCUMENTED.mechanism(gaussian(2.0)).entry_deviation(), 0.0);
    assert!((0.7..1.5).contains(&(error / predicted)), "measured {error}, predicted {predicted}");
    assert!(error > 4.0 * DOCUMENTED.mean_error(double_cap(2.0)), "the variances differ by a factor of nine");
}
