//! The measured rates behind docs/inference.md: how many of the features that `recover --select` names move alone,
//! `cargo run --release -p ldp-pca-studies --bin features -- FILE.npy --standardise`.
//!
//! The first half of the features is correlated: the columns of largest variance of real records, or the features with
//! signal of a synthetic population. Each feature of the second half is drawn by itself: from one more column of the
//! records, for each report anew, or from a normal law. Collected many times, with replacement, through the real
//! mechanism, by tasks with centring. Prints a row of a Markdown table.

use chacha20::ChaCha12Rng;
use clap::Parser;
use ldp_pca::aggregate::Accumulator;
use ldp_pca::centring::Centring;
use ldp_pca::covariance::Covariance;
use ldp_pca::record::{Bounding, Radius};
use ldp_pca::recovery::{FeatureTest, Rank};
use ldp_pca::schema::Schema;
use ldp_pca::simulation::SpikedModel;
use ldp_pca::task::{Folds, Task};
use ldp_pca_studies::{Failure, POPULATION, RecordsArguments, mechanism};
use rand::{RngExt, SeedableRng};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    source: RecordsArguments,
    #[arg(long, default_value_t = 40)]
    features: usize,
    /// Every feature moves alone
    #[arg(long)]
    null: bool,
    #[arg(long, default_value_t = 2)]
    rank: usize,
    /// Strength of the components of a synthetic population
    #[arg(long, default_value_t = 20.0)]
    signal: f64,
    /// Reports of a collection
    #[arg(long, default_value_t = 20_000)]
    reports: usize,
    /// The budget; a negative one is of the Gaussian mechanism
    #[arg(long, default_value_t = 2.0, allow_negative_numbers = true)]
    epsilon: f64,
    #[arg(long, default_value_t = 0.1)]
    rate: f64,
    /// Clip records at this length, in place of dividing each by its own
    #[arg(long)]
    radius: Option<f64>,
    #[arg(long, default_value_t = 200)]
    collections: u64,
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let rows = arguments.population()?;
    let dimension = arguments.features.min(rows[0].len());
    let correlated = if arguments.null { 0 } else { dimension / 2 };
    let mechanism = mechanism(arguments.epsilon)?;
    let bounding = match arguments.radius {
        Some(radius) => Bounding::Clip { radius: Radius::new(radius)? },
        None => Bounding::UnitNorm,
    };
    let task = Task::new(Schema::numeric(dimension)?, bounding, mechanism, Folds::new(1)?)?;
    let task = task.with_centring(Centring::default())?;
    let (mut selected, mut found, mut below) = (0, 0, 0);
    let mut shares = vec![];
    for seed in 0..arguments.collections {
        let mut rng = ChaCha12Rng::seed_from_u64(1000 + seed);
        let mut accumulator = Accumulator::new(&task);
        for _ in 0..arguments.reports {
            let mut record = rows[rng.random_range(0..rows.len())][..dimension].to_vec();
            for (feature, value) in record.iter_mut().enumerate().skip(correlated) {
                *value = rows[rng.random_range(0..rows.len())][feature];
            }
            accumulator.push(task.randomize_with_rng(&task.bound(record)?, &mut rng)?)?;
        }
        let covariance = Covariance::estimate(accumulator.aggregate()?, &task)?;
        let test = FeatureTest::new(&covariance, Rank::new(arguments.rank)?)?;
        let features = test.selected(arguments.rate);
        let wrong = features.iter().filter(|&&feature| feature >= correlated).count();
        shares.push(wrong as f64 / features.len().max(1) as f64);
        selected += features.len();
        found += features.len() - wrong;
        below += test.p_values[correlated..].iter().filter(|&&p| p < 0.05).count();
    }
    let collections = arguments.collections as f64;
    let mean = shares.iter().sum::<f64>() / collections;
    let spread = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / collections;
    println!(
        "| {} | {bounding} | {dimension} | {} | {} | {} | {:.1} | {:.1} of {correlated} | {mean:.3} ± {:.3} | {:.3} |",
        arguments.name(),
        arguments.rank,
        arguments.epsilon,
        arguments.reports,
        selected as f64 / collections,
        f64::from(u32::try_from(found)?) / collections,
        (spread / collections).sqrt(),
        below as f64 / collections / (dimension - correlated) as f64,
    );
    Ok(())
}

impl Arguments {
    fn name(&self) -> String {
        let name = self.source.name().unwrap_or_else(|| "spiked".into());
        format!("{name}{}", if self.null { ", all alone" } else { "" })
    }

    /// Rows whose columns are drawn together or alone.
    fn population(&self) -> Result<Vec<Vec<f64>>, Failure> {
        if let Some(rows) = self.source.rows(self.features)? {
            return Ok(rows);
        }
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let half = self.features / 2;
        let model = SpikedModel::draw(half, Rank::new(self.rank)?, self.signal, None, &mut rng)?;
        let alone = SpikedModel::draw(self.features - half, Rank::new(1)?, 0.0, None, &mut rng)?;
        Ok((0..POPULATION).map(|_| [model.record(&mut rng), alone.record(&mut rng)].concat()).collect())
    }
}
