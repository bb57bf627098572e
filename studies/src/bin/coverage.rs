//! The measured coverage behind docs/inference.md: `cargo run --release -p ldp-pca-studies --bin coverage -- FILE.npy`.
//!
//! Real records (an NPY file; the columns of largest variance, standardised or as they are, divided by the norm) or a
//! synthetic population are collected many times, with replacement, through the real mechanism, and every interval that
//! `recover` prints is compared with the truth, which is known here. Prints a row of a Markdown table per setting.
//! Several epsilons, `--epsilon 1,4 --reports 30000,10000`, are a family among which people choose by chance.

use std::ops::ControlFlow;
use std::path::PathBuf;

use chacha20::ChaCha12Rng;
use clap::Parser;
use ldp_pca::aggregate::{Accumulator, Aggregate};
use ldp_pca::covariance::Covariance;
use ldp_pca::family::Reports;
use ldp_pca::mechanism::MechanismSpec;
use ldp_pca::privacy::Epsilon;
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::recovery::{
    Answer, DEFAULT_PENALTY_FACTOR, FantopeProblem, FantopeSolver, HeldOutUse, Interval, Method, PenaltyChoice,
    Question, Rank, SolverSettings, Source, answer, default_penalty, principal_components,
};
use ldp_pca::schema::Schema;
use ldp_pca::second_moment::SecondMoment;
use ldp_pca::simulation::SpikedModel;
use ldp_pca::subspace::{Subspace, captured_variance, sin_theta_squared};
use ldp_pca::task::{Folds, Task};
use ldp_pca_studies::Failure;
use nalgebra::DMatrix;
use rand::{RngExt, SeedableRng};

/// Records of a synthetic population: so many that each is drawn rarely.
const POPULATION: usize = 20_000;
const SIGNAL: f64 = 20.0;

#[derive(Parser)]
struct Arguments {
    /// Records (.npy, one a row); without them a synthetic population
    records: Option<PathBuf>,
    /// Columns taken, those of largest variance; features of a synthetic population
    #[arg(long, default_value_t = 40)]
    features: usize,
    /// Features with signal, of a synthetic population
    #[arg(long)]
    sparsity: Option<usize>,
    /// Subtract each column's mean and divide by its deviation
    #[arg(long)]
    standardise: bool,
    #[arg(long, default_value_t = 2)]
    rank: usize,
    /// Reports of a collection, for each epsilon
    #[arg(long, value_delimiter = ',', default_values_t = [20_000])]
    reports: Vec<usize>,
    #[arg(long, value_delimiter = ',', default_values_t = [2.0])]
    epsilon: Vec<f64>,
    #[arg(long, default_value_t = 10)]
    folds: u32,
    #[arg(long, default_value_t = 100)]
    collections: u64,
    /// Replicates of the bootstrap; 0 leaves it out
    #[arg(long, default_value_t = 100)]
    bootstrap: usize,
}

/// How often an interval held the truth, and the sum of its widths.
#[derive(Default)]
struct Coverage {
    held: u64,
    of: u64,
    widths: f64,
}

impl Coverage {
    fn add(&mut self, interval: Interval, truth: f64) {
        self.held += u64::from(interval.lower <= truth && truth <= interval.upper);
        self.of += 1;
        self.widths += interval.upper - interval.lower;
    }

    fn text(&self) -> String {
        if self.of == 0 {
            return "-".into();
        }
        format!("{}/{} ({:.3})", self.held, self.of, self.widths / self.of as f64)
    }
}

/// The sums over collections.
#[derive(Default)]
struct Outcome {
    /// Errors of plain, sparse and chosen components, and the predicted one of plain components.
    errors: [f64; 4],
    /// Squares of the differences between chosen and plain errors, for their standard error.
    squares: f64,
    chosen_other: u64,
    plain_interval: Coverage,
    sparse_interval: Coverage,
    captured: Coverage,
    difference: Coverage,
    /// The same interval, and the components found without a fold.
    difference_as_found: Coverage,
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let records = arguments.population()?;
    let dimension = records[0].coordinates().len();
    let mut moment = SecondMoment::new(dimension, 1.0);
    records.iter().for_each(|record| moment.add(record));
    let moment = moment.matrix();
    if arguments.epsilon.len() != arguments.reports.len() {
        return Err("give as many numbers of reports as epsilons".into());
    }
    let task = |&epsilon: &f64| -> Result<Task, Failure> {
        let mechanism = MechanismSpec::double_cap(Epsilon::new(epsilon)?);
        Ok(Task::new(Schema::numeric(dimension)?, Bounding::UnitNorm, mechanism, Folds::new(arguments.folds)?)?)
    };
    let tasks = arguments.epsilon.iter().map(task).collect::<Result<Vec<_>, _>>()?;
    let mut outcome = Outcome::default();
    for seed in 0..arguments.collections {
        arguments.collect(&records, &moment, &tasks, seed, &mut outcome)?;
    }
    arguments.print(dimension, &outcome);
    Ok(())
}

impl Arguments {
    /// The records that collections draw from.
    fn population(&self) -> Result<Vec<BoundedRecord>, Failure> {
        let rows = match &self.records {
            Some(path) => ldp_pca_studies::read(path, self.features, self.standardise)?,
            None => {
                let mut rng = ChaCha12Rng::seed_from_u64(1);
                let model = SpikedModel::draw(self.features, Rank::new(self.rank)?, SIGNAL, self.sparsity, &mut rng)?;
                (0..POPULATION).map(|_| model.record(&mut rng)).collect()
            }
        };
        rows.into_iter().map(|row| Ok(BoundedRecord::new(row, Bounding::UnitNorm)?)).collect()
    }

    fn collect(
        &self,
        records: &[BoundedRecord],
        moment: &DMatrix<f64>,
        tasks: &[Task],
        seed: u64,
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        let rank = Rank::new(self.rank)?;
        let mut rng = ChaCha12Rng::seed_from_u64(1000 + seed);
        let mut aggregates: Vec<Aggregate> = vec![];
        for (task, &count) in tasks.iter().zip(&self.reports) {
            let mut accumulator = Accumulator::new(task);
            for _ in 0..count {
                let record = &records[rng.random_range(0..records.len())];
                accumulator.push(task.randomize_with_rng(record, &mut rng)?)?;
            }
            aggregates.push(accumulator.aggregate()?.clone());
        }
        let members: Vec<_> = aggregates.iter().zip(tasks).collect();
        let reports = Reports::family(&members)?;
        let covariance = Covariance::of_reports(reports)?;
        let truth = Subspace::new(&principal_components(moment, rank)?.vectors)?;
        let ask = |question: &Question| -> Result<Answer, Failure> {
            let source = Source::Family { reports, covariance: &covariance };
            Ok(answer(question, source, &mut |_| ControlFlow::Continue(()))?)
        };
        let error = |answer: &Answer| -> Result<f64, Failure> {
            Ok(sin_theta_squared(&Subspace::new(&answer.vectors())?, &truth)?)
        };
        let bootstrap = (self.bootstrap > 0).then_some(self.bootstrap);
        let plain = ask(&Question { predict: true, bootstrap, ..Question::new(rank) })?;
        let penalty = Some(PenaltyChoice::default());
        let sparse = ask(&Question { penalty, bootstrap, ..Question::new(rank) })?;
        let chosen = ask(&Question { held_out: HeldOutUse::Choose, ..Question::new(rank) })?;
        let errors = [error(&plain)?, error(&sparse)?, error(&chosen)?];
        let predicted = plain.predicted.as_ref().map_or(f64::NAN, |predicted| predicted.sin_theta_squared);
        for (sum, error) in outcome.errors.iter_mut().zip(errors.into_iter().chain([predicted])) {
            *sum += error;
        }
        outcome.squares += (errors[2] - errors[0]).powi(2);
        outcome.chosen_other += u64::from(chosen.method != Method::Pca);
        if let Some(confidence) = &plain.confidence {
            outcome.plain_interval.add(confidence.interval, errors[0]);
        }
        if let Some(confidence) = &sparse.confidence {
            outcome.sparse_interval.add(confidence.interval, errors[1]);
        }
        let held_out = chosen.held_out.as_ref().ok_or("there are no folds")?;
        let captures = |answer: &Answer| captured_variance(&Subspace::new(&answer.vectors())?, moment);
        let of_plain = captures(&plain)?;
        outcome.captured.add(held_out.answers[0].captured.interval, of_plain);
        // Of the sparse answer with the default penalty, which nothing has selected.
        let usual =
            held_out.answers.iter().find(|answer| answer.fit.method == Method::Fantope && answer.fit.factor == 0.5);
        if let Some(difference) = usual.and_then(|usual| usual.difference) {
            outcome.difference.add(difference.interval, captures(&sparse)? - of_plain);
            if let [member] = members[..] {
                outcome.difference_as_found.add(difference.interval, self.difference_without_folds(member, moment)?);
            }
        }
        Ok(())
    }

    /// What sparse components found without a fold capture beyond plain ones, as a mean over the folds.
    fn difference_without_folds(
        &self,
        (aggregate, task): (&Aggregate, &Task),
        moment: &DMatrix<f64>,
    ) -> Result<f64, Failure> {
        let rank = Rank::new(self.rank)?;
        let mut sum = 0.0;
        for (fold, held_out) in aggregate.folds().iter().enumerate() {
            let training = Covariance::estimate_without_fold(aggregate, task, fold)?;
            let captures = |components: &DMatrix<f64>| captured_variance(&Subspace::new(components)?, moment);
            let plain = captures(&principal_components(training.matrix(), rank)?.vectors)?;
            let penalty = default_penalty(training.noise_deviation(), moment.nrows(), DEFAULT_PENALTY_FACTOR)?;
            let problem = FantopeProblem::new(training.matrix(), rank, penalty)?;
            let sparse = FantopeSolver::new(SolverSettings::default())?.solve(&problem)?;
            let share = held_out.records() as f64 / aggregate.records() as f64;
            sum += share * (captures(&sparse.components)? - plain);
        }
        Ok(sum)
    }

    fn print(&self, dimension: usize, outcome: &Outcome) {
        let collections = self.collections as f64;
        let [plain, sparse, chosen, predicted] = outcome.errors.map(|sum| sum / collections);
        let spread = (outcome.squares / collections - (chosen - plain).powi(2)).max(0.0);
        let name = self.records.as_ref().and_then(|path| path.file_stem()).map_or_else(
            || format!("spiked, {} of {dimension}", self.sparsity.unwrap_or(dimension)),
            |name| format!("{}{}", name.to_string_lossy(), if self.standardise { ", standardised" } else { "" }),
        );
        println!(
            "| {name} | {dimension} | {} | {} | {} | {predicted:.3} | {plain:.3} | {sparse:.3} \
             | {chosen:.3} ± {:.4} ({} of {}) | {} | {} | {} | {} | {} |",
            self.rank,
            joined(&self.epsilon),
            joined(&self.reports),
            (spread / collections).sqrt(),
            outcome.chosen_other,
            self.collections,
            outcome.plain_interval.text(),
            outcome.sparse_interval.text(),
            outcome.captured.text(),
            outcome.difference.text(),
            outcome.difference_as_found.text(),
        );
    }
}

fn joined<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(" and ")
}
