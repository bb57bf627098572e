//! Reruns of the literature's tables and figures: the paper's claims, our measurements, and reasons for the
//! differences.
//!
//! An [`Experiment`] consists of [`Cell`]s: independent units of work, each with its own random stream. They can run in
//! parallel and in any order, and each result is kept separately. Each cell yields rows of one [`Table`]. Figures,
//! tables and findings are computed from the whole table, so no number in a report is older than its rows.
//!
//! This module opens no file and reads no clock. Its caller, the command line (`ldp-pca-research experiment`,
//! research/docs/experiments.md), supplies data sets ([`Data`]) and time ([`Clock`]).
//!
//! ```
//! use ldp_pca_literature::experiments::{
//!     Agreement, Cell, Description, Experiment, Findings, NoData, Paper, Run, Scale, Table, Value, run_here,
//! };
//!
//! /// Throws of a fair coin.
//! struct Coin;
//!
//! impl Experiment for Coin {
//!     fn description(&self) -> Description {
//!         Description {
//!             name: "coin",
//!             paper: Paper::WangXu,
//!             title: "Heads",
//!             paper_says: "Half of all throws.",
//!             agrees_if: "The share of heads is within 0.2 of a half.",
//!             columns: &["throw", "heads"],
//!         }
//!     }
//!     fn parameters(&self, scale: Scale) -> Vec<(&'static str, String)> {
//!         vec![("throws", scale.choose(100, 10).to_string())]
//!     }
//!     fn cells(&self, scale: Scale) -> Vec<Cell> {
//!         let cell = |throw: u32| {
//!             Cell::new(format!("throw-{throw}"), move |run: &mut Run<'_>| {
//!                 use rand::RngExt;
//!                 Ok(vec![vec![Value::from(throw), Value::from(f64::from(run.rng.random_bool(0.5)))]])
//!             })
//!         };
//!         (0..scale.choose(100, 10)).map(cell).collect()
//!     }
//!     fn agreement(&self, table: &Table) -> Agreement {
//!         Agreement::of(&[(table.mean("heads", &[]) - 0.5).abs() < 0.2])
//!     }
//!     fn findings(&self, _: Scale, table: &Table) -> Findings {
//!         let heads: f64 = table.rows().map(|row| row.number("heads")).sum();
//!         let measured = vec![format!("{heads} of {} throws.", table.len())];
//!         Findings { measured, ..Findings::default() }
//!     }
//! }
//!
//! let table = run_here(&Coin, Scale::Quick, 1, &NoData)?;
//! assert_eq!(table.len(), 10);
//! assert_eq!(table, run_here(&Coin, Scale::Quick, 1, &NoData)?);
//! # Ok::<(), ldp_pca_literature::experiments::ExperimentError>(())
//! ```

mod chaudhuri;
pub mod data;
mod figure;
mod ge;
mod liu;
mod local;
mod norms;
pub mod svm;
mod table;
mod text;
mod wang_xu;

pub use figure::{Axis, Figure, Grid, Level, Point, Series, Style};
use table::row;
pub use table::{Row, Rows, Summary, Table, Value, is};
use text::{grouped, labelled, texts};

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use chacha20::ChaCha12Rng;
use rand::SeedableRng;
use sha2::{Digest, Sha256};

use self::data::{Connections, DataError, DataSet};
use crate::baselines::{BaselineError, SampleError};
use ldp_pca::error::Error;
use ldp_pca::internal::law::NoiseError;
use ldp_pca::mechanism::MechanismError;
use ldp_pca::prediction::PredictionError;
use ldp_pca::privacy::PrivacyError;
use ldp_pca::recovery::{FantopeError, RecoveryError};
use ldp_pca::subspace::SubspaceError;
use ldp_pca_dps::DpsPcaError;
use ldp_pca_simulation::SimulationError;

/// Every experiment, paper by paper.
#[must_use]
pub fn all() -> Vec<Box<dyn Experiment>> {
    let papers = [wang_xu::experiments(), chaudhuri::experiments(), ge::experiments(), liu::experiments()];
    papers.into_iter().flatten().collect()
}

/// A table or a figure of a paper that can be rerun.
pub trait Experiment: Sync {
    /// Its description.
    fn description(&self) -> Description;

    /// Every parameter with its value, and our choice where the paper gives none. If one of them changes, earlier
    /// results are not reused.
    fn parameters(&self, scale: Scale) -> Vec<(&'static str, String)>;

    /// The cells, in the order of their rows in the table. Keys are unique and do not depend on the order.
    fn cells(&self, scale: Scale) -> Vec<Cell>;

    /// The findings, computed from the rows. Cells whose data are missing have no rows, but the table is not empty.
    fn findings(&self, scale: Scale, table: &Table) -> Findings;

    /// How many of the claims in [`Description::agrees_if`] the rows have.
    fn agreement(&self, table: &Table) -> Agreement;

    /// See [`Description::name`].
    fn name(&self) -> &'static str {
        self.description().name
    }

    /// See [`Description::paper`].
    fn paper(&self) -> Paper {
        self.description().paper
    }

    /// See [`Description::title`].
    fn title(&self) -> &'static str {
        self.description().title
    }

    /// See [`Description::paper_says`].
    fn paper_says(&self) -> &'static str {
        self.description().paper_says
    }

    /// See [`Description::agrees_if`].
    fn agrees_if(&self) -> &'static str {
        self.description().agrees_if
    }

    /// See [`Description::columns`].
    fn columns(&self) -> &'static [&'static str] {
        self.description().columns
    }
}

/// The description of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Its name on the command line and of its files, in lower case with hyphens.
    pub name: &'static str,
    /// The paper it is from.
    pub paper: Paper,
    /// Its subject, in one line.
    pub title: &'static str,
    /// The paper's statement about the subject, including numbers. Paragraphs are separated by empty lines.
    pub paper_says: &'static str,
    /// The claims that [`Experiment::agreement`] counts, as sentences.
    pub agrees_if: &'static str,
    /// The names of the columns.
    pub columns: &'static [&'static str],
}

/// The papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paper {
    /// Wang & Xu (2019, 2020).
    WangXu,
    /// Ge, Wang, Wang & Liu (2018).
    Ge,
    /// Chaudhuri, Sarwate & Sinha (2013).
    Chaudhuri,
    /// Liu, Kong, Jain & Oh (2022).
    Liu,
}

impl Paper {
    /// The paper's entry in a list of references.
    #[must_use]
    pub fn citation(self) -> &'static str {
        match self {
            Self::WangXu => {
                "Wang & Xu, Principal Component Analysis in the Local Differential Privacy Model, IJCAI 2019; \
                 Theoretical Computer Science 2020"
            }
            Self::Ge => {
                "Ge, Wang, Wang & Liu, Minimax-Optimal Privacy-Preserving Sparse PCA in Distributed Systems, AISTATS \
                    2018"
            }
            Self::Chaudhuri => {
                "Chaudhuri, Sarwate & Sinha, A Near-Optimal Algorithm for Differentially-Private Principal Components, \
                 JMLR 2013"
            }
            Self::Liu => {
                "Liu, Kong, Jain & Oh, DP-PCA: Statistically Optimal and Differentially Private PCA, NeurIPS 2022"
            }
        }
    }
}

impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WangXu => "Wang & Xu",
            Self::Ge => "Ge et al.",
            Self::Chaudhuri => "Chaudhuri et al.",
            Self::Liu => "Liu et al.",
        })
    }
}

/// The scale of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scale {
    /// The paper's parameters and repetitions.
    Full,
    /// The paper's parameters at fewer points and with fewer repetitions: all experiments take minutes.
    Quick,
}

impl Scale {
    /// `full` at the full scale, `quick` at the quick one.
    #[must_use]
    pub fn choose<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.choose("full", "quick"))
    }
}

/// The work of a cell.
type Work = Box<dyn Fn(&mut Run<'_>) -> Result<Rows, ExperimentError> + Send + Sync>;

/// An independent part of an experiment.
pub struct Cell {
    key: String,
    data: Option<&'static DataSet>,
    alone: bool,
    work: Work,
}

impl Cell {
    /// A cell with a name that is unique in its experiment. Its work yields rows with one value per column.
    pub fn new(
        key: impl Into<String>,
        work: impl Fn(&mut Run<'_>) -> Result<Rows, ExperimentError> + Send + Sync + 'static,
    ) -> Self {
        Self { key: key.into(), data: None, alone: false, work: Box::new(work) }
    }

    /// Names the data set that the cell needs. Where it is missing, the cell is left out.
    #[must_use]
    pub fn with_data(self, set: &'static DataSet) -> Self {
        Self { data: Some(set), ..self }
    }

    /// Lets the cell run alone, because it measures time.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// Its name.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The data set that it needs.
    #[must_use]
    pub fn data(&self) -> Option<&'static DataSet> {
        self.data
    }

    /// Whether it must run alone.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Does the work, with a random stream that depends only on the experiment's name, the key and `seed`.
    ///
    /// # Errors
    /// [`ExperimentError`] of the work.
    ///
    /// # Panics
    /// If a row does not have one value per column of the experiment.
    pub fn run(
        &self,
        experiment: &dyn Experiment,
        seed: u64,
        data: &dyn Data,
        clock: &dyn Clock,
    ) -> Result<Rows, ExperimentError> {
        let mut hash = Sha256::new();
        for part in [experiment.name().as_bytes(), self.key.as_bytes(), &seed.to_le_bytes()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let rng = ChaCha12Rng::from_seed(hash.finalize().into());
        let rows = (self.work)(&mut Run { rng, data, clock })?;
        let columns = experiment.columns().len();
        assert!(rows.iter().all(|row| row.len() == columns), "{} {}: {columns} columns", experiment.name(), self.key);
        Ok(rows)
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("key", &self.key).field("data", &self.data).finish_non_exhaustive()
    }
}

/// The inputs of a running cell.
pub struct Run<'a> {
    /// Its random stream.
    pub rng: ChaCha12Rng,
    /// The data sets.
    pub data: &'a dyn Data,
    /// The time.
    pub clock: &'a dyn Clock,
}

impl Run<'_> {
    /// The result of `work`, and the seconds that it took.
    pub fn timed<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (T, f64) {
        let start = self.clock.now();
        let result = work(self);
        (result, (self.clock.now() - start).as_secs_f64())
    }
}

/// A source of data sets. Each is read once.
pub trait Data: Sync {
    /// A data set that is a matrix.
    ///
    /// # Errors
    /// [`ExperimentError::Missing`] when the file is missing, [`ExperimentError::Unreadable`] when it is another file.
    fn matrix(&self, set: &'static DataSet) -> Result<Arc<Matrix>, ExperimentError>;

    /// KDD Cup 99.
    ///
    /// # Errors
    /// As [`Data::matrix`].
    fn connections(&self) -> Result<Arc<Connections>, ExperimentError>;
}

/// The numbers of a file, with a record per row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// d.
    pub columns: usize,
    /// Row after row.
    pub values: Vec<f64>,
    /// Whether each record is of the class that an experiment tells from the others, if the file is as published.
    pub classes: Option<Vec<bool>>,
}

/// A source without data sets.
#[derive(Clone, Copy, Debug)]
pub struct NoData;

impl Data for NoData {
    fn matrix(&self, set: &'static DataSet) -> Result<Arc<Matrix>, ExperimentError> {
        Err(ExperimentError::Missing(set))
    }

    fn connections(&self) -> Result<Arc<Connections>, ExperimentError> {
        Err(DataSet::named("kddcup99").map_or(DataError::Empty.into(), ExperimentError::Missing))
    }
}

/// A monotonic clock.
pub trait Clock: Sync {
    /// The time since a fixed moment.
    fn now(&self) -> Duration;
}

/// A clock that stands still: every cell takes zero seconds.
#[derive(Clone, Copy, Debug)]
pub struct StandingClock;

impl Clock for StandingClock {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

/// How many of a paper's claims the rows have.
///
/// Only claims that the rows could fail count. What a random subspace has too is no agreement, so errors are compared
/// as shares of a random subspace's. Nor is a theorem that holds for all data: it counts only where the rows break it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// The claims that the rows have.
    pub held: usize,
    /// The claims that were compared.
    pub compared: usize,
    /// Whether other data or another setting stand in for the paper's.
    pub stand_in: bool,
}

impl Agreement {
    /// From whether the rows have each claim.
    pub fn of<'a>(claims: impl IntoIterator<Item = &'a bool>) -> Self {
        let found: Vec<bool> = claims.into_iter().copied().collect();
        let held = found.iter().filter(|held| **held).count();
        Self { held, compared: found.len(), stand_in: false }
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { held, compared, stand_in } = *self;
        let word = match held {
            _ if compared == 0 => return f.write_str("nothing to compare"),
            _ if stand_in => "stand-in",
            0 => "no",
            _ if held == compared => "yes",
            _ => "in part",
        };
        write!(f, "{word} ({held} of {compared})")
    }
}

/// The findings of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Pictures.
    pub figures: Vec<Figure>,
    /// Tables, the paper's numbers beside ours where it prints some.
    pub grids: Vec<Grid>,
    /// Our measurements: sentences with numbers from the rows.
    pub measured: Vec<String>,
    /// Why our measurements differ from the paper's, or why they agree.
    pub differences: Vec<String>,
}

/// Runs all cells one after the other, without a clock, and leaves out those whose data are missing.
///
/// # Errors
/// [`ExperimentError`] of the first cell that fails.
pub fn run_here(
    experiment: &dyn Experiment,
    scale: Scale,
    seed: u64,
    data: &dyn Data,
) -> Result<Table, ExperimentError> {
    let mut table = Table::new(experiment.columns());
    for cell in experiment.cells(scale) {
        match cell.run(experiment, seed, data, &StandingClock) {
            Err(ExperimentError::Missing(_)) => {}
            rows => table.extend(rows?),
        }
    }
    Ok(table)
}

/// The reason why an experiment has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A data set is missing.
    #[error("{0}")]
    Missing(&'static DataSet),
    /// A file is not the expected data set.
    #[error("{set}: {problem}", set = set.name)]
    Unreadable {
        /// The data set.
        set: &'static DataSet,
        /// The problem.
        problem: String,
    },
    /// Its content.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A method refused its input.
    #[error(transparent)]
    Method(#[from] BaselineError),
    /// A stage of the pipeline failed.
    #[error(transparent)]
    Pipeline(#[from] Error),
    /// A population cannot be drawn.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
}

/// Each error of a stage is an error of a method or of the pipeline.
macro_rules! from_stage {
    ($($error:path => $variant:ident),* $(,)?) => {
        $(impl From<$error> for ExperimentError {
            fn from(error: $error) -> Self {
                Self::$variant(error.into())
            }
        })*
    };
}

from_stage!(
    DpsPcaError => Method,
    SampleError => Method,
    SubspaceError => Method,
    FantopeError => Pipeline,
    MechanismError => Pipeline,
    NoiseError => Pipeline,
    PredictionError => Pipeline,
    PrivacyError => Pipeline,
    RecoveryError => Pipeline,
);

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of the cells with these keys, at the quick scale, and their findings.
    pub(super) fn some_cells(experiment: &dyn Experiment, keys: &[&str]) -> (Table, Findings) {
        let mut table = Table::new(experiment.columns());
        let cells = experiment.cells(Scale::Quick);
        for key in keys {
            let cell = cells.iter().find(|cell| cell.key() == *key).unwrap();
            table.extend(cell.run(experiment, 1, &NoData, &StandingClock).unwrap());
        }
        let findings = experiment.findings(Scale::Quick, &table);
        for grid in &findings.grids {
            assert!(grid.rows.iter().all(|row| row.len() == grid.heads.len()), "{}", grid.title);
        }
        assert!(!findings.measured.is_empty() && !findings.differences.is_empty());
        (table, findings)
    }

    #[test]
    fn agreement_is_a_number_of_claims_and_its_word() {
        let of = |claims: &[bool]| Agreement::of(claims).to_string();
        assert_eq!([of(&[true, true]), of(&[true, false])], ["yes (2 of 2)", "in part (1 of 2)"]);
        assert_eq!([of(&[false]), of(&[])], ["no (0 of 1)", "nothing to compare"]);
        let stand_in = |claims: &[bool]| Agreement { stand_in: true, ..Agreement::of(claims) }.to_string();
        assert_eq!([stand_in(&[true]), stand_in(&[])], ["stand-in (1 of 1)", "nothing to compare"]);
    }

    #[test]
    fn experiments_and_their_cells_have_names_of_their_own() {
        let all = all();
        let names: std::collections::BTreeSet<&str> = all.iter().map(|experiment| experiment.name()).collect();
        assert_eq!(names.len(), all.len());
        for (experiment, scale) in all.iter().flat_map(|one| [(one, Scale::Full), (one, Scale::Quick)]) {
            let cells = experiment.cells(scale);
            let keys: std::collections::BTreeSet<&str> = cells.iter().map(Cell::key).collect();
            assert_eq!(keys.len(), cells.len(), "{}", experiment.name());
            assert!(!cells.is_empty() && !experiment.parameters(scale).is_empty());
        }
    }
}
