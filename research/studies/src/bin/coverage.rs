//! The measured coverage of research/docs/coverage.md:
//! `cargo run --release -p ldp-pca-studies --bin coverage -- FILE.npy`.
//!
//! Real records (a CSV file, encoded as `schema infer` does, or the columns of largest variance of an NPY file) or a
//! synthetic population are collected many times, with replacement, through the real mechanism, and every interval that
//! `recover` prints is compared with the truth, which is known here. Prints a row of a Markdown table per setting, and
//! below it the intervals of the share found, of single components, of what they add, of variances, of the total, and
//! of the share of empty records. Several epsilons, `--epsilon 1,4 --reports 30000,10000`, are a family among which
//! people choose by chance.

use std::ops::ControlFlow;

use chacha20::ChaCha12Rng;
use clap::Parser;
use ldp_pca::aggregate::{Accumulator, Aggregate};
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::recovery::RankTest;
use ldp_pca::record::BoundedRecord;
use ldp_pca::recovery::{
    Answer, DEFAULT_PENALTY_FACTOR, FantopeProblem, FantopeSolver, HeldOutUse, Interval, Method, PenaltyChoice,
    Question, Rank, Reports, SolverSettings, answer, default_penalty, principal_components,
};
use ldp_pca::schema::Schema;
use ldp_pca::subspace::{Subspace, captured_variance, share_found, sin_theta_squared};
use ldp_pca::task::Task;
use ldp_pca_simulation::{SecondMoment, SpikedModel};
use ldp_pca_studies::{Failure, POPULATION, RecordsArguments, TaskArguments};
use nalgebra::DMatrix;
use rand::{RngExt, SeedableRng};

const SIGNAL: f64 = 20.0;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    source: RecordsArguments,
    #[command(flatten)]
    task: TaskArguments,
    /// Columns taken, those of largest variance; features of a synthetic population
    #[arg(long, default_value_t = 40)]
    features: usize,
    /// Features with signal, of a synthetic population
    #[arg(long)]
    sparsity: Option<usize>,
    #[arg(long, default_value_t = 2)]
    rank: usize,
    /// Components of a synthetic population [default: as the rank]
    #[arg(long)]
    components: Option<usize>,
    /// Reports of a collection, for each epsilon
    #[arg(long, value_delimiter = ',', default_values_t = [20_000])]
    reports: Vec<usize>,
    /// Budgets; a negative one is of the Gaussian mechanism
    #[arg(long, value_delimiter = ',', default_values_t = [2.0], allow_negative_numbers = true)]
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
        self.add_bounds([interval.lower, interval.upper], truth);
    }

    fn add_bounds(&mut self, [lower, upper]: [f64; 2], truth: f64) {
        self.held += u64::from(lower <= truth && truth <= upper);
        self.of += 1;
        self.widths += upper - lower;
    }

    /// An interval of two standard errors.
    fn add_error(&mut self, value: f64, error: f64, truth: f64) {
        self.add_bounds([value - 1.96 * error, value + 1.96 * error], truth);
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
    /// The interval of `difference`, against what components found without a fold capture.
    difference_as_found: Coverage,
    /// Of the share of the structure that is found, plain and sparse.
    shares: [Coverage; 2],
    /// Of the share of each true component that is missed, plain and sparse.
    components: [Coverage; 2],
    /// Of what each component adds, found without a fold.
    gained: Coverage,
    /// The variance along each component that stands out, within two standard errors.
    variances: Coverage,
    /// The components without such an error: of noise, or a tie.
    noise: u64,
    /// The total variance, and the share of records that have only zeros, within two standard errors.
    total: Coverage,
    empty: Coverage,
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let records = arguments.population()?;
    let dimension = records[0].coordinates().len();
    if arguments.epsilon.len() != arguments.reports.len() {
        return Err("give as many numbers of reports as epsilons".into());
    }
    let task = |&epsilon: &f64| arguments.task.task(Schema::numeric(dimension)?, epsilon, arguments.folds);
    let tasks = arguments.epsilon.iter().map(task).collect::<Result<Vec<_>, _>>()?;
    let mut moments = SecondMoment::of_task(&tasks[0]);
    records.iter().for_each(|record| moments.add(record));
    let moment = moments.reference(&tasks[0]);
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
        let rows = match self.source.rows(self.features)? {
            Some(rows) => rows,
            None => {
                let mut rng = ChaCha12Rng::seed_from_u64(1);
                let rank = Rank::new(self.components.unwrap_or(self.rank))?;
                let model = SpikedModel::draw(self.features, rank, SIGNAL, self.sparsity, &mut rng)?;
                (0..POPULATION).map(|_| model.record(&mut rng)).collect()
            }
        };
        let bounding = self.task.bounding()?;
        rows.into_iter().map(|row| Ok(BoundedRecord::new(row, bounding)?)).collect()
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
                accumulator.push(task.randomize_with_rng(record, None, &mut rng)?)?;
            }
            aggregates.push(accumulator.aggregate()?.clone());
        }
        let members: Vec<_> = aggregates.iter().zip(tasks).collect();
        let reports = Reports::family(&members)?;
        let covariance = Covariance::of_folds(reports, |_| true)?;
        let truth = Subspace::new(&principal_components(moment, rank)?.vectors)?;
        let ask = |question: &Question| -> Result<Answer, Failure> {
            Ok(answer(question, reports, &covariance, &mut |_| ControlFlow::Continue(()))?)
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
        let predicted = plain.trust.predicted.as_ref().map_or(f64::NAN, |predicted| predicted.sin_theta_squared);
        for (sum, error) in outcome.errors.iter_mut().zip(errors.into_iter().chain([predicted])) {
            *sum += error;
        }
        outcome.squares += (errors[2] - errors[0]).powi(2);
        outcome.chosen_other += u64::from(chosen.asked.method != Method::Pca);
        let intervals = [&mut outcome.plain_interval, &mut outcome.sparse_interval];
        for (index, (answer, whole)) in [&plain, &sparse].into_iter().zip(intervals).enumerate() {
            let Some(confidence) = &answer.trust.confidence else { continue };
            whole.add(confidence.interval, errors[index]);
            let found = Subspace::new(&answer.vectors())?;
            if let (Some(interval), Some(share)) = (confidence.share_found, share_found(&found, &truth, moment)?) {
                outcome.shares[index].add(interval, share);
            }
            for (part, component) in confidence.components.iter().zip(truth.basis().column_iter()) {
                let missed = 1.0 - found.basis().tr_mul(&component).norm_squared();
                outcome.components[index].add(part.interval, missed);
            }
        }
        let truths = principal_components(moment, rank)?.values;
        if let (Some(variances), Some(errors)) = (&plain.found.variances, &plain.trust.variance_errors) {
            for (&truth, (variance, error)) in truths.iter().zip(variances.iter().zip(errors)) {
                match (variance, error) {
                    (Some(variance), Some(error)) => outcome.variances.add_error(*variance, *error, truth),
                    _ => outcome.noise += 1,
                }
            }
        }
        let mut test = RankTest::new(covariance.matrix(), &covariance.noise_law())?;
        test.confirm(reports, &covariance, &mut |_| ControlFlow::Continue(()))?;
        if let (Some(total), Some(error)) = (plain.found.total_variance, plain.trust.total_variance_error) {
            outcome.total.add_error(total, error, moment.trace());
        }
        if let (Some(share), Some(error)) = (plain.found.empty_share, plain.trust.empty_share_error) {
            let empty = records.iter().filter(|record| record.coordinates().iter().all(|&value| value == 0.0));
            outcome.empty.add_error(share, error, empty.count() as f64 / records.len() as f64);
        }
        let held_out = chosen.trust.held_out.as_ref().ok_or("there are no folds")?;
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
                for (index, gained) in test.components.iter().filter_map(|component| component.gained).enumerate() {
                    outcome.gained.add(gained.interval, gain_without_folds(member, index, moment)?);
                }
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
            let training = Covariance::of_folds(Reports::one(aggregate, task), |index| index != fold)?;
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
        let sparsity = self.sparsity.unwrap_or(dimension);
        let name = self.source.name().unwrap_or_else(|| format!("spiked, {sparsity} of {dimension}"));
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
        let [plain, sparse] = &outcome.components;
        let [plain_share, sparse_share] = &outcome.shares;
        println!(
            "share found, plain {}, sparse {}; components, plain {}, sparse {}; gained {}; variances {}, and {} of \
             noise or ties; total {}; empty {}",
            plain_share.text(),
            sparse_share.text(),
            plain.text(),
            sparse.text(),
            outcome.gained.text(),
            outcome.variances.text(),
            outcome.noise,
            outcome.total.text(),
            outcome.empty.text()
        );
    }
}

/// What a plain component found without a fold captures, as a mean over the folds.
fn gain_without_folds(
    (aggregate, task): (&Aggregate, &Task),
    index: usize,
    moment: &DMatrix<f64>,
) -> Result<f64, Failure> {
    let mut sum = 0.0;
    for (fold, held_out) in aggregate.folds().iter().enumerate() {
        let training = Covariance::of_folds(Reports::one(aggregate, task), |index| index != fold)?;
        let components = principal_components(training.matrix(), Rank::new(index + 1)?)?.vectors;
        let component = components.column(index);
        sum += held_out.records() as f64 / aggregate.records() as f64 * component.dot(&(moment * component));
    }
    Ok(sum)
}

fn joined<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(" and ")
}
