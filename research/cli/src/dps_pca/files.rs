//! Files of the coordinator, each of them there whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::sync_folder;

/// A stored message.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    pub(super) round: u32,
    pub(super) provider: u32,
    pub(super) cells: Vec<i64>,
}

/// Stores a message in the folder of messages.
pub(super) fn keep(messages: &Path, kept: &Kept) -> io::Result<()> {
    let bytes = serde_json::to_vec(kept)?;
    write(messages, &format!("{:04}-{:04}.{}.json", kept.round, kept.provider, checksum_of(&bytes)), &bytes)
}

/// Writes a file that its owner alone may read, and that is on the disk, whole, when this returns.
pub(super) fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temporary = folder.join(format!("{name}.tmp"));
    // That of a run that crashed, or a link, which is not followed.
    let _ = fs::remove_file(&temporary);
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&temporary, folder.join(name))?;
    sync_folder(folder)
}

/// The CRC-32 of these bytes.
pub(super) fn checksum_of(bytes: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(bytes))
}
