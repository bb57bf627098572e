//! Random 64-bit words, drawn from the source in blocks.

use rand::rand_core::TryCryptoRng;

use super::EntropyError;

/// A block is at most what one `crypto.getRandomValues` call may fill.
const LARGEST_BLOCK: usize = 65_536;

/// Uniform 64-bit words over a fallible generator: one call to the source per block, words in little-endian order.
///
/// The block is sized by the caller's estimate, so that a short report does not pay for a long block. What is left in
/// the buffer is dropped, never reused.
#[derive(Debug)]
pub struct Bits<'a, R: ?Sized> {
    rng: &'a mut R,
    block: Vec<u8>,
    position: usize,
}

impl<'a, R: TryCryptoRng + ?Sized> Bits<'a, R> {
    /// Words from `rng`, in blocks for about `expected_words` words in all.
    pub fn new(rng: &'a mut R, expected_words: usize) -> Self {
        let bytes = expected_words.saturating_mul(8).clamp(64, LARGEST_BLOCK);
        Self { rng, block: vec![0; bytes], position: bytes }
    }

    /// The next uniform word.
    ///
    /// # Errors
    /// [`EntropyError`] when the source fails.
    #[inline]
    pub fn word(&mut self) -> Result<u64, EntropyError> {
        if self.position == self.block.len() {
            self.refill()?;
        }
        let mut bytes = [0u8; 8];
        bytes.copy_from_slice(&self.block[self.position..self.position + 8]);
        self.position += 8;
        Ok(u64::from_le_bytes(bytes))
    }

    #[cold]
    fn refill(&mut self) -> Result<(), EntropyError> {
        self.rng.try_fill_bytes(&mut self.block).map_err(|error| EntropyError::new(&error))?;
        self.position = 0;
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rand::rand_core::{TryCryptoRng, TryRng};

    /// A source that works for `left` bytes and then fails.
    pub(crate) struct FailingSource {
        pub(crate) left: usize,
    }

    impl TryRng for FailingSource {
        type Error = std::io::Error;
        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            self.try_next_u64().map(|word| word as u32)
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            let mut bytes = [0; 8];
            self.try_fill_bytes(&mut bytes).map(|()| u64::from_le_bytes(bytes))
        }
        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
            self.left = self.left.checked_sub(bytes.len()).ok_or_else(|| std::io::Error::other("injected failure"))?;
            bytes.fill(0x5a);
            Ok(())
        }
    }

    impl TryCryptoRng for FailingSource {}

    #[test]
    fn a_failing_source_is_an_error_that_says_so() {
        let mut source = FailingSource { left: 128 };
        let mut bits = Bits::new(&mut source, 8);
        for _ in 0..16 {
            assert_eq!(bits.word().unwrap(), 0x5a5a_5a5a_5a5a_5a5a);
        }
        let error = bits.word().unwrap_err();
        assert!(error.to_string().contains("injected failure"), "{error}");
    }
}
