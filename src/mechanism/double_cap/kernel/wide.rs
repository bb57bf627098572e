//! Scores from a key, sixteen keystream blocks at a time, for processors with wide vectors.

use super::{Kernel, LANES, Lanes, PER_BLOCK, words};

/// The operations that differ between them.
pub(super) trait Wide: Kernel {
    /// See [`multiply_in_turn`].
    fn multiply_in_turn(
        self,
        blocks: &[[i8; PER_BLOCK]; LANES],
        parts: &[[i16; PER_BLOCK]],
        first: usize,
    ) -> [i32; LANES];
}

/// A vector in parts that are multiplied with keystream blocks. The excess of a candidate's last block is multiplied
/// with zeros.
fn parts(u: &[i16]) -> Vec<[i16; PER_BLOCK]> {
    let mut parts = vec![[0; PER_BLOCK]; u.len().div_ceil(PER_BLOCK)];
    parts.as_flattened_mut()[..u.len()].copy_from_slice(u);
    parts
}

/// See [`Path::scores`](super::Path::scores).
pub(super) fn scores<K: Wide>(kernel: K, key: &[u8; 32], u: &[i16], count: u32) -> Vec<i32> {
    let [task, id] = [0, 1].map(|half| words(&key.as_chunks().0[half]));
    let parts = parts(u);
    let mut lanes = Lanes { id: id.map(|word| [word; LANES]), position: [[0; LANES]; 2] };
    let (mut blocks, mut offsets) = ([[0; PER_BLOCK]; LANES], [0; LANES]);
    let mut scores = Vec::with_capacity(count as usize + LANES);
    let (mut place, mut score) = (0, 0);
    for start in (0..u64::from(count) * parts.len() as u64).step_by(LANES) {
        for (lane, position) in (start..start + LANES as u64).enumerate() {
            lanes.position[0][lane] = position as u32;
            lanes.position[1][lane] = (position >> 32) as u32;
        }
        kernel.expand(&task, &lanes, &mut blocks, Some(&mut offsets));
        let products = kernel.multiply_in_turn(&blocks, &parts, place);
        for (product, offset) in products.into_iter().zip(offsets) {
            score += product + if place == 0 { offset } else { 0 };
            place += 1;
            if place == parts.len() {
                scores.push(score);
                (place, score) = (0, 0);
            }
        }
    }
    // The last blocks may be those of further candidates.
    scores.truncate(count as usize);
    scores
}

/// The products of sixteen blocks with the parts of a vector: the first with part `first`, the next with the next, and
/// after the last part with part 0 again.
#[inline(always)]
pub(super) fn multiply_in_turn(
    blocks: &[[i8; PER_BLOCK]; LANES],
    parts: &[[i16; PER_BLOCK]],
    first: usize,
) -> [i32; LANES] {
    let (mut products, mut place) = ([0; LANES], first);
    for (block, product) in blocks.iter().zip(&mut products) {
        for (&z, &u) in block.iter().zip(&parts[place]) {
            *product += i32::from(z) * i32::from(u);
        }
        place = if place + 1 < parts.len() { place + 1 } else { 0 };
    }
    products
}
