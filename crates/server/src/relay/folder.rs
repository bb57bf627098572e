//! The folder of a relay: what it was made for, and a file per batch.
//!
//! `relay.json` has the gateway's keys, the length of reports and the size of batches. The batches are `1.batch`,
//! `2.batch` and so on: sealed requests, each with its checksum, all of one length. The last one is open. A batch is
//! complete when there is a next one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::durable::{make_folder, new_private, sync_folder, write_whole};
use crate::error::ServerError;
use crate::oblivious::{SealingKey, sealed_length};
use crate::store::{At, Lock, StoreError};

const PINNED: &str = "relay.json";
const VERSION: u32 = 1;

/// What a folder was made for.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pinned {
    version: u32,
    batch: u64,
    bytes: usize,
    /// `application/ohttp-keys`, with one key.
    keys: Vec<u8>,
}

/// A folder, locked for as long as it lives.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// The fewest requests of a batch.
    pub(super) batch: u64,
    /// The length of every request.
    pub(super) sealed_length: usize,
    /// The gateway's key, to which every request is sealed.
    pub(super) key: SealingKey,
    /// The complete batches of an earlier run, by number.
    pub(super) complete: Vec<u64>,
    pub(super) open: OpenBatch,
    /// The requests that wait from an earlier run.
    pub(super) waiting: Vec<Name>,
    _lock: Lock,
}

/// The batch that takes requests.
pub(super) struct OpenBatch {
    pub(super) number: u64,
    pub(super) file: File,
    /// The bytes of whole records.
    pub(super) length: u64,
    pub(super) requests: u64,
}

impl Folder {
    /// Opens or creates a folder; `keys` asks for the gateway's keys, which only a new one needs.
    pub(super) fn open(
        path: &Path,
        batch: u64,
        bytes: usize,
        keys: impl FnOnce() -> Result<Vec<u8>, ServerError>,
    ) -> Result<Self, ServerError> {
        make_folder(path).at("make", path)?;
        let lock = Lock::take(path)?;
        let key = sealing_key(&pinned_keys(path, batch, bytes, keys)?)?;
        let sealed_length = sealed_length(bytes);
        let mut complete = numbers(path)?;
        let last = complete.pop().unwrap_or(1);
        let mut waiting = Vec::new();
        for number in &complete {
            let file = batch_file(path, *number);
            let found = File::open(&file).and_then(|file| scan(&file, sealed_length)).at("read", &file)?;
            waiting.extend(found.into_iter().map(|(_, name)| name));
        }
        let open = OpenBatch::open(path, last, sealed_length, &mut waiting)?;
        Ok(Self { path: path.to_owned(), batch, sealed_length, key, complete, open, waiting, _lock: lock })
    }

    /// Goes on to the next batch, and returns the number of the one that is complete.
    pub(super) fn complete_batch(&mut self) -> io::Result<u64> {
        let number = self.open.number;
        let next = new_private(&batch_file(&self.path, number + 1))?;
        sync_folder(&self.path)?;
        self.open = OpenBatch { number: number + 1, file: next, length: 0, requests: 0 };
        Ok(number)
    }
}

impl OpenBatch {
    /// With what an earlier run left, without an unfinished end.
    fn open(folder: &Path, number: u64, sealed: usize, names: &mut Vec<Name>) -> Result<Self, StoreError> {
        let path = batch_file(folder, number);
        let mut open = || {
            let file = if path.exists() {
                OpenOptions::new().read(true).write(true).open(&path)?
            } else {
                new_private(&path)?
            };
            let found = scan(&file, sealed)?;
            let length = found.last().map_or(0, |(place, _)| (place + 1) * record_length(sealed));
            file.set_len(length)?;
            file.sync_all()?;
            sync_folder(folder)?;
            let requests = found.len() as u64;
            names.extend(found.into_iter().map(|(_, name)| name));
            Ok::<_, io::Error>(Self { number, file, length, requests })
        };
        open().at("open", &path)
    }
}

/// The file of a batch.
pub(super) fn batch_file(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number}.batch"))
}

/// The gateway's keys of the first start. What the folder was made for must be what is wanted.
fn pinned_keys(
    folder: &Path,
    batch: u64,
    bytes: usize,
    keys: impl FnOnce() -> Result<Vec<u8>, ServerError>,
) -> Result<Vec<u8>, ServerError> {
    let path = folder.join(PINNED);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // One key, so that no two devices find different ones in the list.
            let pinned = Pinned { version: VERSION, batch, bytes, keys: sealing_key(&keys()?)?.list() };
            let text = serde_json::to_vec(&pinned).map_err(io::Error::from)?;
            write_whole(folder, PINNED, &text).at("write", &path)?;
            return Ok(pinned.keys);
        }
        text => text.at("read", &path)?,
    };
    let other = |problem: String| ServerError::Unusable(format!("{}: {problem}", path.display()));
    let found: Pinned = serde_json::from_slice(&text)
        .map_err(|error| other(format!("it is not a relay's, or of another release ({error}): use another folder")))?;
    if (found.version, found.batch, found.bytes) != (VERSION, batch, bytes) {
        let Pinned { batch, bytes, .. } = found;
        return Err(other(format!(
            "the folder was made with batch {batch} and bytes {bytes}, which devices rely on: use these, or another \
             folder"
        )));
    }
    Ok(found.keys)
}

fn sealing_key(list: &[u8]) -> Result<SealingKey, ServerError> {
    SealingKey::read(list).map_err(|error| ServerError::Unusable(format!("the gateway's keys: {error}")))
}

/// The numbers of the batches, in order.
fn numbers(folder: &Path) -> Result<Vec<u64>, StoreError> {
    let read = || {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            numbers.extend(name.to_str().and_then(|name| name.strip_suffix(".batch")?.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        Ok::<_, io::Error>(numbers)
    };
    read().at("list", folder)
}

/// What tells requests apart: one that is sent again waits once.
pub(super) type Name = [u8; 16];

const CHECKSUM_BYTES: usize = 4;

/// The bytes of a request of this length on the disk.
fn record_length(sealed: usize) -> u64 {
    (sealed + CHECKSUM_BYTES) as u64
}

pub(super) fn name_of(sealed: &[u8]) -> Name {
    let digest: [u8; 32] = Sha256::digest(sealed).into();
    digest.first_chunk().copied().unwrap_or_default()
}

/// Adds a record to what is written.
pub(super) fn append(buffer: &mut Vec<u8>, sealed: &[u8]) {
    buffer.extend_from_slice(sealed);
    buffer.extend_from_slice(&crc32fast::hash(sealed).to_le_bytes());
}

/// The whole records of a file, by their places, with their names. A crash leaves others at the end, which nobody was
/// told of; elsewhere the disk damaged them.
pub(super) fn scan(file: &File, sealed: usize) -> io::Result<Vec<(u64, Name)>> {
    let mut reader = BufReader::with_capacity(1 << 18, file);
    reader.seek(SeekFrom::Start(0))?;
    let mut record = vec![0; sealed + CHECKSUM_BYTES];
    let mut found = Vec::new();
    for place in 0.. {
        match reader.read_exact(&mut record) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
        if let Some(sealed) = checked(&record) {
            found.push((place, name_of(sealed)));
        }
    }
    Ok(found)
}

/// The request at a place.
pub(super) fn read(mut file: &File, place: u64, sealed: usize) -> io::Result<Vec<u8>> {
    let mut record = vec![0; sealed + CHECKSUM_BYTES];
    file.seek(SeekFrom::Start(place * record_length(sealed)))?;
    file.read_exact(&mut record)?;
    let request = checked(&record).ok_or_else(|| io::Error::other("a request that was whole is damaged"))?;
    Ok(request.to_vec())
}

fn checked(record: &[u8]) -> Option<&[u8]> {
    let (sealed, checksum) = record.split_last_chunk::<CHECKSUM_BYTES>()?;
    (crc32fast::hash(sealed).to_le_bytes() == *checksum).then_some(sealed)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;
    use tempfile::tempdir;

    use super::*;
    use crate::oblivious::GatewayKeys;

    const BYTES: usize = 256;
    const BATCH: u64 = 2;

    fn open(path: &Path) -> Result<Folder, ServerError> {
        let made = path.with_extension("keys");
        let keys = || Ok(GatewayKeys::load(&made)?.advertised().into());
        Folder::open(path, BATCH, BYTES, keys)
    }

    /// The bytes of that many whole records.
    fn records(count: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        (0..count).for_each(|index| append(&mut bytes, &vec![index; sealed_length(BYTES)]));
        bytes
    }

    #[test]
    fn an_unfinished_end_is_cut_off_and_what_is_whole_stays() {
        let data = tempdir().unwrap();
        let (path, whole) = (data.path().join("relay"), records(3));
        drop(open(&path).unwrap());
        for tail in [&whole[..1], &whole[..347], &[0; 348], &[9; 1000], &[]] {
            let file = batch_file(&path, 1);
            fs::write(&file, [&whole[..], tail].concat()).unwrap();
            let folder = open(&path).unwrap();
            assert_eq!((folder.waiting.len(), &*folder.complete), (3, &[][..]));
            assert_eq!((folder.open.requests, folder.open.length), (3, whole.len() as u64));
            assert_eq!(fs::read(&file).unwrap(), whole);
        }
    }

    #[test]
    fn batches_before_the_last_are_complete_and_other_files_are_none() {
        let data = tempdir().unwrap();
        let path = data.path().join("relay");
        let mut folder = open(&path).unwrap();
        fs::write(batch_file(&path, 1), records(2)).unwrap();
        assert_eq!(folder.complete_batch().unwrap(), 1);
        drop(folder);
        for name in ["x.batch", "3.batch.tmp", "-1.batch"] {
            fs::write(path.join(name), "x").unwrap();
        }
        let folder = open(&path).unwrap();
        assert_eq!((&*folder.complete, folder.waiting.len()), (&[1][..], 2));
        assert_eq!(folder.open.number, 2);
        let key = folder.key.clone();
        drop(folder);
        // The key of the first start stays, whatever the gateway says later.
        fs::remove_file(path.with_extension("keys")).unwrap();
        assert_eq!(open(&path).unwrap().key, key);
    }

    proptest! {
        #[test]
        fn any_bytes_on_the_disk_are_read(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..1200),
            at in 0..696usize,
        ) {
            let data = tempdir().unwrap();
            let path = data.path().join("relay");
            drop(open(&path).unwrap());
            fs::write(batch_file(&path, 1), &bytes).unwrap();
            prop_assert_eq!(open(&path).unwrap().waiting.len(), 0);
            // One of two records is damaged.
            let mut damaged = records(2);
            damaged[at] ^= bytes.pop().unwrap_or(1).max(1);
            fs::write(batch_file(&path, 1), &damaged).unwrap();
            prop_assert_eq!(open(&path).unwrap().waiting.len(), 1);
            let pinned = path.join(PINNED);
            fs::write(&pinned, &bytes).unwrap();
            prop_assert!(open(&path).is_err());
        }
    }
}
