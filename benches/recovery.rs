//! Time of the steps of recovery: the Fantope projection, and the whole sparse solver.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a failed step fails the benchmark; criterion generates undocumented items"
)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use ldp_pca::linalg::{symmetric_eigen, symmetric_eigenvalues};
use ldp_pca::recovery::{
    FantopeProblem, FantopeSolver, Rank, SolverSettings, default_penalty, principal_components, project_onto_fantope,
};
use ldp_pca_simulation::SpikedModel;
use nalgebra::DMatrix;
use rand::SeedableRng;

const RANK: usize = 5;
const NOISE: f64 = 0.002;

fn decompositions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decompositions");
    group.sample_size(10);
    for dimension in [100, 400] {
        let estimate = spiked_estimate(dimension);
        let rank = Rank::new(RANK).unwrap();
        group.bench_with_input(BenchmarkId::new("eigenvalues", dimension), &estimate, |bencher, estimate| {
            bencher.iter(|| symmetric_eigenvalues(black_box(estimate)).unwrap());
        });
        group.bench_with_input(BenchmarkId::new("eigen", dimension), &estimate, |bencher, estimate| {
            bencher.iter(|| symmetric_eigen(black_box(estimate)).unwrap());
        });
        group.bench_with_input(BenchmarkId::new("pca", dimension), &estimate, |bencher, estimate| {
            bencher.iter(|| principal_components(black_box(estimate), rank).unwrap());
        });
        group.bench_with_input(BenchmarkId::new("projection", dimension), &estimate, |bencher, estimate| {
            bencher.iter(|| project_onto_fantope(black_box(estimate), rank).unwrap());
        });
    }
    group.finish();
}

/// The problems that solvers are compared on, `hardness` gaps above what the noise hides: the whole solve, from an
/// estimate that is there, to a certified gap of 1e-6.
fn working_set(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("working set");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).warm_up_time(Duration::from_millis(100));
    for (dimension, hardness, factor) in
        [(100, 3.0, 0.5), (400, 3.0, 0.5), (1000, 3.0, 0.5), (2000, 3.0, 0.5), (400, 1.0, 1.0), (1000, 1.0, 1.0)]
    {
        let rank = Rank::new(RANK).unwrap();
        let gap = SpikedModel::gap_of_signal(10.0, dimension, rank);
        let noise = gap / (hardness * (dimension as f64).sqrt());
        let mut rng = chacha20::ChaCha8Rng::seed_from_u64(1);
        let model = SpikedModel::draw(dimension, rank, 10.0, Some(20), &mut rng).unwrap();
        let penalty = default_penalty(noise, dimension, factor).unwrap();
        let problem = FantopeProblem::new(&model.estimate(gap, noise, &mut rng), rank, penalty).unwrap();
        let solver = FantopeSolver::new(SolverSettings::default()).unwrap();
        let name = BenchmarkId::new(format!("hardness {hardness}, factor {factor}"), dimension);
        group.bench_with_input(name, &problem, |bencher, problem| {
            bencher.iter(|| solver.solve(problem).unwrap());
        });
    }
    group.finish();
}

/// Five spikes on 20 rows, of gap 0.07, under symmetric noise.
fn spiked_estimate(dimension: usize) -> DMatrix<f64> {
    let mut rng = chacha20::ChaCha8Rng::seed_from_u64(1);
    let model = SpikedModel::draw(dimension, Rank::new(RANK).unwrap(), 10.0, Some(20), &mut rng).unwrap();
    model.estimate(0.07, NOISE, &mut rng)
}

criterion_group!(benches, decompositions, working_set);
criterion_main!(benches);
