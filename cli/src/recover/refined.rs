//! Components of two waves: `recover --refined`.

use core::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use ldp_pca::covariance::Covariance;
use ldp_pca::recovery::{Answer, OF_FIRST_WAVE, Rank, RefineError, RefinedFacts, refined_answer, refinement_of};
use ldp_pca::task::Task;

use super::rank::RankChoice;
use crate::error::{CliError, InFile as _, Result};
use crate::files;
use crate::task::waves_text;

/// What the answer of two waves does not use. Options that need another one are named too: clap takes them where the
/// other one is in conflict.
const OF_ONE_WAVE: [&str; 18] = [
    "method",
    "sparse",
    "penalty",
    "path",
    "tolerance",
    "max_iterations",
    "time_limit",
    "solver",
    "select",
    "bootstrap",
    "bootstrap_seed",
    "other",
    "other_task",
    "reports",
    "reference",
    "covariance",
    "denoise",
    "plot",
];

/// The arguments of a second wave.
#[derive(Args)]
pub(super) struct RefinedArguments {
    /// The sums of a second wave of other people: components of both waves together, with their predicted error
    #[arg(long, value_name = "AGGREGATE", requires = "refined_task", conflicts_with_all = OF_ONE_WAVE)]
    refined: Option<PathBuf>,
    /// The task of the second wave (see `task refine`)
    #[arg(long, value_name = "TASK", requires = "refined")]
    refined_task: Option<PathBuf>,
}

impl RefinedArguments {
    /// The sums of the second wave, and its task.
    pub(super) fn given(&self) -> Option<(&Path, &Path)> {
        self.refined.as_deref().zip(self.refined_task.as_deref())
    }
}

/// A second wave that refines the first, before any sums are read.
pub(super) struct SecondWave<'a> {
    aggregate: &'a Path,
    task: Task,
    rank: Rank,
}

impl<'a> SecondWave<'a> {
    /// Reads the task of the second wave, and refuses one that does not refine the only task of the first.
    pub(super) fn of(
        (aggregate, task): (&'a Path, &Path),
        tasks: &[Task],
        aggregates: usize,
        rank: RankChoice,
    ) -> Result<Self> {
        let ([first], 1, RankChoice::Given(rank)) = (tasks, aggregates, rank) else {
            let problem = "--refined goes with one task and aggregate, and a --rank that is a number: that of its task";
            return Err(CliError::usage(problem));
        };
        let second = files::task(task)?;
        refinement_of(first, rank, &second).in_file(task)?;
        Ok(Self { aggregate, task: second, rank })
    }

    /// The components of both waves.
    pub(super) fn recover(&self, covariance: &Covariance, first: &Task) -> Result<(Answer, RefinedFacts)> {
        let aggregate = files::aggregate_with(self.aggregate, &self.task, "--refined-task")?;
        let mut unwatched = |_: &_| ControlFlow::Continue(());
        let both = refined_answer((covariance, first), (&aggregate, &self.task), self.rank, &mut unwatched);
        both.map_err(|error| match error {
            RefineError::Aggregate(_) | RefineError::Directions(_) | RefineError::NotFinite => {
                CliError::file(self.aggregate, error)
            }
            other => other.into(),
        })
    }
}

/// What two waves add to the text of an answer.
pub(super) fn text(facts: &RefinedFacts) -> String {
    format!(
        "{}not here   {OF_FIRST_WAVE}: leave --refined out\n\
         assumed    the noise above is the first wave's\n",
        waves_text(&facts.waves)
    )
}
