//! A sealed request in a file: its bytes and their checksum, all of one length.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use sha2::{Digest, Sha256};

/// What tells requests apart: one that is sent again waits once.
pub(super) type Name = [u8; 16];

const CHECKSUM_BYTES: usize = 4;

/// The bytes of a request of this length on the disk.
pub(super) fn record_length(sealed: usize) -> u64 {
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
