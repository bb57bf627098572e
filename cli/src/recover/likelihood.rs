//! The answer of a likelihood pass over the reports themselves, beside that of their sums.

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::recovery::{
    Answer, LikelihoodAnswer, LikelihoodError, LikelihoodProgress, NotOffered, Part, Rank, StoredReports, Unfinished,
};
use ldp_pca::task::Task;
use serde::Serialize;

use super::loadings::largest_loadings;
use super::progress::Progress;
use super::rank::RankChoice;
use super::share::Unit;
use crate::aggregate::{all_threads, sum_and_store};
use crate::error::{CliError, Result};
use crate::output::{on_scale, plural};

/// The arguments of the pass.
#[derive(Args)]
pub(super) struct LikelihoodArguments {
    /// Also find plain components by the likelihood of every single report, from --reports, and offer them where they
    /// capture at least as much in reports held out
    #[arg(long, requires = "stored")]
    likelihood: bool,
    /// Files of reports, in the place of the aggregate (Parquet files have them in the column `report`)
    #[arg(
        long = "reports",
        value_name = "REPORTS",
        num_args = 1..,
        requires = "likelihood",
        conflicts_with = "aggregate"
    )]
    stored: Vec<PathBuf>,
}

/// What the pass found.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct LikelihoodResult(LikelihoodAnswer);

impl LikelihoodArguments {
    /// Reads the reports, and their sums; nothing where no pass is asked for.
    pub(super) fn read(&self, tasks: &[Task], rank: &RankChoice) -> Result<Option<(Aggregate, StoredReports)>> {
        if !self.likelihood {
            return Ok(None);
        }
        let [task] = tasks else {
            return Err(CliError::usage("--likelihood takes the reports of one task: give one task, or leave it out"));
        };
        let mut stored = StoredReports::new(task).map_err(refusal)?;
        if let RankChoice::Given(rank) = rank
            && rank.value() == task.dimension()
        {
            return Err(refusal(LikelihoodError::FullRank(task.dimension())));
        }
        let aggregate = sum_and_store(task, &self.stored, &mut stored)?;
        Ok(Some((aggregate, stored)))
    }
}

fn refusal(error: LikelihoodError) -> CliError {
    if error.is_of_an_option() { CliError::usage(format!("--likelihood: {error}")) } else { CliError::failed(error) }
}

/// Makes the pass, or says how far it came until time was up.
pub(super) fn pass(
    stored: &StoredReports,
    aggregate: &Aggregate,
    rank: Rank,
    progress: &mut Progress,
) -> Result<core::result::Result<LikelihoodResult, Unfinished>> {
    let (mut done, mut of) = (0, None);
    let mut step = |state: LikelihoodProgress| -> ControlFlow<()> {
        (done, of) = (state.done, Some(state.total));
        progress.watch_likelihood(state)
    };
    let found = stored.likelihood(aggregate, rank, all_threads(), &mut step).map_err(refusal)?;
    Ok(found.map(|found| LikelihoodResult(found.if_offered())).ok_or(Unfinished { part: Part::Likelihood, done, of }))
}

impl LikelihoodResult {
    pub(super) fn text(&self, answer: &Answer, unit: Unit) -> String {
        let Self(found) = self;
        let verdict = match found.reason {
            None => "offered: at least as good as plain components of the sums, on reports held out".to_owned(),
            Some(NotOffered::CapturesLess) => {
                let less = found.difference.map_or(0.0, |difference| -difference.value);
                let (less, of) = (unit.of_variance(less), unit.of_what());
                format!("not offered: held-out captured variance is lower by {less} {of}")
            }
            Some(NotOffered::Noise) => {
                "not offered: no component stands out from the noise, so that nothing was refined".to_owned()
            }
            Some(NotOffered::TooFewReports) => format!(
                "not offered: nothing was measured, since one of {} folds has no reports, or no component stands out \
                 in the others",
                found.folds
            ),
        };
        let mut text = format!("likelihood  {verdict}\n");
        if found.offered {
            let (rank, dimension) = (found.components.len() as f64, answer.dimension as f64);
            let distance = on_scale(found.distance, rank * (1.0 - rank / dimension));
            let components = plural(found.components.len() as u64, "component");
            text += &format!(
                "            {} of {components} refined by the likelihood of every report\n\
                 distance    {distance} from plain components of the sums\n",
                found.refined
            );
        }
        for (index, component) in found.components.iter().enumerate() {
            text += &format!("  {}. {}\n", index + 1, largest_loadings(component, None, &answer.feature_names));
        }
        if let (Some(captured), Some(difference)) = (&found.captured, &found.difference) {
            text += &format!(
                "held out    those of likelihood capture {}, {} ± {} against plain components of the sums ({}; one \
                 standard error; {} folds)\n",
                unit.of_variance(captured.value),
                unit.signed(difference.value),
                unit.of_variance(difference.standard_error),
                unit.of_what(),
                found.folds
            );
        }
        text + &format!("assumption  of likelihood: {}\n", found.assumption)
    }
}
