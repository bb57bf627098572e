//! Scores from a key, block by block, for every machine.

use super::super::sphere::{Sphere, fine, squares};
use super::super::table::{
    PER_BLOCK, TABLE, any_end, any_end_number, blocks, keystream, look_up, offset, place_ends, words,
};

/// Bytes of keystream that are computed at a time, at least one candidate's: they stay in the first-level cache.
const BATCH_BYTES: usize = 4096;

/// See [`Path::scores`](super::Path::scores).
pub(super) fn scores(key: &[u8; 32], sphere: Sphere, u: &[i16], count: u32) -> Vec<u64> {
    if sphere.is_short() { of_short(key, sphere, u, count) } else { of_long(key, sphere, u, count) }
}

fn of_long(key: &[u8; 32], sphere: Sphere, u: &[i16], count: u32) -> Vec<u64> {
    let (stride, table) = (u.len().div_ceil(PER_BLOCK), &*TABLE);
    // Whole groups of four blocks, where they are small.
    let per_batch = match BATCH_BYTES / 64 / stride {
        few @ 0..4 => few.max(1),
        many => many / 4 * 4,
    };
    // In whole blocks, so that every loop below has a fixed length: compilers make the best of that at any level.
    let mut parts = vec![[0; PER_BLOCK]; stride];
    parts.as_flattened_mut()[..u.len()].copy_from_slice(u);
    let in_last = u.len() - PER_BLOCK * (stride - 1);
    let mut fours = vec![[0; 64]; (per_batch * stride).div_ceil(4)];
    let mut scores = vec![0; count as usize];
    for (batch, scores) in scores.chunks_mut(per_batch).enumerate() {
        let fours = &mut fours[..(scores.len() * stride).div_ceil(4)];
        keystream(key, (batch * per_batch * stride) as u64, fours);
        for (stream, score) in blocks(fours).chunks_exact(stride).zip(scores) {
            let (mut along, mut squares) = (offset(&words(&stream[0])), 0);
            for (index, (block, part)) in stream.iter().zip(&parts).enumerate() {
                let (words, mut entries) = (words(block), [0; PER_BLOCK]);
                look_up(&words, &mut entries, table);
                if any_end_number(&words) {
                    place_ends(&words, &mut entries);
                }
                if index + 1 == stride {
                    entries[in_last..].fill(0);
                }
                along += multiply(&entries, part);
                squares += multiply(&entries, &entries);
            }
            *score = sphere.score(along, squares as u64);
        }
    }
    scores
}

/// Both are `i16` so that the product runs on pairs of 16-bit lanes, which every instruction set has.
#[inline(always)]
fn multiply(entries: &[i16; PER_BLOCK], part: &[i16; PER_BLOCK]) -> i32 {
    entries.iter().zip(part).map(|(&z, &u)| i32::from(z) * i32::from(u)).sum()
}

/// Short vectors have one block each, two entries for every coordinate, and no offset.
pub(super) fn of_short(key: &[u8; 32], sphere: Sphere, u: &[i16], count: u32) -> Vec<u64> {
    let mut fours = vec![[0; 64]; (count as usize).div_ceil(4)];
    keystream(key, 0, &mut fours);
    let of = |block: &[u32; 16]| {
        let (words, mut entries) = (words(block), [0i8; PER_BLOCK]);
        look_up(&words, &mut entries, &TABLE);
        if any_end(&entries) {
            place_ends(&words, &mut entries);
        }
        let z = &fine(&entries)[..u.len()];
        let along = z.iter().zip(u).map(|(&z, &u)| z * i32::from(u)).sum();
        sphere.score(along, squares(z))
    };
    blocks(&fours)[..count as usize].iter().map(of).collect()
}
