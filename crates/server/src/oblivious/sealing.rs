//! The sender's half: a report is sealed to the gateway's key.

use bhttp::{Message, Mode};
use chacha20::ChaCha20Rng;
use hpke::aead::AesGcm128;
use hpke::kdf::HkdfSha256;
use hpke::kem::DhP256HkdfSha256;
use hpke::{Deserializable as _, Kem, OpModeS, Serializable as _, single_shot_seal_with_rng};
use ldp_pca::task::TaskDigest;
use ohttp::KeyConfig;
use rand::SeedableRng as _;
use sha2::{Digest as _, Sha256};

use super::pad;

/// The identifiers of DHKEM(P-256, HKDF-SHA256), of HKDF-SHA256 and AES-128-GCM, and the length of a public key.
const KEM: [u8; 2] = [0, 0x10];
const SUITE: [u8; 4] = [0, 1, 0, 1];
const PUBLIC_KEY_BYTES: usize = 65;

/// What sealing adds: the header with the key's id and the suite, the ephemeral key, and the tag.
const ADDED: usize = 1 + KEM.len() + SUITE.len() + PUBLIC_KEY_BYTES + 16;

/// What the key schedule has before the header (RFC 9458, 4.3).
const INFO: &[u8] = b"message/bhttp request\0";

/// What the ephemeral key's hash has first: nothing else is hashed so.
const EPHEMERAL: &[u8] = b"ldp-pca: the ephemeral key of a sealed report, 1";

/// The shortest padded request: all tasks with compact reports have it.
const SHORTEST: usize = 256;

/// A key of a gateway: its key configuration with the one suite that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealingKey(Vec<u8>);

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
                return Ok(Self(config));
            }
            list = later;
        }
        Err(SealError::NoSuite)
    }

    /// The list with this key alone, as `application/ohttp-keys`: whoever reads it finds this one.
    #[must_use]
    pub fn list(&self) -> Vec<u8> {
        [&(self.0.len() as u16).to_be_bytes()[..], &self.0].concat()
    }

    /// The first bytes of every request that is sealed to this key.
    #[must_use]
    pub fn header(&self) -> [u8; 7] {
        let mut header = [0; 7];
        header[..3].copy_from_slice(&self.0[..3]);
        header[3..].copy_from_slice(&SUITE);
        header
    }

    /// A request with one report of a task, sealed: each time the same bytes, which a relay keeps once.
    ///
    /// The ephemeral key is not drawn, as HPKE has it, but derived (`DeriveKeyPair` of RFC 9180) from a hash of the
    /// recipient's key and of all that is encrypted. Who does not know the report cannot find it: a report has an id of
    /// 128 random bits. And no key encrypts two texts, since another text has another hash. This assumes that the
    /// sender drew the id and told it to nobody but the aggregator, which opens the report anyway: whoever knows the id
    /// can try all payloads, and whoever has the report, from the aggregator's folder or a backup, can recognise its
    /// sealed bytes without the key. (Behind a relay an id that somebody issued names the sender, and a report from a
    /// seed hides nothing.)
    ///
    /// # Errors
    /// [`SealError::Failed`], when the cryptography refuses.
    pub fn seal(&self, task: TaskDigest, report: &[u8]) -> Result<Vec<u8>, SealError> {
        let (header, request) = (self.header(), request(task, report)?);
        let hash = Sha256::new().chain_update(EPHEMERAL).chain_update(&self.0).chain_update(&request).finalize();
        let key = &self.0[1 + KEM.len()..][..PUBLIC_KEY_BYTES];
        let key = <DhP256HkdfSha256 as Kem>::PublicKey::from_bytes(key).map_err(|error| failed(&error))?;
        let (ephemeral, sealed) = single_shot_seal_with_rng::<AesGcm128, HkdfSha256, DhP256HkdfSha256>(
            &OpModeS::Base,
            &key,
            &[INFO, &header].concat(),
            &request,
            &[],
            &mut ChaCha20Rng::from_seed(hash.into()),
        )
        .map_err(|error| failed(&error))?;
        Ok([&header[..], &ephemeral.to_bytes(), &sealed].concat())
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

    /// The length that the binary HTTP of a report is padded to.
    fn padded_length(report_bytes: usize) -> usize {
        // Every digest is as long as this one.
        request(TaskDigest::new([0; 32]), &vec![0; report_bytes]).unwrap().len()
    }

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

    /// What is sent again after an interruption is the same bytes, and nothing else shares its ephemeral key.
    #[test]
    fn a_report_is_sealed_to_the_same_bytes_each_time_and_other_reports_tasks_and_keys_give_others() {
        let [one, other] = [1, 2].map(|secret| {
            let key = KeyConfig::derive(7, super::super::KEM, vec![super::super::SUITE], &[secret; 32]).unwrap();
            SealingKey::read(&KeyConfig::encode_list(&[key]).unwrap()).unwrap()
        });
        let [task, second] = [1, 2].map(|byte| TaskDigest::new([byte; 32]));
        let sealed = one.seal(task, b"report").unwrap();
        assert_eq!(one.clone().seal(task, b"report").unwrap(), sealed);
        // A later release repeats what an earlier one sent, too.
        let hash: String = Sha256::digest(&sealed).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, "c3ca1cb42d8c2d546de5dfc57a947ad4f4c91f172036331db6b99c5fad70d7d9");
        let all = [
            sealed,
            one.seal(task, b"repors").unwrap(),
            one.seal(second, b"report").unwrap(),
            other.seal(task, b"report").unwrap(),
        ];
        for (index, sealed) in all.iter().enumerate() {
            assert_eq!(sealed.len(), sealed_length(padded_length(6)));
            let ephemeral = |sealed: &[u8]| sealed[7..7 + PUBLIC_KEY_BYTES].to_vec();
            assert!(all[..index].iter().all(|before| ephemeral(before) != ephemeral(sealed)));
        }
    }

    #[test]
    fn padded_lengths_are_powers_of_two() {
        assert_eq!([0, 34, 35, 100].map(padded_length), [256; 4]);
        assert_eq!([1000, 3990, 4000, 80_200].map(padded_length), [2048, 4096, 8192, 131_072]);
    }
}
