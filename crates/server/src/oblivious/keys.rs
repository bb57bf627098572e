//! The gateway's keys: a file with one secret a line, of which the first is advertised and all open requests.
//!
//! A key pair and its id follow from the secret (`DeriveKeyPair` of RFC 9180), so several aggregators with the same
//! file have the same keys, and a person can make a new line as a token is made.

use std::path::Path;

use ohttp::{KeyConfig, Server, ServerResponse};
use sha2::{Digest, Sha256};

use super::{KEM, SUITE};
use crate::error::ServerError;
use crate::problem::{Problem, Reason};
use crate::secrets::{SecretFile, make_if_missing, secret_in};

/// The hexadecimal digits of a secret.
const DIGITS: usize = 64;

/// The bytes of a sealed request before its ephemeral key.
const HEADER_BYTES: usize = 7;

/// All keys.
pub(in super::super) struct GatewayKeys {
    /// As `application/ohttp-keys`.
    advertised: Vec<u8>,
    keys: Vec<(u8, Server)>,
}

impl GatewayKeys {
    /// The keys in `path`, which is created with one if missing.
    pub(in super::super) fn load(path: &Path) -> Result<Self, ServerError> {
        make_if_missing(path)?;
        let text = SecretFile::GatewayKeys.read(path)?;
        Self::read(&text).map_err(|problem| ServerError::Unusable(format!("{}: {problem}", path.display())))
    }

    fn read(text: &str) -> Result<Self, String> {
        let mut keys: Vec<(u8, Server)> = Vec::new();
        for (line, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
            let at = line + 1;
            let secret = secret_in(text.trim()).and_then(digits).ok_or_else(|| {
                format!("line {at} is not a key of {DIGITS} hexadecimal digits, as 'openssl rand -hex 32' makes them")
            })?;
            let id = Sha256::digest(secret)[0];
            if keys.iter().any(|(known, _)| *known == id) {
                return Err(format!("the key in line {at} has the id {id}, as an earlier one: make another one"));
            }
            let config = KeyConfig::derive(id, KEM, vec![SUITE], &secret);
            let server = config.and_then(Server::new).map_err(|error| format!("line {at}: {error}"))?;
            keys.push((id, server));
        }
        let Some((_, first)) = keys.first() else {
            return Err("it has no key: write one a line, or delete the file and restart".into());
        };
        let advertised = KeyConfig::encode_list(&[first.config()]).map_err(|error| error.to_string())?;
        Ok(Self { advertised, keys })
    }

    /// The key that clients seal to, as `application/ohttp-keys`.
    pub(in super::super) fn advertised(&self) -> &[u8] {
        &self.advertised
    }

    /// What a sealed request has in it, and what seals its answer.
    pub(in super::super) fn open(&self, sealed: &[u8]) -> Result<(Vec<u8>, ServerResponse), Problem> {
        // It is cut, altered, or of another suite.
        let refused = |error: ohttp::Error| {
            Reason::SealedRequest
                .because(format!("the request does not open ({error}): seal it again to the keys that the gateway has"))
        };
        let Some(&id) = sealed.first().filter(|_| sealed.len() > HEADER_BYTES) else {
            return Err(refused(ohttp::Error::Truncated));
        };
        let Some((_, server)) = self.keys.iter().find(|(known, _)| *known == id) else {
            let remedy = "ask for its keys, and seal the request again";
            return Err(Reason::OhttpKey.because(format!("the gateway has no key of the id {id}: {remedy}")));
        };
        server.decapsulate(sealed).map_err(refused)
    }
}

fn digits(text: &str) -> Option<[u8; DIGITS / 2]> {
    if text.len() != DIGITS || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let bytes = (0..DIGITS).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok());
    bytes.collect::<Option<Vec<u8>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use ldp_pca::task::TaskDigest;
    use ohttp::ClientRequest;
    use proptest::prelude::*;

    use super::super::{Inner, SealingKey, answer, sealed_length};
    use super::*;

    const OLD: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    const NEW: &str = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100";

    fn sealed_to(keys: &GatewayKeys, report: &[u8]) -> Vec<u8> {
        SealingKey::read(keys.advertised()).unwrap().seal(TaskDigest::new([7; 32]), report).unwrap()
    }

    #[test]
    fn a_new_key_is_advertised_and_the_old_one_opens_until_it_is_removed() {
        let [old, both, new] =
            [OLD.into(), format!("{NEW}\n\n{OLD}\n"), NEW.into()].map(|text: String| GatewayKeys::read(&text).unwrap());
        assert_eq!(both.advertised(), new.advertised());
        assert_ne!(both.advertised(), old.advertised());
        let sealed = sealed_to(&old, b"report");
        assert!(old.open(&sealed).is_ok() && both.open(&sealed).is_ok());
        let refused = new.open(&sealed).err().unwrap().detail;
        assert!(refused.contains(&format!("no key of the id {}:", sealed[0])), "{refused}");
        assert!(both.open(&sealed_to(&both, b"report")).is_ok());
    }

    #[test]
    fn a_file_that_is_no_list_of_keys_is_refused_with_its_line() {
        for (text, problem) in [
            ("", "no key"),
            ("\n\n", "no key"),
            (&OLD[1..], "line 1"),
            (&format!("{OLD}\n{}g", &NEW[1..]), "line 2"),
            (&format!("{OLD}\n{OLD}"), "the id"),
        ] {
            let found = GatewayKeys::read(text).err().unwrap();
            assert!(found.contains(problem) && !found.contains(&OLD[8..]), "{found}");
        }
    }

    /// A client of the standard that is none of ours: the crate's own, with any suite of headers and any padding.
    #[test]
    fn the_answer_opens_for_who_sealed_the_request_and_for_nobody_else() {
        let keys = GatewayKeys::read(OLD).unwrap();
        let client = || ClientRequest::from_encoded_config_list(keys.advertised()).unwrap();
        let (sealed, opener) = client().encapsulate(b"\x00\x03GET\x05https\x00\x01/").unwrap();
        let (_, other) = client().encapsulate(b"\x00").unwrap();
        let (request, sealer) = keys.open(&sealed).unwrap();
        assert_eq!(Inner::read(&request).unwrap_err().document()["status"], 405);
        let sealed = sealer.encapsulate(&answer(405, &[("allow", "POST".into())], b"{}").unwrap()).unwrap();
        assert!(other.decapsulate(&sealed).is_err());
        let found = opener.decapsulate(&sealed).unwrap();
        let found = bhttp::Message::read_bhttp(&mut std::io::Cursor::new(found)).unwrap();
        assert_eq!((found.control().status().unwrap().code(), found.content()), (405, &b"{}"[..]));
    }

    #[test]
    fn requests_of_one_padded_length_are_alike_and_hold_task_and_report() {
        let keys = GatewayKeys::read(OLD).unwrap();
        for report in [&[1; 34][..], &[2; 80], &[0; 100]] {
            let sealed = sealed_to(&keys, report);
            assert_eq!(sealed.len(), sealed_length(256));
            let inner = Inner::read(&keys.open(&sealed).unwrap().0).unwrap();
            assert_eq!((&inner.task[..], &inner.content[..]), (&*"07".repeat(32), report));
        }
        assert_eq!(sealed_to(&keys, &[3; 5000]).len(), sealed_length(8192));
    }

    proptest! {
        /// Whatever a client sends is opened or refused, and an altered request never opens.
        #[test]
        fn bytes_from_outside_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0..400usize) {
            let keys = GatewayKeys::read(OLD).unwrap();
            prop_assert!(keys.open(&bytes).is_err());
            let _ = Inner::read(&bytes);
            let _ = SealingKey::read(&bytes);
            let mut sealed = sealed_to(&keys, &[1; 35]);
            prop_assert!(keys.open(&sealed[..cut.min(sealed.len() - 1)]).is_err());
            for (place, byte) in sealed.iter_mut().zip(&bytes) {
                *place ^= byte;
            }
            prop_assert_eq!(keys.open(&sealed).is_ok(), bytes.iter().take(sealed.len()).all(|byte| *byte == 0));
            // Key configurations with a change somewhere, and binary HTTP too.
            let mut config = keys.advertised().to_vec();
            let mut inner = keys.open(&sealed_to(&keys, &[1; 35])).unwrap().0;
            for (at, byte) in bytes.chunks_exact(2).take(4).map(|pair| (usize::from(pair[0]), pair[1])) {
                let (config_at, inner_at) = (at % config.len(), at % inner.len());
                config[config_at] ^= byte;
                inner[inner_at] ^= byte;
            }
            if let Ok(key) = SealingKey::read(&config) {
                prop_assert!(key.seal(TaskDigest::new([7; 32]), &[1; 35]).is_ok());
            }
            let _ = Inner::read(&inner);
        }
    }
}
