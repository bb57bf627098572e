//! The files of a session.
//!
//! ```text
//! sessions/<id>/session.json         the parameters; a folder without it is the rest of a creation that crashed
//! sessions/<id>/0001-0003.1a2b3c4d.json
//!                                    the message of provider 3 in round 1, and its CRC-32
//! ```
//!
//! Every file is there whole or not at all. A start replays the messages in their order, which gives the same rounds:
//! they depend on nothing else. A damaged file is refused: the session's id is the parameters' digest, and messages
//! have their checksum in their name.

use std::fs::File;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::durable::write_whole;

/// The file of the parameters.
pub(super) const PARAMETERS: &str = "session.json";

/// A stored message.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    pub(super) round: u32,
    pub(super) provider: u32,
    pub(super) cells: Vec<i64>,
}

/// Stores a message.
pub(super) fn keep(folder: &Path, kept: &Kept) -> io::Result<()> {
    let bytes = serde_json::to_vec(kept)?;
    let checksum = crc32fast::hash(&bytes);
    write(folder, &format!("{:04}-{:04}.{checksum:08x}.json", kept.round, kept.provider), &bytes)
}

/// The checksum of the content in a message's name.
pub(super) fn checksum_of(name: &str) -> Option<&str> {
    name.strip_suffix(".json")?.split_once('.').map(|(_, checksum)| checksum)
}

/// Writes a file that is on the disk, whole, when this returns.
pub(super) fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    write_whole(folder, name, bytes, |path| File::create(path))
}
