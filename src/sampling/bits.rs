//! Random 64-bit words, drawn from the source in blocks.

use rand::rand_core::TryCryptoRng;

use super::EntropyError;

/// A block is at most what one `crypto.getRandomValues` call may fill.
const LARGEST_BLOCK: usize = 65_536;

/// A source of uniform words of `WIDTH` bits. In production they have 64 and come from [`Bits`]; tests run the same
/// code on all words of a few bits, and so know its law exactly.
pub trait Words<const WIDTH: u32> {
    /// The next word, below 2^`WIDTH`.
    ///
    /// # Errors
    /// [`EntropyError`] when the source fails.
    fn word(&mut self) -> Result<u64, EntropyError>;
}

/// Uniform 64-bit words over a fallible generator: one call to the source per block, words in little-endian order.
///
/// The block is sized by the caller's estimate, so that a short report does not pay for a long block. The rest of the
/// buffer is dropped, never reused.
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

    #[cold]
    fn refill(&mut self) -> Result<(), EntropyError> {
        self.rng.try_fill_bytes(&mut self.block).map_err(|error| EntropyError::new(&error))?;
        self.position = 0;
        Ok(())
    }
}

impl<R: TryCryptoRng + ?Sized> Words<64> for Bits<'_, R> {
    #[inline]
    fn word(&mut self) -> Result<u64, EntropyError> {
        if self.position == self.block.len() {
            self.refill()?;
        }
        let mut bytes = [0u8; 8];
        bytes.copy_from_slice(&self.block[self.position..self.position + 8]);
        self.position += 8;
        Ok(u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rand::rand_core::{TryCryptoRng, TryRng, utils::next_word_via_fill};

    /// The listed words, and then none: asking for more is an error.
    pub(crate) struct Script<'a> {
        words: &'a [u64],
    }

    impl<'a> Script<'a> {
        pub(crate) fn new(words: &'a [u64]) -> Self {
            Self { words }
        }

        /// The number of words not taken.
        pub(crate) fn left(&self) -> usize {
            self.words.len()
        }
    }

    impl<const WIDTH: u32> Words<WIDTH> for Script<'_> {
        fn word(&mut self) -> Result<u64, EntropyError> {
            let (&first, rest) = self.words.split_first().ok_or_else(|| EntropyError::new(&"end"))?;
            assert_eq!(u128::from(first) >> WIDTH, 0, "{first} has more than {WIDTH} bits");
            self.words = rest;
            Ok(first)
        }
    }

    /// A system that gives the listed bytes once, then ones, which no sampler draws again, and after `left` bytes an
    /// error. It records the size of every request.
    pub(crate) struct ScriptedSource {
        bytes: std::vec::IntoIter<u8>,
        left: usize,
        pub(crate) requests: Vec<usize>,
    }

    impl ScriptedSource {
        pub(crate) fn new(bytes: Vec<u8>) -> Self {
            Self { bytes: bytes.into_iter(), left: usize::MAX, requests: vec![] }
        }

        pub(crate) fn failing(left: usize) -> Self {
            Self { left, ..Self::new(vec![]) }
        }

        /// Little-endian words.
        pub(crate) fn of_words(words: &[u64]) -> Self {
            Self::new(words.iter().flat_map(|word| word.to_le_bytes()).collect())
        }
    }

    /// A word that gives `draw` for a number below `bound`, and is not drawn again.
    pub(crate) fn word_of(draw: u64, bound: u64) -> u64 {
        if draw >= bound.wrapping_neg() % bound { draw } else { draw + bound }
    }

    impl TryRng for ScriptedSource {
        type Error = std::io::Error;
        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            next_word_via_fill(self)
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            next_word_via_fill(self)
        }
        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
            self.requests.push(bytes.len());
            self.left = self.left.checked_sub(bytes.len()).ok_or_else(|| std::io::Error::other("injected failure"))?;
            bytes.fill_with(|| self.bytes.next().unwrap_or(0xff));
            Ok(())
        }
    }

    impl TryCryptoRng for ScriptedSource {}

    #[test]
    fn words_are_all_bytes_of_the_source_in_their_order() {
        let bytes: Vec<u8> = (0..640u32).map(|place| (place * place / 3) as u8).collect();
        let mut source = ScriptedSource::new(bytes.clone());
        let mut bits = Bits::new(&mut source, 10);
        for expected in bytes.as_chunks().0 {
            assert_eq!(bits.word().unwrap(), u64::from_le_bytes(*expected));
        }
        assert_eq!(source.requests, [80; 8]);
    }

    #[test]
    fn a_block_is_as_long_as_the_estimate_within_the_limits() {
        for (words, bytes) in [(0, 64), (8, 64), (9, 72), (8191, 65_528), (8192, 65_536), (usize::MAX, 65_536)] {
            let mut source = ScriptedSource::new(vec![]);
            Bits::new(&mut source, words).word().unwrap();
            assert_eq!(source.requests, [bytes], "{words}");
        }
    }

    #[test]
    fn a_failing_source_is_an_error_that_says_so() {
        let mut source = ScriptedSource::failing(128);
        let mut bits = Bits::new(&mut source, 8);
        for _ in 0..16 {
            assert_eq!(bits.word().unwrap(), u64::MAX);
        }
        let error = bits.word().unwrap_err();
        assert!(error.to_string().contains("injected failure"), "{error}");
    }
}
