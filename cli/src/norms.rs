//! The `norms` command: the lengths of records, and what a clipping radius costs.

use std::path::{Path, PathBuf};

use clap::Args;
use ldp_pca::norms::{Clipping, Norms, NormsError, Quantile};
use ldp_pca::privacy::Guarantee;
use ldp_pca::record::Radius;
use ldp_pca::task::Task;
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
        let (norms, task) = read(&self.aggregate, &self.task)?;
        let quantiles: Vec<Quantile> = SHARES.map(|share| norms.quantile(share, CONFIDENCE)).to_vec();
        // The price of an upper quantile from the same reports is far too low: those that found it too short price it.
        let lower = quantiles.iter().take_while(|quantile| quantile.share <= 0.5);
        let lengths = lower.filter_map(|quantile| Radius::new(quantile.length?).ok());
        // A quantile is between thresholds, and has a price.
        let mut radii: Vec<Clipping> = lengths.filter_map(|radius| norms.clipping(radius).ok()).collect();
        if let Some(radius) = self.radius {
            radii.push(norms.clipping(radius).map_err(CliError::usage)?);
        }
        let guarantee = task.guarantee();
        let lengths = Lengths { records: norms.records(), guarantee, confidence: CONFIDENCE, quantiles, radii };
        self.format.print(&lengths, Lengths::text)
    }
}

/// The lengths that the sums of a task show, and the task.
pub(super) fn read(aggregate: &Path, task: &Path) -> Result<(Norms, Task)> {
    let read = files::task(task)?;
    let norms = Norms::of(&files::aggregate(aggregate, &read)?, &read).map_err(|error| match error {
        NormsError::NotNorms => CliError::file(task, error),
        _ => CliError::file(aggregate, error),
    })?;
    Ok((norms, read))
}

impl Lengths {
    fn text(&self) -> String {
        let mut text = format!("reports     {}, each {}\n", grouped(self.records), self.guarantee);
        for quantile in &self.quantiles {
            let length = quantile.length.map_or("outside what was asked about".to_owned(), rounded);
            let lower = with_digits(quantile.lower, f64::floor);
            let range = match quantile.upper {
                Some(upper) => format!("{lower} to {}", with_digits(upper, f64::ceil)),
                None => format!("at least {lower}"),
            };
            text += &format!("length      {:>2.0} % of the records: {length} ({range})\n", 100.0 * quantile.share);
        }
        for clipping in &self.radii {
            text += &clipping_text(clipping);
        }
        text + &format!(
            "assumed     people are drawn at random, and honest. Then each interval, by itself, covers its quantile \
             with at least {:.0} %. Of the radius: directions do not depend on lengths; its price has no interval\n",
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
    with_digits(value, f64::round)
}

/// The same, rounded in this way.
fn with_digits(value: f64, rounding: fn(f64) -> f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let (up, down) = (10f64.powi((2 - magnitude).max(0)), 10f64.powi((magnitude - 2).max(0)));
    let value = rounding(value * up / down) / up * down;
    match magnitude {
        -4..=5 => format!("{:.*}", usize::try_from(2 - magnitude).unwrap_or(0), value),
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_intervals_are_rounded_outward() {
        for (value, low, near, high) in [
            (59.4604, "59.4", "59.5", "59.5"),
            (0.123_51, "0.123", "0.124", "0.124"),
            (123_456.0, "123000", "123000", "124000"),
            (1.501e-9, "1.50e-9", "1.50e-9", "1.51e-9"),
            (0.0, "0", "0", "0"),
        ] {
            let found = [f64::floor, f64::round, f64::ceil].map(|rounding| with_digits(value, rounding));
            assert_eq!(found, [low, near, high], "{value}");
        }
    }
}
