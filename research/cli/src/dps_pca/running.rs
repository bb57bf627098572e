//! A session under way.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::StatusCode;
use ldp_pca_cli::output::note;
use ldp_pca_dps::{Coordinator, DpsPcaError, Session, State};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::files::{self, Kept};
use super::problem::Problem;

/// A session and its messages so far.
pub(super) struct Running {
    pub(super) session: Session,
    /// The folder of the messages.
    messages: PathBuf,
    /// Held while a message is written, so that readers need not wait for the disk.
    writing: Mutex<()>,
    progress: Mutex<Progress>,
    changed: watch::Sender<()>,
}

struct Progress {
    coordinator: Coordinator,
    /// The messages of the present round, by provider.
    messages: BTreeMap<u32, Vec<i64>>,
    /// Digests of all messages, by round and provider: a retry is recognized after its round too.
    accepted: HashMap<(u32, u32), [u8; 32]>,
    /// The reason why the last round has no successor, if it is not the last of the session.
    failed: Option<DpsPcaError>,
}

impl Running {
    /// A session before its first message, whose messages go to this folder.
    pub(super) fn new(session: Session, messages: PathBuf) -> Result<Self, DpsPcaError> {
        let progress = Progress {
            coordinator: session.coordinator()?,
            messages: BTreeMap::new(),
            accepted: HashMap::new(),
            failed: None,
        };
        let (writing, progress) = (Mutex::default(), Mutex::new(progress));
        Ok(Self { session, messages, writing, progress, changed: watch::Sender::new(()) })
    }

    /// Announces every change.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(super) fn state(&self, provider: Option<u32>) -> State {
        let progress = hold(&self.progress);
        let coordinator = &progress.coordinator;
        let over = coordinator.finished() || progress.failed.is_some();
        let everybody = 1..=self.session.parameters().providers;
        State {
            session: self.session.id().to_string(),
            round: coordinator.round(),
            rounds: self.session.parameters().rounds,
            finished: coordinator.finished(),
            failed: progress.failed.as_ref().map(ToString::to_string),
            missing: everybody.filter(|number| !over && !progress.messages.contains_key(number)).collect(),
            answered: provider
                .map(|provider| progress.accepted.keys().filter(|(_, sender)| *sender == provider).count() as u32),
            basis: coordinator.basis().column_iter().map(|column| column.iter().copied().collect()).collect(),
        }
    }

    /// Accepts a message of the right shape. It is on disk before it counts. The same message is accepted again.
    pub(super) fn take(&self, provider: u32, round: u32, cells: Vec<i64>) -> Result<(), Problem> {
        let writing = hold(&self.writing);
        if !hold(&self.progress).is_new(provider, round, &cells)? {
            return Ok(());
        }
        let kept = Kept { round, provider, cells };
        files::keep(&self.messages, &kept).map_err(|error| {
            let detail =
                format!("the message could not be stored, and does not count: {error}; send the same bytes again");
            note(format_args!("warning: provider {provider}, round {round}: {detail}"));
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store-unavailable", detail)
        })?;
        let mut progress = hold(&self.progress);
        progress.add(&self.session, kept);
        let (finished, failed) = (progress.coordinator.finished(), progress.failed.is_some());
        drop(progress);
        drop(writing);
        if finished || failed {
            let end = if finished { "is finished" } else { "has failed" };
            note(format_args!("the session {end}: Ctrl-C ends the coordinator, once everybody has been told"));
        }
        self.changed.send_replace(());
        Ok(())
    }

    /// Accepts a message that an earlier run stored.
    pub(super) fn replay(&self, bytes: &[u8]) -> Result<(), String> {
        let kept: Kept = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let Kept { round, provider, .. } = kept;
        let refused =
            |problem: String| format!("the message of provider {provider} in round {round} does not fit: {problem}");
        self.session.check_cells(&kept.cells).map_err(|error| refused(error.to_string()))?;
        let providers = self.session.parameters().providers;
        if !(1..=providers).contains(&provider) {
            return Err(refused(format!("the session has {providers} providers")));
        }
        let mut progress = hold(&self.progress);
        match progress.is_new(provider, round, &kept.cells) {
            Ok(true) => progress.add(&self.session, kept),
            Ok(false) => return Err(refused("it is there twice".into())),
            Err(problem) => return Err(refused(problem.detail)),
        }
        Ok(())
    }
}

impl Progress {
    /// Whether the present round waits for the message; false for one that was accepted before.
    fn is_new(&self, provider: u32, round: u32, cells: &[i64]) -> Result<bool, Problem> {
        let present = self.coordinator.round();
        match self.accepted.get(&(round, provider)) {
            Some(before) if *before == digest(cells) => return Ok(false),
            Some(_) => {
                let detail = format!(
                    "provider {provider} has answered round {round} with other numbers, which count: a provider \
                        answers once, and sends the same bytes again"
                );
                return Err(Problem::conflict("other-message", detail));
            }
            None => {}
        }
        if let Some(failed) = &self.failed {
            return Err(Problem::conflict("session-over", format!("the session has failed: {failed}")));
        }
        if self.coordinator.finished() {
            let detail = "all rounds of the session are over: GET its state for the components";
            return Err(Problem::conflict("session-over", detail));
        }
        if round != present {
            let detail =
                format!("the message answers round {round}, and the session is at round {present}: GET its state");
            let mut problem = Problem::conflict("other-round", detail);
            problem.round = Some(present);
            return Err(problem);
        }
        Ok(true)
    }

    /// Adds a message, and starts the next round when it was the last of this one.
    fn add(&mut self, session: &Session, Kept { round, provider, cells }: Kept) {
        self.accepted.insert((round, provider), digest(&cells));
        self.messages.insert(provider, cells);
        if self.messages.len() < session.parameters().providers as usize {
            return;
        }
        let sum = session.scale().sum(session.shape(), self.messages.values().map(Vec::as_slice));
        match self.coordinator.advance(&sum) {
            Ok(()) => self.messages.clear(),
            Err(error) => self.failed = Some(error),
        }
    }
}

/// No work under these locks leaves an incomplete state behind, so a panic elsewhere does not matter.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn digest(cells: &[i64]) -> [u8; 32] {
    let mut hash = Sha256::new();
    cells.iter().for_each(|cell| hash.update(cell.to_le_bytes()));
    hash.finalize().into()
}
