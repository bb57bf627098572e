//! The one error that every stage's error converts into.

use crate::aggregate::AggregateError;
use crate::centring::CentringError;
use crate::components::ComponentsError;
use crate::covariance::CovarianceError;
use crate::family::FamilyError;
use crate::identity::NameError;
use crate::law::NoiseError;
use crate::ledger::LedgerError;
use crate::lengths::NormsError;
use crate::linalg::EigenError;
use crate::mechanism::{MechanismError, PayloadError, RandomizeError};
use crate::prediction::PredictionError;
use crate::privacy::PrivacyError;
use crate::record::RecordError;
use crate::recovery::{AnswerError, BootstrapError, ChangeError, FantopeError, PathError, PenaltyError, RecoveryError};
use crate::report::ReportError;
use crate::sampling::EntropyError;
use crate::schema::SchemaError;
use crate::subspace::SubspaceError;
use crate::task::TaskError;
use crate::waves::{RefineError, RefinementError};

/// The one error, with a stage for each of these errors, which converts into it.
macro_rules! stages {
    ($($(#[$about:meta])+ $stage:ident($error:ident),)+) => {
        /// Any error of the library, by stage. The crates beside it have their own.
        ///
        /// ```
        /// use ldp_pca::{Epsilon, Error, Rank};
        ///
        /// fn parameters(epsilon: f64, rank: usize) -> Result<(Epsilon, Rank), Error> {
        ///     Ok((Epsilon::new(epsilon)?, Rank::new(rank)?))
        /// }
        /// assert!(parameters(2.0, 3).is_ok());
        /// assert!(matches!(parameters(-2.0, 3), Err(Error::Privacy(_))));
        /// assert!(matches!(parameters(2.0, 0), Err(Error::Recovery(_))));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, thiserror::Error)]
        #[non_exhaustive]
        pub enum Error {
            $(
                $(#[$about])+
                #[error(transparent)]
                $stage(#[from] $error),
            )+
            /// Putting two waves together.
            #[error(transparent)]
            Refine(RefineError),
        }
    };
}

stages! {
    /// A privacy parameter.
    Privacy(PrivacyError),
    /// A person's ledger.
    Ledger(LedgerError),
    /// The schema, or a record under it.
    Schema(SchemaError),
    /// A record's numbers.
    Record(RecordError),
    /// Centring.
    Centring(CentringError),
    /// A mechanism's parameters.
    Mechanism(MechanismError),
    /// The name of a task or a report.
    Name(NameError),
    /// A task document.
    Task(TaskError),
    /// Randomizing a record.
    Randomize(RandomizeError),
    /// The source of randomness.
    Entropy(EntropyError),
    /// A report's bytes.
    Report(ReportError),
    /// A report's payload.
    Payload(PayloadError),
    /// An aggregate.
    Aggregate(AggregateError),
    /// Debiasing.
    Covariance(CovarianceError),
    /// Combining the collections of several tasks.
    Family(FamilyError),
    /// An eigendecomposition.
    Eigen(EigenError),
    /// Recovering components.
    Recovery(RecoveryError),
    /// Choosing a penalty.
    Penalty(PenaltyError),
    /// The law of the estimate.
    Noise(NoiseError),
    /// Predicting the error of components.
    Prediction(PredictionError),
    /// Bootstrapping the error of components.
    Bootstrap(BootstrapError),
    /// Answering a question about an estimate.
    Answer(AnswerError),
    /// A document of components.
    Components(ComponentsError),
    /// A refinement's parameters.
    Refinement(RefinementError),
    /// The lengths of records.
    Norms(NormsError),
    /// Comparing two collections.
    Change(ChangeError),
    /// Comparing subspaces.
    Subspace(SubspaceError),
}

/// What another stage refused is that stage's error.
impl From<RefineError> for Error {
    fn from(error: RefineError) -> Self {
        match error {
            RefineError::Aggregate(error) => error.into(),
            RefineError::Answer(error) => error.into(),
            RefineError::Covariance(error) => error.into(),
            RefineError::Prediction(error) => error.into(),
            RefineError::Recovery(error) => error.into(),
            RefineError::Refinement(error) => error.into(),
            RefineError::Task(error) => error.into(),
            other => Self::Refine(other),
        }
    }
}

/// What the solver refuses is an error of recovery in every stage that recovers.
macro_rules! from_fantope {
    ($($stage:ty),* $(,)?) => {
        $(impl From<FantopeError> for $stage {
            fn from(error: FantopeError) -> Self {
                Self::Recovery(error.into())
            }
        })*
    };
}

from_fantope!(AnswerError, BootstrapError, ChangeError, Error, PenaltyError, RefineError);

impl From<PathError> for Error {
    fn from(error: PathError) -> Self {
        PenaltyError::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// The error types declared under `folder`, except in the bindings.
    fn declared(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name == "js" {
                continue;
            }
            if path.is_dir() {
                declared(&path, found);
                continue;
            }
            for line in fs::read_to_string(&path).unwrap().lines() {
                let declaration = line.strip_prefix("pub enum ").or_else(|| line.strip_prefix("pub struct "));
                let name = declaration.and_then(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
                found.extend(name.filter(|name| name.ends_with("Error") && *name != "Error").map(str::to_owned));
            }
        }
    }

    #[test]
    fn every_public_error_of_the_library_converts_into_the_one() {
        // What the macro has beside the table is converted by hand.
        let (_, source) = include_str!("error.rs").split_once("\nstages! {").unwrap();
        let mut found = Vec::new();
        for folder in ["src", "crates/fantope/src"] {
            declared(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut found);
        }
        assert!(found.len() > 25, "{found:?}");
        for name in found {
            let ways = [format!("({name}),"), format!("impl From<{name}> for ")];
            assert!(ways.iter().any(|way| source.contains(way)), "{name}");
        }
    }
}
