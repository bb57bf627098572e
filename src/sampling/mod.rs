//! Noise primitives, one law per file. Each takes its randomness as an argument.

pub mod bits;
pub mod gaussian;
mod gaussian_table;
pub mod uniform;

use chacha20::{ChaCha12Rng, ChaCha20Rng};
use rand::SeedableRng;
use rand::rand_core::TryRng;

/// The randomizer's source of randomness in production: ChaCha12 seeded with 32 bytes from the operating system. (The
/// client for web pages takes every word from `crypto.getRandomValues` instead.)
///
/// # Errors
/// [`EntropyError`] when the system gives none. There is no fallback.
pub fn system_rng() -> Result<ChaCha12Rng, EntropyError> {
    seeded(&mut getrandom::SysRng)
}

/// The generator with all of its 256 bits of seed from `source`.
fn seeded<S: TryRng + ?Sized>(source: &mut S) -> Result<ChaCha12Rng, EntropyError> {
    let mut seed = [0u8; 32];
    source.try_fill_bytes(&mut seed).map_err(|error| EntropyError::new(&error))?;
    Ok(ChaCha12Rng::from_seed(seed))
}

/// The random stream of the record at `position` in tests: each has its own, so that reports do not depend on which
/// thread makes them. Anyone who knows the seed can undo the noise.
#[must_use]
pub fn insecure_rng(seed: u64, position: u64) -> ChaCha20Rng {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    rng.set_stream(position);
    rng
}

/// The source of randomness failed. Nothing was drawn from a weaker one, and nothing partial was returned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the source of randomness failed ({reason}): no report was made; try again when the system can give random bytes"
)]
pub struct EntropyError {
    reason: String,
}

impl EntropyError {
    pub(crate) fn new(error: &impl core::fmt::Display) -> Self {
        Self { reason: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;
    use crate::sampling::bits::tests::ScriptedSource;

    /// The first 64 bytes of ChaCha with 12 rounds (block 0, nonce 0) for the key of zeros, as published by its
    /// authors' test vectors.
    const OF_ZEROS: [u8; 16] =
        [0x9b, 0xf4, 0x9a, 0x6a, 0x07, 0x55, 0xf9, 0x53, 0x81, 0x1f, 0xce, 0x12, 0x5f, 0x26, 0x83, 0xd5];

    fn first_bytes(seed: [u8; 32]) -> [u8; 64] {
        let mut source = ScriptedSource::new(seed.to_vec());
        let mut bytes = [0; 64];
        seeded(&mut source).unwrap().fill_bytes(&mut bytes);
        assert_eq!(source.requests, [32]);
        bytes
    }

    #[test]
    fn every_byte_of_the_seed_comes_from_the_source() {
        assert_eq!(first_bytes([0; 32])[..16], OF_ZEROS);
        let seed: [u8; 32] = core::array::from_fn(|place| (37 * place + 11) as u8);
        let mut expected = [0; 64];
        ChaCha12Rng::from_seed(seed).fill_bytes(&mut expected);
        assert_eq!(first_bytes(seed), expected);
        let mut seen = vec![expected];
        for place in 0..32 {
            let mut other = seed;
            other[place] ^= 1;
            let bytes = first_bytes(other);
            assert!(!seen.contains(&bytes), "byte {place} does not matter");
            seen.push(bytes);
        }
    }

    #[test]
    fn without_a_seed_there_is_no_generator() {
        for left in [0, 31] {
            let error = seeded(&mut ScriptedSource::failing(left)).unwrap_err();
            assert!(error.to_string().contains("injected failure"), "{error}");
        }
    }

    #[test]
    fn the_system_seeds_each_generator_anew() {
        let first_word = || system_rng().unwrap().next_u64();
        // Equal once in 2^64.
        assert_ne!(first_word(), first_word());
    }

    #[test]
    fn positions_and_seeds_have_streams_of_their_own() {
        let first_words = |seed, position| {
            let mut rng = insecure_rng(seed, position);
            [rng.next_u64(), rng.next_u64(), rng.next_u64()]
        };
        assert_eq!(first_words(1, 2), first_words(1, 2));
        let all: Vec<_> = [(1, 0), (1, 1), (1, 1 << 40), (2, 0), (2, 1)].map(|(s, p)| first_words(s, p)).to_vec();
        for (place, words) in all.iter().enumerate() {
            assert!(!all[..place].contains(words));
        }
    }
}
