//! Predictions and intervals for the error of the recovered subspace against simulated collections.

use std::ops::ControlFlow;

use chacha20::ChaCha12Rng;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::law::NoiseLaw;
use ldp_pca::internal::mechanism::{Moments as _, Summable as _, triangle};
use ldp_pca::internal::recovery::{Bootstrap, bootstrap};
use ldp_pca::mechanism::{LocalRandomizer as _, MechanismSpec};
use ldp_pca::prediction::predict_from_estimate;
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::recovery::{Rank, principal_components};
use ldp_pca::report::ReportId;
use ldp_pca::schema::Schema;
use ldp_pca::subspace::{Subspace, sin_theta_squared};
use ldp_pca::task::{Folds, Task};
use ldp_pca_simulation::SpikedModel;
use nalgebra::DMatrix;
use rand::{Rng as _, SeedableRng};

use crate::support::{double_cap, gaussian};

const SIGNAL: f64 = 20.0;

/// One collection: the estimate from reports that were really randomized, and the population's subspace.
fn collect(spec: MechanismSpec, rank: Rank, records: u64, stream: u64) -> (DMatrix<f64>, NoiseLaw, SpikedModel) {
    let mut rng = ldp_pca_simulation::stream(2, stream);
    let population = SpikedModel::draw(16, rank, SIGNAL, None, &mut rng).unwrap();
    let mechanism = spec.build(16, Bounding::UnitNorm).unwrap();
    let mut sums = vec![0; triangle(mechanism.state_dimension())];
    let mut left = records;
    while left > 0 {
        let count = left.min(256);
        let payloads: Vec<(ReportId, Vec<u8>)> = (0..count)
            .map(|_| {
                let record = BoundedRecord::new(population.record(&mut rng), Bounding::UnitNorm).unwrap();
                let mut id = [0; 16];
                rng.fill_bytes(&mut id);
                let id = ReportId::new(id);
                (id, mechanism.randomize_with_rng(&record, &[0; 16], id, &mut rng).unwrap())
            })
            .collect();
        let payloads: Vec<(ReportId, &[u8])> = payloads.iter().map(|(id, bytes)| (*id, &bytes[..])).collect();
        mechanism.accumulate(&[0; 16], &payloads, &mut sums);
        left -= count;
    }
    let law = NoiseLaw::new(&mechanism, Bounding::UnitNorm, records).unwrap();
    (mechanism.debias(&sums, records), law, population)
}

struct Covered {
    error: f64,
    bootstrap: Bootstrap,
}

/// 40 collections of one population's law, with 100 replicates each.
fn collections(spec: MechanismSpec, records: u64) -> Vec<Covered> {
    let rank = Rank::new(2).unwrap();
    let one = |stream| {
        let (estimate, law, population) = collect(spec, rank, records, stream);
        let components = principal_components(&estimate, rank).unwrap();
        let error = sin_theta_squared(&Subspace::new(&components.vectors).unwrap(), population.subspace()).unwrap();
        let mut rng = ldp_pca_simulation::stream(3, stream);
        let pca = |matrix: &DMatrix<f64>| Ok(Some(principal_components(matrix, rank)?.into()));
        let go_on = |_| ControlFlow::Continue(());
        let (bootstrap, _) = bootstrap(&estimate, (&law, &[]), 100, pca, None, &mut rng, go_on).unwrap();
        Covered { error, bootstrap }
    };
    (0..40).map(one).collect()
}

/// 40 collections of each kind. True 95 % intervals would miss six or more with probability 1.4 % under other seeds; of
/// 60 % intervals, 24 would cover, give or take 3.1. The study `coverage`, in research/studies, has 100 collections of
/// any kind.
#[test]
fn intervals_cover_the_true_error() {
    for (spec, records) in [(double_cap(2.0), 6000), (double_cap(1.0), 8000), (gaussian(4.0), 6000)] {
        let results = collections(spec, records);
        let covered = |level: f64| {
            let inside = |one: &&Covered| {
                let interval = one.bootstrap.interval(level);
                interval.lower <= one.error && one.error <= interval.upper
            };
            results.iter().filter(inside).count()
        };
        assert!(covered(0.95) >= 35, "{spec:?}: {}", covered(0.95));
        assert!((14..=36).contains(&covered(0.6)), "{spec:?}: {}", covered(0.6));
    }
}

/// An estimate predicts its own error, within the spread of one collection and of the eigenvalues.
#[test]
fn an_estimate_predicts_its_own_error() {
    let task =
        Task::new(Schema::numeric(30).unwrap(), Bounding::UnitNorm, double_cap(4.0), Folds::new(1).unwrap()).unwrap();
    let mut rng = ChaCha12Rng::seed_from_u64(6);
    let rank = Rank::new(2).unwrap();
    let population = SpikedModel::draw(30, rank, SIGNAL, None, &mut rng).unwrap();
    let reports: Vec<_> = (0..8000)
        .map(|_| task.randomize_with_rng(&task.bound(population.record(&mut rng)).unwrap(), None, &mut rng).unwrap())
        .collect();
    let mut aggregate = Aggregate::empty(&task);
    aggregate.accumulate(&task, &reports).unwrap();
    let covariance = Covariance::estimate(&aggregate, &task).unwrap();
    let prediction = predict_from_estimate(&covariance, rank).unwrap();
    let components = principal_components(covariance.matrix(), rank).unwrap();
    let error = sin_theta_squared(&Subspace::new(&components.vectors).unwrap(), population.subspace()).unwrap();
    assert!((0.5..2.0).contains(&(error / prediction.sin_theta_squared)), "{error} {prediction:?}");
    assert!(prediction.recoverable.iter().all(|recoverable| *recoverable));
}
