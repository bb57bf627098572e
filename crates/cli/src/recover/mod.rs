//! The `recover` command: components from summed reports.

mod collections;
mod denoising;
mod loadings;
mod other;
mod progress;
mod rank;
mod refined;
mod selection;
mod share;
mod sparse;
mod text;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::waves::RefinedFacts;
use ldp_pca::recovery::{Answer, Part, Question, Rank, Reports, Unfinished, When, answer, principal_components};
use ldp_pca::task::Task;
use ldp_pca_page::{self as page, ResultPage};
use ldp_pca_pictures as pictures;
use ldp_pca_simulation::SecondMoment;
use serde::Serialize;

use self::denoising::{CovarianceArguments, CovarianceResult};
use self::other::OtherArguments;
use self::progress::Progress;
use self::rank::RankChoice;
use self::refined::RefinedArguments;
use self::sparse::SparseArguments;
use super::aggregator;
use super::error::{CliError, Result};
use super::hostile::HostileArguments;
use super::output::{Details, Format};
use super::parameters;
use super::records::{self, Reading};
use super::remedy;
use super::writing::{self, Target};

pub(super) use self::share::Unit;
pub(super) use self::text::what_about;

/// Recover principal components from summed reports.
#[derive(Args)]
pub(super) struct Recover {
    /// The aggregate; of a task family, one for each task, in any order
    #[arg(required_unless_present_any = ["sample", "url"])]
    aggregate: Vec<PathBuf>,
    /// A running aggregator to ask for the sums; it goes on collecting
    #[arg(long, value_parser = aggregator::url, conflicts_with_all = ["aggregate", "sample"])]
    url: Option<String>,
    /// A file with a collector's token [default: the variable LDP_PCA_TOKEN has it]
    ///
    /// Such as collector.token in the aggregator's folder
    #[arg(long, value_name = "FILE", requires = "url", help_heading = "A running aggregator")]
    token_file: Option<PathBuf>,
    /// The task file
    ///
    /// Of a family of tasks that differ in epsilon, each one (--task A --task B)
    #[arg(short, long, required = true)]
    task: Vec<PathBuf>,
    /// Number of components, k, or auto: those that stand out
    ///
    /// They are tested against the noise, one after the other
    #[arg(long, value_name = "auto|RANK", value_parser = RankChoice::parse)]
    rank: RankChoice,
    #[command(flatten)]
    sparse: SparseArguments,
    /// Name the features that take part, at this false-discovery rate
    ///
    /// Those whose covariances with the others are not all zero (only of a task that clips, with centring)
    #[arg(long, value_name = "RATE", value_parser = parameters::rate, help_heading = "Features")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "0.1")]
    select: Option<f64>,
    /// Redraw the known noise, for an interval of the error
    ///
    /// This many times: at least 20, better 200 or more. It also gives the stability of the support
    #[arg(long, value_name = "REPLICATES", num_args = 0..=1, default_missing_value = "200")]
    bootstrap: Option<usize>,
    #[command(flatten)]
    other: OtherArguments,
    #[command(flatten)]
    refined: RefinedArguments,
    #[command(flatten)]
    hostile: HostileArguments,
    /// Compare with PCA of these records, without privacy
    ///
    /// Of the bounded ones, as the task is about, and ordinary PCA
    #[arg(long, value_name = "RECORDS")]
    reference: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Where to write the components: .csv, .npy, or .json
    ///
    /// They have d rows and one column each, in .csv with feature names. The .json is a document to publish: by it
    /// `scores` and devices find the places of records
    #[arg(short, long, value_parser = loadings::target())]
    output: Option<Target>,
    #[command(flatten)]
    covariance: CovarianceArguments,
    /// Where to draw eigenvalues, loadings and penalties (.svg)
    ///
    /// The eigenvalues with the noise edge, and the penalties that were tried
    #[arg(long, value_name = "FILE", value_parser = Target::picture())]
    plot: Option<Target>,
    /// Where to write the result as a page for its readers (.html)
    ///
    /// What stands out, how sure that is and what it does not say, with pictures. With --bootstrap also the interval
    #[arg(long, value_name = "FILE")]
    #[arg(value_parser = Target::in_formats(&["html"], "the page can be written as .html"))]
    report: Option<Target>,
    #[command(flatten)]
    details: Details,
    #[command(flatten)]
    format: Format,
}

/// An answer, what a second wave adds to it, and what was written of it. docs/reference/json.md has the
/// meaning of every key.
#[derive(Default, Serialize)]
pub(super) struct RecoverResult {
    #[serde(flatten)]
    pub(super) answer: Answer,
    /// With `--refined`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refined: Option<RefinedFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) covariance: Option<CovarianceResult>,
    pub(super) seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<Target>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) plot: Option<Target>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) report: Option<Target>,
}

impl Recover {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let tasks = collections::tasks(&self.task)?;
        selection::check(self.select, &tasks[0])?;
        if let RankChoice::Given(rank) = self.rank {
            rank.check(tasks[0].dimension()).map_err(CliError::usage)?;
        }
        let count = if self.url.is_some() { tasks.len() } else { self.aggregate.len() };
        let second = self.refined.read(&tasks, count, self.rank)?;
        if let (Some(second), Some(sample)) = (&second, &self.refined.sample) {
            let (answer, refined) = second.of_sample(sample, &tasks[0], &self.reading)?;
            let result = RecoverResult { answer, refined: Some(refined), ..RecoverResult::default() };
            return self.finish(result, &tasks[0], None, started);
        }
        let aggregates = match &self.url {
            Some(url) => collections::at(url, self.token_file.as_deref(), &tasks)?,
            None => collections::aggregates(&tasks, &self.task, &self.aggregate)?,
        };
        let members: Vec<_> = aggregates.iter().zip(&tasks).collect();
        let reports = Reports::family(&members).map_err(|error| CliError::failed(remedy::told(error)))?;
        let covariance = Covariance::of_folds(reports, |_| true)?;
        let task = members[0].1;
        if let Some(second) = second {
            let (answer, refined) = second.recover(&covariance, task)?;
            let result = RecoverResult { answer, refined: Some(refined), ..RecoverResult::default() };
            return self.finish(result, task, None, started);
        }
        let other = self.other.read(&members)?;
        let mut progress = Progress::new(self.sparse.solver, started);
        let mut answer = self.answer(reports, &covariance, &mut progress)?;
        if let Some(path) = &self.reference {
            self.compare(path, task, &mut answer, &progress)?;
        }
        if let Some(other) = other {
            let replicates = self.bootstrap.unwrap_or(other::REPLICATES);
            other.compare(&mut answer, replicates, &mut progress)?;
        }
        drop(progress);
        self.finish(RecoverResult { answer, ..RecoverResult::default() }, task, Some(&covariance), started)
    }

    /// Writes the components and, of one wave, its covariance, the picture and the page, and prints the result.
    fn finish(
        self,
        mut result: RecoverResult,
        task: &Task,
        covariance: Option<&Covariance>,
        started: Instant,
    ) -> Result<()> {
        // The components come first: no failure of the rest loses them.
        if let Some(output) = &self.output {
            loadings::write_components(output, &result.answer, task)?;
        }
        if let Some(covariance) = covariance {
            result.covariance = self.covariance.write(covariance, &result.answer.asked.feature_names)?;
            self.write_pictures(&mut result.answer, covariance, task)?;
        }
        let seconds = started.elapsed().as_secs_f64();
        let result = RecoverResult { seconds, output: self.output, plot: self.plot, report: self.report, ..result };
        self.format.print(&result, |result| result.text(self.details.wanted))
    }

    /// Writes the picture and the page, which take all eigenvalues.
    fn write_pictures(&self, answer: &mut Answer, covariance: &Covariance, task: &Task) -> Result<()> {
        if !self.is_drawn() {
            return Ok(());
        }
        if answer.found.spectrum.is_none() {
            // Time was up before the simpler methods, which have it.
            let components = principal_components(covariance.matrix(), Rank::new(1)?)?;
            answer.found.spectrum = Some(components.all_values.as_slice().to_vec());
        }
        if let Some(path) = &self.plot {
            writing::write(path, pictures::svg(answer).as_bytes())?;
        }
        if let Some(path) = &self.report {
            writing::write(path, page::result(&ResultPage { task, answer, live: None }).as_bytes())?;
        }
        Ok(())
    }

    fn is_drawn(&self) -> bool {
        self.plot.is_some() || self.report.is_some()
    }

    /// Asks, with progress on a terminal.
    fn answer(&self, reports: Reports<'_>, covariance: &Covariance, progress: &mut Progress) -> Result<Answer> {
        // 1 until a test has found it.
        let (rank, find_rank) = match self.rank {
            RankChoice::Given(rank) => (rank, false),
            RankChoice::Auto => (Rank::new(1)?, true),
        };
        let SparseArguments { method, sparse, penalty, path, solver } = &self.sparse;
        let question = Question {
            find_rank,
            penalty: sparse.then(|| penalty.clone()),
            tolerance: solver.tolerance,
            path: path.map(Into::into),
            baselines: if self.is_drawn() || self.reference.is_some() { When::Always } else { When::Quick },
            held_out: *method,
            test_rank: true,
            predict: true,
            bootstrap: self.bootstrap,
            hostile: Some(self.hostile.reports),
            select: self.select,
            ..Question::new(rank)
        };
        Ok(answer(&question, reports, covariance, &mut |step| progress.watch(step))?)
    }

    /// Compares the answer with PCA of the reference: of its records bounded as the task says, and as they are.
    fn compare(&self, path: &Path, task: &Task, answer: &mut Answer, progress: &Progress) -> Result<()> {
        let mut moment = SecondMoment::of_task(task);
        let mut ordinary = SecondMoment::new(task.dimension(), 1.0);
        let mut late = false;
        let counts = records::read(path, task.schema(), &self.reading, |features| {
            late = progress.in_time().is_break();
            if late {
                return Err(CliError::Failed("time is up".into()));
            }
            ordinary.add_coordinates(&features);
            moment.add(&task.bound(features)?);
            Ok(())
        });
        if late {
            let done = moment.records();
            answer.missing.unfinished.push(Unfinished { part: Part::Reference, done, of: None });
            return Ok(());
        }
        let counts = counts?;
        counts.note_unread();
        let [bounded, ordinary] = [moment, ordinary].map(|moment| moment.reference(task));
        answer.compare(&bounded, counts.records)?;
        // The squares of features that are not bounded may be no numbers.
        if ordinary.iter().all(|entry| entry.is_finite()) {
            answer.compare_ordinary(&ordinary, counts.records)?;
        }
        Ok(())
    }
}
