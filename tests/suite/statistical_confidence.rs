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
    let mut rng = ChaCha12Rng::seed_from_u64(2);
    rng.set_stream(stream);
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
        let mut rng = ChaCha12Rng::seed_from_u64(3);
        rng.set_stream(stream);
        let pca = |matrix: &DMatrix<f64>| Ok(Some(principal_components(matrix, rank)?.into()));
        let go_on = |_| ControlFlow::Continue(());
        let (bootstrap, _) = bootstrap(&estimate, (&law, &[]), 100, pca, None, &mut rng, go_on).unwrap();
        Covered { error, bootstrap }
    };
    (0..40).map(one).collect()
}

/// 40 collections of each kind. True 95 % intervals would miss six or more with probability 1.4 % under other seeds; of
/// 60 % intervals, 24 would cover, give or take 3.1.
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

/// Variances of entries of single reports on random records, in the eigenbasis of the population: between component and
/// bulk (which turns the subspace) they are the law's within 7 %, inside the bulk within 8 % (each is an average over
/// 10 entries or more and 60,000 reports, whose relative error is at most 1 %); among components the law's are larger.
#[test]
fn single_reports_have_the_variances_of_the_law() {
    let (dimension, reports) = (12, 60_000);
    for spec in [double_cap(2.0), double_cap(4.0), gaussian(4.0)] {
        let mut rng = ChaCha12Rng::seed_from_u64(7);
        let rank = Rank::new(2).unwrap();
        let population = SpikedModel::draw(dimension, rank, SIGNAL, None, &mut rng).unwrap();
        let mechanism = spec.build(dimension, Bounding::UnitNorm).unwrap();
        let law = NoiseLaw::new(&mechanism, Bounding::UnitNorm, 1).unwrap();
        let square =
            DMatrix::from_fn(dimension, dimension, |i, j| if i == j { 1.0 } else { 0.1 * (3 * i + j) as f64 % 0.7 });
        let mut frame = square;
        frame.columns_mut(0, 2).copy_from(population.subspace().basis());
        let frame = frame.qr().q();
        let (mut first, mut second) = (DMatrix::zeros(dimension, dimension), DMatrix::zeros(dimension, dimension));
        for _ in 0..reports {
            let record = BoundedRecord::new(population.record(&mut rng), Bounding::UnitNorm).unwrap();
            let mut id = [0; 16];
            rng.fill_bytes(&mut id);
            let id = ReportId::new(id);
            let payload = mechanism.randomize_with_rng(&record, &[0; 16], id, &mut rng).unwrap();
            let mut sums = vec![0; triangle(mechanism.state_dimension())];
            mechanism.accumulate(&[0; 16], &[(id, &payload)], &mut sums);
            let turned = frame.tr_mul(&(mechanism.debias(&sums, 1) * &frame));
            second += turned.component_mul(&turned);
            first += turned;
        }
        let mean = first / f64::from(reports);
        let variance = second / f64::from(reports) - mean.component_mul(&mean);
        let inside = 0.5 * (mean[(0, 0)] + mean[(1, 1)]);
        let outside = (1.0 - 2.0 * inside) / (dimension - 2) as f64;
        let average = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| {
            let entries: Vec<f64> = rows
                .flat_map(|row| columns.clone().filter(move |&column| column > row).map(move |column| (row, column)))
                .map(|entry| variance[entry])
                .collect();
            entries.iter().sum::<f64>() / entries.len() as f64
        };
        let across = average(0..2, 2..dimension) / law.cross_variance(inside, outside);
        let bulk = average(2..dimension, 2..dimension) / law.cross_variance(outside, outside);
        let among = variance[(0, 1)] / law.cross_variance(inside, inside);
        let along = 0.5 * (variance[(0, 0)] + variance[(1, 1)]) / (2.0 * law.cross_variance(inside, inside));
        println!("{spec:?}: across {across:.3} bulk {bulk:.3} among {among:.3} along {along:.3}");
        assert!((0.93..1.02).contains(&across), "{spec:?}: {across}");
        assert!((0.96..1.08).contains(&bulk), "{spec:?}: {bulk}");
        assert!(among < 1.04 && along < 1.04, "{spec:?}: {among} {along}");
    }
}
