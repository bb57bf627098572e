//! The `norms` command: the lengths of records, and what a clipping radius costs.

use std::path::PathBuf;

use clap::Args;
use ldp_pca::norms::{Clipping, Norms, NormsError, Quantile};
use ldp_pca::privacy::Guarantee;
use ldp_pca::record::Radius;
use serde::Serialize;

use super::error::{CliError, Result};
use super::files;
use super::output::{Format, grouped};
use super::parameters::radius;

/// The quantiles that are shown.
const SHARES: [f64; 5] = [0.25, 0.5, 0.75, 0.9, 0.99];
/// The probability that an interval covers its quantile.
const CONFIDENCE: f64 = 0.95;

/// Show how long records are, and what a clipping radius costs
///
/// From the sums of a collection about lengths (see `task norms`). A radius that few records reach wastes people:
/// everybody's noise is that of a record of this length. The median is a good choice.
#[derive(Args)]
pub(super) struct NormsCommand {
    /// The sums
    aggregate: PathBuf,
    /// The task of the sums
    #[arg(short, long)]
    task: PathBuf,
    /// Also a radius of your own
    #[arg(long, value_parser = radius, allow_hyphen_values = true)]
    radius: Option<Radius>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Lengths {
    records: u64,
    guarantee: Guarantee,
    confidence: f64,
    quantiles: Vec<Quantile>,
    radii: Vec<Clipping>,
}

impl NormsCommand {
    pub(super) fn run(self) -> Result<()> {
        let norms = read(&self.aggregate, &self.task)?;
        let quantiles: Vec<Quantile> = SHARES.map(|share| norms.quantile(share, CONFIDENCE)).to_vec();
        let lengths = quantiles.iter().filter_map(|quantile| Radius::new(quantile.length?).ok());
        // A quantile is between thresholds, and has a cost.
        let mut radii: Vec<Clipping> = lengths.filter_map(|radius| norms.clipping(radius).ok()).collect();
        if let Some(radius) = self.radius {
            radii.push(norms.clipping(radius).map_err(CliError::usage)?);
        }
        let guarantee = files::task(&self.task)?.guarantee();
        let lengths = Lengths { records: norms.records(), guarantee, confidence: CONFIDENCE, quantiles, radii };
        self.format.print(&lengths, Lengths::text)
    }
}

/// The lengths that the sums of a task show.
pub(super) fn read(aggregate: &std::path::Path, task: &std::path::Path) -> Result<Norms> {
    let read = files::task(task)?;
    Norms::of(&files::aggregate(aggregate, &read)?, &read).map_err(|error| match error {
        NormsError::NotNorms => CliError::file(task, error),
        _ => CliError::file(aggregate, error),
    })
}

impl Lengths {
    fn text(&self) -> String {
        let mut text = format!("reports     {}, each {}\n", grouped(self.records), self.guarantee);
        for quantile in &self.quantiles {
            let length = quantile.length.map_or("beyond what was asked about".to_owned(), rounded);
            let range = match (quantile.lower, quantile.upper) {
                (lower, Some(upper)) => format!("{} to {}", rounded(lower), rounded(upper)),
                (lower, None) => format!("at least {}", rounded(lower)),
            };
            text += &format!("length      {:>2.0} % of the records: {length} ({range})\n", 100.0 * quantile.share);
        }
        for clipping in &self.radii {
            text += &clipping_text(clipping);
        }
        text + &format!(
            "assumed     people are drawn at random, and honest: then each interval covers its quantile with at least \
             {:.0} %. Of the radius: directions do not depend on lengths\n",
            100.0 * self.confidence
        )
    }
}

/// From this factor on, a radius is too large.
const MUCH: f64 = 2.5;

/// What a radius costs.
pub(super) fn clipping_text(clipping: &Clipping) -> String {
    let radius = rounded(clipping.radius.value());
    let people = match clipping.people {
        Some(people) => format!("{} times the people that unit norm takes", rounded(people)),
        None => "more people than can be told".to_owned(),
    };
    let warning = match clipping.people {
        Some(people) if people <= MUCH => "",
        _ => ": choose one that half of the records reach",
    };
    format!("radius      {radius}: {people}{warning}\n")
}

/// The number with three digits.
fn rounded(value: f64) -> String {
    let magnitude = value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
    match magnitude {
        _ if value == 0.0 => "0".to_owned(),
        -4..=5 => format!("{:.*}", usize::try_from(2 - magnitude).unwrap_or(0), value),
        _ => format!("{value:.2e}"),
    }
}
