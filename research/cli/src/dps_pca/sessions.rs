//! The session of a coordinator, for its providers and its collector.

use ldp_pca_cli::aggregator::Aggregator;
use ldp_pca_cli::error::{CliError, Result};
use ldp_pca_dps::{Session, SessionId, State};

/// Seconds for which the coordinator holds a request for the next round.
const WAIT: u32 = 20;

/// A coordinator, which is asked as an aggregator is.
pub(super) struct Sessions(Aggregator);

/// The outcome of a message.
pub(super) enum Sent {
    /// It was accepted.
    Taken,
    /// The session has moved on: ask for its state.
    TooLate,
}

impl Sessions {
    /// At this address, whose requests are repeated for this number of seconds while it cannot be reached.
    pub(super) fn new(url: &str, token: String, patience: u64) -> Result<Self> {
        Ok(Self(Aggregator::new(url, Some(token))?.patient(patience)))
    }

    /// The session of this id, and no other: the id is the digest of its parameters.
    pub(super) fn session(&self, id: SessionId) -> Result<Session> {
        let path = format!("/sessions/{id}");
        let answer = self.0.get(&path)?.good()?;
        let url = self.0.at("");
        let text = String::from_utf8_lossy(&answer.body);
        let session = Session::from_json(&text).map_err(|error| CliError::Failed(format!("{url}: {error}")))?;
        if session.id() != id {
            return Err(CliError::Failed(format!(
                "{url} returned session {} instead of {id}: its parameters were changed; nothing was sent",
                session.id()
            )));
        }
        Ok(session)
    }

    /// The state, at once.
    pub(super) fn state(&self, id: SessionId) -> Result<State> {
        self.0.get(&format!("/sessions/{id}/state"))?.good()?.document()
    }

    /// The state once the session is past round `after`, or after some seconds.
    pub(super) fn state_after(&self, id: SessionId, after: u32) -> Result<State> {
        self.0.get(&format!("/sessions/{id}/state?after={after}&wait={WAIT}"))?.good()?.document()
    }

    /// Sends a message.
    pub(super) fn send(&self, id: SessionId, message: &str) -> Result<Sent> {
        let path = format!("/sessions/{id}/messages");
        let answer = self.0.send_json("POST", &path, message)?;
        if answer.status == 409 && answer.problem().as_deref() == Some("other-round") {
            return Ok(Sent::TooLate);
        }
        answer.good().map(|_| Sent::Taken)
    }
}
