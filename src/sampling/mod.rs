//! Noise primitives, one law per file. Every one takes its randomness as an argument.

pub mod bits;
pub mod gaussian;
mod gaussian_table;
pub mod uniform;

use chacha20::{ChaCha12Rng, ChaCha20Rng};
use rand::SeedableRng;
use rand::rand_core::TryRng;

/// The randomizer's source of randomness in production: ChaCha12 seeded with 32 bytes from the operating system,
/// or from `crypto.getRandomValues` in a browser.
///
/// # Errors
/// [`EntropyError`] when the system gives none. There is no fallback.
pub fn system_rng() -> Result<ChaCha12Rng, EntropyError> {
    let mut seed = [0u8; 32];
    getrandom::SysRng.try_fill_bytes(&mut seed).map_err(|error| EntropyError::new(&error))?;
    Ok(ChaCha12Rng::from_seed(seed))
}

/// What the record at `position` is randomized with in tests: a stream of its own, so that reports do not depend on who makes
/// which of them. Whoever knows the seed can undo the noise.
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
