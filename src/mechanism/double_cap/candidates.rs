//! Candidate vectors from a public seed: small integers, nearly Gaussian, the same on every machine.
//!
//! Candidate j of an id is a stretch of the ChaCha8 keystream (64-bit counter and nonce, nonce 0) with the key
//! `first 16 bytes of the task digest, id`. It starts at block `j × ceil(rows / 40)`. Each 64-bit little-endian word
//! holds five 12-bit numbers, lowest first, 40 to a block, and each number selects an entry of a table of normal
//! quantiles at scale 30, `round(30 Phi^-1((i + 1/2) / 4096))`.

use std::sync::LazyLock;

use chacha20::ChaCha8Rng;
use rand::{Rng, SeedableRng};

use super::quantiles::MAGNITUDE_COUNTS;
use crate::report::ReportId;

/// The mean square of the table's entries, exactly: what `scale^2` stands for in the formulas.
pub const TABLE_SECOND_MOMENT: f64 = 3_685_880.0 / 4096.0;

/// The largest magnitude in the table.
pub(super) const LARGEST_MAGNITUDE: u32 = MAGNITUDE_COUNTS.len() as u32 - 1;

/// Coordinates of a keystream block: eight words of five.
pub(super) const PER_BLOCK: usize = 40;

/// The largest unit-vector coordinate in integers.
const UNIT: f64 = 32_767.0;

/// Bytes of keystream that are expanded at a time, at least one candidate's: they stay in the first-level cache.
const BATCH_BYTES: usize = 4096;

/// The quantile table: entry i for the 12-bit number i.
pub(super) static TABLE: LazyLock<[i8; 4096]> = LazyLock::new(|| {
    let mut table = [0i8; 4096];
    let mut position = 2048;
    for (magnitude, &count) in MAGNITUDE_COUNTS.iter().enumerate() {
        for _ in 0..count {
            table[position] = magnitude as i8;
            table[4095 - position] = -(magnitude as i8);
            position += 1;
        }
    }
    table
});

/// The candidates of one report.
pub struct Candidates {
    rng: ChaCha8Rng,
    rows: usize,
}

impl Candidates {
    /// The candidates, vectors of `rows` coordinates, of the report `id` under a task.
    #[must_use]
    pub fn new(task_key: &[u8; 16], id: ReportId, rows: usize) -> Self {
        let mut key = [0; 32];
        key[..16].copy_from_slice(task_key);
        key[16..].copy_from_slice(id.as_bytes());
        Self { rng: ChaCha8Rng::from_seed(key), rows }
    }

    fn blocks(&self) -> usize {
        self.rows.div_ceil(PER_BLOCK)
    }

    /// Candidate `index`: `rows` integers.
    #[must_use]
    pub fn candidate(mut self, index: u32) -> Vec<i16> {
        self.rng.set_block_pos(u64::from(index) * self.blocks() as u64);
        let mut keystream = vec![0u8; self.blocks() * 64];
        self.rng.fill_bytes(&mut keystream);
        let mut candidate = vec![0i16; self.blocks() * PER_BLOCK];
        expand(&keystream, &mut candidate);
        candidate.truncate(self.rows);
        candidate
    }

    /// The scores `z_j . u` of the first `count` candidates with an integer vector `u` from [`quantise`].
    #[must_use]
    pub fn scores(mut self, u: &[i16], count: u32) -> Vec<i32> {
        let stride = self.blocks() * 64;
        let per_batch = (BATCH_BYTES / stride).max(1);
        let mut keystream = vec![0u8; per_batch * stride];
        let mut candidate = vec![0i16; self.blocks() * PER_BLOCK];
        let mut scores = Vec::with_capacity(count as usize);
        while scores.len() < count as usize {
            let batch = per_batch.min(count as usize - scores.len());
            self.rng.fill_bytes(&mut keystream[..batch * stride]);
            for stream in keystream[..batch * stride].chunks_exact(stride) {
                expand(stream, &mut candidate);
                scores.push(dot(&candidate[..self.rows], u));
            }
        }
        scores
    }
}

/// Overwrites `candidate` with a new one's coordinates over `scale`, from any source of bits.
pub(crate) fn fill<R: Rng + ?Sized>(candidate: &mut [f32], rng: &mut R) {
    let table = &*UNIT_TABLE;
    for part in candidate.chunks_mut(5) {
        let word = rng.next_u64();
        for (position, value) in part.iter_mut().enumerate() {
            *value = table[(word >> (12 * position) & 0xfff) as usize];
        }
    }
}

/// The table's entries over `scale`.
static UNIT_TABLE: LazyLock<[f32; 4096]> =
    LazyLock::new(|| TABLE.map(|value| (f64::from(value) / TABLE_SECOND_MOMENT.sqrt()) as f32));

/// Five table entries from each 64-bit word of a keystream.
#[inline]
fn expand(keystream: &[u8], out: &mut [i16]) {
    let table = &*TABLE;
    for (bytes, part) in keystream.chunks_exact(8).zip(out.chunks_exact_mut(5)) {
        let mut word = [0; 8];
        word.copy_from_slice(bytes);
        let word = u64::from_le_bytes(word);
        // Five independent loads, where shifting the word along would make each wait for the one before.
        for (position, value) in part.iter_mut().enumerate() {
            *value = table[(word >> (12 * position) & 0xfff) as usize].into();
        }
    }
}

/// Both are `i16` so that the product runs on pairs of 16-bit lanes, which every instruction set has.
#[inline]
fn dot(z: &[i16], u: &[i16]) -> i32 {
    z.iter().zip(u).map(|(&z, &u)| i32::from(z) * i32::from(u)).sum()
}

/// A unit vector in integers of 1/32767, rounded to nearest. Scores of up to 32,769 coordinates fit an `i32`: by
/// Cauchy and Schwarz they are below 110 sqrt(32769) × (32767 + sqrt(32769)) < 2^30.
#[must_use]
pub fn quantise(u: &[f64]) -> Vec<i16> {
    u.iter().map(|&coordinate| (flushed(coordinate).clamp(-1.0, 1.0) * UNIT).round() as i16).collect()
}

/// The number, or zero in place of a subnormal one, which rounds to zero anyway but which some processors multiply
/// more slowly: the time would tell.
fn flushed(number: f64) -> f64 {
    let bits = number.to_bits();
    let normal = u64::from(bits << 1 >> 53 != 0);
    f64::from_bits(bits & normal.wrapping_neg())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> ReportId {
        ReportId::new([byte; 16])
    }

    #[test]
    fn the_table_is_symmetric_and_has_the_stated_second_moment() {
        let squares: i64 = TABLE.iter().map(|&value| i64::from(value).pow(2)).sum();
        assert_eq!(squares as f64 / 4096.0, TABLE_SECOND_MOMENT);
        assert_eq!(TABLE.iter().map(|&value| i64::from(value)).sum::<i64>(), 0);
        assert!(TABLE.is_sorted());
    }

    /// Against a quantile found here by bisection on erfc, not by the script that wrote the table.
    #[test]
    fn the_table_holds_normal_quantiles() {
        for (i, &entry) in TABLE.iter().enumerate() {
            let p = (i as f64 + 0.5) / 4096.0;
            let (mut low, mut high) = (-8.0f64, 8.0f64);
            for _ in 0..80 {
                let middle = 0.5 * (low + high);
                if 0.5 * libm::erfc(-middle * core::f64::consts::FRAC_1_SQRT_2) < p {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            assert!((30.0 * low - f64::from(entry)).abs() < 0.500_001, "{i}: {} {entry}", 30.0 * low);
        }
    }

    #[test]
    fn one_candidate_is_the_same_alone_and_among_others() {
        for rows in [1, 39, 40, 41, 116, 400] {
            let u = quantise(&vec![1.0 / (rows as f64).sqrt(); rows]);
            let scores = Candidates::new(&[1; 16], id(2), rows).scores(&u, 33);
            for (index, &score) in scores.iter().enumerate() {
                let alone = Candidates::new(&[1; 16], id(2), rows).candidate(index as u32);
                assert_eq!(dot(&alone, &u), score, "rows {rows} candidate {index}");
            }
        }
    }

    #[test]
    fn scores_of_the_longest_vectors_do_not_overflow() {
        assert_eq!(quantise(&[1.0, -1.0, 1.000_000_1]), [32_767, -32_767, 32_767]);
        assert_eq!(quantise(&[0.5, -1e-5, 1e-310, -1e-310, -0.0]), [16_384, 0, 0, 0, 0]);
        assert_eq!([flushed(f64::MIN_POSITIVE), flushed(-0.3)], [f64::MIN_POSITIVE, -0.3]);
        let rows = 32_769;
        let extreme = vec![110i16; rows];
        let u = quantise(&vec![1.0 / (rows as f64).sqrt(); rows]);
        assert!(
            i64::from(dot(&extreme, &u))
                == extreme.iter().zip(&u).map(|(&z, &u)| i64::from(z) * i64::from(u)).sum::<i64>()
        );
    }
}
