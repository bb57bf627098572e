//! The `norms` command: the lengths of records, and what a clipping radius costs.

use std::path::{Path, PathBuf};

use clap::Args;
use ldp_pca::internal::lengths::{Clipping, Lengths, Norms, NormsError};
use ldp_pca::record::Radius;
use ldp_pca::task::Task;
use ldp_pca_pictures as pictures;
use serde::Serialize;

use super::error::{CliError, Result};
use super::files;
use super::output::{Format, grouped, three_digits, wrote};
use super::parameters::radius;
use super::writing::{self, Target};

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
    /// Where to draw the share of the records that is at most so long (.svg)
    #[arg(long, value_name = "FILE", value_parser = Target::picture())]
    plot: Option<Target>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct NormsResult {
    #[serde(flatten)]
    lengths: Lengths,
    #[serde(skip_serializing_if = "Option::is_none")]
    plot: Option<Target>,
}

impl NormsCommand {
    pub(super) fn run(self) -> Result<()> {
        let (norms, task) = read(&self.aggregate, &self.task)?;
        let lengths = Lengths::new(&norms, task.guarantee(), self.radius).map_err(CliError::usage)?;
        if let Some(path) = &self.plot {
            writing::write(path, pictures::lengths(&lengths, &norms.distribution()).as_bytes())?;
        }
        let result = NormsResult { lengths, plot: self.plot };
        self.format.print(&result, |result| format!("{}{}", text(&result.lengths), wrote(result.plot.as_ref())))
    }
}

/// The lengths that the sums of a task show, and the task.
pub(super) fn read(aggregate: &Path, task: &Path) -> Result<(Norms, Task)> {
    let read = files::task(task)?;
    let norms = Norms::of(&files::aggregate(aggregate, &read, "--task")?, &read).map_err(|error| match error {
        NormsError::NotNorms => CliError::file(task, format!("{error}: give one that `ldp-pca task norms` wrote")),
        _ => CliError::file(aggregate, error),
    })?;
    Ok((norms, read))
}

fn text(lengths: &Lengths) -> String {
    let mut text = format!("reports     {}, each {}\n", grouped(lengths.records), lengths.guarantee);
    for quantile in &lengths.quantiles {
        let length = quantile.length.map_or("outside what was asked about".to_owned(), rounded);
        let lower = three_digits(quantile.lower, f64::floor);
        let range = quantile.upper.map(|upper| format!("{lower} to {}", three_digits(upper, f64::ceil)));
        let range = range.unwrap_or_else(|| format!("at least {lower}"));
        text += &format!("length      {:>2.0} % of the records: {length} ({range})\n", 100.0 * quantile.share);
    }
    for clipping in &lengths.radii {
        text += &clipping_text(clipping);
    }
    text + &format!(
        "assumed     people are drawn at random, and honest. Then each interval, by itself, covers its quantile with \
         at least {:.0} %. Of the radius: directions do not depend on lengths; its price has no interval\n",
        100.0 * lengths.confidence
    )
}

/// What a radius costs.
pub(super) fn clipping_text(clipping: &Clipping) -> String {
    let radius = rounded(clipping.radius.value());
    let people = clipping.people.map(|people| format!("{} times the people that unit norm takes", rounded(people)));
    let people = people.as_deref().unwrap_or("more people than can be told");
    let warning = if clipping.costs_much() { ": choose one that half of the records reach" } else { "" };
    format!("radius      {radius}: {people}{warning}\n")
}

fn rounded(value: f64) -> String {
    three_digits(value, f64::round)
}
