//! Exactly uniform integers below a bound.

use super::{EntropyError, bits::Words};

/// A uniform integer in [0, `bound`), exactly: the lowest words are drawn again, so that a multiple of `bound` is left.
/// The bound is at most 2^`WIDTH`, where words have so many bits.
///
/// # Errors
/// [`EntropyError`] when the source fails.
///
/// # Panics
/// If `bound` is zero.
#[inline]
pub fn uniform_below<const WIDTH: u32>(words: &mut impl Words<WIDTH>, bound: u64) -> Result<u64, EntropyError> {
    assert!(bound > 0, "a uniform integer needs a bound above zero");
    // 2^WIDTH mod bound, the number of words that must be refused for every residue to have the same number of words.
    let refused = (u64::MAX >> (64 - WIDTH)).wrapping_sub(bound).wrapping_add(1) % bound;
    loop {
        let word = words.word()?;
        if word >= refused {
            return Ok(word % bound);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::bits::Bits;
    use crate::sampling::bits::tests::{Script, ScriptedSource};

    /// Every word of eight bits, for every bound.
    #[test]
    fn every_result_has_as_many_words_as_any_other_and_no_word_is_drawn_again_in_vain() {
        for bound in 1..=256u64 {
            let drawn = |words: &[u64]| uniform_below::<8>(&mut Script::new(words), bound);
            let (mut counts, mut refused) = (vec![0; bound as usize], vec![]);
            for word in 0..256 {
                match drawn(&[word]) {
                    Ok(result) => counts[result as usize] += 1,
                    Err(_) => refused.push(word),
                }
            }
            assert!(counts.iter().all(|&count| count == 256 / bound), "{bound}: {counts:?}");
            assert_eq!(refused.len() as u64, 256 % bound);
            // The word after a refused one is a word like the first.
            for word in refused {
                for next in 0..256 {
                    assert_eq!(drawn(&[word, next]), drawn(&[next]), "{bound}: {word} {next}");
                }
            }
        }
    }

    #[test]
    fn words_of_the_source_are_refused_up_to_the_exact_one() {
        let weights = 10 * 234_497_268_814 + (246 << 32);
        for bound in
            [1, 2, 3, 256, weights, (1 << 32) - 1, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX]
        {
            let refused = ((1u128 << 64) % u128::from(bound)) as u64;
            let drawn = |words: &[u64]| {
                let mut source = ScriptedSource::of_words(words);
                let mut bits = Bits::new(&mut source, 8);
                (uniform_below(&mut bits, bound).unwrap(), bits.word().unwrap())
            };
            for word in [refused, refused.saturating_add(1), bound.max(refused), u64::MAX] {
                assert_eq!(drawn(&[word, 5]), (word % bound, 5), "{bound}: {word}");
            }
            for word in [0, refused / 2, refused.saturating_sub(1)].into_iter().filter(|&word| word < refused) {
                assert_eq!(drawn(&[word, u64::MAX, 5]), (u64::MAX % bound, 5), "{bound}: {word}");
            }
        }
    }
}
