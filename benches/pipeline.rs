//! Speed of randomizing records and of summing reports.
#![cfg(not(target_family = "wasm"))]
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a failed step fails the benchmark; criterion generates undocumented items"
)]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

use chacha20::ChaCha12Rng;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ldp_pca::aggregate::{Accumulator, Aggregate};
use ldp_pca::internal::mechanism::cap::kernel::Path;
use ldp_pca::internal::mechanism::triangle;
use ldp_pca::internal::sampling::bits::Bits;
use ldp_pca::internal::sampling::gaussian::{Deviate, fill};
use ldp_pca::internal::waves::Refinement;
use ldp_pca::mechanism::{DoubleCap, LocalRandomizer, MechanismSpec};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::report::{Report, ReportId};
use ldp_pca::schema::Schema;
use ldp_pca::task::{Folds, Task};
use rand::{Rng, RngExt, SeedableRng};

fn randomize(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("randomize");
    group.throughput(Throughput::Elements(1)).measurement_time(Duration::from_secs(2));
    for dimension in [40, 116, 400] {
        for (name, mechanism) in mechanisms() {
            let task = task(dimension, mechanism, 1);
            let record = record(&task);
            let mut rng = ChaCha12Rng::seed_from_u64(1);
            group.bench_function(BenchmarkId::new(name, dimension), |bencher| {
                bencher.iter(|| task.randomize_with_rng(black_box(&record), None, &mut rng).unwrap());
            });
        }
    }
    group.finish();
}

/// Decoded reports are summed in batches as the commands do, on one core and on all of them.
fn accumulate(criterion: &mut Criterion) {
    let all = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut group = criterion.benchmark_group("accumulate");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    let (epsilon, double_cap) = (Epsilon::new(2.0).unwrap(), of_few_candidates());
    let cases = [
        ("double-cap", double_cap, 10, 1, 1 << 18),
        ("double-cap", double_cap, 40, 1, 1 << 18),
        ("double-cap, 5 folds", double_cap, 40, 5, 1 << 18),
        ("double-cap", double_cap, 400, 1, 1 << 14),
        ("signed-cap of 3 directions", MechanismSpec::SignedCap { epsilon, candidates: 4, cap: 1 }, 400, 1, 1 << 16),
        ("gaussian", gaussian(2.0, 1e-6), 40, 1, 1 << 14),
        ("gaussian", gaussian(2.0, 1e-6), 400, 1, 1 << 10),
        ("gaussian of two bytes", gaussian(16.0, 1e-4), 400, 1, 1 << 9),
    ];
    for (name, mechanism, dimension, folds, count) in cases {
        let task = task(dimension, mechanism, folds);
        let reports = reports(&task, count, &mut ChaCha12Rng::seed_from_u64(2));
        // A payload of two bytes is an index.
        let bytes = task.mechanism().payload_bytes() as u64;
        group.throughput(if bytes > 2 { Throughput::Bytes(count * bytes) } else { Throughput::Elements(count) });
        let thread_counts = if all > NonZeroUsize::MIN { vec![NonZeroUsize::MIN, all] } else { vec![all] };
        for threads in thread_counts {
            let id = BenchmarkId::new(format!("{name}, d = {dimension}"), format!("{threads} threads"));
            group.bench_function(id, |bencher| {
                bencher.iter_batched(
                    || Aggregate::empty(&task),
                    |mut aggregate| {
                        aggregate.accumulate_with_threads(&task, black_box(&reports), threads).unwrap();
                        aggregate
                    },
                    BatchSize::LargeInput,
                );
            });
        }
    }
    group.finish();
}

/// Sums of as many reports as have a full sketch of their ids.
fn merge(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("merge");
    group.sample_size(10).measurement_time(Duration::from_secs(2)).throughput(Throughput::Elements(1));
    for dimension in [10, 40, 400] {
        let task = task(dimension, of_few_candidates(), 1);
        let mut rng = ChaCha12Rng::seed_from_u64(5);
        let [ours, theirs] = [(); 2].map(|()| {
            let mut aggregate = Aggregate::empty(&task);
            aggregate.accumulate(&task, &reports(&task, 2048, &mut rng)).unwrap();
            aggregate
        });
        group.bench_function(BenchmarkId::from_parameter(dimension), |bencher| {
            bencher.iter_batched(
                || ours.clone(),
                |mut sum| {
                    sum.merge(black_box(&theirs)).unwrap();
                    sum
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// Reports that come one by one, added as they come, and through an accumulator.
fn one_by_one(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("one by one");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    for (dimension, count) in [(40, 1 << 14), (400, 1 << 12)] {
        let task = task(dimension, of_few_candidates(), 1);
        let reports = reports(&task, count, &mut ChaCha12Rng::seed_from_u64(2));
        group.throughput(Throughput::Elements(count));
        group.bench_function(BenchmarkId::new("aggregate", dimension), |bencher| {
            bencher.iter_batched(
                || Aggregate::empty(&task),
                |mut sum| {
                    reports.chunks(1).for_each(|report| sum.accumulate(&task, report).unwrap());
                    sum
                },
                BatchSize::LargeInput,
            );
        });
        group.bench_function(BenchmarkId::new("accumulator", dimension), |bencher| {
            bencher.iter_batched(
                || Accumulator::new(&task),
                |mut sum| {
                    sum.try_extend(reports.iter().cloned()).unwrap();
                    sum
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// The time of each of the machine's vector units for the same reports, on one core.
fn paths(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sums of products");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    let mut rng = ChaCha12Rng::seed_from_u64(4);
    for (dimension, count) in [(40, 1 << 16), (400, 1 << 13)] {
        let reports: Vec<_> = (0..count)
            .map(|_| {
                let mut id = [0; 16];
                rng.fill_bytes(&mut id);
                (ReportId::new(id), rng.next_u32() % 256)
            })
            .collect();
        let mut sums = vec![0; triangle(dimension)];
        group.throughput(Throughput::Elements(count));
        for path in Path::available() {
            group.bench_function(BenchmarkId::new(path.name(), dimension), |bencher| {
                bencher.iter(|| {
                    path.accumulate(&[0; 16], dimension, black_box(&reports), &mut sums, NonZeroUsize::MIN);
                });
            });
        }
    }
    group.finish();
    let mut group = criterion.benchmark_group("sums of signs");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    let reports: Vec<_> = (0..1 << 17).map(|_| (ReportId::new(rng.random()), rng.next_u32() % 256)).collect();
    let mut sums = vec![0; 2048];
    group.throughput(Throughput::Elements(reports.len() as u64));
    for path in Path::available() {
        group.bench_function(path.name(), |bencher| {
            bencher.iter(|| path.add_signs(&[0; 16], black_box(&reports), &mut sums, NonZeroUsize::MIN));
        });
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
            fill(&mut deviates, &mut Bits::new(&mut rng, 3 * COUNT)).unwrap();
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
    [
        ("double-cap of 256", double_cap(4.0, 256)),
        ("double-cap of 64", double_cap(2.0, 64)),
        ("gaussian", gaussian(2.0, 1e-6)),
    ]
}

/// For sums, which do not depend on the number of candidates.
fn of_few_candidates() -> MechanismSpec {
    MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0).unwrap(), candidates: 4, cap: 1 }
}

fn gaussian(epsilon: f64, delta: f64) -> MechanismSpec {
    MechanismSpec::gaussian(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
}

/// A task; for signed-cap the refinement of one about the first three axes.
fn task(dimension: usize, mechanism: MechanismSpec, folds: u32) -> Task {
    let new = |mechanism| {
        let (schema, folds) = (Schema::numeric(dimension).unwrap(), Folds::new(folds).unwrap());
        Task::new(schema, Bounding::UnitNorm, mechanism, folds).unwrap()
    };
    let MechanismSpec::SignedCap { epsilon, candidates, cap } = mechanism else { return new(mechanism) };
    let first = new(MechanismSpec::DoubleCap { epsilon, candidates: 4, cap: 1 });
    // Directions are in units of 2^-20, weights of 2^-16, the clip of 2^-40.
    let axis = |axis: usize| (0..dimension).map(|feature| i64::from(feature == axis) << 20).collect();
    let refinement = Refinement::new(first.digest(), (0..3).map(axis).collect(), vec![1 << 16; 3], 1 << 38).unwrap();
    first.refined_by(refinement, epsilon, Some(candidates), Some(cap)).unwrap()
}

fn record(task: &Task) -> BoundedRecord {
    task.bound((0..task.dimension()).map(|index| (index as f64).sin()).collect()).unwrap()
}

fn reports(task: &Task, count: u64, rng: &mut ChaCha12Rng) -> Vec<Report> {
    let record = record(task);
    (0..count).map(|_| task.randomize_with_rng(&record, None, rng).unwrap()).collect()
}

criterion_group!(benches, randomize, accumulate, merge, one_by_one, paths, deviates);
criterion_main!(benches);
