//! Writes an instance of the sparse problem for benchmarks: the matrix S as NPY, the rest as JSON on standard output.
//!
//! ```text
//! cargo run --release -p ldp-pca-studies --bin fantope_instance -- S.npy --dimension 2000
//! ```
//!
//! By default the spikes have 10 times the variance of the rest, the noise is `gap / (hardness √d)` with hardness 3,
//! and the penalty is half of `noise √(ln d)`. With `--gap` and `--reports` it is an estimate of that gap from that
//! many double-cap reports at epsilon 4, with the default penalty.
#![cfg(not(target_family = "wasm"))]

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use chacha20::ChaCha8Rng;
use clap::Parser;
use ldp_pca::internal::mechanism::Moments;
use ldp_pca::mechanism::MechanismSpec;
use ldp_pca::privacy::Epsilon;
use ldp_pca::record::Bounding;
use ldp_pca::recovery::{DEFAULT_PENALTY_FACTOR, Rank, default_penalty};
use ldp_pca_simulation::SpikedModel;
use nalgebra::{DMatrix, RealField};
use npyz::{AutoSerialize, WriterBuilder as _};
use rand::SeedableRng;
use serde_json::json;

/// An instance of the sparse problem.
#[derive(Parser)]
struct Arguments {
    /// Where to write S (NPY, in C order)
    output: PathBuf,
    /// Rows and columns of S
    #[arg(long)]
    dimension: usize,
    /// Number of spikes
    #[arg(long, default_value_t = 5)]
    rank: usize,
    /// Number of coordinates with spikes
    #[arg(long, default_value_t = 20)]
    sparsity: usize,
    /// Noise: gap / (hardness √d); 3 is easy, 1 is hard
    #[arg(long, default_value_t = 3.0, conflicts_with = "reports")]
    hardness: f64,
    /// Gap of the covariance of trace 1 [default: that of spikes with 10 times the variance of the rest]
    #[arg(long)]
    gap: Option<f64>,
    /// Noise of this many double-cap reports at epsilon 4
    #[arg(long)]
    reports: Option<u32>,
    /// Penalty in units of noise √(ln d) [default: 0.5; with --reports, the default of `recover`]
    #[arg(long)]
    factor: Option<f64>,
    /// Seed of the ChaCha8 generator
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write single precision
    #[arg(long)]
    single: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let dimension = arguments.dimension;
    let rank = Rank::new(arguments.rank)?;
    let gap = arguments.gap.unwrap_or_else(|| SpikedModel::gap_of_signal(10.0, dimension, rank));
    let largest = 1.0 / arguments.rank as f64;
    if !(gap > 0.0 && gap <= largest) {
        let problem = format!("the gap is {gap}: the spikes stand out by more than 0 and at most {largest}");
        return Err(problem.into());
    }
    let (noise, usual_factor) = match arguments.reports {
        Some(reports) => (deviation_of_reports(dimension, reports)?, DEFAULT_PENALTY_FACTOR),
        None => (gap / (arguments.hardness * (dimension as f64).sqrt()), 0.5),
    };
    let factor = arguments.factor.unwrap_or(usual_factor);
    let penalty = default_penalty(noise, dimension, factor)?;

    let mut rng = ChaCha8Rng::seed_from_u64(arguments.seed);
    let model = SpikedModel::draw(dimension, rank, 10.0, Some(arguments.sparsity), &mut rng)?;
    if arguments.single {
        write(&arguments.output, &model.estimate::<f32, _>(gap, noise, &mut rng))?;
    } else {
        write(&arguments.output, &model.estimate::<f64, _>(gap, noise, &mut rng))?;
    }
    let description = json!({
        "matrix": arguments.output,
        "dimension": dimension,
        "rank": arguments.rank,
        "sparsity": arguments.sparsity,
        "gap": gap,
        "noise": noise,
        "factor": factor,
        "penalty": penalty.value(),
        "seed": arguments.seed,
    });
    println!("{description:#}");
    Ok(())
}

/// The standard deviation of an entry of the estimate from `reports` unit-norm records.
fn deviation_of_reports(dimension: usize, reports: u32) -> Result<f64, Box<dyn Error>> {
    let mechanism = MechanismSpec::double_cap(Epsilon::new(4.0)?).build(dimension, Bounding::UnitNorm)?;
    Ok(mechanism.entry_deviation() / f64::from(reports).sqrt())
}

/// Column by column. The matrix is symmetric, so this is also row by row.
fn write<T: RealField + AutoSerialize + Copy>(path: &Path, matrix: &DMatrix<T>) -> Result<(), Box<dyn Error>> {
    let mut output = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let shape = [matrix.nrows() as u64, matrix.ncols() as u64];
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(&mut output).begin_nd()?;
    writer.extend(matrix.iter().copied())?;
    writer.finish()?;
    output.flush()?;
    Ok(())
}
