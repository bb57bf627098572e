//! Errors of a command, with their exit codes and as documents.

use core::fmt::Display;
use std::io;
use std::path::Path;

use ldp_pca::components::ComponentsError;
use ldp_pca::error::Error;
use ldp_pca::internal::recovery::ChangeError;
use ldp_pca::internal::waves::RefineError;
use ldp_pca::prediction::PredictionError;
use ldp_pca::recovery::{AnswerError, BootstrapError, FantopeError, PathError, PenaltyError, RecoveryError};
use ldp_pca::task::TaskError;
use ldp_pca_simulation::SimulationError;
use ldp_pca_simulation::audit::AuditError;
use serde_json::{Value, json};

use super::remedy;

/// The result of a command, or of a part of it.
pub type Result<T, E = CliError> = core::result::Result<T, E>;

/// A failure, with the place where it happened.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The arguments do not make sense together.
    #[error("{0}")]
    Usage(String),
    /// The command could not do what it was asked.
    #[error("{0}")]
    Failed(String),
    /// The command could not do what it was asked, because of a file or a part of one.
    #[error("{file}{place}: {problem}")]
    File {
        /// The file.
        file: String,
        /// What a message says of the part, after a comma; nothing for the whole file.
        place: String,
        /// What the part is called, and its number (from 1), where there are several.
        part: Option<(&'static str, u64)>,
        /// What is wrong.
        problem: String,
    },
    /// A stage of the pipeline refused its input.
    #[error("{0}{remedy}", remedy = remedy::of(.0))]
    Pipeline(#[from] Error),
    /// A collection cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// A randomizer cannot be audited.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// Already reported; only the exit code remains.
    #[error("see the log")]
    Told(u8),
    /// Standard output cannot be written.
    #[error("cannot write the result: {}", not_written(.0))]
    Output(#[from] io::Error),
}

impl CliError {
    /// A file that cannot be read, written or understood.
    pub fn file(path: &Path, problem: impl Display) -> Self {
        Self::in_part(path, String::new(), None, problem)
    }

    /// A file that the system does not open.
    pub(super) fn not_opened(path: &Path, error: &io::Error) -> Self {
        let words = system_words(error);
        let remedy = match error.kind() {
            io::ErrorKind::NotFound => ": check the name, and the folder that you are in",
            io::ErrorKind::PermissionDenied => ": give yourself the right to read it",
            _ => "",
        };
        Self::file(path, format!("{words}{remedy}"))
    }

    /// A file that the system does not write.
    pub(super) fn not_written(path: &Path, error: &io::Error) -> Self {
        Self::file(path, format!("cannot write it: {}", not_written(error)))
    }

    /// The request cannot be carried out.
    pub fn failed(problem: impl Display) -> Self {
        Self::Failed(problem.to_string())
    }

    /// The request makes no sense.
    pub fn usage(problem: impl Display) -> Self {
        Self::Usage(problem.to_string())
    }

    /// A numbered part of a file that cannot be used: `part` is its name, as `line` or `row`.
    pub fn at(path: &Path, part: &'static str, number: u64, problem: impl Display) -> Self {
        Self::in_part(path, format!(", {part} {number}"), Some((part, number)), problem)
    }

    /// The header of a file.
    pub(super) fn header(path: &Path, problem: impl Display) -> Self {
        Self::in_part(path, ", header".to_owned(), None, problem)
    }

    fn in_part(path: &Path, place: String, part: Option<(&'static str, u64)>, problem: impl Display) -> Self {
        Self::File { file: path.display().to_string(), place, part, problem: problem.to_string() }
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Pipeline(error) if is_of_an_option(error) => 2,
            Self::Simulation(SimulationError::Population(_) | SimulationError::NoRecords) => 2,
            Self::Audit(error) if !matches!(error, AuditError::Record(_) | AuditError::Randomize(_)) => 2,
            Self::Told(code) => *code,
            _ => 1,
        }
    }

    /// The document of `--json`, which has one line.
    pub(super) fn document(&self) -> Value {
        let mut error = json!({ "exit_code": self.exit_code(), "message": self.to_string() });
        if let Self::File { file, part, .. } = self {
            error["file"] = file.as_str().into();
            if let Some((part, number)) = part {
                error[part] = (*number).into();
            }
        }
        json!({ "error": error })
    }

    /// The reader of the output has seen enough (`ldp-pca … | head`).
    pub(super) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// What the system says of an error, without the number that Rust adds.
pub(super) fn system_words(error: &io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_owned()
}

/// Why the system does not write, with the remedy.
fn not_written(error: &io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ": make room there, or write to another disk",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ": write to a folder that is yours to write"
        }
        _ => "",
    };
    format!("{}{remedy}", system_words(error))
}

/// Whether another value of an option is the remedy: what only options say was refused, or does not fit what was read.
/// What a file says has the file's name by then, and is not of the pipeline.
fn is_of_an_option(error: &Error) -> bool {
    match error {
        Error::Privacy(_)
        | Error::Mechanism(_)
        | Error::Centring(_)
        | Error::Task(
            TaskError::Mechanism(_)
            | TaskError::Centring(_)
            | TaskError::Cost { .. }
            | TaskError::Folds(_)
            | TaskError::Period(_),
        )
        | Error::Recovery(
            RecoveryError::NoLaw
            | RecoveryError::Fantope(
                FantopeError::ZeroRank
                | FantopeError::RankExceedsDimension { .. }
                | FantopeError::InvalidPenalty(_)
                | FantopeError::InvalidSetting { .. },
            ),
        )
        | Error::Components(ComponentsError::TooLong(_))
        | Error::Penalty(PenaltyError::TooFewFolds { .. } | PenaltyError::Path(PathError::NoPenalties))
        | Error::Bootstrap(BootstrapError::Replicates(_) | BootstrapError::FullRank(_)) => true,
        Error::Prediction(error) => !matches!(
            error,
            PredictionError::Dimension { .. } | PredictionError::Privacy(_) | PredictionError::Fantope(_)
        ),
        Error::Answer(AnswerError::Penalty(error)) => is_of_an_option(&error.clone().into()),
        Error::Answer(AnswerError::Recovery(error)) => is_of_an_option(&error.clone().into()),
        Error::Answer(AnswerError::Bootstrap(error)) => is_of_an_option(&error.clone().into()),
        Error::Change(ChangeError::Bootstrap(error)) => is_of_an_option(&error.clone().into()),
        Error::Penalty(PenaltyError::Recovery(error)) => is_of_an_option(&error.clone().into()),
        Error::Bootstrap(BootstrapError::Recovery(error)) => is_of_an_option(&error.clone().into()),
        _ => false,
    }
}

/// Adds the name of the file to a problem.
pub trait InFile<T> {
    /// Names the file.
    fn in_file(self, path: &Path) -> Result<T>;
}

impl<T, E: Display> InFile<T> for Result<T, E> {
    fn in_file(self, path: &Path) -> Result<T> {
        self.map_err(|error| CliError::file(path, error))
    }
}

/// Every stage's error is one of the pipeline's.
macro_rules! from_stage {
    ($($error:path),* $(,)?) => {
        $(impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                Self::Pipeline(error.into())
            }
        })*
    };
}

from_stage!(
    ldp_pca::aggregate::AggregateError,
    ldp_pca::covariance::CovarianceError,
    ldp_pca::mechanism::MechanismError,
    ldp_pca::mechanism::RandomizeError,
    ldp_pca::privacy::PrivacyError,
    ldp_pca::record::RecordError,
    AnswerError,
    ChangeError,
    ComponentsError,
    FantopeError,
    PredictionError,
    RecoveryError,
    RefineError,
    ldp_pca::internal::sampling::EntropyError,
    ldp_pca::schema::SchemaError,
    ldp_pca::subspace::SubspaceError,
    TaskError,
);
