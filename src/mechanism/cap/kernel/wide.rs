//! Scores from a key, sixteen keystream blocks at a time, for processors with wide vectors.

use super::super::sphere::Sphere;
use super::{Kernel, LANES, Lanes, PER_BLOCK, scores, words};

/// The operations that differ between them.
pub(super) trait Wide: Kernel {
    /// See [`multiply_in_turn`].
    fn multiply_in_turn(self, blocks: &[[i8; PER_BLOCK]; LANES], parts: &[Piece], first: usize) -> [[i32; LANES]; 2];
}

/// A part of a vector that is multiplied with keystream blocks, and which of their bits count: not those of the excess
/// of a candidate's last block.
pub(super) struct Piece {
    u: [i16; PER_BLOCK],
    mask: [i8; PER_BLOCK],
}

fn parts(u: &[i16]) -> Vec<Piece> {
    let part = |u: &[i16]| {
        let mut part = Piece { u: [0; PER_BLOCK], mask: [0; PER_BLOCK] };
        part.u[..u.len()].copy_from_slice(u);
        part.mask[..u.len()].fill(-1);
        part
    };
    u.chunks(PER_BLOCK).map(part).collect()
}

/// See [`Path::scores`](super::Path::scores).
pub(super) fn scores<K: Wide>(kernel: K, key: &[u8; 32], sphere: Sphere, u: &[i16], count: u32) -> Vec<u64> {
    if sphere.is_short() {
        return scores::of_short(key, sphere, u, count);
    }
    let [task, id] = [0, 1].map(|half| words(&key.as_chunks().0[half]));
    let parts = parts(u);
    let mut lanes = Lanes { id: id.map(|word| [word; LANES]), position: [[0; LANES]; 2] };
    let (mut blocks, mut offsets) = ([[0; PER_BLOCK]; LANES], [0; LANES]);
    let mut scores = Vec::with_capacity(count as usize + LANES);
    let (mut place, mut along, mut squares) = (0, 0, 0);
    for start in (0..u64::from(count) * parts.len() as u64).step_by(LANES) {
        for (lane, position) in (start..start + LANES as u64).enumerate() {
            lanes.position[0][lane] = position as u32;
            lanes.position[1][lane] = (position >> 32) as u32;
        }
        kernel.expand(&task, &lanes, &mut blocks, Some(&mut offsets));
        let [products, of_squares] = kernel.multiply_in_turn(&blocks, &parts, place);
        for ((product, square), offset) in products.into_iter().zip(of_squares).zip(offsets) {
            along += product + if place == 0 { offset } else { 0 };
            squares += square;
            place += 1;
            if place == parts.len() {
                scores.push(sphere.score(along, squares as u64));
                (place, along, squares) = (0, 0, 0);
            }
        }
    }
    // The last blocks may be those of further candidates.
    scores.truncate(count as usize);
    scores
}

/// The products of sixteen blocks with the parts of a vector: the first with part `first`, the next with the next, and
/// after the last part with part 0 again. And the sums of their squares, without the excess of a last block.
#[inline(always)]
pub(super) fn multiply_in_turn(blocks: &[[i8; PER_BLOCK]; LANES], parts: &[Piece], first: usize) -> [[i32; LANES]; 2] {
    let (mut products, mut squares, mut place) = ([0; LANES], [0; LANES], first);
    for ((block, product), square) in blocks.iter().zip(&mut products).zip(&mut squares) {
        let part = &parts[place];
        for ((&z, &u), &mask) in block.iter().zip(&part.u).zip(&part.mask) {
            let z = i16::from(z & mask);
            *product += i32::from(z) * i32::from(u);
            *square += i32::from(z) * i32::from(z);
        }
        place = if place + 1 < parts.len() { place + 1 } else { 0 };
    }
    [products, squares]
}
