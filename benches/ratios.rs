//! Our kernels beside the obvious code without the guarantees, in the same run: `cargo bench --bench ratios`.
#![allow(clippy::unwrap_used, reason = "a failed step fails the benchmark")]

use std::hint::black_box;
use std::time::Instant;

use chacha20::{ChaCha8Rng, ChaCha20Rng};
use ldp_pca::internal::sampling::system_rng;
use ldp_pca::mechanism::{Calibration, DoubleCap, Gaussian, LocalRandomizer};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::report::ReportId;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::StandardNormal;

fn main() {
    println!("one core; least of {REPETITIONS} repetitions, the peer's beside it");
    for dimension in [116, 400] {
        gaussian(dimension);
    }
    for dimension in [40, 116, 400, 20_531] {
        double_cap(dimension);
    }
}

const REPETITIONS: u32 = 15;

/// Least seconds of one call.
fn seconds(calls: u32, mut work: impl FnMut()) -> f64 {
    (0..REPETITIONS)
        .map(|_| {
            let started = Instant::now();
            (0..calls).for_each(|_| work());
            started.elapsed().as_secs_f64() / f64::from(calls)
        })
        .fold(f64::INFINITY, f64::min)
}

/// An exact report against unprotected f64 normals from ChaCha20 added to x x^T.
fn gaussian(dimension: usize) {
    let mechanism =
        Gaussian::new(dimension, Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap(), Calibration::Analytic).unwrap();
    let record = record(dimension);
    let mut rng = system_rng().unwrap();
    let ours = seconds(20, || {
        let report = mechanism.randomize_with_rng(&record, &[0; 16], ReportId::new([0; 16]), &mut rng);
        black_box(report.unwrap());
    });
    let x = record.coordinates();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let peer = seconds(20, || {
        let mut entries = Vec::with_capacity(dimension * (dimension + 1) / 2);
        for (row, left) in x.iter().enumerate() {
            entries.extend(x[row..].iter().map(|right| left * right + 5.97 * rng.sample::<f64, _>(StandardNormal)));
        }
        black_box(entries);
    });
    let entries = (dimension * (dimension + 1) / 2) as f64;
    println!(
        "gaussian report, d = {dimension}: {:.2} ms, {:.1e} entries/s; unprotected f64 {:.1e} entries/s; ratio of \
            times {:.2}",
        1e3 * ours,
        entries / ours,
        entries / peer,
        ours / peer
    );
}

/// A double-cap report among 256 candidates against Gaussian f64 candidates, sorted by score.
fn double_cap(dimension: usize) {
    const CANDIDATES: u32 = 256;
    let epsilon = Epsilon::new(4.0).unwrap();
    let cap = DoubleCap::best_cap(CANDIDATES, epsilon);
    let mechanism = DoubleCap::new(dimension, epsilon, CANDIDATES, cap).unwrap();
    let record = record(dimension);
    let calls = (200_000 / dimension as u32).clamp(2, 500);
    let mut rng = system_rng().unwrap();
    let ours = seconds(calls, || {
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        black_box(mechanism.randomize_with_rng(&record, &[0; 16], ReportId::new(id), &mut rng).unwrap());
    });
    let x = record.coordinates();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let peer = seconds(calls.div_ceil(8), || {
        let mut scores: Vec<(f64, u32)> = (0..CANDIDATES)
            .map(|index| {
                let score: f64 = x.iter().map(|x| x * rng.sample::<f64, _>(StandardNormal)).sum();
                (-score * score, index)
            })
            .collect();
        scores.sort_by(|a, b| a.0.total_cmp(&b.0));
        black_box(scores);
    });
    println!(
        "double-cap report, J = {CANDIDATES}, d = {dimension}: {:.1} us; f64 candidates {:.1} us; ratio of times {:.2}",
        1e6 * ours,
        1e6 * peer,
        ours / peer
    );
}

fn record(dimension: usize) -> BoundedRecord {
    let values = (0..dimension).map(|index| (0.37 * index as f64).sin() + 0.1).collect();
    BoundedRecord::new(values, Bounding::UnitNorm).unwrap()
}
