//! The measured level and power of research/docs/coverage.md: `cargo run --release -p ldp-pca-studies --bin rank`.
//!
//! Directions of normal vectors, with and without components, go through the real mechanisms, and `RankTest` says how
//! many components stand out. The table counts ranks above, at and below the true one. With a file (.npy, records one a
//! row) estimates are drawn from the law of the noise instead, for the population of its records: columns of largest
//! variance, standardised, divided by the norm. Prints rows of a Markdown table; seeds are fixed.

use std::path::{Path, PathBuf};

use chacha20::ChaCha12Rng;
use clap::Parser;
use ldp_pca::aggregate::Accumulator;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::law::{NoiseLaw, SpikedCovariance};
use ldp_pca::internal::recovery::RankTest;
use ldp_pca::linalg::symmetric_eigenvalues;
use ldp_pca::mechanism::{Calibration, DoubleCap, Gaussian, Mechanism};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;
use ldp_pca::recovery::Rank;
use ldp_pca::schema::Schema;
use ldp_pca::task::{Folds, Task};
use ldp_pca_studies::{Failure, bounded, mechanism, read, second_moment};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

/// The shares of the total variance that components have, where there are some.
const SIGNALS: [f64; 3] = [0.3, 0.2, 0.15];

/// Reports, as multiples of those at which the weakest of them leaves a trace.
const MULTIPLES: [f64; 2] = [3.0, 16.0];

#[derive(Parser)]
struct Arguments {
    /// Records (.npy, one a row); without them synthetic populations
    records: Option<PathBuf>,
    /// Columns taken, those of largest variance
    #[arg(long, default_value_t = 40)]
    features: usize,
    /// Collections per row
    #[arg(long, default_value_t = 400)]
    draws: u32,
    #[arg(long, value_delimiter = ',', default_value = "10,40,100,200")]
    dimensions: Vec<usize>,
    #[arg(long, value_delimiter = ',', default_value = "1,4")]
    epsilons: Vec<f64>,
    /// double-cap, gaussian
    #[arg(long, value_delimiter = ',', default_value = "double-cap,gaussian")]
    mechanisms: Vec<String>,
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    match &arguments.records {
        Some(path) => arguments.of_records(path),
        None => arguments.of_models(),
    }
}

fn law(name: &str, dimension: usize, epsilon: f64, records: u64) -> Result<NoiseLaw, Failure> {
    let (bounding, epsilon) = (Bounding::UnitNorm, Epsilon::new(epsilon)?);
    let mechanism: Mechanism = match name {
        "double-cap" => DoubleCap::new(dimension, epsilon, 128, 16)?.into(),
        _ => Gaussian::new(dimension, epsilon, Delta::new(1e-6)?, Calibration::Analytic)?.into(),
    };
    Ok(NoiseLaw::new(&mechanism, bounding, records)?)
}

impl Arguments {
    fn of_models(&self) -> Result<(), Failure> {
        println!("| mechanism | d | epsilon | reports | true rank | too large | right | too small |");
        println!("|---|---|---|---|---|---|---|---|");
        for &dimension in &self.dimensions {
            for name in &self.mechanisms {
                for &epsilon in &self.epsilons {
                    let rest = dimension - SIGNALS.len();
                    let share = (1.0 - SIGNALS.iter().sum::<f64>()) / rest as f64;
                    let threshold =
                        law(name, dimension, epsilon, 1)?.bulk(share, rest).records_at_threshold(SIGNALS[2]);
                    let reports = |multiple: f64| (multiple * threshold).ceil() as u64;
                    for multiple in MULTIPLES {
                        self.row(name, epsilon, reports(multiple), &variances(dimension, &SIGNALS))?;
                    }
                    // As many, and so few that their eigenvalues are far from normal.
                    for count in [reports(MULTIPLES[1]), dimension as u64, 2 * dimension as u64] {
                        self.row(name, epsilon, count, &variances(dimension, &[]))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Collections of real reports from directions of normal vectors with these variances.
    fn row(&self, name: &str, epsilon: f64, reports: u64, variances: &[f64]) -> Result<(), Failure> {
        let dimension = variances.len();
        let rank = variances.iter().filter(|variance| **variance > variances[dimension - 1]).count();
        let mechanism = mechanism(if name == "double-cap" { epsilon } else { -epsilon })?;
        let task = Task::new(Schema::numeric(dimension)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
        let (mut larger, mut right) = (0, 0);
        for draw in 0..self.draws {
            let mut rng = ChaCha12Rng::seed_from_u64(u64::from(draw));
            let mut accumulator = Accumulator::new(&task);
            for _ in 0..reports {
                let record = variances.iter().map(|variance| variance.sqrt() * rng.sample::<f64, _>(StandardNormal));
                accumulator.push(task.randomize_with_rng(&task.bound(record.collect())?, None, &mut rng)?)?;
            }
            let covariance = Covariance::estimate(accumulator.aggregate()?, &task)?;
            let found = RankTest::new(covariance.matrix(), &covariance.noise_law())?.rank().map_or(0, Rank::value);
            larger += u32::from(found > rank);
            right += u32::from(found == rank);
        }
        let percent = |count: u32| format!("{:.1} %", 100.0 * f64::from(count) / f64::from(self.draws));
        println!(
            "| {name} | {dimension} | {epsilon} | {reports} | {rank} | {} | {} | {} |",
            percent(larger),
            percent(right),
            percent(self.draws - larger - right),
        );
        Ok(())
    }

    fn of_records(&self, path: &Path) -> Result<(), Failure> {
        let moment = second_moment(&bounded(read(path, self.features, true)?)?);
        let truth = SpikedCovariance::from_matrix(&moment)?;
        let values = symmetric_eigenvalues(&moment)?;
        println!("eigenvalues {:.4}", values.rows(0, values.len().min(12)).transpose());
        println!("| mechanism | epsilon | reports | ranks (how often) | above the threshold |");
        for name in &self.mechanisms {
            for &epsilon in &self.epsilons {
                for records in [10_000, 100_000, 1_000_000] {
                    let law = law(name, values.len(), epsilon, records)?;
                    let mut rng = ChaCha12Rng::seed_from_u64(1);
                    let mut counts = vec![0; values.len()];
                    for _ in 0..self.draws {
                        let estimate = law.draw_with_rng(&truth, &mut rng)?;
                        counts[RankTest::new(&estimate, &law)?.rank().map_or(0, Rank::value)] += 1;
                    }
                    let found = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                    let found: Vec<String> = found.map(|(rank, count)| format!("{rank} ({count})")).collect();
                    // Of the rest below each component.
                    let traced = (0..values.len() - 1).take_while(|&index| {
                        let rest = values.rows(index + 1, values.len() - index - 1);
                        values[index] > law.bulk(rest.mean(), rest.len()).threshold()
                    });
                    println!("| {name} | {epsilon} | {records} | {} | {} |", found.join(", "), traced.count());
                }
            }
        }
        Ok(())
    }
}

/// Along the axes: the law of the eigenvalues does not depend on the directions.
fn variances(dimension: usize, signals: &[f64]) -> Vec<f64> {
    let rest = (1.0 - signals.iter().sum::<f64>()) / (dimension - signals.len()) as f64;
    let mut variances = signals.to_vec();
    variances.resize(dimension, rest);
    variances
}
