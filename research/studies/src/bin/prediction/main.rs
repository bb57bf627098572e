//! Compares predicted and simulated errors. Writes tables (Markdown) to standard output, and a picture (.svg) on
//! request.
//!
//! ```text
//! cargo run --release -p ldp-pca-studies --bin prediction -- --plot research/docs/prediction.svg > tables.md
//! ```
//!
//! Records are those of the spiked model with signal 20. Every report is drawn separately from the randomizer's exact
//! law; one check runs the randomizers themselves. research/docs/predicted.md has the tables. Seeds are fixed, so every
//! run gives the same numbers. A run takes some ten minutes on one thread.
#![cfg(not(target_family = "wasm"))]

mod picture;

use std::error::Error;
use std::path::PathBuf;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use ldp_pca::internal::law::NoiseLaw;
use ldp_pca::mechanism::{Mechanism, MechanismFamily};
use ldp_pca::prediction::{Planner, Prediction, Spectrum};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;
use ldp_pca::recovery::Rank;
use ldp_pca_simulation::{RecoveryMethod, Reports, SpikedModel, SpikedSpectrum, Trial};

const SIGNAL: f64 = 20.0;
const SEED: u64 = 1;
const EPSILONS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
const DIMENSIONS: [usize; 4] = [20, 40, 100, 200];
const RANKS: [usize; 3] = [1, 3, 5];
const RECORDS: [u64; 5] = [10_000, 30_000, 100_000, 300_000, 1_000_000];

/// Around the threshold: two numbers of features, numbers of reports in units of the predicted threshold, and trials.
const AROUND: [usize; 2] = [40, 200];
const MULTIPLES: [f64; 6] = [0.5, 0.7, 1.0, 1.4, 2.0, 2.8];
const AROUND_EPSILONS: [f64; 2] = [2.0, 4.0];
const AROUND_TRIALS: u64 = 16;

#[derive(Parser)]
struct Arguments {
    /// Where to draw the comparison (.svg)
    #[arg(long)]
    plot: Option<PathBuf>,
    /// Leave out slow parts: 300,000 reports and more, and all but 4 trials around the threshold
    #[arg(long)]
    quick: bool,
    /// Leave out the grid
    #[arg(long, conflicts_with = "plot")]
    threshold_only: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    DoubleCap,
    Gaussian,
}

const FAMILIES: [Family; 2] = [Family::DoubleCap, Family::Gaussian];

impl Family {
    fn name(self) -> &'static str {
        match self {
            Self::DoubleCap => "double-cap",
            Self::Gaussian => "Gaussian",
        }
    }

    fn open(self) -> Result<MechanismFamily, Box<dyn Error>> {
        Ok(match self {
            Self::DoubleCap => MechanismFamily::DoubleCap { candidates: None, cap: None },
            Self::Gaussian => MechanismFamily::Gaussian { delta: Delta::new(1e-6)? },
        })
    }
}

/// One cell of the grid: errors per component.
struct Cell {
    family: Family,
    epsilon: f64,
    dimension: usize,
    rank: usize,
    records: u64,
    predicted: f64,
    simulated: f64,
    /// The prediction from only the limit law of many features.
    limit: f64,
    trials: u64,
}

impl Cell {
    fn ratio(&self) -> f64 {
        self.predicted / self.simulated
    }
}

/// A curve through the threshold: mean squared cosines at [`MULTIPLES`].
struct Transition {
    family: Family,
    epsilon: f64,
    dimension: usize,
    rank: usize,
    threshold: u64,
    predicted: Vec<f64>,
    simulated: Vec<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let cells = if arguments.threshold_only { vec![] } else { grid(arguments.quick)? };
    if !arguments.threshold_only {
        print_grid(&cells);
        print_check(&check()?);
    }
    let transitions = transitions(arguments.quick)?;
    print_transitions(&transitions);
    if let Some(path) = &arguments.plot {
        svg::save(path, &picture::draw(&cells, &transitions))?;
    }
    Ok(())
}

fn grid(quick: bool) -> Result<Vec<Cell>, Box<dyn Error>> {
    let mut jobs = vec![];
    for records in RECORDS.into_iter().filter(|&records| !quick || records < 300_000) {
        for dimension in DIMENSIONS {
            for rank in RANKS {
                // One trial's error has the relative standard deviation sqrt(2 / (k (d - k))). That of the mean is 6 %,
                // or 11 % for the largest n.
                let entries = (rank * (dimension - rank)) as u64;
                let wanted = if records >= 300_000 { 160 } else { 600 };
                jobs.push((records, dimension, rank, u64::div_ceil(wanted, entries).max(1)));
            }
        }
    }
    let progress = bar("grid", jobs.iter().map(|(records, .., trials)| records * trials).sum());
    let mut cells = vec![];
    for (records, dimension, rank, trials) in jobs {
        let mut kinds = vec![];
        let mut mechanisms = vec![];
        for family in FAMILIES {
            for epsilon in EPSILONS {
                kinds.push((family, epsilon));
                mechanisms.push(family.open()?.build(Epsilon::new(epsilon)?, dimension, Bounding::UnitNorm)?);
            }
        }
        let simulated = simulate(dimension, rank, records, trials, &mechanisms, Reports::Drawn, &progress)?;
        for (((family, epsilon), mechanism), errors) in kinds.into_iter().zip(&mechanisms).zip(simulated) {
            let law = NoiseLaw::new(mechanism, Bounding::UnitNorm, records)?;
            let spectrum = spectrum(dimension, rank)?;
            let k = rank as f64;
            cells.push(Cell {
                family,
                epsilon,
                dimension,
                rank,
                records,
                predicted: predicted(family, epsilon, dimension, rank, records)? / k,
                simulated: errors / k,
                limit: limit(&spectrum, rank, &law),
                trials,
            });
        }
    }
    progress.finish_and_clear();
    Ok(cells)
}

/// The error by the law of many features, at most that of a random direction.
fn limit(spectrum: &Spectrum, rank: usize, law: &NoiseLaw) -> f64 {
    let bulk = law.bulk(spectrum.bulk(), spectrum.dimension() - rank);
    (1.0 - bulk.cos_squared(spectrum.signals()[0])).min(1.0 - rank as f64 / spectrum.dimension() as f64)
}

/// Mean errors `||sin Theta||_F^2`, one for each mechanism.
fn simulate(
    dimension: usize,
    rank: usize,
    records: u64,
    trials: u64,
    mechanisms: &[Mechanism],
    reports: Reports,
    progress: &ProgressBar,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let rank = Rank::new(rank)?;
    let mut means = vec![0.0; mechanisms.len()];
    for trial in 0..trials {
        let mut rng = ldp_pca_simulation::stream(SEED, trial);
        let population = SpikedModel::draw(dimension, rank, SIGNAL, None, &mut rng)?;
        let trial = Trial { population: &population, mechanisms, records, rank, reports, centring: None };
        let result = trial.run(&[RecoveryMethod::Pca], &mut rng, |count| progress.inc(count))?;
        for (mean, methods) in means.iter_mut().zip(&result.by_mechanism) {
            *mean += methods[0].sin_theta_squared / trials as f64;
        }
    }
    Ok(means)
}

/// `||sin Theta||_F^2`, as predicted.
fn predicted(family: Family, epsilon: f64, dimension: usize, rank: usize, records: u64) -> Result<f64, Box<dyn Error>> {
    let spectrum = spectrum(dimension, rank)?;
    let planner = Planner::new(spectrum, Rank::new(rank)?, family.open()?, Bounding::UnitNorm)?;
    Ok(planner.predict(Epsilon::new(epsilon)?, records)?.sin_theta_squared)
}

fn spectrum(dimension: usize, rank: usize) -> Result<Spectrum, Box<dyn Error>> {
    let SpikedSpectrum { signal, bulk } = SpikedSpectrum::new(dimension, Rank::new(rank)?, SIGNAL)?;
    Ok(Spectrum::new(dimension, vec![signal; rank], bulk)?)
}

/// Ratios of the prediction to simulations by the randomizers themselves.
fn check() -> Result<Vec<Cell>, Box<dyn Error>> {
    let (records, dimension, rank, trials) = (10_000, 40, 3, 6);
    let progress = bar("randomizers", records * trials);
    let mut kinds = vec![];
    let mut mechanisms = vec![];
    for (family, epsilon) in [(Family::DoubleCap, 1.0), (Family::DoubleCap, 4.0), (Family::Gaussian, 4.0)] {
        kinds.push((family, epsilon));
        mechanisms.push(family.open()?.build(Epsilon::new(epsilon)?, dimension, Bounding::UnitNorm)?);
    }
    let simulated = simulate(dimension, rank, records, trials, &mechanisms, Reports::Randomized, &progress)?;
    progress.finish_and_clear();
    let spectrum = spectrum(dimension, rank)?;
    let cells = kinds.into_iter().zip(&mechanisms).zip(simulated).map(|(((family, epsilon), mechanism), errors)| {
        let law = NoiseLaw::new(mechanism, Bounding::UnitNorm, records)?;
        let predicted = predicted(family, epsilon, dimension, rank, records)? / rank as f64;
        let limit = limit(&spectrum, rank, &law);
        let simulated = errors / rank as f64;
        Ok(Cell { family, epsilon, dimension, rank, records, predicted, simulated, limit, trials })
    });
    cells.collect()
}

fn transitions(quick: bool) -> Result<Vec<Transition>, Box<dyn Error>> {
    let trials = if quick { 4 } else { AROUND_TRIALS };
    let mut jobs = vec![];
    for family in FAMILIES {
        for epsilon in AROUND_EPSILONS {
            for rank in RANKS {
                for dimension in AROUND {
                    let planner =
                        Planner::new(spectrum(dimension, rank)?, Rank::new(rank)?, family.open()?, Bounding::UnitNorm)?;
                    let epsilon_value = epsilon;
                    let epsilon = Epsilon::new(epsilon)?;
                    let threshold = planner.threshold_records(epsilon)?[0]
                        .ok_or("a component of the model is not above its bulk")?;
                    jobs.push((family, epsilon_value, epsilon, rank, dimension, planner, threshold));
                }
            }
        }
    }
    let at = |threshold: u64, multiple: f64| (threshold as f64 * multiple).round() as u64;
    let all = jobs.iter().flat_map(|(.., threshold)| MULTIPLES.map(|multiple| at(*threshold, multiple) * trials));
    let progress = bar("threshold", all.sum());
    let mut transitions = vec![];
    for (family, epsilon_value, epsilon, rank, dimension, planner, threshold) in jobs {
        let mechanisms = [planner.mechanism(epsilon)?];
        let cosine = |error: f64| 1.0 - error / rank as f64;
        let (mut predicted, mut simulated) = (vec![], vec![]);
        for multiple in MULTIPLES {
            let records = at(threshold, multiple);
            let Prediction { sin_theta_squared, .. } = planner.predict(epsilon, records)?;
            predicted.push(cosine(sin_theta_squared));
            let errors = simulate(dimension, rank, records, trials, &mechanisms, Reports::Drawn, &progress)?;
            simulated.push(cosine(errors[0]));
        }
        transitions.push(Transition {
            family,
            epsilon: epsilon_value,
            dimension,
            rank,
            threshold,
            predicted,
            simulated,
        });
    }
    progress.finish_and_clear();
    Ok(transitions)
}

fn bar(label: &'static str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:12} {bar:30} {percent:>3} % {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style).with_message(label)
}

/// The value below which a share of the sorted values lies.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    low + position.fract() * (high - low)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn print_grid(cells: &[Cell]) {
    println!("| cells | number | median | 10 % | 90 % | least | most | limit law alone: median | 10 % | 90 % |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let row = |name: &str, wanted: &dyn Fn(&Cell) -> bool| {
        let ratios = sorted(cells.iter().filter(|cell| wanted(cell)).map(Cell::ratio));
        let limits = sorted(cells.iter().filter(|cell| wanted(cell)).map(|cell| cell.limit / cell.simulated));
        if let (Some(least), Some(most)) = (ratios.first(), ratios.last()) {
            let [median, low, high] = [0.5, 0.1, 0.9].map(|share| quantile(&ratios, share));
            let [limit, limit_low, limit_high] = [0.5, 0.1, 0.9].map(|share| quantile(&limits, share));
            println!(
                "| {name} | {} | {median:.3} | {low:.3} | {high:.3} | {least:.3} | {most:.3} | {limit:.3} | \
                    {limit_low:.3} | {limit_high:.3} |",
                ratios.len()
            );
        }
    };
    let clear = |cell: &Cell| cell.predicted < 0.5;
    row("predicted below 0.5", &clear);
    for family in FAMILIES {
        row(family.name(), &|cell| clear(cell) && cell.family == family);
    }
    for dimension in DIMENSIONS {
        row(&format!("d = {dimension}"), &|cell| clear(cell) && cell.dimension == dimension);
    }
    for rank in RANKS {
        row(&format!("k = {rank}"), &|cell| clear(cell) && cell.rank == rank);
    }
    for epsilon in EPSILONS {
        row(&format!("epsilon = {epsilon}"), &|cell| clear(cell) && cell.epsilon == epsilon);
    }
    row("predicted 0.5 and more", &|cell| !clear(cell));
    row("all", &|_| true);
    println!();
}

fn print_check(cells: &[Cell]) {
    println!("| by the randomizers | trials | predicted | simulated | ratio |");
    println!("|---|---|---|---|---|");
    for cell in cells {
        println!(
            "| {}, epsilon {}, d = {}, k = {}, n = {} | {} | {:.4} | {:.4} | {:.3} |",
            cell.family.name(),
            cell.epsilon,
            cell.dimension,
            cell.rank,
            cell.records,
            cell.trials,
            cell.predicted,
            cell.simulated,
            cell.ratio()
        );
    }
    println!();
}

fn print_transitions(transitions: &[Transition]) {
    println!(
        "| mechanism | epsilon | k | predicted threshold, d = {}, {} | crossing | half, d = {} | half, d = {} |",
        AROUND[0], AROUND[1], AROUND[0], AROUND[1]
    );
    println!("|---|---|---|---|---|---|---|");
    let number = |value: Option<f64>| value.map_or("—".to_owned(), |value| format!("{value:.2}"));
    for pair in transitions.chunks(AROUND.len()) {
        let [small, large] = pair else { continue };
        println!(
            "| {} | {} | {} | {}, {} | {} | {} | {} |",
            small.family.name(),
            small.epsilon,
            small.rank,
            small.threshold,
            large.threshold,
            number(crossing(small, large)),
            number(half(&small.simulated).zip(half(&small.predicted)).map(|(seen, said)| said / seen)),
            number(half(&large.simulated).zip(half(&large.predicted)).map(|(seen, said)| said / seen)),
        );
    }
    let crossings = sorted(transitions.chunks(AROUND.len()).filter_map(|pair| crossing(&pair[0], &pair[1])));
    if let (Some(least), Some(most)) = (crossings.first(), crossings.last()) {
        println!("\ncrossings: median {:.2}, {least:.2} to {most:.2}", quantile(&crossings, 0.5));
    }
}

/// Where `d^(1/3)` times the mean squared cosine is the same for both numbers of features, in units of the predicted
/// threshold.
fn crossing(small: &Transition, large: &Transition) -> Option<f64> {
    let scaled = |transition: &Transition| {
        let factor = (transition.dimension as f64).cbrt();
        transition.simulated.iter().map(move |cosine| factor * cosine).collect::<Vec<f64>>()
    };
    let differences: Vec<f64> = scaled(large).iter().zip(scaled(small)).map(|(large, small)| large - small).collect();
    first_rise(&differences, 0.0)
}

/// The point at which half of the component is found, in units of the predicted threshold.
fn half(cosines: &[f64]) -> Option<f64> {
    first_rise(cosines, 0.5)
}

/// The multiple at which values at [`MULTIPLES`] rise through a level, by interpolation in its logarithm.
fn first_rise(values: &[f64], level: f64) -> Option<f64> {
    let index = values.windows(2).rposition(|pair| pair[0] <= level && pair[1] > level)?;
    let share = (level - values[index]) / (values[index + 1] - values[index]);
    Some(MULTIPLES[index] * (MULTIPLES[index + 1] / MULTIPLES[index]).powf(share))
}
