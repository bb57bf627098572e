//! The error of two waves: predicted, and simulated by drawing every report from its law.
//!
//! usage: waves [TRIALS] [POPULATION]
//!        waves sample [TRIALS] [PEOPLE]     one wave about the directions of a public sample which are off
//!        waves records FILE.npy [TRIALS]    the same about samples of real records, some of them of other people
//!        waves three [TRIALS] [POPULATION]  three waves against two, at the best shares of a small grid
//!        waves three [TRIALS] [FILE.npy]    the same of real records

use std::f64::consts::PI;
use std::path::Path;

use chacha20::ChaCha12Rng;
use ldp_pca::internal::law::NoiseLaw;
use ldp_pca::internal::waves::{FirstWave, SecondWave, Waves};
use ldp_pca::mechanism::{DoubleCap, MechanismError, MechanismFamily};
use ldp_pca::prediction::{Planner, Spectrum};
use ldp_pca::record::BoundedRecord;
use ldp_pca::recovery::principal_components;
use ldp_pca::subspace::{Subspace, sin_theta_squared};
use ldp_pca::{Bounding, Epsilon, Rank};
use ldp_pca_simulation::WavesTrial;
use ldp_pca_studies::{Failure, bounded, read, second_moment};
use nalgebra::DMatrix;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

/// Variances of normal vectors, whose directions are the records.
const DECLINING: [f64; 4] = [0.646, 0.176, 0.088, 0.039];
const FLAT: [f64; 3] = [0.18; 3];
/// Their names, variances, features and people.
const POPULATIONS: [(&str, &[f64], usize, u64); 4] = [
    ("declining, d = 40", &DECLINING, 40, 100_000),
    ("flat, d = 40", &FLAT, 40, 40_000),
    ("declining, d = 116", &DECLINING, 116, 300_000),
    ("declining, d = 400", &DECLINING, 400, 1_000_000),
];
/// The records of a public sample.
const PUBLIC: u64 = 1_000_000;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|word| word == "sample").is_some() {
        let trials = arguments.next().map_or(Ok(8), |text| text.parse())?;
        return about_samples(trials, arguments.next().map_or(Ok(100_000), |text| text.parse())?);
    }
    if arguments.next_if(|word| word == "records").is_some() {
        let file = arguments.next().ok_or("usage: waves records FILE.npy [TRIALS]")?;
        return about_real_samples(Path::new(&file), arguments.next().map_or(Ok(10), |text| text.parse())?);
    }
    if arguments.next_if(|word| word == "three").is_some() {
        let trials = arguments.next().map_or(Ok(10), |text| text.parse())?;
        return of_populations(&arguments.next(), trials);
    }
    let trials: u64 = arguments.next().map_or(Ok(6), |text| text.parse())?;
    let only = arguments.next();
    println!(
        "| records | n | epsilon | first wave | error after it | one wave, predicted | two, predicted | \
         two, simulated | predicted / simulated | gain |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, variances, dimension, records) in POPULATIONS {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let rank = Rank::new(3)?;
        let spectrum = spectrum(variances, dimension)?;
        let truth = Subspace::new(&components(dimension, 3))?;
        for value in [1.0, 2.0, 4.0] {
            let epsilon = Epsilon::new(value)?;
            let (mechanism, planner) = planned(&spectrum, rank, epsilon)?;
            let waves = Waves::new(&planner, epsilon, records)?;
            let predicted = waves.best()?;
            let trial = WavesTrial { mechanism: &mechanism, signed: &waves.signed, records: predicted.records, rank };
            let (mut first, mut refined) = (0.0, 0.0);
            for seed in 0..trials {
                let mut rng = ChaCha12Rng::seed_from_u64(seed);
                let mut fill = elliptical(variances, dimension);
                let result = trial.run_on(&mut fill, &truth, &mut rng, |_| {})?;
                first += result.first_wave / trials as f64;
                refined += result.refined / trials as f64;
            }
            println!(
                "| {name} | {records} | {value} | {:.0} % | {first:.4} | {:.4} | {:.4} | {refined:.4} | {} | {:.2} |",
                100.0 * predicted.share,
                predicted.one_wave,
                predicted.sin_theta_squared,
                predicted.refused.map_or(format!("{:.2}", predicted.sin_theta_squared / refined), |_| "refused".into()),
                predicted.one_wave / refined,
            );
        }
    }
    Ok(())
}

/// One wave of so many people about three directions that are off by known errors, in 40 dimensions.
fn about_samples(trials: u64, records: u64) -> Result<(), Failure> {
    let (dimension, rank, variances) = (40, Rank::new(3)?, &DECLINING[..]);
    let spectrum = spectrum(variances, dimension)?;
    let truth = Subspace::new(&components(dimension, 3))?;
    println!(
        "| epsilon | n | sample off by | one wave, predicted | one wave | predicted | simulated | ratio | gain | \
         found to be off by | without the sample's word | |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for value in [1.0, 2.0, 4.0] {
        let epsilon = Epsilon::new(value)?;
        let (mechanism, planner) = planned(&spectrum, rank, epsilon)?;
        let waves = Waves::new(&planner, epsilon, records)?;
        let (mut one_wave, fill) = (0.0, &mut elliptical(variances, dimension));
        for seed in 0..trials {
            let trial = WavesTrial { mechanism: &mechanism, signed: &waves.signed, records: [records, 1], rank };
            one_wave += trial.run_on(fill, &truth, &mut ChaCha12Rng::seed_from_u64(seed), |_| {})?.first_wave;
        }
        one_wave /= trials as f64;
        for error in [0.01, 0.09, 0.3, 0.6] {
            let predicted = waves.about_sample(PUBLIC, &[error / 3.0; 3], 0.1)?;
            let trial = WavesTrial { mechanism: &mechanism, signed: &waves.signed, records: [0, records], rank };
            let (mut refined, mut unweighted, mut found) = (0.0, 0.0, 0.0);
            for seed in 0..trials {
                let mut rng = ChaCha12Rng::seed_from_u64(seed);
                let moments = turned(&spectrum, error, &mut rng);
                let sample = FirstWave::of_sample(&moments, Bounding::UnitNorm, PUBLIC, rank, 0.1)?;
                let asked = trial.ask_with_rng(&sample, fill, &mut rng);
                let judged = sample.judged_by(&asked)?;
                let (matrix, _) = judged.refine(&asked)?;
                refined += error_of(&matrix, rank, &truth)? / trials as f64;
                let certain = SecondWave { variances: vec![1e-30; 3], records: u64::MAX, ..asked };
                let (matrix, _) = judged.refine(&certain)?;
                unweighted += error_of(&matrix, rank, &truth)? / trials as f64;
                found += judged.sines.iter().sum::<f64>() / trials as f64;
            }
            println!(
                "| {value} | {records} | {error} | {:.4} | {one_wave:.4} | {:.4} | {refined:.4} | {:.2} | {:.2} | \
                 {found:.3} | {unweighted:.4} | {} |",
                predicted.one_wave,
                predicted.sin_theta_squared,
                predicted.sin_theta_squared / refined,
                one_wave / refined,
                if predicted.refused.is_some() { "refused" } else { "" },
            );
        }
    }
    Ok(())
}

/// One wave of the people of a file about the three leading directions of a public sample from it. Where its records
/// are of the same people, they are drawn from all; where they are of others, they are the first of the file, which has
/// an order. The people are the rest.
fn about_real_samples(path: &Path, trials: u64) -> Result<(), Failure> {
    let rank = Rank::new(3)?;
    let records = bounded(read(path, usize::MAX, false)?)?;
    let dimension = records[0].coordinates().len();
    println!(
        "| epsilon | sample | records | off by | found | people | one wave | predicted | wave | predicted / measured | \
         gain | |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for value in [1.0, 2.0, 4.0] {
        let epsilon = Epsilon::new(value)?;
        for (kind, count) in [("same people", 500), ("same people", 5_000), ("others", 2_000), ("others", 20_000)] {
            let [mut one_wave, mut predicted, mut refined, mut off, mut found, mut refused] = [0.0; 6];
            for seed in 0..trials {
                let mut rng = ChaCha12Rng::seed_from_u64(seed);
                let mut records: Vec<&BoundedRecord> = records.iter().collect();
                if kind == "same people" {
                    records.shuffle(&mut rng);
                }
                let (public, people) = records.split_at(count);
                let moments = second_moment(public);
                let truth = Subspace::new(&principal_components(&second_moment(people), rank)?.vectors)?;
                let sines = error_of(&moments, rank, &truth)?;
                let law = NoiseLaw::of_records(dimension, Bounding::UnitNorm, count as u64)?;
                let spectrum = law.spectrum_of(&moments)?;
                let (mechanism, planner) = planned(&spectrum, rank, epsilon)?;
                let waves = Waves::new(&planner, epsilon, people.len() as u64)?;
                let fill = &mut each_of(people);
                let trial = |counts| WavesTrial { mechanism: &mechanism, signed: &waves.signed, records: counts, rank };
                one_wave += trial([people.len() as u64, 1]).run_on(fill, &truth, &mut rng, |_| {})?.first_wave;
                let trial = trial([0, people.len() as u64]);
                let sample = FirstWave::of_sample(&moments, Bounding::UnitNorm, count as u64, rank, 0.1)?;
                let asked = trial.ask_with_rng(&sample, &mut each_of(people), &mut rng);
                let judged = sample.judged_by(&asked)?;
                let (matrix, _) = judged.refine(&asked)?;
                refined += error_of(&matrix, rank, &truth)?;
                found += judged.sines.iter().sum::<f64>();
                off += sines;
                // As if the error of the sample were known, the same for each component.
                let prediction = waves.about_sample(count as u64, &[sines / 3.0; 3], 0.1)?;
                predicted += prediction.sin_theta_squared;
                refused += f64::from(u8::from(prediction.refused.is_some()));
            }
            let mean = |sum: f64| sum / trials as f64;
            println!(
                "| {value} | {kind} | {count} | {:.3} | {:.3} | {} | {:.4} | {:.4} | {:.4} | {:.2} | {:.2} | {} |",
                mean(off),
                mean(found),
                records.len() - count,
                mean(one_wave),
                mean(predicted),
                mean(refined),
                predicted / refined,
                one_wave / refined,
                if refused > 0.0 { format!("refused in {refused}") } else { String::new() },
            );
        }
    }
    Ok(())
}

/// One record after the other, so that everybody answers once.
fn each_of<'a>(records: &'a [&BoundedRecord]) -> impl FnMut(&mut [f64], &mut Xoshiro256PlusPlus) + use<'a> {
    let mut next = records.iter().cycle();
    move |vector, _| {
        if let Some(record) = next.next() {
            vector.copy_from_slice(record.coordinates());
        }
    }
}

/// Three waves of the people of all populations, of one, or of the records of a file.
fn of_populations(only: &Option<String>, trials: u64) -> Result<(), Failure> {
    println!(
        "| records | n | epsilon | shares | after the first | after two | after three |\n|---|---|---|---|---|---|---|"
    );
    let rank = Rank::new(3)?;
    let mut found = false;
    for (name, variances, dimension, records) in POPULATIONS {
        if only.as_ref().is_none_or(|only| only == name) {
            found = true;
            let spectrum = spectrum(variances, dimension)?;
            let truth = Subspace::new(&components(dimension, 3))?;
            let people = |_: u64, _: usize| -> Filler<'_> { Box::new(elliptical(variances, dimension)) };
            three_waves(name, &spectrum, &truth, records, trials, people)?;
        }
    }
    let Some(file) = only.as_ref().filter(|_| !found) else { return Ok(()) };
    let records = bounded(read(Path::new(file), usize::MAX, false)?)?;
    let people: Vec<&BoundedRecord> = records.iter().collect();
    let moments = second_moment(&people);
    let count = people.len() as u64;
    let law = NoiseLaw::of_records(moments.nrows(), Bounding::UnitNorm, count)?;
    let truth = Subspace::new(&principal_components(&moments, rank)?.vectors)?;
    // Every trial has an order of its own.
    let orders: Vec<Vec<&BoundedRecord>> = (0..trials)
        .map(|seed| {
            let mut people = people.clone();
            people.shuffle(&mut ChaCha12Rng::seed_from_u64(seed));
            people
        })
        .collect();
    let from = |seed: u64, first: usize| -> Filler<'_> { Box::new(each_of(&orders[seed as usize][first..])) };
    three_waves("of the file", &law.spectrum_of(&moments)?, &truth, count, trials, from)
}

/// Draws one record after the other.
type Filler<'a> = Box<dyn FnMut(&mut [f64], &mut Xoshiro256PlusPlus) + 'a>;

/// Three waves of so many people in all: the third is asked about the directions that two waves found, and all that was
/// reported is weighted by the inverse of its variance, that of the two waves being the predicted one. `people` are
/// those of a trial from one of them on.
fn three_waves<'a>(
    name: &str,
    spectrum: &Spectrum,
    truth: &Subspace,
    records: u64,
    trials: u64,
    people: impl Fn(u64, usize) -> Filler<'a>,
) -> Result<(), Failure> {
    let rank = Rank::new(3)?;
    let off = |matrix: &DMatrix<f64>| error_of(matrix, rank, truth);
    for value in [1.0, 2.0, 4.0] {
        let epsilon = Epsilon::new(value)?;
        let (mechanism, planner) = planned(spectrum, rank, epsilon)?;
        let waves = Waves::new(&planner, epsilon, records)?;
        let trial = |people| WavesTrial { mechanism: &mechanism, signed: &waves.signed, records: people, rank };
        let (mut best_of_two, mut best_of_three) = (f64::INFINITY, f64::INFINITY);
        for share in [0.2, 0.3, 0.4, 0.5] {
            let begun = (records as f64 * share).round() as u64;
            let rest = records - begun;
            let second = (rest as f64 * 0.3).round() as u64;
            let mut errors = [0.0; 4];
            for seed in 0..trials {
                let mut rng = ChaCha12Rng::seed_from_u64(seed);
                let start = trial([begun, rest]).begin_with_rng(&mut people(seed, 0), &mut rng)?;
                let mut ask = |about: &FirstWave, count: u64, from: u64| {
                    trial([0, count]).ask_with_rng(about, &mut people(seed, from as usize), &mut rng)
                };
                let (all, _) = start.refine(&ask(&start, rest, begun))?;
                let (both, _) = start.refine(&ask(&start, second, begun))?;
                let mut middle = start.clone();
                let further = start.further.1.len();
                let found = principal_components(&both, Rank::new(3 + further)?)?.vectors;
                middle.directions = found.columns(0, 3).into_owned();
                middle.further.0 = found.columns(3, further).into_owned();
                middle.sines = waves.after(begun, second)?.per_component;
                let (third, _) = middle.refine(&ask(&middle, rest - second, begun + second))?;
                let first = &start.directions * start.directions.transpose();
                for (error, matrix) in errors.iter_mut().zip([&first, &all, &both, &third]) {
                    *error += off(matrix)? / trials as f64;
                }
            }
            let [after_first, two, between, three] = errors;
            let part = |people: u64| 100.0 * people as f64 / records as f64;
            let row = |shares: String, two: f64, three: String| {
                println!("| {name} | {records} | {value} | {shares} | {after_first:.4} | {two:.4} | {three} |");
            };
            row(format!("{:.0}, {:.0} %", part(begun), part(rest)), two, String::new());
            let shares = format!("{:.0}, {:.0}, {:.0} %", part(begun), part(second), part(rest - second));
            row(shares, between, format!("{three:.4}"));
            best_of_two = best_of_two.min(two);
            best_of_three = best_of_three.min(three);
        }
        println!(
            "| {name} | {records} | {value} | best | | {best_of_two:.4} | {best_of_three:.4}: gain {:.2} |",
            best_of_two / best_of_three
        );
    }
    Ok(())
}

/// Second moments with this spectrum, whose leading three directions are turned at random from the components by this
/// squared distance.
fn turned(spectrum: &Spectrum, error: f64, rng: &mut ChaCha12Rng) -> DMatrix<f64> {
    let dimension = spectrum.dimension();
    let beside = |row: usize| if row < 3 { 0.0 } else { 1.0 };
    let tangent = DMatrix::from_fn(dimension, 3, |row, _| beside(row) * rng.sample::<f64, _>(StandardNormal));
    let of_size = |size: f64| (DMatrix::identity(dimension, 3) + &tangent * size).qr().q();
    let off = |size: f64| 3.0 - of_size(size).rows(0, 3).norm_squared();
    let (mut least, mut most) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = 0.5 * (least + most);
        if off(middle) < error { least = middle } else { most = middle }
    }
    let mut all = of_size(least).resize_horizontally(4, 0.0);
    all[(3, 3)] = 1.0;
    let basis = components(dimension, dimension) * all.qr().q();
    let bulk = spectrum.bulk();
    let mut moments = DMatrix::from_diagonal_element(dimension, dimension, bulk);
    for (direction, signal) in basis.column_iter().zip(spectrum.signals()) {
        moments.ger(signal - bulk, &direction, &direction, 1.0);
    }
    moments
}

/// The first wave's mechanism, and the plan.
fn planned(spectrum: &Spectrum, rank: Rank, epsilon: Epsilon) -> Result<(DoubleCap, Planner), Failure> {
    let family = MechanismFamily::DoubleCap { candidates: None, cap: None };
    let planner = Planner::new(spectrum.clone(), rank, family, Bounding::UnitNorm)?;
    Ok((double_cap(spectrum.dimension(), epsilon)?, planner))
}

/// `||sin Theta||_F^2` of the components of an estimate.
fn error_of(estimate: &DMatrix<f64>, rank: Rank, truth: &Subspace) -> Result<f64, Failure> {
    let components = principal_components(estimate, rank)?.vectors;
    Ok(sin_theta_squared(&Subspace::new(&components)?, truth)?)
}

fn double_cap(dimension: usize, epsilon: Epsilon) -> Result<DoubleCap, MechanismError> {
    let candidates = DoubleCap::recommended_candidates(epsilon);
    DoubleCap::new(dimension, epsilon, candidates, DoubleCap::best_cap(candidates, epsilon))
}

/// The first `count` components of the populations: cosines, which use every feature, so that nothing is gained from
/// loadings near zero.
fn components(dimension: usize, count: usize) -> DMatrix<f64> {
    let d = dimension as f64;
    DMatrix::from_fn(dimension, count, |feature, component| {
        // The constant vector comes last.
        let frequency = (component + 1) % dimension;
        let length: f64 = if frequency == 0 { 1.0 / d } else { 2.0 / d };
        length.sqrt() * (PI * (feature as f64 + 0.5) * frequency as f64 / d).cos()
    })
}

fn elliptical(variances: &[f64], dimension: usize) -> impl FnMut(&mut [f64], &mut Xoshiro256PlusPlus) + use<> {
    let rest = (1.0 - variances.iter().sum::<f64>()) / (dimension - variances.len()) as f64;
    let directions = components(dimension, variances.len());
    let excess: Vec<f64> = variances.iter().map(|variance| (variance / rest).sqrt() - 1.0).collect();
    move |record, rng| {
        record.fill_with(|| rng.sample::<f64, _>(StandardNormal));
        for (direction, excess) in directions.column_iter().zip(&excess) {
            let along: f64 = excess * direction.iter().zip(&*record).map(|(one, other)| one * other).sum::<f64>();
            record.iter_mut().zip(&direction).for_each(|(value, loading)| *value += along * loading);
        }
        let norm = record.iter().map(|value| value * value).sum::<f64>().sqrt();
        record.iter_mut().for_each(|value| *value /= norm);
    }
}

/// The eigenvalues of the records' second moments, from 100,000 of them.
fn spectrum(variances: &[f64], dimension: usize) -> Result<Spectrum, Failure> {
    const DRAWS: u32 = 100_000;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let (directions, mut fill) = (components(dimension, variances.len()), elliptical(variances, dimension));
    let (mut squares, mut record) = (vec![0.0; variances.len()], vec![0.0; dimension]);
    for _ in 0..DRAWS {
        fill(&mut record, &mut rng);
        for (sum, direction) in squares.iter_mut().zip(directions.column_iter()) {
            let along: f64 = direction.iter().zip(&record).map(|(one, other)| one * other).sum();
            *sum += along * along / f64::from(DRAWS);
        }
    }
    if variances.iter().all(|variance| *variance == variances[0]) {
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        squares.fill(mean);
    }
    Ok(Spectrum::of_unit_trace(dimension, squares)?)
}
