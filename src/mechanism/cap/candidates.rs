//! Candidate vectors from a public seed: small integers, nearly uniform on a sphere, the same on every machine.
//!
//! Candidate j of an id is a stretch of the ChaCha8 keystream (64-bit counter and nonce, nonce 0) with the key
//! `first 16 bytes of the task digest, id`. It starts at block `j × ceil(rows / 40)`. Each 64-bit little-endian word
//! holds five 12-bit numbers i, lowest first, 40 to a block, and in its four highest bits a number n that the five
//! share. Together they are the 16-bit number 16 i + n, which selects an entry of a table at scale 29. Only for the
//! four smallest and the four largest i does n matter: there are 64 entries at each end of the table, and 4088 between.
//! The entries are a nearly Gaussian vector, and brought to one length (`sphere`) they are the candidate.
//!
//! # What the table is for
//! The estimate is unbiased for directions of Gaussian vectors. The table is built so that the mean square beyond every
//! entry is that of a normal variable beyond the same quantile, as nearly as integers allow (scripts/tables.py). But
//! entries are integers: for a record near a coordinate axis many scores of a long vector would be nearly equal, and
//! the rest of the record would decide between them, however small it is. So two things are rounded at random, with
//! public bits:
//!
//! - Every score of a long vector gets an `offset`, three steps of the table wide at half its height. It makes the
//!   ranking smooth, and takes a small part of the gain (`gain`). Short vectors have finer coordinates.
//! - The record is rounded to multiples of 1/32767 up or down (`dithered`): right on average over the ids.
//!
//! The tests in double_cap/tests/bias.rs hold what is left.

use std::sync::LazyLock;

use chacha20::rand_core::Rng;

use super::kernel::Path;
use super::table::{OFFSET_STEP, PER_BLOCK, TABLE, TABLE_SECOND_MOMENT, at_end, keystream, report_key};
use crate::identity::ReportId;

/// The largest unit-vector coordinate in integers.
const UNIT: f64 = 32_767.0;

/// The variance of the offsets of scores over that of a coordinate, for vectors of length one: each of two uniform
/// bytes has (2^16 - 1) / 12.
pub(super) const OFFSET_VARIANCE: f64 = {
    let step = OFFSET_STEP as f64 / UNIT;
    step * step * 65_535.0 / 6.0 / TABLE_SECOND_MOMENT
};

/// The candidates of one report.
pub struct Candidates {
    key: [u8; 32],
    rows: usize,
}

impl Candidates {
    /// The candidates, vectors of `rows` coordinates, of the report `id` under a task.
    #[must_use]
    pub fn new(task_key: &[u8; 16], id: ReportId, rows: usize) -> Self {
        Self { key: report_key(task_key, id), rows }
    }

    fn blocks(&self) -> usize {
        self.rows.div_ceil(PER_BLOCK)
    }

    /// The keystream of candidate `index`, and up to three blocks more.
    fn keystream(&self, index: u32) -> Vec<[u32; 64]> {
        let mut fours = vec![[0; 64]; self.blocks().div_ceil(4)];
        keystream(&self.key, u64::from(index) * self.blocks() as u64, &mut fours);
        fours
    }

    /// The scores of the first `count` candidates for a vector of length at most 1: how far each is along it.
    #[must_use]
    pub fn scores(self, u: &[f64], count: u32) -> Vec<u64> {
        let u = self.dithered(u, count);
        Path::fastest().scores(&self.key, &u, count)
    }

    /// A vector in integers of 1/32767, rounded down or up by the bytes of the keystream after the `count` candidates:
    /// its mean over ids is right to 2^-9 of such an integer.
    ///
    /// The product with a vector of up to 32,769 coordinates fits an `i32`: by Cauchy and Schwarz it is below 127
    /// sqrt(32769) × (32767 + sqrt(32769)) + 2^17 < 2^30, and 3810 sqrt(20) × (32767 + sqrt(20)) < 2^30 if short.
    fn dithered(&self, u: &[f64], count: u32) -> Vec<i16> {
        let keystream = self.keystream(count);
        let byte = |index: usize| (keystream.as_flattened()[index / 4] >> (8 * (index % 4))) as u8;
        u.iter().enumerate().map(|(index, &coordinate)| rounded(coordinate, byte(index))).collect()
    }
}

/// `floor(32767 u + (byte + 1/2) / 256)`. The number that is cut off is positive, so that no rounding mode is needed.
fn rounded(coordinate: f64, byte: u8) -> i16 {
    let up = (f64::from(byte) + 0.5) / 256.0;
    ((flushed(coordinate).clamp(-1.0, 1.0) * UNIT + (32_768.0 + up)) as i32 - 32_768) as i16
}

/// The number, or zero in place of a subnormal one, which rounds to zero anyway. Some processors multiply subnormal
/// numbers more slowly, and the time would reveal them.
fn flushed(number: f64) -> f64 {
    let bits = number.to_bits();
    let normal = u64::from(bits << 1 >> 53 != 0);
    f64::from_bits(bits & normal.wrapping_neg())
}

/// Overwrites `candidate` with a nearly Gaussian vector whose direction is a candidate's, from any source of bits.
pub fn fill<R: Rng + ?Sized>(candidate: &mut [f32], rng: &mut R) {
    let table = &*UNIT_TABLE;
    let mark = table[0];
    for part in candidate.chunks_mut(5) {
        let word = rng.next_u64();
        let mut any_end = false;
        for (position, value) in part.iter_mut().enumerate() {
            *value = table[(word >> (12 * position) & 0xfff) as usize];
            any_end |= *value == mark;
        }
        if any_end {
            for (position, value) in part.iter_mut().enumerate().filter(|(_, value)| **value == mark) {
                *value = over_scale(at_end(word, position));
            }
        }
    }
}

fn over_scale(entry: i8) -> f32 {
    (f64::from(entry) / TABLE_SECOND_MOMENT.sqrt()) as f32
}

/// The table's entries over `scale`.
static UNIT_TABLE: LazyLock<[f32; 4096]> = LazyLock::new(|| TABLE.map(over_scale));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::cap::sphere::Sphere;
    use crate::mechanism::cap::table::{blocks, look_up, of_magnitudes, offset, place_ends, words};

    /// The candidates themselves, of which a device knows the scores alone.
    impl Candidates {
        /// Candidate `index`: `rows` integers.
        pub(crate) fn candidate(self, index: u32) -> Vec<i8> {
            let keystream = self.keystream(index);
            let mut candidate = vec![[0; PER_BLOCK]; self.blocks()];
            for (block, out) in blocks(&keystream).iter().zip(&mut candidate) {
                let words = words(block);
                look_up(&words, out, &TABLE);
                place_ends(&words, out);
            }
            let candidate = candidate.as_flattened_mut();
            Sphere::new(self.rows).normalize(candidate);
            candidate[..self.rows].to_vec()
        }

        /// The entries of the table that candidate `index` is made of.
        fn entries(&self, index: u32) -> Vec<i8> {
            let keystream = self.keystream(index);
            let words = blocks(&keystream)[..self.blocks()].iter().flat_map(words);
            let numbers =
                words.flat_map(|word| (0..5).map(move |k| ((word >> (12 * k)) as u16) << 4 | (word >> 60) as u16));
            numbers.map(of_magnitudes).collect()
        }

        /// Candidate `index` and its score for a vector in integers, by the definition of the wire format, digit by
        /// digit.
        pub(in crate::mechanism::cap) fn by_definition(&self, u: &[i16], index: u32) -> (Vec<i8>, u64) {
            let entries: Vec<i64> = self.entries(index).into_iter().map(i64::from).collect();
            let short = self.rows <= 20;
            let z: Vec<i64> = if short {
                (0..self.rows).map(|place| 29 * entries[place] + entries[20 + place]).collect()
            } else {
                entries[..self.rows].to_vec()
            };
            let (radius_squared, s) = if short { (16_129, 24) } else { (625 * self.rows as u64, 16) };
            let squares: i64 = z.iter().map(|z| z * z).sum();
            let square = (radius_squared << (2 * s)) / squares.max(1) as u64;
            let mut factor = 0u64;
            for bit in (0..32).rev() {
                let more = factor | 1 << bit;
                factor = if more * more <= square { more } else { factor };
            }
            let candidate = z.iter().zip(1u64..).map(|(z, place)| {
                let hashed = (factor * (place * 2_654_435_769 % (1 << 32))) % (1 << 32);
                let rounding = if short { hashed / 256 } else { 1 << 15 };
                (factor as i64 * z + rounding as i64).div_euclid(1 << s).clamp(-127, 127) as i8
            });
            let offset = if short { 0 } else { i64::from(self.offset(index)) };
            let along = z.iter().zip(u).map(|(z, &u)| z * i64::from(u)).sum::<i64>() + offset;
            (candidate.collect(), factor * along.unsigned_abs())
        }

        /// The offset added to the product of candidate `index` with a record.
        fn offset(&self, index: u32) -> i32 {
            offset(&words(&blocks(&self.keystream(index))[0]))
        }
    }

    fn id(byte: u8) -> ReportId {
        ReportId::new([byte; 16])
    }

    fn dot(z: &[i8], u: &[i16]) -> i32 {
        z.iter().zip(u).map(|(&z, &u)| i32::from(z) * i32::from(u)).sum()
    }

    /// Entry by entry from the definition: the numbers of a word, and the four bits that they share.
    #[test]
    fn candidates_are_those_of_the_definition() {
        let (mut tails, rows) = (0, 116);
        for index in 0..2000 {
            let candidates = || Candidates::new(&[5; 16], id(3), rows);
            let entries = candidates().entries(index);
            tails += entries[..rows].iter().filter(|value| value.unsigned_abs() > 90).count();
            assert_eq!(candidates().candidate(index), candidates().by_definition(&[], index).0, "{index}");
            for rows in [1, 2, 7, 20, 21] {
                let candidates = || Candidates::new(&[5; 16], id(3), rows);
                assert_eq!(candidates().candidate(index), candidates().by_definition(&[], index).0, "{rows} {index}");
            }
        }
        // 232,000 coordinates of which 58 in 32,768 are that large.
        assert!((300..520).contains(&tails), "{tails}");
    }

    #[test]
    fn one_candidate_is_the_same_alone_and_among_others() {
        for rows in [1, 20, 21, 39, 40, 41, 116, 400] {
            let u = vec![1.0 / (rows as f64).sqrt(); rows];
            let integers = Candidates::new(&[1; 16], id(2), rows).dithered(&u, 33);
            let scores = Candidates::new(&[1; 16], id(2), rows).scores(&u, 33);
            for (index, &score) in scores.iter().enumerate() {
                let (alone, expected) = Candidates::new(&[1; 16], id(2), rows).by_definition(&integers, index as u32);
                assert_eq!(score, expected, "rows {rows} candidate {index}");
                assert_eq!(Candidates::new(&[1; 16], id(2), rows).candidate(index as u32), alone);
            }
        }
    }

    /// The mean and the variance of offsets, within 4.9 standard errors, and their range.
    #[test]
    fn offsets_have_the_stated_variance() {
        let count = 40_000;
        let candidates = Candidates::new(&[1; 16], id(9), 40);
        let offsets: Vec<f64> = (0..count).map(|index| f64::from(candidates.offset(index)) / UNIT).collect();
        let mean = offsets.iter().sum::<f64>() / f64::from(count);
        let variance = offsets.iter().map(|offset| offset * offset).sum::<f64>() / f64::from(count);
        let variance_of_one = OFFSET_VARIANCE * TABLE_SECOND_MOMENT;
        let deviation = variance_of_one.sqrt();
        assert!(mean.abs() < 4.9 * deviation / f64::from(count).sqrt(), "{mean}");
        // The fourth moment of a triangular law is 2.4 times the squared variance.
        let error = (variance / variance_of_one - 1.0) / (1.4 / f64::from(count)).sqrt();
        assert!(error.abs() < 4.9, "{error} standard errors");
        assert!(offsets.iter().all(|offset| offset.abs() <= 3.0));
    }

    #[test]
    fn scores_of_the_longest_vectors_do_not_overflow() {
        let rows = 32_769;
        let extreme = vec![127i8; rows];
        let u = Candidates::new(&[1; 16], id(2), rows).dithered(&vec![1.0 / (rows as f64).sqrt(); rows], 2);
        let exact = extreme.iter().zip(&u).map(|(&z, &u)| i64::from(z) * i64::from(u)).sum::<i64>();
        assert_eq!(i64::from(dot(&extreme, &u)), exact);
        assert!(exact + i64::from(OFFSET_STEP * 255) < 1 << 30);
    }

    /// floor(32767 u + (byte + 1/2) / 256), in integers for u = a / 32767 / 2^10.
    #[test]
    fn coordinates_are_rounded_by_the_byte_and_nothing_else() {
        for a in (-32_767i64 * 1024..=32_767 * 1024).step_by(7_919).chain([0, 1, -1, 512, -512]) {
            let exact = a as f64 / 1024.0 / UNIT;
            for byte in [0u8, 1, 127, 128, 200, 255] {
                // In units of 2^-10, where the byte's part ends with a half: no tie, and no rounding of `exact`
                // matters.
                let expected = (a + 4 * i64::from(byte) + 2).div_euclid(1024);
                assert_eq!(i64::from(rounded(exact, byte)), expected, "{a} {byte}");
            }
        }
        for byte in [0, 255] {
            assert_eq!(
                [-2.0, -1.0, 0.0, 5e-324, 1.0, 2.0].map(|u| rounded(u, byte)),
                [-32_767, -32_767, 0, 0, 32_767, 32_767]
            );
        }
        assert_eq!([flushed(f64::MIN_POSITIVE), flushed(-0.3)], [f64::MIN_POSITIVE, -0.3]);
    }

    /// Byte i of the keystream after the candidates rounds coordinate i.
    #[test]
    fn every_coordinate_has_a_byte_of_its_own() {
        let (rows, count) = (90, 5);
        let candidates = Candidates::new(&[4; 16], id(9), rows);
        let stream: Vec<u8> =
            candidates.keystream(count).as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
        // Rounded up from byte 128 on.
        let u = vec![0.5 / UNIT; rows];
        let expected: Vec<i16> = stream[..rows].iter().map(|&byte| i16::from(byte >= 128)).collect();
        assert_eq!(candidates.dithered(&u, count), expected);
        assert!(expected.contains(&0) && expected.contains(&1));
    }

    /// A word of zeros has the smallest numbers: the mark of an end in the table is not a coordinate.
    #[test]
    fn ends_are_filled_in_whatever_the_length() {
        struct Zeros;
        impl rand::TryRng for Zeros {
            type Error = core::convert::Infallible;
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok(0)
            }
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                Ok(0)
            }
            fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
                bytes.fill(0);
                Ok(())
            }
        }
        for length in 1..=11 {
            let mut candidate = vec![0.0; length];
            fill(&mut candidate, &mut Zeros);
            assert!(candidate.iter().all(|&value| value == over_scale(at_end(0, 0))), "{length}: {candidate:?}");
        }
        assert_ne!(over_scale(at_end(0, 0)), UNIT_TABLE[0]);
    }
}
