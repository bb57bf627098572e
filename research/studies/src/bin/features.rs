//! The measured rates of research/docs/coverage.md: how many of the features that `recover --select` names move alone,
//! and how often `--rank auto` finds components, and calls them a pattern of several columns,
//! `cargo run --release -p ldp-pca-studies --bin features -- FILE.npy --standardise --centre`.
//!
//! The first half of the features is correlated: the columns of largest variance of real records, or the features with
//! signal of a synthetic population. Each column of the second half is drawn by itself: from one more column of the
//! records, for each report anew, or from a normal law. Collected many times, with replacement, through the real
//! mechanism. Prints a row of a Markdown table.

use std::ops::ControlFlow;

use chacha20::ChaCha12Rng;
use clap::Parser;
use ldp_pca::aggregate::Accumulator;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::recovery::{FeatureTest, RankTest};
use ldp_pca::internal::schema::features_of_columns;
use ldp_pca::recovery::{Question, Rank, Reports, answer};
use ldp_pca::schema::Schema;
use ldp_pca_simulation::SpikedModel;
use ldp_pca_studies::{Encoded, Failure, POPULATION, RecordsArguments, TaskArguments};
use rand::{RngExt, SeedableRng};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    source: RecordsArguments,
    #[command(flatten)]
    task: TaskArguments,
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
    #[arg(long, default_value_t = 200)]
    collections: u64,
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let Encoded { schema, rows } = arguments.population()?;
    let dimension = schema.dimension();
    let correlated = if arguments.null { 0 } else { dimension / 2 };
    // The features of each column that is drawn by itself.
    let alone: Vec<_> = features_of_columns(&schema).filter(|features| features.start >= correlated).collect();
    let task = arguments.task.task(schema, arguments.epsilon, 1)?;
    let [mut components, mut patterns] = [0_u32; 2];
    let (mut selected, mut found, mut below) = (0, 0, 0);
    let mut shares = vec![];
    for seed in 0..arguments.collections {
        let mut rng = ChaCha12Rng::seed_from_u64(1000 + seed);
        let mut accumulator = Accumulator::new(&task);
        for _ in 0..arguments.reports {
            let mut record = rows[rng.random_range(0..rows.len())].clone();
            for features in &alone {
                let other = &rows[rng.random_range(0..rows.len())];
                record[features.clone()].copy_from_slice(&other[features.clone()]);
            }
            accumulator.push(task.randomize_with_rng(&task.bound(record)?, None, &mut rng)?)?;
        }
        let aggregate = accumulator.aggregate()?;
        let covariance = Covariance::estimate(aggregate, &task)?;
        let of_rank = RankTest::new(covariance.matrix(), &covariance.noise_law())?;
        if let Ok(rank) = of_rank.rank() {
            let reports = Reports::one(aggregate, &task);
            let found = answer(&Question::new(rank), reports, &covariance, &mut |_| ControlFlow::Continue(()))?;
            components += 1;
            patterns += u32::from(found.found.single_columns == Some(false));
        }
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
        "| {} | {} | {dimension} | {} | {} | {} | {:.1} | {:.1} of {correlated} | {mean:.3} ± {:.3} | {:.3} \
         | {components} | {patterns} |",
        arguments.name(),
        task.bounding(),
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

    /// Rows whose columns are drawn together or alone, and their schema.
    fn population(&self) -> Result<Encoded, Failure> {
        if let Some(encoded) = self.source.encoded(self.features)? {
            return Ok(encoded);
        }
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let half = self.features / 2;
        let model = SpikedModel::draw(half, Rank::new(self.rank)?, self.signal, None, &mut rng)?;
        let alone = SpikedModel::draw(self.features - half, Rank::new(1)?, 0.0, None, &mut rng)?;
        let rows = (0..POPULATION).map(|_| [model.record(&mut rng), alone.record(&mut rng)].concat());
        Ok(Encoded { schema: Schema::numeric(self.features)?, rows: rows.collect() })
    }
}
