//! Compares predicted and simulated errors about an estimated mean, and counts how often the interval of the bootstrap
//! has the error. Writes tables (Markdown) to standard output.
//!
//! ```text
//! cargo run --release -p ldp-pca-studies --bin centring > tables.md
//! ```
//!
//! The first table is about what `plan --centre` predicts: records of the spiked model (signal 20) whose mean has a
//! share of the second moments and is orthogonal to the components, every report drawn from the exact law of its
//! randomizer.
//! The second is about what `recover` predicts from its own reports: clipped records whose mean has a random direction,
//! or that of the first component, through tasks, randomizers and sums of their own. research/docs/predicted.md has
//! the first. Seeds are fixed. A run takes some ten minutes on one thread.
#![cfg(not(target_family = "wasm"))]

use std::error::Error;
use std::ops::ControlFlow;

use chacha20::ChaCha12Rng;
use clap::Parser;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::centring::Centring;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::family;
use ldp_pca::mechanism::MechanismFamily;
use ldp_pca::prediction::{Planner, Spectrum};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::{Bounding, Radius};
use ldp_pca::recovery::{Question, Rank, answer};
use ldp_pca::report::Report;
use ldp_pca::schema::Schema;
use ldp_pca::subspace::{Subspace, sin_theta_squared};
use ldp_pca::task::{Folds, Task};
use ldp_pca_simulation::{RecoveryMethod, Reports, SpikedModel, SpikedSpectrum, Trial};
use nalgebra::DVector;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SIGNAL: f64 = 20.0;
const SEED: u64 = 1;
/// Predicted errors per component, for each of which there is a number of reports.
const TARGETS: [f64; 3] = [0.03, 0.12, 0.4];
/// Cells that need more are left out.
const MOST_RECORDS: u64 = 3_000_000;

#[derive(Parser)]
struct Arguments {
    /// The most records that a cell of the first table may have over all its trials
    #[arg(long, default_value_t = 3_000_000)]
    records: u64,
    /// The number of collections per line of the second table
    #[arg(long, default_value_t = 120)]
    collections: u64,
    /// Leave out the first table
    #[arg(long)]
    intervals_only: bool,
    /// Leave out the second table
    #[arg(long, conflicts_with = "intervals_only")]
    grid_only: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Family {
    DoubleCap,
    Gaussian,
}

impl Family {
    fn open(self) -> Result<MechanismFamily> {
        Ok(match self {
            Self::DoubleCap => MechanismFamily::DoubleCap { candidates: None, cap: None },
            Self::Gaussian => MechanismFamily::Gaussian { delta: Delta::new(1e-6)? },
        })
    }
}

/// One cell of the first table: errors per component.
#[derive(Debug)]
struct Cell {
    family: Family,
    epsilon: f64,
    dimension: usize,
    rank: usize,
    share: f64,
    predicted: f64,
    simulated: f64,
}

impl Cell {
    fn ratio(&self) -> f64 {
        self.predicted / self.simulated
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if !arguments.intervals_only {
        print_grid(&grid(arguments.records)?);
    }
    if !arguments.grid_only {
        print_collections(arguments.collections)?;
    }
    Ok(())
}

fn grid(records: u64) -> Result<Vec<Cell>> {
    let mut cells = vec![];
    for family in [Family::DoubleCap, Family::Gaussian] {
        for dimension in [5, 20, 60] {
            for rank in [1, 3] {
                for share in [0.0, 0.5, 0.9] {
                    for epsilon in [1.0, 2.0, 4.0] {
                        for target in TARGETS {
                            cells.extend(cell(family, dimension, rank, share, epsilon, target, records)?);
                        }
                    }
                }
            }
        }
    }
    Ok(cells)
}

/// None where the number of reports is too large, or below the number of features.
fn cell(
    family: Family,
    dimension: usize,
    rank: usize,
    share: f64,
    epsilon: f64,
    target: f64,
    most: u64,
) -> Result<Option<Cell>> {
    let (components, value) = (Rank::new(rank)?, Epsilon::new(epsilon)?);
    let centring = Some(Centring::default());
    let drawn = |rng: &mut ChaCha12Rng| -> Result<SpikedModel> {
        Ok(SpikedModel::draw(dimension, components, SIGNAL, None, rng)?.with_mean_share(share, rng)?)
    };
    let SpikedSpectrum { signal, bulk } = drawn(&mut ChaCha12Rng::seed_from_u64(SEED))?.spectrum();
    let spectrum = Spectrum::about_mean(dimension, &vec![signal; rank], bulk, share)?;
    let planner = Planner::new(spectrum, components, family.open()?, Bounding::UnitNorm)?.with_centring(centring);
    // Far above the error of a random subspace, a component is hardly there.
    if target * rank as f64 > 0.8 * planner.uninformed() {
        return Ok(None);
    }
    let Some(records) = planner.records_for(value, target * rank as f64)? else { return Ok(None) };
    if records > MOST_RECORDS.min(most) || records < dimension as u64 {
        return Ok(None);
    }
    // One trial's error has the relative standard deviation sqrt(2 / (k (d - k))). That of the mean is 5 %.
    let wanted = u64::div_ceil(800, (rank * (dimension - rank)) as u64);
    let trials = wanted.min(most / records).max(1);
    let mechanisms = [planner.mechanism(value)?];
    let mut simulated = 0.0;
    for stream in 0..trials {
        let mut rng = ldp_pca_simulation::stream(SEED, stream);
        let population = drawn(&mut rng)?;
        let reports = Reports::Drawn;
        let trial =
            Trial { population: &population, mechanisms: &mechanisms, records, rank: components, reports, centring };
        let result = trial.run(&[RecoveryMethod::Pca], &mut rng, |_| {})?;
        simulated += result.by_mechanism[0][0].sin_theta_squared / (trials * rank as u64) as f64;
    }
    let predicted = planner.predict(value, records)?.sin_theta_squared / rank as f64;
    Ok(Some(Cell { family, epsilon, dimension, rank, share, predicted, simulated }))
}

fn print_grid(cells: &[Cell]) {
    println!("| cells | number | median | 10 % | 90 % | least | most |\n|---|---|---|---|---|---|---|");
    let row = |name: String, keep: &dyn Fn(&Cell) -> bool| {
        let mut ratios: Vec<f64> = cells.iter().filter(|cell| keep(cell)).map(Cell::ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let Some(last) = ratios.len().checked_sub(1) else { return };
        let at = |share: f64| ratios[(share * last as f64).round() as usize];
        let [median, low, high, least, most] = [0.5, 0.1, 0.9, 0.0, 1.0].map(at);
        println!("| {name} | {} | {median:.3} | {low:.3} | {high:.3} | {least:.3} | {most:.3} |", ratios.len());
    };
    row("all".into(), &|_| true);
    for family in [Family::DoubleCap, Family::Gaussian] {
        row(format!("{family:?}"), &|cell| cell.family == family);
    }
    for dimension in [5, 20, 60] {
        row(format!("d = {dimension}"), &|cell| cell.dimension == dimension);
    }
    for rank in [1, 3] {
        row(format!("k = {rank}"), &|cell| cell.rank == rank);
    }
    for epsilon in [1.0, 2.0, 4.0] {
        row(format!("epsilon = {epsilon}"), &|cell| cell.epsilon == epsilon);
    }
    for share in [0.0, 0.5, 0.9] {
        row(format!("the mean has {share} of the second moments"), &|cell| cell.share == share);
    }
    for (least, most) in [(0.0, 0.05), (0.05, 0.2), (0.2, 1.0)] {
        row(format!("predicted from {least} to {most}"), &|cell| (least..most).contains(&cell.predicted));
    }
    if std::env::var_os("CELLS").is_some() {
        cells.iter().for_each(|cell| eprintln!("{:.3} {cell:?}", cell.ratio()));
    }
    println!();
}

/// The direction of the mean.
#[derive(Clone, Copy, Debug)]
enum Mean {
    Random,
    FirstComponent,
}

struct Setting {
    family: Family,
    epsilon: f64,
    dimension: usize,
    rank: usize,
    records: u64,
    share: f64,
    mean: Mean,
}

const SETTINGS: [Setting; 5] = [
    setting(Family::DoubleCap, 4.0, 10, 1, 1_500, 0.0, Mean::Random),
    setting(Family::DoubleCap, 4.0, 10, 2, 4_000, 0.5, Mean::Random),
    setting(Family::DoubleCap, 4.0, 10, 1, 4_000, 0.5, Mean::FirstComponent),
    setting(Family::Gaussian, 4.0, 10, 1, 15_000, 0.5, Mean::Random),
    setting(Family::Gaussian, 4.0, 10, 1, 30_000, 0.5, Mean::FirstComponent),
];

const fn setting(
    family: Family,
    epsilon: f64,
    dimension: usize,
    rank: usize,
    records: u64,
    share: f64,
    mean: Mean,
) -> Setting {
    Setting { family, epsilon, dimension, rank, records, share, mean }
}

fn print_collections(collections: u64) -> Result<()> {
    println!(
        "| collection | error | predicted over error: median | 10 % | 90 % | 95 % interval has it | below | above |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for setting in &SETTINGS {
        let found = (0..collections).map(|stream| setting.collect(stream)).collect::<Result<Vec<_>>>()?;
        let count = found.len() as f64;
        let error = found.iter().map(|found| found.error).sum::<f64>() / count;
        let mut ratios: Vec<f64> = found.iter().map(|found| found.predicted / error).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |share: f64| ratios[(share * (count - 1.0)).round() as usize];
        let share = |inside: &dyn Fn(&Found) -> bool| found.iter().filter(|found| inside(found)).count() as f64 / count;
        let Setting { family, epsilon, dimension, rank, records, share: part, mean } = setting;
        println!(
            "| {family:?}, epsilon {epsilon}, d = {dimension}, k = {rank}, n = {records}, share {part}, {mean:?} \
             | {error:.4} \
             | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} |",
            at(0.5),
            at(0.1),
            at(0.9),
            share(&|found| found.lower <= found.error && found.error <= found.upper),
            share(&|found| found.error < found.lower),
            share(&|found| found.error > found.upper),
        );
    }
    Ok(())
}

/// What a collection says about its own error, and the error.
struct Found {
    error: f64,
    predicted: f64,
    lower: f64,
    upper: f64,
}

impl Setting {
    /// Records of a sphere about a mean, so that the longest has length 1: nothing is clipped.
    fn collect(&self, stream: u64) -> Result<Found> {
        let mut rng = ldp_pca_simulation::stream(SEED, stream);
        let rank = Rank::new(self.rank)?;
        let population = SpikedModel::draw(self.dimension, rank, SIGNAL, None, &mut rng)?;
        let ratio = (self.share / (1.0 - self.share)).sqrt();
        let direction = match self.mean {
            Mean::Random => DVector::from_fn(self.dimension, |_, _| rng.sample::<f64, _>(StandardNormal)).normalize(),
            Mean::FirstComponent => population.subspace().basis().column(0).into_owned(),
        };
        let mechanism = self.family.open()?.spec(Epsilon::new(self.epsilon)?);
        let bounding = Bounding::Clip { radius: Radius::new(1.0)? };
        let task = Task::new(Schema::numeric(self.dimension)?, bounding, mechanism, Folds::new(1)?)?
            .with_centring(Centring::default())?;
        let mut aggregate = Aggregate::empty(&task);
        let mut left = self.records;
        while left > 0 {
            let batch = left.min(256);
            let reports = (0..batch).map(|_| -> Result<Report> {
                let record = population.record(&mut rng);
                let values = record.iter().zip(&direction).map(|(x, m)| (x + ratio * m) / (1.0 + ratio));
                Ok(task.randomize_with_rng(&task.bound(values.collect())?, None, &mut rng)?)
            });
            aggregate.accumulate(&task, &reports.collect::<Result<Vec<_>>>()?)?;
            left -= batch;
        }
        let covariance = Covariance::estimate(&aggregate, &task)?;
        let reports = family::Reports::one(&aggregate, &task);
        let question = Question { predict: true, bootstrap: Some(200), bootstrap_seed: stream, ..Question::new(rank) };
        let answer = answer(&question, reports, &covariance, &mut |_| ControlFlow::Continue(()))?;
        let found = Subspace::new(&answer.vectors())?;
        let trust = answer.trust;
        let (predicted, confidence) = trust.predicted.zip(trust.confidence).ok_or("an answer without its error")?;
        Ok(Found {
            error: sin_theta_squared(&found, population.subspace())?,
            predicted: predicted.sin_theta_squared,
            lower: confidence.interval.lower,
            upper: confidence.interval.upper,
        })
    }
}
