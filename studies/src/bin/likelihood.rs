//! The measured gains behind docs/likelihood.md: components of the linear estimate and of a likelihood pass over the
//! same reports, `cargo run --release -p ldp-pca-studies --bin likelihood -- --features 40 --epsilon 2`.
//!
//! The population is normal with these variances along its first axes and 1 along all others, scaled to unit length, or
//! real records. With `--skewed` it breaks the assumption: two lines in a plane, on both sides of the first component,
//! at 10 and 40 degrees, and little beside them. Prints a row of a Markdown table.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::time::Instant;

use chacha20::ChaCha12Rng;
use clap::Parser;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::covariance::Covariance;
use ldp_pca::record::Bounding;
use ldp_pca::recovery::{LikelihoodAnswer, Rank, StoredReports, principal_components};
use ldp_pca::schema::Schema;
use ldp_pca::second_moment::SecondMoment;
use ldp_pca::task::{Folds, Task};
use ldp_pca_studies::{Failure, RecordsArguments, mechanism};
use nalgebra::DMatrix;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    source: RecordsArguments,
    #[arg(long, default_value_t = 40)]
    features: usize,
    #[arg(long, default_value_t = 3)]
    rank: usize,
    /// Variances along the first axes
    #[arg(long, value_delimiter = ',', default_value = "14,14,14")]
    variances: Vec<f64>,
    /// Two lines instead
    #[arg(long)]
    skewed: bool,
    /// Reports of a collection
    #[arg(long, default_value_t = 20_000)]
    reports: usize,
    #[arg(long, default_value_t = 2.0)]
    epsilon: f64,
    #[arg(long, default_value_t = 10)]
    folds: u32,
    #[arg(long, default_value_t = 10)]
    trials: u64,
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let rows = arguments.source.rows(arguments.features)?;
    let (dimension, rank) = (arguments.features, Rank::new(arguments.rank)?);
    let folds = Folds::new(arguments.folds)?;
    let task = Task::new(Schema::numeric(dimension)?, Bounding::UnitNorm, mechanism(arguments.epsilon)?, folds)?;
    let (mut errors, mut offered, mut seconds) = (vec![], 0, 0.0);
    for seed in 0..arguments.trials {
        let mut rng = ChaCha12Rng::seed_from_u64(4000 + seed);
        // The errors are those from the components of the population, of records from those of the people themselves.
        let mut moment = SecondMoment::of_task(&task);
        let (mut stored, mut aggregate) = (StoredReports::new(&task)?, Aggregate::empty(&task));
        let mut reports = vec![];
        for number in 0..arguments.reports {
            let record = match &rows {
                Some(rows) => rows[rng.random_range(0..rows.len())].clone(),
                None => arguments.record(&mut rng),
            };
            let record = task.bound(record)?;
            moment.add(&record);
            reports.push(task.randomize_with_rng(&record, &mut rng)?);
            if reports.len() == 10_000 || number + 1 == arguments.reports {
                aggregate.accumulate(&task, &reports)?;
                stored.extend(&reports);
                reports.clear();
            }
        }
        let truth = match rows {
            Some(_) => principal_components(&moment.matrix(), rank)?.vectors,
            None => DMatrix::identity(dimension, arguments.rank),
        };
        let error = |components: &DMatrix<f64>| arguments.rank as f64 - truth.tr_mul(components).norm_squared();
        let linear = principal_components(Covariance::estimate(&aggregate, &task)?.matrix(), rank)?.vectors;
        let started = Instant::now();
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let found = stored.likelihood(&aggregate, rank, threads, &mut |_| ControlFlow::Continue(()))?;
        seconds += started.elapsed().as_secs_f64();
        let LikelihoodAnswer { components, offered: is_offered, .. } = found.ok_or("nothing stopped it")?;
        let components = DMatrix::from_fn(dimension, arguments.rank, |row, column| components[column][row]);
        errors.push([error(&linear), error(&components)]);
        offered += u64::from(is_offered);
    }
    let mean = |index: usize| errors.iter().map(|errors| errors[index]).sum::<f64>() / arguments.trials as f64;
    let (linear, likelihood) = (mean(0), mean(1));
    let difference = |errors: &[f64; 2]| (errors[0] - errors[1] - linear + likelihood).powi(2);
    let deviation = (errors.iter().map(difference).sum::<f64>() / (arguments.trials - 1) as f64).sqrt();
    println!(
        "| {} | {dimension} | {} | {} | {} | {linear:.4} | {likelihood:.4} | {:.2} | {:.4} ± {:.4} | \
         {offered} of {} | {:.1} s |",
        arguments.name(),
        arguments.rank,
        arguments.epsilon,
        arguments.reports,
        linear / likelihood,
        linear - likelihood,
        deviation / (arguments.trials as f64).sqrt(),
        arguments.trials,
        seconds / arguments.trials as f64
    );
    Ok(())
}

impl Arguments {
    fn name(&self) -> String {
        let synthetic = || if self.skewed { "two lines".into() } else { format!("elliptical, {:?}", self.variances) };
        self.source.name().unwrap_or_else(synthetic)
    }

    fn record(&self, rng: &mut ChaCha12Rng) -> Vec<f64> {
        if self.skewed {
            return self.on_lines(rng);
        }
        let variance = |feature: usize| self.variances.get(feature).copied().unwrap_or(1.0);
        (0..self.features).map(|feature| variance(feature).sqrt() * rng.sample::<f64, _>(StandardNormal)).collect()
    }

    /// Such shares of the lines that the first axis is the component: `p sin 20 = (1 - p) sin 80`.
    fn on_lines(&self, rng: &mut ChaCha12Rng) -> Vec<f64> {
        let [near, far] = [10.0f64, -40.0].map(f64::to_radians);
        let share = (2.0 * far).sin() / ((2.0 * far).sin() - (2.0 * near).sin());
        let angle = if rng.random::<f64>() < share { near } else { far };
        let mut record: Vec<f64> = (0..self.features)
            .map(|_| 0.3 / (self.features as f64).sqrt() * rng.sample::<f64, _>(StandardNormal))
            .collect();
        record[0] = angle.cos();
        record[1] = angle.sin();
        record
    }
}
