//! Times the sparse solver over the number of features. Writes a table to standard output, and a picture (.svg) on
//! request.
//!
//! ```text
//! cargo run --release -p ldp-pca-studies --bin growth -- --plot research/docs/growth.svg
//! ```
//!
//! Five components on 20 rows under noise of a third, and of all, of `gap / √d`; penalty ½ and 1 times `noise √(ln d)`;
//! to a certified gap of 1e-4 on one thread; the fastest of three runs, the matrix already in memory.
#![cfg(not(target_family = "wasm"))]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use chacha20::ChaCha8Rng;
use clap::Parser;
use ldp_pca::linalg::SymmetricMatrix;
use ldp_pca::recovery::{FantopeProblem, FantopeSolver, Rank, SolverSettings, default_penalty};
use ldp_pca_simulation::SpikedModel;
use rand::SeedableRng;
use svg::Document;
use svg::node::element::{Circle, Line, Path, Rectangle, Text};

#[derive(Parser)]
struct Arguments {
    /// Numbers of features
    #[arg(long, value_delimiter = ',', default_value = "50,100,200,400,1000,2000,4000,10000")]
    dimensions: Vec<usize>,
    /// Where to draw them (.svg)
    #[arg(long)]
    plot: Option<PathBuf>,
}

/// One kind of instance: the ratio of signal to noise, and the penalty in units of `noise √(ln d)`.
struct Case {
    name: &'static str,
    hardness: f64,
    factor: f64,
    color: &'static str,
}

const CASES: [Case; 2] = [
    Case { name: "noise a third of gap / √d, penalty ½", hardness: 3.0, factor: 0.5, color: "#0b6e99" },
    Case { name: "noise gap / √d, penalty 1", hardness: 1.0, factor: 1.0, color: "#b5460f" },
];

const TOLERANCE: f64 = 1e-4;
const RUNS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    println!("{:>8}  {:>10}  {:>8}  {:>10}  {:>10}  case", "features", "seconds", "gap", "iterations", "rows");
    let mut curves: Vec<Vec<(f64, f64)>> = vec![vec![]; CASES.len()];
    for (case, curve) in CASES.iter().zip(&mut curves) {
        for &dimension in &arguments.dimensions {
            curve.push((dimension as f64, solve(case, dimension)?));
        }
    }
    if let Some(path) = &arguments.plot {
        svg::save(path, &picture(&curves))?;
    }
    Ok(())
}

/// Seconds.
fn solve(case: &Case, dimension: usize) -> Result<f64, Box<dyn Error>> {
    let rank = Rank::new(5)?;
    let gap = SpikedModel::gap_of_signal(10.0, dimension, rank);
    let noise = gap / (case.hardness * (dimension as f64).sqrt());
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let model = SpikedModel::draw(dimension, rank, 10.0, Some(20), &mut rng)?;
    let estimate = model.estimate::<f32, _>(gap, noise, &mut rng);
    let penalty = default_penalty(noise, dimension, case.factor)?;
    let problem = FantopeProblem::of_estimate(SymmetricMatrix::from_single(estimate)?, rank, penalty)?;
    let solver = FantopeSolver::new(SolverSettings { tolerance: TOLERANCE, ..SolverSettings::default() })?;
    let mut fastest = f64::INFINITY;
    for run in 0..RUNS {
        let started = Instant::now();
        let solution = solver.solve(&problem)?;
        fastest = fastest.min(started.elapsed().as_secs_f64());
        if run + 1 == RUNS {
            let (iterations, rows) = (solution.iterations, solution.rows.len());
            let (gap, name) = (solution.relative_gap, case.name);
            println!("{dimension:>8}  {fastest:>10.4}  {gap:>8.1e}  {iterations:>10}  {rows:>10}  {name}");
        }
    }
    Ok(fastest)
}

/// Seconds against features, both logarithmic, with the slope of the square beside them.
fn picture(curves: &[Vec<(f64, f64)>]) -> Document {
    const SIZE: (f64, f64) = (640.0, 400.0);
    const FRAME: (f64, f64, f64, f64) = (70.0, 20.0, 620.0, 350.0);
    let points = || curves.iter().flatten();
    let span = |of: fn(&(f64, f64)) -> f64| {
        let (least, most) = points().map(of).fold((f64::INFINITY, 0.0f64), |(l, m), v| (l.min(v), m.max(v)));
        (least.log10().floor(), most.log10().ceil())
    };
    let (across, up) = (span(|point| point.0), span(|point| point.1));
    let x = |features: f64| FRAME.0 + (features.log10() - across.0) / (across.1 - across.0) * (FRAME.2 - FRAME.0);
    let y = |seconds: f64| FRAME.3 - (seconds.log10() - up.0) / (up.1 - up.0) * (FRAME.3 - FRAME.1);
    let label = |text: &str, at: (f64, f64), anchor: &str| {
        let text = Text::new(text).set("x", at.0).set("y", at.1).set("text-anchor", anchor);
        text.set("font-family", "sans-serif").set("font-size", 13).set("fill", "#333")
    };
    let line = |from: (f64, f64), to: (f64, f64), color: &str| {
        let line = Line::new().set("x1", from.0).set("y1", from.1).set("x2", to.0).set("y2", to.1);
        line.set("stroke", color)
    };
    let mut document = Document::new().set("viewBox", (0, 0, SIZE.0, SIZE.1));
    document = document.add(Rectangle::new().set("width", SIZE.0).set("height", SIZE.1).set("fill", "#fff"));
    for exponent in across.0 as i32..=across.1 as i32 {
        let at = x(10f64.powi(exponent));
        document = document.add(line((at, FRAME.1), (at, FRAME.3), "#ddd"));
        document = document.add(label(&format!("{}", 10u64.pow(exponent as u32)), (at, FRAME.3 + 18.0), "middle"));
    }
    for exponent in up.0 as i32..=up.1 as i32 {
        let at = y(10f64.powi(exponent));
        document = document.add(line((FRAME.0, at), (FRAME.2, at), "#ddd"));
        document = document.add(label(&format!("{} s", 10f64.powi(exponent)), (FRAME.0 - 6.0, at + 4.0), "end"));
    }
    document = document.add(label("features", ((FRAME.0 + FRAME.2) / 2.0, SIZE.1 - 12.0), "middle"));
    for (index, (case, curve)) in CASES.iter().zip(curves).enumerate() {
        let steps: Vec<String> = curve.iter().map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1))).collect();
        let path = Path::new().set("d", format!("M{}", steps.join(" L"))).set("fill", "none");
        document = document.add(path.set("stroke", case.color).set("stroke-width", 2));
        for point in curve {
            document = document
                .add(Circle::new().set("cx", x(point.0)).set("cy", y(point.1)).set("r", 3).set("fill", case.color));
        }
        let at = FRAME.1 + 18.0 + 20.0 * index as f64;
        document = document
            .add(line((FRAME.0 + 12.0, at - 4.0), (FRAME.0 + 36.0, at - 4.0), case.color).set("stroke-width", 2));
        document = document.add(label(case.name, (FRAME.0 + 44.0, at), "start"));
    }
    // The size of the matrix, through the last easy point.
    if let Some(&(features, seconds)) = curves.first().and_then(|curve| curve.last()) {
        let from = (10f64.powf(across.0)).max(features * (10f64.powf(up.0) / seconds).sqrt());
        let at = |features_then: f64| (x(features_then), y(seconds * (features_then / features).powi(2)));
        document = document.add(line(at(from), at(features), "#888").set("stroke-dasharray", "4 4"));
        document = document.add(label("entries of the matrix (d²)", (at(from).0 + 60.0, at(from).1 - 8.0), "start"));
    }
    document
}
