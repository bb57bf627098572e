//! How fast records become reports and reports become sums.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a failed step fails the benchmark; criterion generates undocumented items"
)]

use std::hint::black_box;
use std::time::Duration;

use chacha20::ChaCha12Rng;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::mechanism::{Calibration, DoubleCap, MechanismSpec};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::sampling::bits::Bits;
use ldp_pca::sampling::gaussian::{self, Deviate};
use ldp_pca::schema::Schema;
use ldp_pca::task::{Folds, Task};
use rand::SeedableRng;

fn randomize(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("randomize");
    group.throughput(Throughput::Elements(1)).measurement_time(Duration::from_secs(2));
    for dimension in [40, 116, 400] {
        for (name, mechanism) in mechanisms() {
            let task = task(dimension, mechanism);
            let record = record(&task);
            let mut rng = ChaCha12Rng::seed_from_u64(1);
            group.bench_function(BenchmarkId::new(name, dimension), |bencher| {
                bencher.iter(|| task.randomize_with_rng(black_box(&record), &mut rng).unwrap());
            });
        }
    }
    group.finish();
}

/// Reports are summed in batches as the commands do.
fn accumulate(criterion: &mut Criterion) {
    const REPORTS: usize = 1024;
    let mut group = criterion.benchmark_group("accumulate");
    group.throughput(Throughput::Elements(REPORTS as u64)).sample_size(10).measurement_time(Duration::from_secs(2));
    for dimension in [40, 400] {
        // The number of candidates does not matter here.
        for (name, mechanism) in mechanisms().into_iter().skip(1) {
            let task = task(dimension, mechanism);
            let record = record(&task);
            let mut rng = ChaCha12Rng::seed_from_u64(2);
            let reports: Vec<_> = (0..REPORTS).map(|_| task.randomize_with_rng(&record, &mut rng).unwrap()).collect();
            let mut aggregate = Aggregate::empty(&task);
            group.bench_function(BenchmarkId::new(name, dimension), |bencher| {
                bencher.iter(|| aggregate.accumulate(&task, black_box(&reports)).unwrap());
            });
        }
    }
    group.finish();
}

fn deviates(criterion: &mut Criterion) {
    const COUNT: usize = 10_000;
    let mut group = criterion.benchmark_group("gaussian deviates");
    group.throughput(Throughput::Elements(COUNT as u64));
    let mut rng = ChaCha12Rng::seed_from_u64(3);
    let mut deviates = vec![Deviate { cell: 0, fraction: 0 }; COUNT];
    group.bench_function("fill", |bencher| {
        bencher.iter(|| {
            gaussian::fill(&mut deviates, &mut Bits::new(&mut rng, 3 * COUNT)).unwrap();
            black_box(&deviates);
        });
    });
    group.finish();
}

fn mechanisms() -> [(&'static str, MechanismSpec); 3] {
    let double_cap = |epsilon, candidates| {
        let epsilon = Epsilon::new(epsilon).unwrap();
        MechanismSpec::DoubleCap { epsilon, candidates, cap: DoubleCap::best_cap(candidates, epsilon) }
    };
    let gaussian = MechanismSpec::Gaussian {
        epsilon: Epsilon::new(2.0).unwrap(),
        delta: Delta::new(1e-6).unwrap(),
        calibration: Calibration::Analytic,
    };
    [("double-cap of 256", double_cap(4.0, 256)), ("double-cap of 64", double_cap(2.0, 64)), ("gaussian", gaussian)]
}

fn task(dimension: usize, mechanism: MechanismSpec) -> Task {
    Task::new(Schema::numeric(dimension).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(1).unwrap()).unwrap()
}

fn record(task: &Task) -> BoundedRecord {
    task.bound((0..task.dimension()).map(|index| (index as f64).sin()).collect()).unwrap()
}

criterion_group!(benches, randomize, accumulate, deviates);
criterion_main!(benches);
