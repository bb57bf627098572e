//! The parameters that all parties of a distributed run agree on before it starts.

use core::fmt;

use chacha20::ChaCha20Rng;
use nalgebra::DMatrix;
use rand::SeedableRng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::DpsPcaError;
use crate::scale::{self, Messages};
use crate::{Coordinator, LARGEST_CELL, Scale, random_start};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use ldp_pca::task::TaskDigest;

/// The most numbers of a message, d k.
pub const MOST_NUMBERS: usize = 1 << 18;
/// The most providers, and the most rounds.
pub const MOST_PARTIES: u32 = 1000;
/// The largest start: every JSON reader has it exactly.
const LARGEST_START: u64 = 1 << 53;

/// The formula for a session's noise, given its epsilon and delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accounting {
    /// [`scale::printed`], for records in the unit ball.
    Printed,
    /// [`scale::corrected`].
    Corrected,
}

/// The serialized parameters, in canonical order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// 1.
    pub version: u32,
    /// d.
    pub dimension: usize,
    /// k.
    pub rank: usize,
    /// s.
    pub kept_rows: usize,
    /// T.
    pub rounds: u32,
    /// N.
    pub providers: u32,
    /// Epsilon of a provider's messages together.
    pub epsilon: Epsilon,
    /// Delta of a provider's messages together.
    pub delta: Delta,
    /// The formula for the noise.
    pub accounting: Accounting,
    /// Providers scale longer records to this norm.
    pub norm_bound: f64,
    /// The seed of Q(0), which is public; up to 2^53.
    pub start: u64,
}

/// Checked parameters, and what follows from them.
///
/// ```
/// use ldp_pca_dps::Session;
/// let text = r#"{"version":1,"dimension":20,"rank":2,"kept_rows":8,"rounds":5,"providers":3,
///     "epsilon":1.0,"delta":1e-6,"accounting":"corrected","norm_bound":1.0,"start":7}"#;
/// let session = Session::from_json(text)?;
/// assert_eq!(Session::from_json(&session.to_json())?, session);
/// assert!(Session::from_json(&text.replace("\"kept_rows\":8", "\"kept_rows\":1")).is_err());
/// # Ok::<(), ldp_pca_dps::SessionError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    parameters: Parameters,
    rank: Rank,
    scale: Scale,
    id: SessionId,
}

/// The guarantee of a provider's messages together: the relation is one of its records replaced by another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SessionGuarantee {
    /// The bound on the privacy loss.
    pub epsilon: Epsilon,
    /// The addition to every probability.
    pub delta: Delta,
}

impl fmt::Display for SessionGuarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.epsilon, self.delta.value())
    }
}

/// The SHA-256 of a session's canonical JSON.
pub type SessionId = TaskDigest;

impl Session {
    /// Checks the parameters.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn new(parameters: Parameters) -> Result<Self, SessionError> {
        let Parameters { version, dimension, rounds, providers, epsilon, delta, norm_bound, start, .. } = parameters;
        let check = |good, name, value: f64, remedy| {
            if good { Ok(()) } else { Err(SessionError::Parameter { name, value, remedy }) }
        };
        check(version == 1, "version", version.into(), "this release knows version 1")?;
        let numbers = dimension.saturating_mul(parameters.rank);
        check(numbers <= MOST_NUMBERS, "dimension times rank", numbers as f64, "at most 2^18 numbers make a message")?;
        check((1..=MOST_PARTIES).contains(&rounds), "rounds", rounds.into(), "it must be from 1 to 1000")?;
        check((1..=MOST_PARTIES).contains(&providers), "providers", providers.into(), "it must be from 1 to 1000")?;
        check(start <= LARGEST_START, "start", start as f64, "it must be at most 2^53")?;
        let sane = norm_bound.is_finite() && norm_bound > 0.0;
        check(sane, "norm_bound", norm_bound, "it must be a finite number greater than 0")?;
        let rank = Rank::new(parameters.rank).map_err(DpsPcaError::from)?;
        rank.check(dimension).map_err(DpsPcaError::from)?;
        let sigma = match parameters.accounting {
            Accounting::Corrected => {
                scale::corrected(epsilon, delta, Messages { dimension, rank, rounds }, norm_bound)?
            }
            Accounting::Printed => {
                let remedy = "the printed scale is for records of norm at most 1";
                check(norm_bound <= 1.0, "norm_bound", norm_bound, remedy)?;
                scale::printed(epsilon, delta, rounds)?
            }
        };
        let text = serde_json::to_string(&parameters).map_err(|error| SessionError::Json(error.to_string()))?;
        let id = SessionId::new(Sha256::digest(text).into());
        let session = Self { parameters, rank, scale: Scale::new(sigma)?, id };
        // Refuses parameters that no run could start with.
        session.coordinator()?;
        Ok(session)
    }

    /// Reads a session. Unknown fields, other versions and values that make no sense are errors.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn from_json(text: &str) -> Result<Self, SessionError> {
        Self::new(serde_json::from_str(text).map_err(|error| SessionError::Json(error.to_string()))?)
    }

    /// The canonical JSON; the id is its digest.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.parameters).unwrap_or_default()
    }

    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The id.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// d and k.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.parameters.dimension, self.rank.value())
    }

    /// The noise on every number of every message.
    #[must_use]
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The server before the first round.
    ///
    /// # Errors
    /// [`DpsPcaError`] when no run can start with these parameters.
    pub fn coordinator(&self) -> Result<Coordinator, DpsPcaError> {
        let Parameters { dimension, kept_rows, rounds, start, .. } = self.parameters;
        let start = random_start(dimension, self.rank, &mut ChaCha20Rng::seed_from_u64(start));
        Coordinator::dense(&start, Some(kept_rows), rounds)
    }

    /// The guarantee of a provider's messages for each of its records, whatever the server and the others do.
    ///
    /// # Errors
    /// [`SessionError`] where nothing is proved.
    pub fn guarantee(&self) -> Result<SessionGuarantee, SessionError> {
        let Parameters { dimension, rounds, epsilon, delta, norm_bound, .. } = self.parameters;
        let proved = match self.parameters.accounting {
            Accounting::Corrected => Some(epsilon),
            Accounting::Printed => {
                scale::epsilon(self.scale, delta, Messages { dimension, rank: self.rank, rounds }, norm_bound)?
            }
        };
        let remedy = "nothing is proved at this delta: raise it, or use the corrected accounting";
        let epsilon = proved.ok_or(SessionError::Parameter { name: "delta", value: delta.value(), remedy })?;
        Ok(SessionGuarantee { epsilon, delta })
    }

    /// Q(t) from its columns, as a provider must check it before it answers: finite and orthonormal to 1e-9.
    ///
    /// # Errors
    /// [`SessionError::Basis`].
    pub fn check_basis(&self, columns: &[Vec<f64>]) -> Result<DMatrix<f64>, SessionError> {
        let (dimension, rank) = self.shape();
        if columns.len() != rank || columns.iter().any(|column| column.len() != dimension) {
            return Err(SessionError::Basis("its shape is not the session's"));
        }
        let basis = DMatrix::from_iterator(dimension, rank, columns.iter().flatten().copied());
        let off = (basis.tr_mul(&basis) - DMatrix::identity(rank, rank)).amax();
        // A NaN is not larger than anything.
        if basis.iter().all(|value| value.is_finite()) && off <= 1e-9 {
            Ok(basis)
        } else {
            Err(SessionError::Basis("its columns are not orthonormal (a provider's noise would not be enough for it)"))
        }
    }

    /// Checks that a message has the session's shape, and only numbers that a provider can send.
    ///
    /// # Errors
    /// [`SessionError::Length`] or [`SessionError::Cell`].
    pub fn check_cells(&self, cells: &[i64]) -> Result<(), SessionError> {
        let (dimension, rank) = self.shape();
        if cells.len() != dimension * rank {
            return Err(SessionError::Length { found: cells.len(), dimension, rank });
        }
        match cells.iter().position(|cell| cell.unsigned_abs() > LARGEST_CELL.unsigned_abs()) {
            Some(place) => Err(SessionError::Cell { place, value: cells[place] }),
            None => Ok(()),
        }
    }
}

/// Reasons why a session, or a message in it, is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The document.
    #[error("the session cannot be read: {0}")]
    Json(String),
    /// A parameter.
    #[error("{name} is {value}: {remedy}")]
    Parameter {
        /// Which.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The range.
        remedy: &'static str,
    },
    /// A parameter of the method.
    #[error(transparent)]
    Method(#[from] DpsPcaError),
    /// Q(t).
    #[error("the server's matrix is refused: {0}")]
    Basis(&'static str),
    /// The number of numbers in a message.
    #[error("the message has {found} numbers: it must have {dimension} times {rank}, column after column")]
    Length {
        /// How many it has.
        found: usize,
        /// d.
        dimension: usize,
        /// k.
        rank: usize,
    },
    /// One of its numbers.
    #[error("number {place} (from 0) is {value}: no provider sends more than 2^52")]
    Cell {
        /// Which.
        place: usize,
        /// Its value.
        value: i64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> Parameters {
        Parameters {
            version: 1,
            dimension: 10,
            rank: 2,
            kept_rows: 5,
            rounds: 4,
            providers: 3,
            epsilon: Epsilon::new(0.5).unwrap(),
            delta: Delta::new(1e-6).unwrap(),
            accounting: Accounting::Corrected,
            norm_bound: 1.0,
            start: 3,
        }
    }

    #[test]
    fn every_parameter_is_in_the_id_and_checked() {
        let session = Session::new(parameters()).unwrap();
        let others = [
            Parameters { dimension: 11, ..parameters() },
            Parameters { rounds: 5, ..parameters() },
            Parameters { norm_bound: 0.5, ..parameters() },
            Parameters { start: 4, ..parameters() },
            Parameters { accounting: Accounting::Printed, ..parameters() },
        ];
        for other in others {
            assert_ne!(Session::new(other.clone()).unwrap().id(), session.id(), "{other:?}");
        }
        let bad = [
            (Parameters { version: 2, ..parameters() }, "version is 2"),
            (Parameters { dimension: 1 << 18, ..parameters() }, "2^18"),
            (Parameters { rank: 0, ..parameters() }, "rank"),
            (Parameters { rank: 11, kept_rows: 10, ..parameters() }, "11"),
            (Parameters { kept_rows: 1, ..parameters() }, "kept rows is 1"),
            (Parameters { rounds: 0, ..parameters() }, "rounds is 0"),
            (Parameters { providers: 1001, ..parameters() }, "providers is 1001"),
            (Parameters { norm_bound: f64::NAN, ..parameters() }, "norm_bound is NaN"),
            (Parameters { norm_bound: 2.0, accounting: Accounting::Printed, ..parameters() }, "norm_bound is 2"),
            (Parameters { start: u64::MAX, ..parameters() }, "start"),
        ];
        for (bad, named) in bad {
            let message = Session::new(bad).unwrap_err().to_string();
            assert!(message.contains(named), "'{message}' lacks '{named}'");
        }
        assert!(Session::from_json(&session.to_json().replace("\"start\"", "\"begin\"")).is_err());
    }

    #[test]
    fn a_provider_accepts_only_orthonormal_matrices_of_the_right_shape() {
        let session = Session::new(parameters()).unwrap();
        let coordinator = session.coordinator().unwrap();
        let good: Vec<Vec<f64>> = coordinator.basis().column_iter().map(|c| c.iter().copied().collect()).collect();
        assert_eq!(&session.check_basis(&good).unwrap(), coordinator.basis());
        let changed = |change: &dyn Fn(&mut Vec<Vec<f64>>)| {
            let mut columns = good.clone();
            change(&mut columns);
            session.check_basis(&columns)
        };
        let scaled = |columns: &mut Vec<Vec<f64>>| columns[0].iter_mut().for_each(|value| *value *= 1e3);
        assert!(changed(&scaled).is_err());
        assert!(changed(&|columns| columns[1] = columns[0].clone()).is_err());
        assert!(changed(&|columns| columns[0][0] = f64::NAN).is_err());
        assert!(changed(&|columns| columns[0].push(0.0)).is_err());
        assert!(changed(&|columns| columns.truncate(1)).is_err());
    }

    #[test]
    fn messages_have_the_shape_of_the_session_and_numbers_that_providers_send() {
        let session = Session::new(parameters()).unwrap();
        let refused = |cells: &[i64]| session.check_cells(cells).unwrap_err().to_string();
        let mut cells = vec![LARGEST_CELL; 20];
        cells[7] = -LARGEST_CELL;
        assert_eq!(session.check_cells(&cells), Ok(()));
        assert!(refused(&cells[1..]).contains("has 19 numbers: it must have 10 times 2"));
        for beyond in [LARGEST_CELL + 1, i64::MAX, i64::MIN] {
            cells[7] = beyond;
            assert!(refused(&cells).contains(&format!("number 7 (from 0) is {beyond}")));
        }
    }
}
