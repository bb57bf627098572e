//! Scores from a key, block by block, for every machine.

use super::super::table::{
    END_MARK, PER_BLOCK, TABLE, any_end_number, at_end, blocks, keystream, look_up, offset, words,
};

/// Bytes of keystream that are computed at a time, at least one candidate's: they stay in the first-level cache.
const BATCH_BYTES: usize = 4096;

/// See [`Path::scores`](super::Path::scores).
pub(super) fn scores(key: &[u8; 32], u: &[i16], count: u32) -> Vec<i32> {
    let (stride, table) = (u.len().div_ceil(PER_BLOCK), &*TABLE);
    // Whole groups of four blocks, where they are small.
    let per_batch = match BATCH_BYTES / 64 / stride {
        few @ 0..4 => few.max(1),
        many => many / 4 * 4,
    };
    let mut fours = vec![[0; 64]; (per_batch * stride).div_ceil(4)];
    let mut candidate = vec![[0; PER_BLOCK]; stride];
    let mut scores = vec![0; count as usize];
    for (batch, scores) in scores.chunks_mut(per_batch).enumerate() {
        let fours = &mut fours[..(scores.len() * stride).div_ceil(4)];
        keystream(key, (batch * per_batch * stride) as u64, fours);
        for (stream, score) in blocks(fours).chunks_exact(stride).zip(scores) {
            for (block, out) in stream.iter().zip(&mut candidate) {
                look_up(&words(block), out, table);
            }
            *score = offset(&words(&stream[0])) + multiply(candidate.as_flattened(), u);
            for ((block, entries), part) in stream.iter().zip(&candidate).zip(u.chunks(PER_BLOCK)) {
                if any_end_number(&words(block)) {
                    *score += beyond_marks(block, entries, part);
                }
            }
        }
    }
    scores
}

/// Both are `i16` so that the product runs on pairs of 16-bit lanes, which every instruction set has.
#[inline]
fn multiply(entries: &[i16], part: &[i16]) -> i32 {
    entries.iter().zip(part).map(|(&z, &u)| i32::from(z) * i32::from(u)).sum()
}

/// The correction to the products of a block's entries while marks are among them.
#[cold]
#[inline(never)]
fn beyond_marks(block: &[u32; 16], entries: &[i16; PER_BLOCK], part: &[i16]) -> i32 {
    let (words, mark) = (words(block), i16::from(END_MARK));
    let marked = entries.iter().zip(part).enumerate().filter(|(_, (entry, _))| **entry == mark);
    marked.map(|(place, (_, &u))| i32::from(i16::from(at_end(words[place / 5], place % 5)) - mark) * i32::from(u)).sum()
}
