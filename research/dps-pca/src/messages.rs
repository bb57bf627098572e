//! The messages of a session: JSON between a provider and the server, and in the files of both.

use serde::{Deserialize, Serialize};

use crate::SessionError;

/// A provider's answer to a round. [`Session::check_cells`](super::Session::check_cells) checks whether it is one of a
/// session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// t, from 1.
    pub round: u32,
    /// `n_i H_i` with noise, in steps of the lattice, column after column.
    pub cells: Vec<i64>,
}

impl Message {
    /// Reads a message. Unknown fields, fractions and integers beyond 64 bits are errors.
    ///
    /// # Errors
    /// [`SessionError::Json`].
    pub fn from_json(text: &str) -> Result<Self, SessionError> {
        serde_json::from_str(text).map_err(|error| SessionError::Json(error.to_string()))
    }

    /// One line, always the same bytes.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The state of a session, as the server reports it. A reader trusts nothing in it unchecked:
/// [`Session::check_basis`](super::Session::check_basis) checks the basis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The id of the session.
    pub session: String,
    /// t, from 1; T + 1 once it is finished.
    pub round: u32,
    /// T.
    pub rounds: u32,
    /// Whether all rounds are over.
    pub finished: bool,
    /// The reason why there is no further round, although not all are over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The providers that this round waits for.
    pub missing: Vec<u32>,
    /// How many rounds the requesting provider has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<u32>,
    /// The columns of Q(t): the components, once it is finished.
    pub basis: Vec<Vec<f64>>,
}

impl State {
    /// Whether there will be another round.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.finished && self.failed.is_none()
    }
}
