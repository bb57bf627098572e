//! The commands and options that remedy what the crates below refuse. Their own errors name parameters alone.

use ldp_pca::components::ComponentsError;
use ldp_pca::covariance::CovarianceError;
use ldp_pca::error::Error;
use ldp_pca::internal::family::FamilyError;
use ldp_pca::mechanism::MechanismError;
use ldp_pca::prediction::PredictionError;
use ldp_pca::recovery::{AnswerError, PenaltyError, RecoveryError};
use ldp_pca_server::StoreError;

/// An error of the library, with the remedy.
pub(super) fn told(error: impl Into<Error>) -> String {
    let error = error.into();
    format!("{error}{}", of(&error))
}

/// The words after an error of the library; none where it says all.
pub(super) fn of(error: &Error) -> &'static str {
    match error {
        Error::Recovery(RecoveryError::NoComponent { .. })
        | Error::Answer(AnswerError::Recovery(RecoveryError::NoComponent { .. })) => {
            " (`ldp-pca plan` says how many, and how far)"
        }
        Error::Penalty(error) | Error::Answer(AnswerError::Penalty(error)) => match error {
            PenaltyError::TooFewFolds { .. } => " (`task new --folds 5`)",
            PenaltyError::EmptyFold { .. } => " (`task new --folds 2`)",
            _ => "",
        },
        Error::Components(ComponentsError::TooLong(_)) => " (`--output components.npy` has room for all)",
        Error::Family(error) => match error {
            FamilyError::Same => " (`ldp-pca aggregate`)",
            FamilyError::Centring => " (`task new --centre`)",
            FamilyError::Folds { .. } => " (`task new --folds`)",
            FamilyError::Mechanism { .. } => " (`task new --mechanism`)",
            _ => "",
        },
        Error::Mechanism(error)
        | Error::Covariance(CovarianceError::Mechanism(error))
        | Error::Prediction(PredictionError::Mechanism(error)) => match error {
            MechanismError::NoMoments { name: "norm-cap", .. } => " (`ldp-pca norms`)",
            _ => "",
        },
        _ => "",
    }
}

/// The words after an error of the aggregator's folder; none where it says all.
pub(super) fn of_store(error: &StoreError) -> &'static str {
    match error {
        StoreError::Database { .. } => " (`ldp-pca store repair`)",
        StoreError::Lossy { .. } => " (`--allow-loss`)",
        _ => "",
    }
}
