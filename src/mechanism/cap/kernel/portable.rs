//! The kernels in plain Rust, for every machine.

use super::super::table::{self, TABLE};
use super::chacha::{self, WORDS};
use super::signs::Stream;
use super::{Kernel, LANES, Lanes, PER_BLOCK, QUAD, SIDE, Tile};

/// It makes no demands on the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Kernel for Portable {
    type Cell = Pairs;

    const CELLS: usize = 2;

    fn pack(rows: [&[i8; SIDE]; QUAD], cells: &mut [Pairs]) {
        pack(rows, cells);
    }

    fn multiply(self, left: &[Pairs], right: &[Pairs], tile: &mut Tile) {
        multiply(left, right, tile);
    }
}

#[inline(always)]
pub(super) fn expand<const WIDTH: usize>(
    key: &[u32; 4],
    lanes: &Lanes,
    blocks: &mut [[i8; PER_BLOCK]; LANES],
    mut offsets: Option<&mut [i32; LANES]>,
) {
    let table = &*TABLE;
    for (group, part) in blocks.chunks_exact_mut(WIDTH).enumerate() {
        let words: [[u32; WIDTH]; WORDS] = chacha::blocks(key, lanes, group * WIDTH);
        let numbers = |lane: usize| -> [u64; 8] {
            core::array::from_fn(|pair| u64::from(words[2 * pair][lane]) | u64::from(words[2 * pair + 1][lane]) << 32)
        };
        for (lane, block) in part.iter_mut().enumerate() {
            let numbers = numbers(lane);
            table::look_up(&numbers, block, table);
            if let Some(offsets) = &mut offsets {
                offsets[group * WIDTH + lane] = table::offset(&numbers);
            }
        }
        // Later, because bytes that were just written one by one cannot be read at once as a vector.
        for (lane, block) in part.iter_mut().enumerate() {
            if table::any_end(block) {
                table::place_ends(&numbers(lane), block);
            }
        }
    }
}

#[inline(always)]
pub(super) fn keystream<const WIDTH: usize>(key: &[u32; 4], lanes: &Lanes, stream: &mut Stream) {
    for first in (0..LANES).step_by(WIDTH) {
        let words: [[u32; WIDTH]; WORDS] = chacha::blocks(key, lanes, first);
        for (all, part) in stream.iter_mut().zip(&words) {
            all[first..first + WIDTH].copy_from_slice(part);
        }
    }
}

/// Coordinates of two reports as 16-bit integers, side by side.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Pairs(pub(super) [[i16; 2]; SIDE]);

pub(super) fn pack(rows: [&[i8; SIDE]; QUAD], cells: &mut [Pairs]) {
    for (cell, rows) in cells.iter_mut().zip(rows.as_chunks::<2>().0) {
        for ((pair, &first), &second) in cell.0.iter_mut().zip(rows[0]).zip(rows[1]) {
            *pair = [first.into(), second.into()];
        }
    }
}

fn multiply(left: &[Pairs], right: &[Pairs], tile: &mut Tile) {
    // One row at a time: with more, compilers do not see the instruction that multiplies pairs.
    for (row, totals) in tile.0.iter_mut().enumerate() {
        let mut sums = [0; SIDE];
        for (left, right) in left.iter().zip(right) {
            let [first, second] = left.0[row];
            for (sum, pair) in sums.iter_mut().zip(&right.0) {
                *sum += i32::from(first) * i32::from(pair[0]) + i32::from(second) * i32::from(pair[1]);
            }
        }
        for (total, sum) in totals.iter_mut().zip(sums) {
            *total += sum;
        }
    }
}
