//! ChaCha with 8 rounds, several blocks at a time in the lanes of vectors, in plain Rust that compilers vectorise.

use super::{LANES, Lanes};

/// 32-bit words of a block.
pub(super) const WORDS: usize = 16;

/// "expand 32-byte k".
pub(super) const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Word by word, the blocks that `WIDTH` lanes from `first` on name: `blocks[word][lane]`.
#[inline(always)]
pub(super) fn blocks<const WIDTH: usize>(key: &[u32; 4], lanes: &Lanes, first: usize) -> [[u32; WIDTH]; WORDS] {
    let take = |words: &[u32; LANES]| -> [u32; WIDTH] { core::array::from_fn(|lane| words[first + lane]) };
    let start: [[u32; WIDTH]; WORDS] = core::array::from_fn(|word| match word {
        0..4 => [CONSTANTS[word]; WIDTH],
        4..8 => [key[word - 4]; WIDTH],
        8..12 => take(&lanes.id[word - 8]),
        12..14 => take(&lanes.position[word - 12]),
        _ => [0; WIDTH],
    });
    let mut state = start;
    for _ in 0..4 {
        for [a, b, c, d] in DOUBLE_ROUND {
            quarter_round(&mut state, a, b, c, d);
        }
    }
    for (word, start) in state.iter_mut().zip(&start) {
        for (lane, start) in word.iter_mut().zip(start) {
            *lane = lane.wrapping_add(*start);
        }
    }
    state
}

/// The quarter rounds of a column round and a diagonal round.
pub(super) const DOUBLE_ROUND: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

#[inline(always)]
fn quarter_round<const WIDTH: usize>(state: &mut [[u32; WIDTH]; WORDS], a: usize, b: usize, c: usize, d: usize) {
    for (sum, other, turned, by) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        let added = state[other];
        for (lane, other) in state[sum].iter_mut().zip(added) {
            *lane = lane.wrapping_add(other);
        }
        let mixed = state[sum];
        for (lane, sum) in state[turned].iter_mut().zip(mixed) {
            *lane = (*lane ^ sum).rotate_left(by);
        }
    }
}
