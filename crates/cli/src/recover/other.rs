//! Another collection beside that of `recover`: did the population change?

use std::path::PathBuf;

use chacha20::ChaCha12Rng;
use clap::Args;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::internal::family::Collection;
use ldp_pca::internal::recovery::{Change, ChangeError, Measured, OtherCollection, change, check_change};
use ldp_pca::recovery::{Answer, Part, Rank, Step};
use ldp_pca::task::Task;
use rand::SeedableRng;

use super::progress::Progress;
use super::share::Unit;
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{grouped, on_scale, plural};
use crate::remedy::told;

/// Pairs of collections that are drawn, where `--bootstrap` says nothing else.
pub(super) const REPLICATES: usize = 200;

/// The seed of those draws, which is that of the bootstrap.
const SEED: u64 = 1;

/// The probability below which one population does not explain a difference.
const SIGNIFICANT: f64 = 0.05;

/// The arguments of the other collection.
#[derive(Args)]
pub(super) struct OtherArguments {
    /// Compare with this aggregate: did the population change?
    ///
    /// It has other reports, and the plain components of both are compared. (The noise is drawn again as often as
    /// --bootstrap says, or 200 times)
    #[arg(long, value_name = "AGGREGATE", help_heading = "Another collection")]
    other: Option<PathBuf>,
    /// The task of that aggregate, if it is another one with the same features, as that of another period
    #[arg(long, value_name = "TASK", requires = "other", help_heading = "Another collection")]
    other_task: Option<PathBuf>,
}

/// The other collection, and the first.
pub(super) struct Other<'a> {
    first: Collection<'a>,
    path: PathBuf,
    /// For messages about the task.
    task_path: Option<PathBuf>,
    aggregate: Aggregate,
    task: Task,
}

impl OtherArguments {
    /// Reads the other collection, and refuses one that cannot be compared with the first.
    pub(super) fn read<'a>(&self, members: &[Collection<'a>]) -> Result<Option<Other<'a>>> {
        let Some(path) = self.other.clone() else { return Ok(None) };
        let &[first] = members else {
            let problem =
                "--other compares two collections of one task each: give one aggregate and its task, or leave it out";
            return Err(CliError::usage(problem));
        };
        let task_path = self.other_task.clone();
        let task = task_path.as_ref().map_or_else(|| Ok(first.1.clone()), |path| files::task(path))?;
        let aggregate = files::aggregate(&path, &task, "--other-task")?;
        let other = Other { first, path, task_path, aggregate, task };
        check_change(first, (&other.aggregate, &other.task)).map_err(|error| other.refusal(error))?;
        Ok(Some(other))
    }
}

impl Other<'_> {
    /// Compares the first collection, whose answer is given, with this one, by so many draws.
    pub(super) fn compare(self, answer: &mut Answer, replicates: usize, progress: &mut Progress) -> Result<()> {
        let rank = Rank::new(answer.asked.rank)?;
        let mut rng = ChaCha12Rng::seed_from_u64(SEED);
        let pairs = |done| {
            let step = Step::Done { part: Part::Other, done, of: replicates };
            progress.watch(&step).map_break(|_| ())
        };
        let compared = change(self.first, (&self.aggregate, &self.task), rank, replicates, &mut rng, pairs);
        let change = compared.map_err(|error| self.refusal(error))?;
        answer.add_other([self.first.1, &self.task], self.path.display().to_string(), change, replicates);
        Ok(())
    }

    /// With the file that the reason lies in.
    fn refusal(&self, error: ChangeError) -> CliError {
        match error {
            ChangeError::Same | ChangeError::Overlap { .. } | ChangeError::Covariance(_) => {
                CliError::file(&self.path, told(error))
            }
            ChangeError::Bootstrap(_) | ChangeError::Recovery(_) => error.into(),
            _ => CliError::file(self.task_path.as_ref().unwrap_or(&self.path), error),
        }
    }
}

/// What the comparison found; in `details` also the distances.
pub(super) fn changed(other: &OtherCollection, answer: &Answer, unit: Unit, details: bool) -> String {
    let OtherCollection { aggregate, periods, change } = other;
    let (rank, dimension) = (answer.asked.rank as f64, answer.asked.dimension as f64);
    let mut text = String::new();
    if details {
        text += &format!(
            "other       {} from plain components of the {} of {aggregate}\n",
            on_scale(change.sin_theta_squared, rank * (1.0 - rank / dimension)),
            plural(change.records, "report")
        );
    }
    if let (Some(quantile), Some(p)) = (change.quantile, change.p_value) {
        if details {
            text += &format!(
                "equality    {:.0} % of pairs of collections from one population stay below {quantile:.4} ({} pairs \
                 drawn, from a population that is isotropic except for components above the noise)\n",
                100.0 * change.level,
                grouped(change.replicates as u64)
            );
        }
        let both = periods.as_ref().map(|[first, other]| format!("{first} and {other}"));
        text += &if p < SIGNIFICANT {
            let both = both.as_deref().unwrap_or("The components");
            format!("change      {both} differ more than one population explains (p = {p:.4})\n")
        } else {
            let both = both.as_deref().unwrap_or("the difference");
            format!("change      One population explains {both} (p = {p:.2})\n")
        };
    }
    text + &held_out(change, unit, details)
}

/// The part that needs no model; in `details` also how it is measured.
fn held_out(change: &Change, unit: Unit, details: bool) -> String {
    let Some(held_out) = &change.held_out else {
        return "without     a model nothing is tested: that needs reports held out in both collections, and one of \
                the tasks has no folds, or an empty one (`task new --folds 10`, before the first report)\n"
            .to_owned();
    };
    let interval = |measured: &Measured| {
        let Measured { value, interval, .. } = measured;
        let [value, lower, upper] = [*value, interval.lower, interval.upper].map(|number| unit.signed(number));
        format!("{value} ({:.0} %: {lower} to {upper})", 100.0 * held_out.level)
    };
    let text = format!(
        "strength    components of both capture {} more here\n\
         direction   own components capture {} more than the other's\n",
        interval(&held_out.captured),
        interval(&held_out.own)
    );
    if !details {
        return text;
    }
    text + &format!(
        "without     a model: the last two, {} here, are measured on reports held out, in {} folds, and are 0 up to \
         their error for any one population\n",
        unit.of_what(),
        held_out.folds
    )
}
