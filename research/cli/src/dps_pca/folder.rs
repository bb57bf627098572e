//! The coordinator's folder: everything acknowledged survives a crash.
//!
//! ```text
//! session.json                       the parameters; a folder without it is the rest of a start that crashed
//! key                                what the tokens are made with, the session's id, and the CRC-32 of both
//! collector.token, tokens/           the tokens, to hand out
//! messages/0001-0003.1a2b3c4d.json   the message of provider 3 in round 1, and its CRC-32
//! ```
//!
//! Every file is there whole or not at all. A start replays the messages in their order, which gives the same rounds:
//! they depend on nothing else. A damaged file is refused: the session's id is the parameters' digest, and the others
//! have their checksums.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use ldp_pca::internal::sampling::system_rng;
use ldp_pca_cli::error::{CliError, InFile as _, Result};
use ldp_pca_cli::files::text;
use ldp_pca_dps::{Session, SessionId, State};
use rand::Rng as _;
use sha2::Sha256;

use super::files::{checksum_of, write};
use super::running::Running;
use super::{folder_of, sync_folder};
use crate::shared::locked;

const PARAMETERS: &str = "session.json";
const KEY: &str = "key";
const COLLECTOR_TOKEN: &str = "collector.token";
const TOKENS: &str = "tokens";
const MESSAGES: &str = "messages";

/// The start of the authenticated text, so that the key cannot serve another purpose by mistake.
const CONTEXT: &[u8] = b"ldp-pca provider token 1";

/// Stands for the collector among the providers, whose numbers are from 1 on.
pub(super) const COLLECTOR: u32 = 0;

/// The key of a session's tokens, which need not be remembered.
pub(super) struct Key(Hmac<Sha256>);

impl Key {
    fn new(key: &str, session: SessionId) -> Self {
        let mut keyed = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("HMAC takes keys of any length");
        keyed.update(CONTEXT);
        keyed.update(session.as_bytes());
        Self(keyed)
    }

    /// That of a file for this session.
    fn read(text: &str, session: SessionId) -> core::result::Result<Self, &'static str> {
        let [key, id, checksum] = text.split_whitespace().collect::<Vec<_>>()[..] else { return Err(DAMAGED) };
        match checksum == checksum_of(format!("{key} {id}").as_bytes()) && id == session.to_string() {
            true => Ok(Self::new(key, session)),
            false => Err(DAMAGED),
        }
    }

    /// The token of a provider or of the collector: its number, and a code that nobody can make without the key.
    pub(super) fn token(&self, holder: u32) -> String {
        let mut keyed = self.0.clone();
        keyed.update(&holder.to_be_bytes());
        let digits: String = keyed.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{holder}-{digits}")
    }
}

const DAMAGED: &str = "it is damaged, or of another session: restore it from a backup, or start another session";

/// Makes the folder of a session. Returns the files with the tokens of provider 1, 2, …
pub(super) fn make(folder: &Path, session: &Session) -> Result<Vec<PathBuf>> {
    if folder.join(PARAMETERS).exists() {
        return Err(CliError::file(folder, "it has a session: give another folder, or coordinate that session"));
    }
    for part in [folder.join(MESSAGES), folder.join(TOKENS)] {
        fs::create_dir_all(&part).in_file(&part)?;
    }
    let mut random = [0; 32];
    system_rng()?.fill_bytes(&mut random);
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = format!("{digits} {}", session.id());
    let checksum = checksum_of(text.as_bytes());
    write(folder, KEY, format!("{text} {checksum}\n").as_bytes()).in_file(folder)?;
    let key = Key::new(&digits, session.id());
    let hand_out = |folder: &Path, name: &str, holder| {
        let path = folder.join(name);
        write(folder, name, format!("{}\n", key.token(holder)).as_bytes()).in_file(&path).map(|()| path)
    };
    hand_out(folder, COLLECTOR_TOKEN, COLLECTOR)?;
    let provider = |number| hand_out(&folder.join(TOKENS), &format!("provider-{number}.token"), number);
    let tokens = (1..=session.parameters().providers).map(provider).collect::<Result<Vec<_>>>()?;
    // With this file it is a session.
    let written = write(folder, PARAMETERS, session.to_json().as_bytes()).and_then(|()| sync_folder(folder_of(folder)));
    written.in_file(folder)?;
    Ok(tokens)
}

/// The session of a folder with all that an earlier run acknowledged, and the lock on the folder.
pub(super) fn open(folder: &Path) -> Result<(Running, Key, File)> {
    let path = folder.join(PARAMETERS);
    let parameters = text(&path)?;
    let lock = locked(&path, "another coordinator has the session: end that one first")?;
    let messages = folder.join(MESSAGES);
    let running = restored(&parameters, messages.clone()).in_file(&path)?;
    let key = folder.join(KEY);
    let key = Key::read(&text(&key)?, running.session.id()).in_file(&key)?;
    let names: io::Result<Vec<PathBuf>> =
        fs::read_dir(&messages).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut names = names.in_file(&messages)?;
    // By round, then by provider, as their names are sorted.
    names.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    names.sort_unstable();
    for path in names {
        let bytes = fs::read(&path).in_file(&path)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if stem.split_once('.').is_none_or(|(_, checksum)| checksum != checksum_of(&bytes)) {
            return Err(CliError::file(&path, DAMAGED));
        }
        running.replay(&bytes).in_file(&path)?;
    }
    Ok((running, key, lock))
}

/// The session of these parameters, before its first message.
fn restored(parameters: &str, messages: PathBuf) -> core::result::Result<Running, String> {
    let session = Session::from_json(parameters).map_err(|error| error.to_string())?;
    Running::new(session, messages).map_err(|error| error.to_string())
}

/// The session and the state that a coordinator finds in a folder of these files, the messages in the order of their
/// names; or the reason why it is refused.
pub(crate) fn read(parameters: &str, messages: &[&[u8]]) -> core::result::Result<(Session, State), String> {
    let running = restored(parameters, PathBuf::new())?;
    messages.iter().try_for_each(|message| running.replay(message))?;
    Ok((running.session.clone(), running.state(None)))
}

#[cfg(test)]
mod tests {
    use super::super::files::{Kept, keep};
    use super::*;

    const SESSION: &str = r#"{"version":1,"dimension":3,"rank":1,"kept_rows":2,"rounds":2,"providers":2,"epsilon":1.0,
        "delta":1e-6,"accounting":"corrected","norm_bound":1.0,"start":7}"#;

    #[cfg(unix)]
    #[test]
    fn only_their_owner_reads_tokens_and_no_link_in_their_place_is_followed() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (data, elsewhere) = (folder.path().join("data"), folder.path().join("elsewhere"));
        fs::create_dir_all(data.join(TOKENS)).unwrap();
        fs::write(&elsewhere, "precious").unwrap();
        for name in ["collector.token", "collector.token.tmp", "tokens/provider-1.token.tmp"] {
            symlink(&elsewhere, data.join(name)).unwrap();
        }
        let mut tokens = make(&data, &Session::from_json(SESSION).unwrap()).unwrap();
        tokens.push(data.join(COLLECTOR_TOKEN));
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
        for path in tokens {
            let metadata = fs::symlink_metadata(&path).unwrap();
            assert!(metadata.is_file() && metadata.permissions().mode() & 0o777 == 0o600, "{path:?}: {metadata:?}");
        }
    }

    #[test]
    fn a_message_or_a_key_that_was_altered_in_any_byte_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let session = Session::from_json(SESSION).unwrap();
        assert_eq!(make(&data, &session).unwrap().len(), 2);
        keep(&data.join(MESSAGES), &Kept { round: 1, provider: 2, cells: vec![4, -5, 6] }).unwrap();
        let (running, key, lock) = open(&data).unwrap();
        assert_eq!(running.state(Some(2)).missing, [1]);
        assert_eq!(fs::read_to_string(data.join("tokens/provider-2.token")).unwrap(), key.token(2) + "\n");
        assert_eq!(fs::read_to_string(data.join(COLLECTOR_TOKEN)).unwrap(), key.token(COLLECTOR) + "\n");
        drop((running, lock));
        let message = fs::read_dir(data.join(MESSAGES)).unwrap().next().unwrap().unwrap().path();
        for path in [message, data.join(KEY)] {
            let good = fs::read(&path).unwrap();
            // The end of the key's line is nothing.
            for byte in 0..good.trim_ascii_end().len() {
                let mut bad = good.clone();
                bad[byte] ^= 1 << (byte % 7);
                fs::write(&path, bad).unwrap();
                let refusal = open(&data).err().unwrap().to_string();
                assert!(refusal.starts_with(&path.display().to_string()) && refusal.contains("damaged"), "{refusal}");
            }
            fs::write(&path, good).unwrap();
        }
        assert!(open(&data).is_ok());
    }

    /// Computed with Python's hmac module.
    #[test]
    fn tokens_are_frozen_and_of_their_session_and_key_alone() {
        let (session, other) = (SessionId::new([7; 32]), SessionId::new([8; 32]));
        assert_eq!(Key::new("key", session).token(3), FROZEN);
        for key in [Key::new("key", other), Key::new("yek", session)] {
            assert_ne!(key.token(3), FROZEN);
        }
    }

    const FROZEN: &str = "3-e70bc0e51a2536881441ca98616d182529dd50a44c16393bf6ce324db2a588b3";
}
