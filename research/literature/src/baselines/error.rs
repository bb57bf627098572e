//! Reasons for a method to refuse.

use ldp_pca::mechanism::MechanismError;
use ldp_pca::privacy::PrivacyError;
use ldp_pca::record::RecordError;
use ldp_pca::recovery::FantopeError;
use ldp_pca::subspace::SubspaceError;
use ldp_pca_dps::DpsPcaError;

/// Reasons why a method of the literature refuses its parameters or its records.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The records are invalid for every method.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A parameter outside the range for which the method's theorem is stated.
    #[error("{method}: {parameter} is {value}, outside {theorem}: {remedy}")]
    OutsideTheorem {
        /// The method.
        method: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
        /// The theorem, by author, year and number.
        theorem: &'static str,
        /// The range, and the remedy.
        remedy: &'static str,
    },
    /// The method reads the records one by one and got only their moments.
    #[error("{method} reads records one by one: give it the records, not only their second moments")]
    NeedsRecords {
        /// The method.
        method: &'static str,
    },
    /// The method is for records inside the unit ball.
    #[error(
        "{method} is for records of norm at most 1, but the longest has {norm}: bound them first, for instance by \
         dividing by a public bound of the norm"
    )]
    NeedsUnitBall {
        /// The method.
        method: &'static str,
        /// The largest norm.
        norm: f64,
    },
    /// The method is for records inside a ball whose radius is one of its parameters.
    #[error(
        "{method} requires records of norm at most {bound}, but the longest has {norm}: raise the bound, or \
         let longer records be scaled to it"
    )]
    LongRecord {
        /// The method.
        method: &'static str,
        /// The bound.
        bound: f64,
        /// The largest norm.
        norm: f64,
    },
    /// An iteration failed.
    #[error("{method}: {what}")]
    Failed {
        /// The method.
        method: &'static str,
        /// The cause, and the remedy.
        what: &'static str,
    },
    /// A step of DPS-PCA.
    #[error(transparent)]
    DpsPca(#[from] DpsPcaError),
    /// A budget that noise cannot reach.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// Recovering components failed.
    #[error(transparent)]
    Recovery(#[from] FantopeError),
    /// The estimate spans no subspace of the rank asked for.
    #[error(transparent)]
    Subspace(#[from] SubspaceError),
    /// The local mechanism.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// Bounding records.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Reasons why numbers are not records.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// There are no records.
    #[error("there are no records: give at least one, of at least one feature")]
    Empty,
    /// The numbers do not fill records.
    #[error("{numbers} numbers do not make whole records of {dimension} features")]
    Ragged {
        /// The number of numbers.
        numbers: usize,
        /// d.
        dimension: usize,
    },
    /// A value is not a number.
    #[error("record {record}, feature {feature} (both from 0) is {value}: every value must be finite")]
    NotFinite {
        /// The record's index, from 0.
        record: usize,
        /// The feature's index, from 0.
        feature: usize,
        /// Its value.
        value: f64,
    },
}
