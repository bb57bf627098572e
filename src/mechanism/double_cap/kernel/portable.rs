//! The kernels in plain Rust, for every machine.

use super::super::candidates::TABLE;
use super::chacha::{self, WORDS};
use super::{Cell, Kernel, LANES, Lanes, PER_BLOCK, QUAD, SIDE, Tile};

/// Nothing is asked of the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Kernel for Portable {
    const CELLS: usize = 2;

    fn expand(self, key: &[u32; 4], lanes: &Lanes, blocks: &mut [[i8; PER_BLOCK]; LANES]) {
        expand::<4>(key, lanes, blocks);
    }

    fn pack(rows: [&[i8; SIDE]; QUAD], cells: &mut [Cell]) {
        pack_pairs(rows, cells);
    }

    fn multiply(self, left: &[Cell], right: &[Cell], tile: &mut Tile) {
        multiply(left, right, tile);
    }
}

#[inline(always)]
pub(super) fn expand<const WIDTH: usize>(key: &[u32; 4], lanes: &Lanes, blocks: &mut [[i8; PER_BLOCK]; LANES]) {
    let table = &*TABLE;
    for (group, part) in blocks.chunks_exact_mut(WIDTH).enumerate() {
        let words: [[u32; WIDTH]; WORDS] = chacha::blocks(key, lanes, group * WIDTH);
        for (lane, block) in part.iter_mut().enumerate() {
            for (pair, values) in block.chunks_exact_mut(5).enumerate() {
                let word = u64::from(words[2 * pair][lane]) | u64::from(words[2 * pair + 1][lane]) << 32;
                for (position, value) in values.iter_mut().enumerate() {
                    *value = table[(word >> (12 * position) & 0xfff) as usize];
                }
            }
        }
    }
}

#[inline(always)]
pub(super) fn pack_pairs(rows: [&[i8; SIDE]; QUAD], cells: &mut [Cell]) {
    for (cell, rows) in cells.iter_mut().zip(rows.chunks_exact(2)) {
        for ((out, &low), &high) in cell.0.iter_mut().zip(rows[0]).zip(rows[1]) {
            *out = i32::from(low) & 0xffff | i32::from(high) << 16;
        }
    }
}

fn multiply(left: &[Cell], right: &[Cell], tile: &mut Tile) {
    for quarter in 0..4 {
        let mut sums = [[0i32; SIDE]; 4];
        for (left, right) in left.iter().zip(right) {
            for (row, sums) in sums.iter_mut().enumerate() {
                let a = left.0[4 * quarter + row];
                let (low, high) = (a as i16, (a >> 16) as i16);
                for (sum, &b) in sums.iter_mut().zip(&right.0) {
                    *sum += i32::from(low) * i32::from(b as i16) + i32::from(high) * i32::from((b >> 16) as i16);
                }
            }
        }
        for (row, sums) in tile.0[4 * quarter..].iter_mut().zip(sums) {
            for (total, sum) in row.iter_mut().zip(sums) {
                *total += sum;
            }
        }
    }
}
