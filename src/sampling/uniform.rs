//! Exactly uniform integers below a bound.

use rand::rand_core::TryCryptoRng;

use super::{EntropyError, bits::Bits};

/// A uniform integer in [0, `bound`), exactly: words beyond the last full multiple of `bound` are drawn again.
///
/// # Errors
/// [`EntropyError`] when the source fails.
///
/// # Panics
/// If `bound` is zero.
pub fn uniform_below<R: TryCryptoRng + ?Sized>(bits: &mut Bits<'_, R>, bound: u64) -> Result<u64, EntropyError> {
    assert!(bound > 0, "a uniform integer needs a bound above zero");
    // 2^64 mod bound, the number of words that must be refused for every residue to have the same number of words.
    let refused = bound.wrapping_neg() % bound;
    loop {
        let word = bits.word()?;
        if word >= refused {
            return Ok(word % bound);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    #[test]
    fn residues_are_equally_frequent() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut bits = Bits::new(&mut rng, 8192);
        for bound in [1u64, 2, 3, 7, 100] {
            let mut counts = vec![0u32; bound as usize];
            for _ in 0..100_000 {
                counts[uniform_below(&mut bits, bound).unwrap() as usize] += 1;
            }
            let expected = 100_000.0 / bound as f64;
            let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
            // 99.9 % quantile of chi-square with 99 degrees of freedom is 149; smaller bounds have smaller quantiles.
            assert!(chi_square < 149.0, "bound {bound}: {chi_square}");
        }
    }

    #[test]
    fn bounds_just_above_half_the_range_reject_and_stay_below() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let mut bits = Bits::new(&mut rng, 64);
        let bound = (1u64 << 63) + 1;
        for _ in 0..1000 {
            assert!(uniform_below(&mut bits, bound).unwrap() < bound);
        }
    }
}
