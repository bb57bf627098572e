//! Report ids that this server issues, so that clients cannot choose theirs (`TaskSettings::issued_ids`).
//!
//! An id is public randomness: it names the candidates among which a double-cap report chooses. A client that makes
//! many ids and keeps the one whose candidates suit it best (*grinding*) moves the result further than an honest report
//! does. An issued id is
//!
//! ```text
//! random (8 bytes) | HMAC-SHA256(key, "ldp-pca issued id 1" | task digest (32 bytes) | random), its first 8 bytes
//! ```
//!
//! so it can be recognized without being remembered, belongs to one task, and a forged one passes with probability
//! 2^-64 per attempt. A client that can get many of them can still choose among those: a request without a token gets
//! [`OPEN_COUNT`] at most, and the rate limit counts requests.
//!
//! # Privacy
//! The guarantee of a report holds for every fixed id: both mechanisms' proofs fix the id (and with it the candidates)
//! first, and bound the ratio of payload probabilities given it. Given the id that the server issued, the payload's law
//! is that of the proof, whatever the server knew or intended when it chose the id, so nothing is spent. The cost is a
//! different one: the server can remember the recipient of an id, and so link a report to that request. A report
//! travels with a sender's address anyway. Where a proxy hides it, ids must be fetched through the same proxy, and not
//! in one connection with the report.

use std::io;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::error::ServerError;
use super::secrets::{random_line, read_or_make};
use ldp_pca::report::ReportId;
use ldp_pca::task::TaskDigest;

/// The most ids per request without a token.
pub(super) const OPEN_COUNT: u32 = 16;

/// The most ids per request with an admin's token.
pub(super) const MOST: u32 = 10_000;

/// The start of the authenticated text, so that the key cannot serve another purpose by mistake.
const CONTEXT: &[u8] = b"ldp-pca issued id 1";

/// Makes ids, and recognizes its own.
#[derive(Clone)]
pub(super) struct Issuer {
    keyed: Hmac<Sha256>,
}

impl Issuer {
    /// With the key in `path`, which is created if missing.
    pub(super) fn load(path: &Path) -> Result<Self, ServerError> {
        let refused = |source| ServerError::Secret { path: path.to_owned(), source };
        let make = || random_line(32).map(|line| format!("{line}crc32 {}\n", checksum_of(line.trim())));
        let (text, _) = read_or_make(path, make).map_err(refused)?;
        let key = match text.split_whitespace().collect::<Vec<_>>()[..] {
            // As people write it.
            [key] => key,
            [key, "crc32", checksum] if checksum == checksum_of(key) => key,
            _ => {
                return Err(refused(io::Error::other(
                    "it does not hold the key that was made: restore it from a backup, or remove it (then the ids that \
                        were issued are refused)",
                )));
            }
        };
        if key.len() < 64 {
            let found = key.len();
            return Err(refused(io::Error::other(format!(
                "the key has {found} characters instead of 64 hexadecimal digits"
            ))));
        }
        Ok(Self::new(key.as_bytes()))
    }

    fn new(key: &[u8]) -> Self {
        let mut keyed = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
        keyed.update(CONTEXT);
        Self { keyed }
    }

    /// New ids of a task.
    pub(super) fn issue(&self, task: TaskDigest, count: u32) -> Result<Vec<ReportId>, getrandom::Error> {
        let mut random = vec![0; 8 * count as usize];
        getrandom::fill(&mut random)?;
        let ids = random.as_chunks::<8>().0.iter().map(|random| {
            let mut id = [0; 16];
            id[..8].copy_from_slice(random);
            id[8..].copy_from_slice(&self.tag(task, random));
            ReportId::new(id)
        });
        Ok(ids.collect())
    }

    /// Whether this server, or one with the same key, issued the id for this task.
    pub(super) fn issued(&self, task: TaskDigest, id: ReportId) -> bool {
        let (random, tag) = id.as_bytes().split_at(8);
        self.tag(task, random).ct_eq(tag).into()
    }

    fn tag(&self, task: TaskDigest, random: &[u8]) -> [u8; 8] {
        let mut keyed = self.keyed.clone();
        keyed.update(task.as_bytes());
        keyed.update(random);
        let mut tag = [0; 8];
        tag.copy_from_slice(&keyed.finalize().into_bytes()[..8]);
        tag
    }
}

/// The line below the key: a server with another one would refuse all ids that were issued.
fn checksum_of(key: &str) -> String {
    format!("{:08x}", crc32fast::hash(key.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_altered_is_refused_and_one_without_a_checksum_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("issuing.key");
        let task = TaskDigest::new([1; 32]);
        let id = Issuer::load(&path).unwrap().issue(task, 1).unwrap()[0];
        let good = std::fs::read(&path).unwrap();
        for bit in 0..8 * good.len() {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &bad).unwrap();
            // White space around the key is nothing.
            let loaded = Issuer::load(&path).map(|issuer| issuer.issued(task, id));
            assert!(matches!(loaded, Err(_) | Ok(true)), "bit {bit}");
        }
        std::fs::write(&path, &good[..65]).unwrap();
        assert!(Issuer::load(&path).unwrap().issued(task, id));
    }

    #[test]
    fn an_id_is_of_its_task_and_its_key_alone_and_altered_in_no_bit() {
        let (issuer, other) = (Issuer::new(b"key"), Issuer::new(b"yek"));
        let (task, other_task) = (TaskDigest::new([1; 32]), TaskDigest::new([2; 32]));
        let ids = issuer.issue(task, 20).unwrap();
        for id in &ids {
            assert!(issuer.issued(task, *id));
            assert!(!issuer.issued(other_task, *id) && !other.issued(task, *id));
            for bit in 0..128 {
                let mut bytes = *id.as_bytes();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(!issuer.issued(task, ReportId::new(bytes)), "{id} and its bit {bit}");
            }
        }
        let mut different = ids.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 20);
    }

    /// Computed with Python's hmac module.
    #[test]
    fn the_construction_is_frozen() {
        let tag = Issuer::new(b"key").tag(TaskDigest::new([7; 32]), &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(tag, FROZEN);
    }

    const FROZEN: [u8; 8] = [0xdb, 0x6a, 0xec, 0x22, 0x46, 0x33, 0x45, 0x23];
}
