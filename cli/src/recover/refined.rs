//! Components of two waves: `recover --refined`.

use core::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use ldp_pca::covariance::Covariance;
use ldp_pca::recovery::{Answer, Rank, RefineError, RefinedFacts, refined_answer, refinement_of};
use ldp_pca::task::Task;

use crate::error::{CliError, Result};
use crate::files;
use crate::task::waves_text;

/// The arguments of a second wave.
#[derive(Args)]
pub(super) struct RefinedArguments {
    /// The sums of a second wave of other people: components of both waves together, with their predicted error
    #[arg(
        long,
        value_name = "AGGREGATE",
        requires = "refined_task",
        conflicts_with_all = ["sparse", "path", "bootstrap", "other", "select", "covariance", "plot", "reference"]
    )]
    refined: Option<PathBuf>,
    /// The task of the second wave (see `task refine`)
    #[arg(long, value_name = "TASK", requires = "refined")]
    refined_task: Option<PathBuf>,
}

impl RefinedArguments {
    pub(super) fn given(&self) -> bool {
        self.refined.is_some()
    }

    /// The components of both waves, where a second one is given.
    pub(super) fn recover(
        &self,
        covariance: &Covariance,
        task: &Task,
        rank: Rank,
    ) -> Result<Option<(Answer, RefinedFacts)>> {
        let (Some(path), Some(task_path)) = (&self.refined, &self.refined_task) else { return Ok(None) };
        let second_task = files::task(task_path)?;
        refinement_of(task, rank, &second_task).map_err(|error| CliError::file(task_path, error))?;
        let aggregate = files::aggregate_with(path, &second_task, "--refined-task")?;
        let mut unwatched = |_: &_| ControlFlow::Continue(());
        refined_answer((covariance, task), (&aggregate, &second_task), rank, &mut unwatched).map(Some).map_err(
            |error| match error {
                RefineError::Aggregate(_) | RefineError::Directions(_) | RefineError::NotFinite => {
                    CliError::file(path, error)
                }
                other => other.into(),
            },
        )
    }
}

/// What two waves add to the text of an answer.
pub(super) fn text(facts: &RefinedFacts) -> String {
    format!(
        "{}not here   the rank test, the variance in reports held out, sparse components and the effect of hostile \
         reports are of the first wave alone: leave --refined out\n\
         assumed    the noise above is the first wave's\n",
        waves_text(&facts.waves)
    )
}
