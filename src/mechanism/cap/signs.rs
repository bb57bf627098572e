//! Candidates of signs: one bit of keystream for each coordinate.
//!
//! Candidate j of an id is a stretch of M / 512 blocks of the same keystream as double-cap's, from block j M / 512 on.
//! Bit b of 32-bit little-endian word w is coordinate 32 w + b: 1 where it is 0, and -1 where it is 1. All candidates
//! have the length sqrt(M).

use super::table::{keystream, report_key};
use crate::identity::ReportId;

/// The score of a candidate across the vector.
pub(crate) const ACROSS: u64 = 1 << 32;

/// The candidates of one report.
pub(crate) struct Signs {
    key: [u8; 32],
    dimension: usize,
}

impl Signs {
    /// The candidates, vectors of `dimension` coordinates, of the report `id` under a task.
    pub(crate) fn new(task_key: &[u8; 16], id: ReportId, dimension: usize) -> Self {
        Self { key: report_key(task_key, id), dimension }
    }

    /// The scores of the first `count` candidates for a vector that signed-cap turned: how far each is along it,
    /// and 2^32. No sum of a part of the vector's coordinates leaves 32 bits.
    #[inline(never)]
    pub(crate) fn scores(&self, v: &[i32], count: u32) -> Vec<u64> {
        let sums = sums_of_fours(v);
        let of = |index: u32| {
            let mut along = 0;
            for (word, sums) in self.words(index).as_flattened().iter().zip(sums.as_chunks::<128>().0) {
                along += (0..8).map(|place| sums[16 * place + (word >> (4 * place) & 15) as usize]).sum::<i32>();
            }
            (ACROSS as i64 + i64::from(along)) as u64
        };
        (0..count).map(of).collect()
    }

    /// Adds candidate `index` to `sums`.
    pub(crate) fn add(&self, index: u32, sums: &mut [i64]) {
        let words = self.words(index);
        for (place, sum) in sums.iter_mut().enumerate() {
            *sum += 1 - 2 * i64::from(words.as_flattened()[place / 32] >> (place % 32) & 1);
        }
    }

    /// The keystream of candidate `index`, four blocks at a time.
    #[inline(never)]
    fn words(&self, index: u32) -> Vec<[u32; 64]> {
        let mut fours = vec![[0; 64]; self.dimension / 2048];
        keystream(&self.key, u64::from(index) * (self.dimension / 512) as u64, &mut fours);
        fours
    }
}

/// Sixteen sums of each four numbers: bit i of a sum's place says whether number i is taken off. In one loop: compilers
/// unroll two, to several times the size.
fn sums_of_fours(v: &[i32]) -> Vec<i32> {
    let mut sums = vec![0; 4 * v.len()];
    for place in 0..sums.len() {
        let four = &v[place / 16 * 4..];
        sums[place] = match place % 16 {
            0 => four[0] + four[1] + four[2] + four[3],
            within => sums[place & (place - 1)] - 2 * four[within.trailing_zeros() as usize],
        };
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(signs: &Signs, index: u32) -> Vec<i64> {
        let mut sums = vec![0; signs.dimension];
        signs.add(index, &mut sums);
        sums
    }

    #[test]
    fn scores_are_the_products_with_the_candidates() {
        for dimension in [2048usize, 4096] {
            let signs = Signs::new(&[3; 16], ReportId::new([9; 16]), dimension);
            let v: Vec<i32> = (0..dimension).map(|place| (place * place % 1009) as i32 - 500).collect();
            for (score, index) in signs.scores(&v, 20).into_iter().zip(0..) {
                let candidate = candidate(&signs, index);
                let along: i64 = candidate.iter().zip(&v).map(|(z, v)| z * i64::from(*v)).sum();
                assert_eq!(score as i64, (1 << 32) + along);
                assert!(candidate.iter().all(|z| z.abs() == 1));
            }
            assert_ne!(candidate(&signs, 0), candidate(&signs, 1));
        }
    }
}
