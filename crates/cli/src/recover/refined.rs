//! Components of two waves, or of a public sample and a wave: `recover --refined`.

use std::path::{Path, PathBuf};

use clap::Args;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::waves::{OF_FIRST_WAVE, RefineError, RefinedFacts, refined_answer, refinement_of};
use ldp_pca::recovery::{Answer, Rank};
use ldp_pca::task::Task;

use super::rank::RankChoice;
use crate::error::{CliError, InFile as _, Result};
use crate::files;
use crate::output::{Decimal, plural};
use crate::records::Reading;
use crate::task::{public_sample, waves_text};

/// What the answer of two waves does not use. Options that need another one are named too: clap takes them where the
/// other one is in conflict.
const OF_ONE_WAVE: &str = "method sparse penalty path tolerance time_limit select bootstrap other other_task reports \
                           reference covariance denoise plot report";

/// The arguments of a second wave.
#[derive(Args)]
pub(super) struct RefinedArguments {
    /// The sums of a second wave: components of both waves together
    ///
    /// The second wave has asked other people. The error of the components is predicted
    #[arg(long, value_name = "AGGREGATE", requires = "refined_task", help_heading = "Second wave")]
    #[arg(conflicts_with_all = OF_ONE_WAVE.split(' '))]
    refined: Option<PathBuf>,
    /// The task of the second wave (see `task refine`)
    #[arg(long, value_name = "TASK", requires = "refined", help_heading = "Second wave")]
    refined_task: Option<PathBuf>,
    /// In the place of the aggregate the public records that the second wave's task was made from
    #[arg(long, value_name = "RECORDS", requires = "refined", help_heading = "Second wave")]
    #[arg(conflicts_with = "aggregate")]
    pub(super) sample: Option<PathBuf>,
}

/// The sums of a second wave that refines the first, before they are read.
pub(super) struct SecondSums<'a> {
    aggregate: &'a Path,
    task: Task,
    rank: Rank,
}

impl RefinedArguments {
    /// Reads the task of the second wave, where there is one, and refuses one that does not refine the only task of the
    /// first. This has so many `aggregates`, or the sample in their place.
    pub(super) fn read(&self, tasks: &[Task], aggregates: usize, rank: RankChoice) -> Result<Option<SecondSums<'_>>> {
        let (Some(aggregate), Some(path)) = (&self.refined, &self.refined_task) else { return Ok(None) };
        let firsts = aggregates + usize::from(self.sample.is_some());
        let ([first], 1, RankChoice::Given(rank)) = (tasks, firsts, rank) else {
            let problem = "--refined goes with one task, and one aggregate or --sample, and a --rank that is a number";
            return Err(CliError::usage(problem));
        };
        let task = files::task(path)?;
        refinement_of(first, rank, &task).in_file(path)?;
        Ok(Some(SecondSums { aggregate, task, rank }))
    }
}

impl SecondSums<'_> {
    /// The components of both waves.
    pub(super) fn recover(&self, covariance: &Covariance, first: &Task) -> Result<(Answer, RefinedFacts)> {
        self.answer(|second| refined_answer((covariance, first), second, self.rank))
    }

    /// The components of the public sample, turned by what the wave reported.
    pub(super) fn of_sample(&self, path: &Path, task: &Task, reading: &Reading) -> Result<(Answer, RefinedFacts)> {
        let (sample, _) = public_sample(path, task, reading)?;
        self.answer(|second| sample.answer(task, second, self.rank))
    }

    fn answer<T>(&self, put_together: impl FnOnce((&Aggregate, &Task)) -> Result<T, RefineError>) -> Result<T> {
        let aggregate = files::aggregate(self.aggregate, &self.task, "--refined-task")?;
        put_together((&aggregate, &self.task)).map_err(|error| match error {
            RefineError::Aggregate(_) | RefineError::Directions(_) | RefineError::NotFinite => {
                CliError::file(self.aggregate, error)
            }
            other => other.into(),
        })
    }
}

/// What two waves, or a sample and a wave, add to the text of an answer.
pub(super) fn text(facts: &RefinedFacts, details: bool) -> String {
    match &facts.sample {
        Some(sample) => format!(
            "{}sample     {}, whose directions are off by about {:.4}, as the wave shows\n\
             assumed    eigenvalues and bulk are those of the sample; nothing of the people is in them\n",
            waves_text(&facts.waves, true),
            plural(sample.records, "public record"),
            sample.error,
        ),
        None if !details => waves_text(&facts.waves, false),
        None => format!(
            "{}loadings   shrunk where they are noise: up to {} of its deviations, by component\n\
             not here   {OF_FIRST_WAVE}: leave --refined out\n\
             assumed    the noise above is the first wave's\n",
            waves_text(&facts.waves, false),
            facts.thresholds.iter().map(|threshold| Decimal(*threshold).to_string()).collect::<Vec<_>>().join(", "),
        ),
    }
}
