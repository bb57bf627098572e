//! The sender's half: a report is sealed to the gateway's key.

use bhttp::{Message, Mode};
use ldp_pca::task::TaskDigest;
use ohttp::{ClientRequest, KeyConfig};

use super::pad;

/// The identifiers of DHKEM(P-256, HKDF-SHA256), of HKDF-SHA256 and AES-128-GCM, and the length of a public key.
const KEM: [u8; 2] = [0, 0x10];
const SUITE: [u8; 4] = [0, 1, 0, 1];
const PUBLIC_KEY_BYTES: usize = 65;

/// What sealing adds: the header with the key's id and the suite, the ephemeral key, and the tag.
const ADDED: usize = 1 + KEM.len() + SUITE.len() + PUBLIC_KEY_BYTES + 16;

/// The shortest padded request: all tasks with compact reports have it.
const SHORTEST: usize = 256;

/// A key of a gateway, from its key configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealingKey {
    /// The configuration with the one suite that is used.
    config: Vec<u8>,
}

/// Why nothing can be sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// Not `application/ohttp-keys`.
    #[error("it is not a gateway's key configuration (application/ohttp-keys): ask for it again")]
    NotKeys,
    /// No key of the suite that clients have.
    #[error(
        "the key configuration has no key for DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM: the aggregator's \
         release does not match this one"
    )]
    NoSuite,
    /// The cryptography refused.
    #[error("sealing failed: {0}")]
    Failed(String),
}

impl SealingKey {
    /// The first key of a list that has the suite.
    ///
    /// # Errors
    /// [`SealError`], for bytes that are no list, or have no such key.
    pub fn read(mut list: &[u8]) -> Result<Self, SealError> {
        while !list.is_empty() {
            let (length, rest) = list.split_first_chunk().ok_or(SealError::NotKeys)?;
            let length = usize::from(u16::from_be_bytes(*length));
            let (entry, later) = rest.split_at_checked(length).ok_or(SealError::NotKeys)?;
            if let Some(config) = of_suite(entry) {
                // A point that is not on the curve is refused here.
                KeyConfig::decode(&config).map_err(|_| SealError::NotKeys)?;
                return Ok(Self { config });
            }
            list = later;
        }
        Err(SealError::NoSuite)
    }

    /// The list with this key alone, as `application/ohttp-keys`: whoever reads it finds this one.
    #[must_use]
    pub fn list(&self) -> Vec<u8> {
        [&(self.config.len() as u16).to_be_bytes()[..], &self.config].concat()
    }

    /// The first bytes of every request that is sealed to this key.
    #[must_use]
    pub fn header(&self) -> [u8; 7] {
        let mut header = [0; 7];
        header[..3].copy_from_slice(&self.config[..3]);
        header[3..].copy_from_slice(&SUITE);
        header
    }

    /// A request with one report of a task, sealed. Twice the same differs.
    ///
    /// # Errors
    /// [`SealError::Failed`], when the system has no randomness.
    pub fn seal(&self, task: TaskDigest, report: &[u8]) -> Result<Vec<u8>, SealError> {
        let client = ClientRequest::from_encoded_config(&self.config).map_err(|error| failed(&error))?;
        let (sealed, _) = client.encapsulate(&request(task, report)?).map_err(|error| failed(&error))?;
        Ok(sealed)
    }
}

/// The entry with nothing but the suite, if it has that.
fn of_suite(entry: &[u8]) -> Option<Vec<u8>> {
    let (head, suites) = entry.split_at_checked(1 + KEM.len() + PUBLIC_KEY_BYTES)?;
    let (length, suites) = suites.split_first_chunk()?;
    let good = head[1..3] == KEM
        && suites.len() == usize::from(u16::from_be_bytes(*length))
        && suites.len().is_multiple_of(SUITE.len())
        && suites.chunks_exact(SUITE.len()).any(|suite| suite == SUITE);
    good.then(|| [head, &[0, 4], &SUITE].concat())
}

/// The binary HTTP of a report: no field and no host, which would only tell senders apart.
fn request(task: TaskDigest, report: &[u8]) -> Result<Vec<u8>, SealError> {
    let path = format!("/tasks/{task}/reports");
    let mut message = Message::request(b"POST".to_vec(), b"https".to_vec(), Vec::new(), path.into_bytes());
    message.write_content(report);
    let mut bytes = Vec::new();
    message.write_bhttp(Mode::KnownLength, &mut bytes).map_err(|error| failed(&error))?;
    pad(&mut bytes, SHORTEST);
    Ok(bytes)
}

/// The length that the binary HTTP of a report is padded to: a power of two, 256 at least.
#[must_use]
pub fn padded_length(report_bytes: usize) -> usize {
    // Every digest is as long as this one.
    request(TaskDigest::new([0; 32]), &vec![0; report_bytes]).map_or(SHORTEST, |request| request.len())
}

/// The length of a sealed request whose binary HTTP has this length.
#[must_use]
pub fn sealed_length(padded: usize) -> usize {
    padded.saturating_add(ADDED)
}

fn failed(error: &impl ToString) -> SealError {
    SealError::Failed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_key_configuration_is_refused_and_other_keys_are_passed_over() {
        assert!(matches!(SealingKey::read(b""), Err(SealError::NoSuite)));
        assert!(matches!(SealingKey::read(b"<html>"), Err(SealError::NotKeys)));
        // Another KEM, then a point that is not on the curve.
        let other = [&[0, 41, 1, 0, 0x20][..], &[9; 32], &[0, 4, 0, 1, 0, 1]].concat();
        assert!(matches!(SealingKey::read(&other), Err(SealError::NoSuite)));
        let bad = [&other[..], &[0, 74, 1, 0, 0x10], &[4; 65], &[0, 4, 0, 1, 0, 1]].concat();
        assert!(matches!(SealingKey::read(&bad), Err(SealError::NotKeys)));
    }

    /// An aggregator could write a list in which other readers find another key of the same id.
    #[test]
    fn a_list_is_passed_on_as_the_one_key_that_is_used() {
        let key = |id| KeyConfig::new(id, super::super::KEM, vec![super::super::SUITE]).unwrap();
        let [one, other] = [key(7), key(7)].map(|key| KeyConfig::encode_list(&[key]).unwrap());
        let mut without_suites = one.clone();
        let at = without_suites.len() - 6;
        without_suites[at..at + 2].copy_from_slice(&[0, 0]);
        let found = SealingKey::read(&[&without_suites[..], &other].concat()).unwrap();
        assert_eq!(found, SealingKey::read(&other).unwrap());
        assert_eq!(found.list(), other);
        assert_ne!(SealingKey::read(&one).unwrap().list(), other);
    }

    #[test]
    fn padded_lengths_are_powers_of_two() {
        assert_eq!([0, 34, 35, 100].map(padded_length), [256; 4]);
        assert_eq!([1000, 3990, 4000, 80_200].map(padded_length), [2048, 4096, 8192, 131_072]);
    }
}
