//! ChaCha with 8 rounds, several blocks at a time in the lanes of vectors, in plain Rust that compilers vectorise.

use super::{LANES, Lanes};

/// 32-bit words of a block.
pub(super) const WORDS: usize = 16;

/// "expand 32-byte k".
pub(super) const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// A column round and a diagonal round, in quarter rounds whose words are known when this is compiled: so the state
/// stays in registers.
macro_rules! double_round {
    ($quarter_round:ident, $state:expr $(, $width:ident)?) => {
        $quarter_round::<0, 4, 8, 12 $(, $width)?>($state);
        $quarter_round::<1, 5, 9, 13 $(, $width)?>($state);
        $quarter_round::<2, 6, 10, 14 $(, $width)?>($state);
        $quarter_round::<3, 7, 11, 15 $(, $width)?>($state);
        $quarter_round::<0, 5, 10, 15 $(, $width)?>($state);
        $quarter_round::<1, 6, 11, 12 $(, $width)?>($state);
        $quarter_round::<2, 7, 8, 13 $(, $width)?>($state);
        $quarter_round::<3, 4, 9, 14 $(, $width)?>($state);
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use double_round;

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
        double_round!(quarter_round, &mut state, WIDTH);
    }
    for (word, start) in state.iter_mut().zip(&start) {
        for (lane, start) in word.iter_mut().zip(start) {
            *lane = lane.wrapping_add(*start);
        }
    }
    state
}

#[inline(always)]
fn quarter_round<const A: usize, const B: usize, const C: usize, const D: usize, const WIDTH: usize>(
    state: &mut [[u32; WIDTH]; WORDS],
) {
    for (sum, other, turned, by) in [(A, B, D, 16), (C, D, B, 12), (A, B, D, 8), (C, D, B, 7)] {
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
