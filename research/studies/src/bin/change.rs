//! The measured level and power of research/docs/coverage.md: how often `recover --other` finds a difference between
//! two collections, `cargo run --release -p ldp-pca-studies --bin change -- --rotate 30`.
//!
//! Both are collected by the real mechanism, with replacement, from a finite population: a spiked one, or real records
//! (an NPY file). The second population is the same, or one of its components is rotated, or they are the two halves of
//! the real records. Prints a row of a Markdown table.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use chacha20::ChaCha12Rng;
use clap::Parser;
use ldp_pca::aggregate::{Accumulator, Aggregate};
use ldp_pca::internal::recovery::{Change, Measured, change};
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::recovery::{Rank, principal_components};
use ldp_pca::schema::Schema;
use ldp_pca::subspace::{Subspace, sin_theta_squared};
use ldp_pca::task::{Folds, Task};
use ldp_pca_simulation::SpikedModel;
use ldp_pca_studies::{Failure, POPULATION, RecordsArguments, bounded, mechanism, second_moment};
use nalgebra::DVector;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

/// The level at which a difference counts as found.
const SIGNIFICANT: f64 = 0.05;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    source: RecordsArguments,
    /// Columns taken, those of largest variance; features of a synthetic population
    #[arg(long, default_value_t = 20)]
    features: usize,
    #[arg(long, default_value_t = 2)]
    rank: usize,
    /// Components of a synthetic population; as many as the rank, where it is not given
    #[arg(long)]
    components: Option<usize>,
    /// Strength of its components
    #[arg(long, default_value_t = 20.0)]
    signal: f64,
    /// Rotate one component of the second population, in degrees
    #[arg(long, default_value_t = 0.0)]
    rotate: f64,
    /// Collect from the first half of the records, and from the second
    #[arg(long)]
    halves: bool,
    /// Reports of both collections
    #[arg(long, num_args = 2, default_values_t = [20_000, 20_000])]
    reports: Vec<usize>,
    /// Budgets of both collections; a negative one is of the Gaussian mechanism
    #[arg(long, num_args = 2, default_values_t = [2.0, 2.0], allow_negative_numbers = true)]
    epsilon: Vec<f64>,
    #[arg(long, default_value_t = 10)]
    folds: u32,
    #[arg(long, default_value_t = 200)]
    pairs: u64,
    #[arg(long, default_value_t = 200)]
    replicates: usize,
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let populations = arguments.populations()?;
    let task = |epsilon: f64| -> Result<Task, Failure> {
        let schema = Schema::numeric(populations[0][0].coordinates().len())?;
        Ok(Task::new(schema, Bounding::UnitNorm, mechanism(epsilon)?, Folds::new(arguments.folds)?)?)
    };
    let tasks = [task(arguments.epsilon[0])?, task(arguments.epsilon[1])?];
    let (next, found) = (AtomicU64::new(0), Mutex::new(vec![]));
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    thread::scope(|scope| {
        let work = || -> Result<(), Failure> {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= arguments.pairs {
                    return Ok(());
                }
                let change = arguments.compare(&populations, &tasks, seed)?;
                found.lock().map_err(|_| "another thread failed")?.push(change);
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a thread failed")?)
    })?;
    let changes = found.into_inner().map_err(|_| "a thread failed")?;
    arguments.print(&populations, &changes)
}

impl Arguments {
    /// The records that each collection draws from.
    fn populations(&self) -> Result<[Vec<BoundedRecord>; 2], Failure> {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let [ours, theirs] = match self.source.rows(self.features)? {
            Some(rows) => {
                let half = rows.len() / 2;
                if self.halves { [rows[..half].to_vec(), rows[half..].to_vec()] } else { [rows.clone(), rows] }
            }
            None => {
                let rank = Rank::new(self.components.unwrap_or(self.rank))?;
                let model = SpikedModel::draw(self.features, rank, self.signal, None, &mut rng)?;
                let rows: Vec<Vec<f64>> = (0..POPULATION).map(|_| model.record(&mut rng)).collect();
                let other = rotated(&rows, model.subspace(), self.rotate.to_radians(), &mut rng);
                [rows, other]
            }
        };
        Ok([bounded(ours)?, bounded(theirs)?])
    }

    fn compare(&self, populations: &[Vec<BoundedRecord>; 2], tasks: &[Task; 2], seed: u64) -> Result<Change, Failure> {
        let mut rng = ChaCha12Rng::seed_from_u64(1000 + seed);
        let mut collect = |index: usize| -> Result<Aggregate, Failure> {
            let (records, task) = (&populations[index], &tasks[index]);
            let mut accumulator = Accumulator::new(task);
            for _ in 0..self.reports[index] {
                let record = &records[rng.random_range(0..records.len())];
                accumulator.push(task.randomize_with_rng(record, None, &mut rng)?)?;
            }
            Ok(accumulator.aggregate()?.clone())
        };
        let (ours, theirs) = (collect(0)?, collect(1)?);
        let rank = Rank::new(self.rank)?;
        let go = |_| ControlFlow::Continue(());
        Ok(change((&ours, &tasks[0]), (&theirs, &tasks[1]), rank, self.replicates, &mut rng, go)?)
    }

    fn print(&self, populations: &[Vec<BoundedRecord>; 2], changes: &[Change]) -> Result<(), Failure> {
        let pairs = changes.len() as f64;
        let share = |found: &dyn Fn(&Change) -> bool| {
            let share = changes.iter().filter(|change| found(change)).count() as f64 / pairs;
            format!("{share:.3} ± {:.3}", (share * (1.0 - share) / pairs).sqrt())
        };
        let excluded = |measured: &Measured| measured.interval.lower > 0.0 || measured.interval.upper < 0.0;
        let held_out = |found: fn(&ldp_pca::internal::recovery::HeldOutChange) -> Measured| {
            share(&|change| change.held_out.as_ref().is_some_and(|held_out| excluded(&found(held_out))))
        };
        let mean = |value: &dyn Fn(&Change) -> f64| changes.iter().map(value).sum::<f64>() / pairs;
        let subspace = |records: &[BoundedRecord]| -> Result<Subspace, Failure> {
            Ok(Subspace::new(&principal_components(&second_moment(records), Rank::new(self.rank)?)?.vectors)?)
        };
        let truth = sin_theta_squared(&subspace(&populations[0])?, &subspace(&populations[1])?)?;
        let components = self.components.unwrap_or(self.rank);
        let name = self.source.name().unwrap_or_else(|| format!("spiked, {components} components"));
        println!(
            "| {name} | {} | {} | {}, {} | {}, {} | {truth:.3} | {:.3} | {:.3} | {} | {} | {} |",
            populations[0][0].coordinates().len(),
            self.rank,
            self.epsilon[0],
            self.epsilon[1],
            self.reports[0],
            self.reports[1],
            mean(&|change| change.sin_theta_squared),
            mean(&|change| change.quantile.unwrap_or(f64::NAN)),
            share(&|change| change.p_value.is_some_and(|p| p < SIGNIFICANT)),
            held_out(|held_out| held_out.captured),
            held_out(|held_out| held_out.own),
        );
        Ok(())
    }
}

/// The records turned in the plane of the first component and a random direction orthogonal to all.
fn rotated(rows: &[Vec<f64>], components: &Subspace, angle: f64, rng: &mut ChaCha12Rng) -> Vec<Vec<f64>> {
    let basis = components.basis();
    let drawn = DVector::from_fn(basis.nrows(), |_, _| rng.sample::<f64, _>(StandardNormal));
    let (from, to) = (basis.column(0).into_owned(), (&drawn - basis * basis.tr_mul(&drawn)).normalize());
    let turn = |row: &Vec<f64>| {
        let record = DVector::from_column_slice(row);
        let (along, across) = (record.dot(&from), record.dot(&to));
        let turned = record
            + &from * (along * (angle.cos() - 1.0) - across * angle.sin())
            + &to * (along * angle.sin() + across * (angle.cos() - 1.0));
        turned.as_slice().to_vec()
    };
    rows.iter().map(turn).collect()
}
