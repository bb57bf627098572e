//! The sessions of a server, in the folder `sessions` of its data: everything acknowledged survives a crash.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use super::files::{PARAMETERS, checksum_of, write};
use super::running::Running;
use crate::durable::sync_folder;
use crate::error::ServerError;
use crate::locks::{read_lock, write_lock};
use crate::problem::{Kind, Problem};
use ldp_pca_dps::{Session, SessionId, State};

/// The most sessions at the same time. Each holds a few messages in memory.
const MOST_SESSIONS: usize = 256;

/// All sessions.
pub(crate) struct Sessions {
    folder: PathBuf,
    known: RwLock<BTreeMap<SessionId, Arc<Running>>>,
}

impl Sessions {
    /// The sessions in the folder `sessions` of `data`, which is created with the first one.
    pub(crate) fn load(data: &Path) -> Result<Self, ServerError> {
        let folder = data.join("sessions");
        let mut known = BTreeMap::new();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries.collect::<io::Result<Vec<_>>>(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
            Err(error) => Err(error),
        };
        let refused = |path: &Path, problem: String| ServerError::Session { path: path.to_owned(), problem };
        for entry in entries.map_err(|error| refused(&folder, error.to_string()))? {
            let path = entry.path();
            let Some(id) = entry.file_name().to_str().and_then(SessionId::from_hex) else { continue };
            if let Some(running) = load(&path, id).map_err(|problem| refused(&path, problem))? {
                known.insert(id, Arc::new(running));
            }
        }
        Ok(Self { folder, known: RwLock::new(known) })
    }

    pub(crate) fn ids(&self) -> Vec<SessionId> {
        read_lock(&self.known).keys().copied().collect()
    }

    pub(crate) fn find(&self, id: SessionId) -> Option<Arc<Running>> {
        read_lock(&self.known).get(&id).cloned()
    }

    /// Adds a session; false when it exists.
    pub(crate) fn create(&self, session: Session) -> Result<bool, Problem> {
        // Nobody else creates or deletes one meanwhile.
        let mut known = write_lock(&self.known);
        let id = session.id();
        if known.contains_key(&id) {
            return Ok(false);
        }
        if known.len() >= MOST_SESSIONS {
            let detail = format!("the server has {MOST_SESSIONS} sessions: delete those that are over");
            return Err(Kind::TooManySessions.because(detail));
        }
        let folder = self.folder.join(id.to_string());
        let written = fs::create_dir_all(&folder)
            .and_then(|()| write(&folder, PARAMETERS, session.to_json().as_bytes()))
            .and_then(|()| sync_folder(&self.folder));
        written.map_err(not_changed)?;
        let running = Running::new(session, folder).map_err(|error| Kind::BadSession.because(error.to_string()))?;
        known.insert(id, Arc::new(running));
        Ok(true)
    }

    /// Removes a session with all messages.
    pub(crate) fn delete(&self, id: SessionId) -> Result<(), Problem> {
        let mut known = write_lock(&self.known);
        let folder = self.folder.join(id.to_string());
        // Without this file the rest is not a session.
        match fs::remove_file(folder.join(PARAMETERS)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(not_changed(error)),
            _ => {}
        }
        let running = known.remove(&id);
        drop(known);
        if let Some(running) = running {
            running.tell();
        }
        fs::remove_dir_all(&folder)
            .or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(not_changed(error)) })
    }
}

/// The session that an earlier run left, if any.
fn load(folder: &Path, id: SessionId) -> Result<Option<Running>, String> {
    let text = match fs::read_to_string(folder.join(PARAMETERS)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::remove_dir_all(folder).map_err(|error| error.to_string())?;
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    };
    let running = restored(&text, folder.to_owned())?;
    if running.session.id() != id {
        return Err(format!("{PARAMETERS} is of the session {}", running.session.id()));
    }
    let names = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
    let names: Vec<std::ffi::OsString> = names.map_err(|error: io::Error| error.to_string())?;
    // By round, then by provider, as their names are sorted.
    let mut names: Vec<&str> = names.iter().filter_map(|name| name.to_str()).collect();
    names.retain(|name| name.ends_with(".json") && *name != PARAMETERS);
    names.sort_unstable();
    for name in names {
        let bytes = fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        if checksum_of(name).is_none_or(|checksum| checksum != format!("{:08x}", crc32fast::hash(&bytes))) {
            return Err(format!("{name} is damaged: restore it from a backup, or delete the session's folder"));
        }
        running.replay(&bytes).map_err(|problem| format!("{name}: {problem}"))?;
    }
    Ok(Some(running))
}

/// The session of these parameters, before its first message.
fn restored(parameters: &str, folder: PathBuf) -> Result<Running, String> {
    let session = Session::from_json(parameters).map_err(|error| error.to_string())?;
    Running::new(session, folder).map_err(|error| error.to_string())
}

/// The session and the state that a start finds in a folder of these files, the messages in the order of their names.
/// For fuzzing.
///
/// # Errors
/// The reason why the start is refused.
#[doc(hidden)]
pub fn read_session(parameters: &str, messages: &[&[u8]]) -> Result<(Session, State), String> {
    let running = restored(parameters, PathBuf::new())?;
    messages.iter().try_for_each(|message| running.replay(message))?;
    Ok((running.session.clone(), running.state(None)))
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn not_changed(error: io::Error) -> Problem {
    tracing::warn!(%error, "the sessions could not be changed");
    Kind::StoreUnavailable.because(format!("nothing was changed: {error}"))
}
