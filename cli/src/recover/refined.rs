//! Components of two waves: `recover --refined`.

use std::path::PathBuf;

use clap::Args;
use ldp_pca::covariance::Covariance;
use ldp_pca::prediction::{Planner, Spectrum, TwoWaves};
use ldp_pca::recovery::{Answer, FirstWave, Question, Rank, Source, components};
use ldp_pca::task::Task;
use serde::Serialize;

use crate::error::{CliError, Result};
use crate::files;
use crate::task::waves_text;

/// What an answer of two waves does not have.
const NOT_OFFERED: [&str; 5] = ["rank-test", "held-out", "sparse", "bootstrap", "hostile"];

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

/// What two waves add to an answer.
#[derive(Serialize)]
pub(crate) struct RefinedResult {
    task: String,
    waves: TwoWaves,
    /// What is not offered for both waves together, and what the first wave alone has.
    not_offered: [&'static str; 5],
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
    ) -> Result<Option<(Answer, RefinedResult)>> {
        let (Some(path), Some(task_path)) = (&self.refined, &self.refined_task) else { return Ok(None) };
        let second_task = files::task(task_path)?;
        let Some(refinement) = second_task.refinement() else {
            return Err(CliError::file(task_path, "this task is not a second wave's: give the one of `task refine`"));
        };
        if refinement.parent() != task.digest() {
            return Err(CliError::file(task_path, "this task refines another one than --task: give the two together"));
        }
        if refinement.rank() != rank.value() {
            let problem = format!("this task refines {} components: use --rank {0}", refinement.rank());
            return Err(CliError::file(task_path, problem));
        }
        let aggregate = files::aggregate_with(path, &second_task, "--refined-task")?;
        let first = FirstWave::of(covariance, task, rank).map_err(CliError::failed)?;
        let matrix = first.with_second(&aggregate, &second_task).map_err(|error| CliError::file(path, error))?;
        let question = Question::new(rank);
        let found = components(&question, Source::Matrix(&matrix), &mut |_| core::ops::ControlFlow::Continue(()))?;
        let (before, after) = (covariance.records(), aggregate.records());
        let planner = Planner::of_task(Spectrum::of_estimate(covariance)?, rank, task)?;
        let waves = planner.two_waves(task.guarantee().epsilon, before.saturating_add(after), Some(before))?;
        let answer = Answer {
            centred: Some(false),
            records: before + after,
            feature_names: task.schema().feature_names(),
            noise_deviation: covariance.noise_deviation(),
            noise_edge: covariance.noise_edge(),
            ..found
        };
        let task = second_task.digest().to_string();
        Ok(Some((answer, RefinedResult { task, waves, not_offered: NOT_OFFERED })))
    }
}

impl RefinedResult {
    pub(super) fn text(&self) -> String {
        format!(
            "{}not here   the rank test, the variance in reports held out, sparse components and the effect of hostile \
             reports are of the first wave alone: leave --refined out\n\
             assumed    the noise above is the first wave's\n",
            waves_text(&self.waves)
        )
    }
}
