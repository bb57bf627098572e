//! How long the steps of recovery take: the Fantope projection, and the whole sparse solver.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a failed step fails the benchmark; criterion generates undocumented items"
)]

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use ldp_pca::linalg::{symmetric_eigen, symmetric_eigenvalues};
use ldp_pca::recovery::{
    AdmmSettings, DEFAULT_PENALTY_FACTOR, FantopeProblem, Rank, default_penalty, principal_components,
    project_onto_fantope, solve_admm,
};
use nalgebra::{DMatrix, DVector};
use rand::{Rng, RngExt, SeedableRng};

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

fn admm(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("admm");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).warm_up_time(Duration::from_millis(100));
    for dimension in [100, 400] {
        let penalty = default_penalty(NOISE, dimension, DEFAULT_PENALTY_FACTOR).unwrap();
        let problem = FantopeProblem::new(&spiked_estimate(dimension), Rank::new(RANK).unwrap(), penalty).unwrap();
        group.bench_with_input(BenchmarkId::new("default settings", dimension), &problem, |bencher, problem| {
            bencher.iter(|| solve_admm(problem, &AdmmSettings::default(), &mut |_| ControlFlow::Continue(())).unwrap());
        });
    }
    group.finish();
}

/// Five spikes on the first 20 rows, of gap 0.07, under symmetric noise.
fn spiked_estimate(dimension: usize) -> DMatrix<f64> {
    let mut rng = chacha20::ChaCha8Rng::seed_from_u64(1);
    let mut estimate = DMatrix::from_diagonal_element(dimension, dimension, 0.007);
    for _ in 0..RANK {
        let spike = DVector::from_fn(dimension, |row, _| if row < 20 { centred(&mut rng) } else { 0.0 }).normalize();
        estimate += 0.07 * &spike * spike.transpose();
    }
    for column in 0..dimension {
        for row in 0..=column {
            estimate[(row, column)] += NOISE * centred(&mut rng);
        }
    }
    estimate.fill_lower_triangle_with_upper_triangle();
    estimate
}

/// Nearly standard normal: a centred sum of twelve uniforms.
fn centred(rng: &mut impl Rng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

criterion_group!(benches, decompositions, admm);
criterion_main!(benches);
