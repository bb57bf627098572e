//! Errors of a command, with their exit codes.

use std::io;
use std::path::Path;

use ldp_pca::error::Error;

/// The result of a command.
pub(super) type Result<T> = core::result::Result<T, CliError>;

/// A failure, with the place where it happened.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// The arguments do not make sense together.
    #[error("{0}")]
    Usage(String),
    /// The command could not do what it was asked.
    #[error("{0}")]
    Failed(String),
    /// A stage of the pipeline refused its input.
    #[error(transparent)]
    Pipeline(#[from] Error),
    /// Already reported; only the exit code remains.
    #[error("see the log")]
    Told(u8),
    /// Standard output cannot be written.
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
}

impl CliError {
    /// A file that cannot be read, written or understood.
    pub(super) fn file(path: &Path, problem: impl core::fmt::Display) -> Self {
        Self::Failed(format!("{}: {problem}", path.display()))
    }

    /// The request cannot be carried out.
    pub(super) fn failed(problem: impl core::fmt::Display) -> Self {
        Self::Failed(problem.to_string())
    }

    /// The request makes no sense.
    pub(super) fn usage(problem: impl core::fmt::Display) -> Self {
        Self::Usage(problem.to_string())
    }

    /// A line of a file that cannot be used.
    pub(super) fn line(path: &Path, line: u64, problem: impl core::fmt::Display) -> Self {
        Self::at(path, "line", line, problem)
    }

    /// The same for a file whose parts are not lines.
    pub(super) fn at(path: &Path, part: &str, number: u64, problem: impl core::fmt::Display) -> Self {
        Self::Failed(format!("{}, {part} {number}: {problem}", path.display()))
    }

    /// A mechanism's parameters all come from the arguments.
    #[allow(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(super) fn wrong_mechanism(error: ldp_pca::mechanism::MechanismError) -> Self {
        Self::Usage(error.to_string())
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Told(code) => *code,
            _ => 1,
        }
    }

    /// The reader of the output has seen enough (`ldp-pca … | head`).
    pub(super) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Adds the name of the file to a problem.
pub(super) trait InFile<T> {
    /// Names the file.
    fn in_file(self, path: &Path) -> Result<T>;
}

impl<T, E: core::fmt::Display> InFile<T> for core::result::Result<T, E> {
    fn in_file(self, path: &Path) -> Result<T> {
        self.map_err(|error| CliError::file(path, error))
    }
}

impl From<ldp_pca_literature::baselines::BaselineError> for CliError {
    fn from(error: ldp_pca_literature::baselines::BaselineError) -> Self {
        Self::Failed(error.to_string())
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
    ldp_pca::audit::AuditError,
    ldp_pca::covariance::CovarianceError,
    ldp_pca::mechanism::MechanismError,
    ldp_pca::mechanism::RandomizeError,
    ldp_pca::privacy::PrivacyError,
    ldp_pca::record::RecordError,
    ldp_pca::recovery::AnswerError,
    ldp_pca::recovery::RecoveryError,
    ldp_pca::sampling::EntropyError,
    ldp_pca::schema::SchemaError,
    ldp_pca::simulation::SimulationError,
    ldp_pca::subspace::SubspaceError,
    ldp_pca::task::TaskError,
);
