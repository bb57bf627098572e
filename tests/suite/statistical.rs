//! Figures of simulated collections against their predictions. All seeds are fixed, so a failure is a change, not bad
//! luck; the bands say how rarely a right implementation with other seeds would leave them.

use chacha20::ChaCha12Rng;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::mechanism::{Moments as _, Summable as _, triangle};
use ldp_pca::mechanism::{LocalRandomizer as _, Mechanism, MechanismSpec};
use ldp_pca::record::{BoundedRecord, Bounding, Radius};
use ldp_pca::recovery::Rank;
use ldp_pca::report::ReportId;
use ldp_pca::schema::Schema;
use ldp_pca::task::{Folds, Task};
use ldp_pca_simulation::{RecoveryMethod, Reports, SpikedModel, SpikedSpectrum, Trial, TrialResult};
use nalgebra::DVector;
use rand::{Rng as _, SeedableRng};

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

    fn run(&self, mechanisms: &[Mechanism]) -> Vec<TrialResult> {
        let rank = Rank::new(self.rank).unwrap();
        let trial = |stream| {
            let mut rng = ChaCha12Rng::seed_from_u64(1);
            rng.set_stream(stream);
            let population = SpikedModel::draw(self.dimension, rank, SIGNAL, None, &mut rng).unwrap();
            let (records, reports) = (self.records, Reports::Randomized);
            let trial = Trial { population: &population, mechanisms, records, rank, reports, centring: None };
            trial.run(&[RecoveryMethod::Pca], &mut rng, |_| {}).unwrap()
        };
        (0..TRIALS).map(trial).collect()
    }

    fn mean_error(&self, spec: MechanismSpec) -> f64 {
        let results = self.run(&[self.mechanism(spec)]);
        results.iter().map(|result| result.by_mechanism[0][0].sin_theta_squared).sum::<f64>() / TRIALS as f64
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

/// First order says 4. Two means of five with a relative deviation of 7 % each: their ratio has 10 %, and the band is
/// three of them on either side, and a bit.
#[test]
fn the_error_falls_like_one_over_the_number_of_records() {
    for spec in [double_cap(2.0), gaussian(4.0)] {
        let error = |records| Setting { dimension: 25, rank: 4, records }.mean_error(spec);
        let (few, many) = (error(20_000), error(80_000));
        assert!((2.7..5.5).contains(&(few / many)), "{spec:?}: {few} and {many}");
    }
}

#[test]
fn without_noise_the_error_is_that_of_sampling() {
    let setting = Setting { records: 2000, ..DOCUMENTED };
    for result in setting.run(&[]) {
        assert!(result.by_mechanism.is_empty());
        // Sampling alone: first order k (d - k) lambda bulk / theta^2 / n, about 0.003.
        assert!((1e-4..0.02).contains(&result.non_private.sin_theta_squared), "{result:?}");
    }
    let private = setting.run(&[setting.mechanism(double_cap(2.0))]);
    let errors =
        |result: &TrialResult| [result.by_mechanism[0][0], result.non_private].map(|one| one.sin_theta_squared);
    assert!(private.iter().map(errors).all(|[private, non_private]| private > non_private));
}

/// Reports that carry nothing about the entries looked at: the zero vector where it may be clipped, and otherwise e_1,
/// seen from the other coordinates. The standard deviation of 4851 or more uncorrelated entries has a relative error of
/// 1.0 %; 4.9 of these are 5 % (alpha = 1e-6).
#[test]
fn noise_without_information_has_the_stated_deviation() {
    let dimension = 100;
    let clip = Bounding::Clip { radius: Radius::new(3.0).unwrap() };
    for spec in [double_cap(1.0), double_cap(4.0), gaussian(1.0), gaussian(8.0)] {
        for bounding in [Bounding::UnitNorm, clip] {
            let task = Task::new(Schema::numeric(dimension).unwrap(), bounding, spec, Folds::new(2).unwrap()).unwrap();
            let mut features = vec![0.0; dimension];
            if bounding == Bounding::UnitNorm {
                features[0] = 1.0;
            }
            let record = task.bound(features).unwrap();
            let mut rng = ChaCha12Rng::seed_from_u64(7);
            let reports: Vec<_> =
                (0..1000).map(|_| task.randomize_with_rng(&record, None, &mut rng).unwrap()).collect();
            let mut aggregate = Aggregate::empty(&task);
            aggregate.accumulate(&task, &reports).unwrap();
            let covariance = Covariance::estimate(&aggregate, &task).unwrap();
            let entries = (1..dimension).flat_map(|row| (row + 1..dimension).map(move |column| (row, column)));
            let (count, squares) = entries
                .fold((0, 0.0), |(count, squares), entry| (count + 1, squares + covariance.matrix()[entry].powi(2)));
            let ratio = (squares / f64::from(count)).sqrt() / covariance.noise_deviation();
            assert!((0.95..1.05).contains(&ratio), "{spec:?} {bounding:?}: {ratio}");
        }
    }
}

/// The gain is computed for points of a sphere, the candidates are integers from a table of 12 bits. `u^T S u` must be
/// 1 for 1-, 2-, 4-sparse and dense records. One report gives it with a standard deviation of at most 0.75 at epsilon
/// 4; 150,000 give 0.2 %, so 1 % is five deviations.
#[test]
fn the_candidate_table_biases_no_direction_by_one_percent() {
    let rows: [&[f64]; 4] = [
        &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        &[1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0],
        &[0.0, 1.0, 1.0, 0.0, -1.0, 0.0, 0.0, 1.0],
        &[0.5, -1.0, 0.8, 0.3, 1.1, -0.7, 0.9, 0.6],
    ];
    let mechanism = double_cap(4.0).build(8, Bounding::UnitNorm).unwrap();
    std::thread::scope(|scope| {
        for row in rows {
            let mechanism = &mechanism;
            scope.spawn(move || {
                let record = BoundedRecord::new(row.to_vec(), Bounding::UnitNorm).unwrap();
                let u = DVector::from_row_slice(record.coordinates());
                let estimate = mean_estimate(mechanism, &record, 150_000);
                let along = u.dot(&(estimate * &u));
                assert!((along - 1.0).abs() < 0.01, "{row:?}: {along}");
            });
        }
    });
}

fn mean_estimate(mechanism: &Mechanism, record: &BoundedRecord, records: u64) -> nalgebra::DMatrix<f64> {
    let mut rng = ChaCha12Rng::seed_from_u64(11);
    let mut sums = vec![0; triangle(mechanism.state_dimension())];
    for _ in 0..records {
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let id = ReportId::new(id);
        let payload = mechanism.randomize_with_rng(record, &[9; 16], id, &mut rng).unwrap();
        mechanism.accumulate(&[9; 16], &[(id, &payload)], &mut sums);
    }
    mechanism.debias(&sums, records)
}
