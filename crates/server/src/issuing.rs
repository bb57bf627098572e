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

use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::error::ServerError;
use super::secrets::{SecretFile, is_missing, make_if_missing, secret_in};
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
pub(super) struct Issuer(Hmac<Sha256>);

impl Issuer {
    /// Refuses a missing key on behalf of a task with reports whose ids were issued: a new key would refuse them.
    pub(super) fn must_exist(path: &Path, task: TaskDigest) -> Result<(), ServerError> {
        if !is_missing(path) {
            return Ok(());
        }
        let path = path.display();
        Err(ServerError::Unusable(format!(
            "{path}: it is missing, and task {task} has reports whose ids were issued: restore the key from a backup, \
             or copy that of another aggregator of the task; or make one with 'openssl rand -hex 32 > {path}', and ids \
             that were issued are refused"
        )))
    }

    /// With the key in `path`, which is created if missing.
    pub(super) fn load(path: &Path) -> Result<Self, ServerError> {
        if make_if_missing(path)? {
            let advice = "keep it in the backup, for without it the ids that it issues are refused";
            tracing::info!(path = %path.display(), "made the issuing key: {advice}");
        }
        let text = SecretFile::IssuingKey.read(path)?;
        let is_key = |key: &&str| key.len() >= 64 && !key.contains(char::is_whitespace);
        let key = secret_in(text.trim()).filter(is_key).ok_or_else(|| {
            let problem = "it is not one key of 64 hexadecimal digits, as 'openssl rand -hex 32' makes them";
            SecretFile::IssuingKey.damaged(path, problem)
        })?;
        Ok(Self::new(key.as_bytes()))
    }

    fn new(key: &[u8]) -> Self {
        let mut keyed = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
        keyed.update(CONTEXT);
        Self(keyed)
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
        let mut keyed = self.0.clone();
        keyed.update(task.as_bytes());
        keyed.update(random);
        let mut tag = [0; 8];
        tag.copy_from_slice(&keyed.finalize().into_bytes()[..8]);
        tag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_key_is_made_only_where_no_report_needs_it_and_a_person_s_needs_no_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("issuing.key");
        let task = TaskDigest::new([1; 32]);
        let refused = Issuer::must_exist(&path, task).unwrap_err().to_string();
        assert!(refused.contains(&format!("task {task} has reports")) && refused.contains("openssl rand"), "{refused}");
        let id = Issuer::load(&path).unwrap().issue(task, 1).unwrap()[0];
        Issuer::must_exist(&path, task).unwrap();
        assert!(Issuer::load(&path).unwrap().issued(task, id));
        let made = std::fs::read_to_string(&path).unwrap();
        let digits = secret_in(made.trim()).unwrap();
        std::fs::write(&path, digits).unwrap();
        assert!(Issuer::load(&path).unwrap().issued(task, id));
        for bad in [String::new(), digits[1..].into(), format!("{digits}\n{digits}\n")] {
            std::fs::write(&path, bad).unwrap();
            let refused = Issuer::load(&path).err().unwrap().to_string();
            assert!(refused.contains("issuing.key") && refused.contains("from a backup"), "{refused}");
        }
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
