//! Predictions and intervals for the error of the recovered subspace against simulated collections.

use std::ops::ControlFlow;

use chacha20::ChaCha12Rng;
use ldp_pca::mechanism::{Calibration, DoubleCap, LocalRandomizer as _, MechanismSpec, triangle};
use ldp_pca::noise::NoiseLaw;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::recovery::{Bootstrap, Rank, bootstrap, principal_components};
use ldp_pca::report::ReportId;
use ldp_pca::simulation::SpikedModel;
use ldp_pca::subspace::{Subspace, sin_theta_squared};
use nalgebra::DMatrix;
use rand::{Rng as _, SeedableRng};

const SIGNAL: f64 = 20.0;

fn double_cap(epsilon: f64) -> MechanismSpec {
    let epsilon = Epsilon::new(epsilon).unwrap();
    let candidates = DoubleCap::recommended_candidates(epsilon);
    MechanismSpec::DoubleCap { epsilon, candidates, cap: DoubleCap::best_cap(candidates, epsilon) }
}

fn gaussian(epsilon: f64) -> MechanismSpec {
    MechanismSpec::Gaussian {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(1e-6).unwrap(),
        calibration: Calibration::Analytic,
    }
}

/// One collection: the estimate from reports that were really randomized, and the population's subspace.
fn collect(
    spec: MechanismSpec,
    dimension: usize,
    rank: Rank,
    records: u64,
    stream: u64,
) -> (DMatrix<f64>, NoiseLaw, SpikedModel) {
    let mut rng = ChaCha12Rng::seed_from_u64(2);
    rng.set_stream(stream);
    let population = SpikedModel::draw(dimension, rank, SIGNAL, None, &mut rng).unwrap();
    let mechanism = spec.build(dimension, Bounding::UnitNorm).unwrap();
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

fn collections(
    spec: MechanismSpec,
    dimension: usize,
    rank: usize,
    records: u64,
    count: u64,
    replicates: usize,
) -> Vec<Covered> {
    let rank = Rank::new(rank).unwrap();
    let one = |stream| {
        let (estimate, law, population) = collect(spec, dimension, rank, records, stream);
        let components = principal_components(&estimate, rank).unwrap();
        let error = sin_theta_squared(&Subspace::new(&components.vectors).unwrap(), population.subspace()).unwrap();
        let mut rng = ChaCha12Rng::seed_from_u64(3);
        rng.set_stream(stream);
        let pca = |matrix: &DMatrix<f64>| Ok(principal_components(matrix, rank)?.into());
        let bootstrap = bootstrap(&estimate, &law, replicates, pca, &mut rng, |_| ControlFlow::Continue(())).unwrap();
        Covered { error, bootstrap }
    };
    (0..count).map(one).collect()
}

#[test]
#[ignore = "minutes"]
fn coverage_of_100_collections() {
    let settings = [
        (double_cap(2.0), 20_000),
        (double_cap(4.0), 20_000),
        (double_cap(1.0), 40_000),
        (double_cap(1.0), 20_000),
        (double_cap(1.0), 10_000),
        (double_cap(1.0), 3_000),
        (gaussian(4.0), 20_000),
        (gaussian(2.0), 20_000),
        (gaussian(2.0), 10_000),
    ];
    for (spec, records) in settings {
        let results = collections(spec, 40, 3, records, 100, 200);
        let intervals: Vec<_> = results.iter().map(|r| (r.error, r.bootstrap.interval(0.95).unwrap())).collect();
        let inside = intervals.iter().filter(|(e, i)| i.lower <= *e && *e <= i.upper).count();
        let below = intervals.iter().filter(|(e, i)| *e < i.lower).count();
        let mean = |f: &dyn Fn(&Covered) -> f64| results.iter().map(f).sum::<f64>() / results.len() as f64;
        let bound = results.iter().filter(|r| r.error <= r.bootstrap.upper_bound(0.95).unwrap()).count();
        println!(
            "{spec:?} n {records}: inside {inside} below {below} one-sided {bound} mean error {:.4} median {:.4} lower {:.4} upper {:.4} distinguishable {:.2}",
            mean(&|r| r.error),
            mean(&|r| r.bootstrap.median()),
            mean(&|r| r.bootstrap.interval(0.95).unwrap().lower),
            mean(&|r| r.bootstrap.interval(0.95).unwrap().upper),
            mean(&|r| r.bootstrap.components.iter().filter(|c| c.distinguishable).count() as f64),
        );
    }
}
