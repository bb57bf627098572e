//! The error of two waves: predicted, and simulated by drawing every report from its law.
//!
//! usage: waves [TRIALS] [POPULATION]

use std::error::Error;

use chacha20::ChaCha12Rng;
use ldp_pca::mechanism::DoubleCap;
use ldp_pca::noise_law::NoiseLaw;
use ldp_pca::prediction::{Spectrum, Waves};
use ldp_pca::simulation::WavesTrial;
use ldp_pca::subspace::Subspace;
use ldp_pca::{Bounding, Epsilon, Rank};
use nalgebra::DMatrix;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

/// Variances of normal vectors, whose directions are the records.
const DECLINING: [f64; 4] = [0.646, 0.176, 0.088, 0.039];
const FLAT: [f64; 3] = [0.18; 3];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let trials: u64 = arguments.next().map_or(Ok(6), |text| text.parse())?;
    let only = arguments.next();
    println!("| records | epsilon | n | first wave | one wave | two, predicted | two, simulated | ratio | gain | |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, variances, dimension, records) in [
        ("declining, d = 40", &DECLINING[..], 40, 100_000),
        ("flat, d = 40", &FLAT[..], 40, 40_000),
        ("declining, d = 116", &DECLINING[..], 116, 300_000),
    ] {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let rank = Rank::new(3)?;
        let spectrum = spectrum(variances, dimension)?;
        let truth = Subspace::new(&DMatrix::identity(dimension, 3))?;
        for value in [1.0, 2.0, 4.0] {
            let epsilon = Epsilon::new(value)?;
            let candidates = DoubleCap::recommended_candidates(epsilon);
            let cap = DoubleCap::best_cap(candidates, epsilon);
            let mechanism = DoubleCap::new(dimension, Bounding::UnitNorm, epsilon, candidates, cap)?;
            let law = NoiseLaw::new(&mechanism.clone().into(), Bounding::UnitNorm, records)?;
            let signed = Waves::signed_cap(dimension, rank, epsilon)?;
            let waves = Waves { spectrum: &spectrum, rank, law, scale: 1.0, signed_gain: signed.gain(), records };
            let best = waves.best()?;
            let mut shares = vec![0.3, 0.5];
            if !shares.contains(&best.share) {
                shares.push(best.share);
            }
            for share in shares {
                let predicted = waves.at(share)?;
                let trial = WavesTrial { mechanism: &mechanism, signed: &signed, records: predicted.records, rank };
                let (mut first, mut refined) = (0.0, 0.0);
                for seed in 0..trials {
                    let mut rng = ChaCha12Rng::seed_from_u64(seed);
                    let mut fill = elliptical(variances, dimension);
                    let result = trial.run_on(&mut fill, &truth, &mut rng, |_| {})?;
                    first += result.first_wave / trials as f64;
                    refined += result.refined / trials as f64;
                }
                println!(
                    "| {name} | {value} | {records} | {:.0} %: {:.4} ({first:.4}) | {:.4} | {:.4} | {refined:.4} | \
                     {:.2} | {:.2} | {}{} |",
                    100.0 * share,
                    predicted.first_wave,
                    predicted.one_wave,
                    predicted.sin_theta_squared,
                    predicted.sin_theta_squared / refined,
                    predicted.one_wave / refined,
                    if (share - best.share).abs() < 1e-9 { "best share" } else { "" },
                    if predicted.refused.is_some() { ", refused" } else { "" },
                );
            }
        }
    }
    Ok(())
}

fn elliptical(variances: &[f64], dimension: usize) -> impl FnMut(&mut [f64], &mut Xoshiro256PlusPlus) + use<> {
    let rest = (1.0 - variances.iter().sum::<f64>()) / (dimension - variances.len()) as f64;
    let roots: Vec<f64> = (0..dimension).map(|index| variances.get(index).copied().unwrap_or(rest).sqrt()).collect();
    move |record, rng| {
        for (value, root) in record.iter_mut().zip(&roots) {
            *value = root * rng.sample::<f64, _>(StandardNormal);
        }
        let norm = record.iter().map(|value| value * value).sum::<f64>().sqrt();
        record.iter_mut().for_each(|value| *value /= norm);
    }
}

/// The eigenvalues of the records' second moments, from 100,000 of them.
fn spectrum(variances: &[f64], dimension: usize) -> Result<Spectrum, Box<dyn Error>> {
    const DRAWS: u32 = 100_000;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut fill = elliptical(variances, dimension);
    let (mut squares, mut record) = (vec![0.0; variances.len()], vec![0.0; dimension]);
    for _ in 0..DRAWS {
        fill(&mut record, &mut rng);
        squares.iter_mut().zip(&record).for_each(|(sum, value)| *sum += value * value / f64::from(DRAWS));
    }
    if variances.iter().all(|variance| *variance == variances[0]) {
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        squares.fill(mean);
    }
    Ok(Spectrum::of_unit_trace(dimension, squares)?)
}
