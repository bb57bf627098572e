//! Measures what the time of randomization reveals: `cargo run --release -p ldp-pca-studies --bin timing`. Figures of
//! one run are in docs/privacy/threat-model.md.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use chacha20::ChaCha12Rng;
use ldp_pca::internal::mechanism::cap;
use ldp_pca::internal::mechanism::cap::candidates::Candidates;
use ldp_pca::internal::sampling::bits::Bits;
use ldp_pca::internal::sampling::gaussian;
use ldp_pca::mechanism::{Calibration, DoubleCap, Gaussian, LocalRandomizer};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::report::ReportId;
use rand::{Rng, SeedableRng};

const DIMENSION: usize = 116;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    gaussian_draws()?;
    println!();
    let records = records()?;
    gaussian_reports(&records)?;
    println!();
    double_cap_reports(&records)
}

/// Nanoseconds per draw, by |noise|. The clock itself is part of every figure, the same for all.
fn gaussian_draws() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    let mut bits = Bits::new(&mut rng, 8192);
    let mut pairs = vec![];
    while pairs.len() < 5_000_000 {
        let start = Instant::now();
        let deviate = black_box(gaussian::deviate(&mut bits)?);
        let time = start.elapsed().as_nanos() as f64;
        // Leaves out interruptions and the draws that fetch a block of random bytes.
        if time < 1_000.0 {
            pairs.push((deviate.to_f64().abs(), time));
        }
    }
    let mut bins: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for &(noise, time) in &pairs {
        let bin = bins.entry((noise * 2.0) as u32).or_default();
        bin.0 += 1.0;
        bin.1 += time;
    }
    println!("one Gaussian draw: mean time by |noise|");
    for (bin, (count, time)) in bins.iter().filter(|(_, (count, _))| *count >= 1_000.0) {
        let from = f64::from(*bin) * 0.5;
        println!("  {from:.1} to {:.1} sigma  {:6.1} ns  ({count} draws)", from + 0.5, time / count);
    }
    println!("  correlation of time with |noise|: {:.4}", correlation(&pairs));
    Ok(())
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let (mean_a, mean_b) =
        (pairs.iter().map(|pair| pair.0).sum::<f64>() / n, pairs.iter().map(|pair| pair.1).sum::<f64>() / n);
    let moment = |f: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|&(a, b)| f(a - mean_a, b - mean_b)).sum::<f64>();
    moment(&|a, b| a * b) / (moment(&|a, _| a * a) * moment(&|_, b| b * b)).sqrt()
}

/// Records of the same norm with different arithmetic.
fn records() -> Result<Vec<(&'static str, BoundedRecord)>, Box<dyn std::error::Error>> {
    let bound =
        |coordinate: fn(usize) -> f64| BoundedRecord::new((0..DIMENSION).map(coordinate).collect(), Bounding::UnitNorm);
    Ok(vec![
        ("one coordinate", bound(|i| f64::from(u8::from(i == 0)))?),
        ("dense", bound(|i| (i as f64 * 0.7).sin() + 0.1)?),
        ("repeated value", bound(|_| 1.0)?),
        ("subnormal rest", bound(|i| if i == 0 { 1.0 } else { 1e-310 })?),
    ])
}

fn gaussian_reports(records: &[(&'static str, BoundedRecord)]) -> Result<(), Box<dyn std::error::Error>> {
    let mechanism = Gaussian::new(DIMENSION, Epsilon::new(2.0)?, Delta::new(1e-6)?, Calibration::Analytic)?;
    let mut rng = ChaCha12Rng::seed_from_u64(2);
    let mut times = vec![vec![]; records.len()];
    for _ in 0..1_000 {
        for ((_, record), times) in records.iter().zip(&mut times) {
            let start = Instant::now();
            black_box(mechanism.randomize_with_rng(record, &[0; 16], ReportId::new([0; 16]), &mut rng)?);
            times.push(start.elapsed().as_nanos() as f64);
        }
    }
    println!("one Gaussian report, {DIMENSION} features: median time by record");
    print_medians(records.iter().map(|(name, _)| *name).zip(times));
    Ok(())
}

fn double_cap_reports(records: &[(&'static str, BoundedRecord)]) -> Result<(), Box<dyn std::error::Error>> {
    let epsilon = Epsilon::new(2.0)?;
    let mechanism = DoubleCap::new(DIMENSION, epsilon, 128, DoubleCap::best_cap(128, epsilon))?;
    let mut rng = ChaCha12Rng::seed_from_u64(3);
    let mut times = vec![vec![]; records.len()];
    let mut by_side = [vec![], vec![]];
    for _ in 0..5_000 {
        for ((_, record), times) in records.iter().zip(&mut times) {
            let mut id = [0; 16];
            rng.fill_bytes(&mut id);
            let id = ReportId::new(id);
            let start = Instant::now();
            let payload = black_box(mechanism.randomize_with_rng(record, &[0; 16], id, &mut rng)?);
            let time = start.elapsed().as_nanos() as f64;
            times.push(time);
            let scores = Candidates::new(&[0; 16], id, DIMENSION).scores(record.coordinates(), 128);
            let index = usize::from(u16::from_le_bytes([payload[0], payload[1]]));
            by_side[usize::from(cap::largest(&scores, mechanism.cap())[index])].push(time);
        }
    }
    println!("one double-cap report, {DIMENSION} features, 128 candidates: median time by record");
    print_medians(records.iter().map(|(name, _)| *name).zip(times));
    println!("by what the report hides");
    print_medians(["index outside cap", "index in the cap"].into_iter().zip(by_side));
    Ok(())
}

fn print_medians(groups: impl Iterator<Item = (&'static str, Vec<f64>)>) {
    let mut first = None;
    for (name, mut times) in groups {
        times.sort_by(f64::total_cmp);
        let quantile = |share: f64| times[(times.len() as f64 * share) as usize] / 1_000.0;
        let median = quantile(0.5);
        let first = *first.get_or_insert(median);
        println!(
            "  {name:18} {median:8.3} us  (quartiles {:.3} to {:.3}), {:+.2} % against the first",
            quantile(0.25),
            quantile(0.75),
            100.0 * (median / first - 1.0)
        );
    }
}
