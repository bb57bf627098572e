//! The kernels for processors with AVX2.
#![allow(unsafe_code, reason = "instructions that not every processor has; each block says why it is sound")]

use core::arch::x86_64::*;

use super::super::sphere::Sphere;
use super::portable::{self, Pairs};
use super::signs::{self, Counters, Stream};
use super::wide::{self, Piece, Wide};
use super::{Kernel, LANES, Lanes, PER_BLOCK, QUAD, SIDE, Tile};

/// Proof that the processor has AVX2: only [`Avx2::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        std::is_x86_feature_detected!("avx2").then_some(Self(()))
    }
}

impl Kernel for Avx2 {
    type Cell = Pairs;

    const CELLS: usize = 2;

    fn expand(
        self,
        key: &[u32; 4],
        lanes: &Lanes,
        blocks: &mut [[i8; PER_BLOCK]; LANES],
        offsets: Option<&mut [i32; LANES]>,
    ) {
        // SAFETY: `self` exists, so the processor has AVX2.
        unsafe { expand(key, lanes, blocks, offsets) }
    }

    fn keystream(self, key: &[u32; 4], lanes: &Lanes, stream: &mut Stream) {
        // SAFETY: `self` exists, so the processor has AVX2.
        unsafe { keystream(key, lanes, stream) }
    }

    fn count(self, streams: &[Stream; 2], counters: &mut Counters) {
        // SAFETY: `self` exists, so the processor has AVX2.
        unsafe { count(streams, counters) }
    }

    fn normalize(self, sphere: Sphere, entries: &mut [i8]) {
        // SAFETY: `self` exists, so the processor has AVX2.
        unsafe { normalize(sphere, entries) }
    }

    fn pack(rows: [&[i8; SIDE]; QUAD], cells: &mut [Pairs]) {
        portable::pack(rows, cells);
    }

    fn multiply(self, left: &[Pairs], right: &[Pairs], tile: &mut Tile) {
        // SAFETY: `self` exists, so the processor has AVX2.
        unsafe { multiply(left, right, tile) }
    }
}

impl Wide for Avx2 {
    fn multiply_in_turn(self, blocks: &[[i8; PER_BLOCK]; LANES], parts: &[Piece], first: usize) -> [[i32; LANES]; 2] {
        // SAFETY: `self` exists, so the processor has AVX2.
        unsafe { multiply_in_turn(blocks, parts, first) }
    }
}

#[target_feature(enable = "avx2")]
fn expand(key: &[u32; 4], lanes: &Lanes, blocks: &mut [[i8; PER_BLOCK]; LANES], offsets: Option<&mut [i32; LANES]>) {
    portable::expand::<8>(key, lanes, blocks, offsets);
}

#[target_feature(enable = "avx2")]
fn keystream(key: &[u32; 4], lanes: &Lanes, stream: &mut Stream) {
    portable::keystream::<8>(key, lanes, stream);
}

#[target_feature(enable = "avx2")]
fn count(streams: &[Stream; 2], counters: &mut Counters) {
    signs::count(streams, counters);
}

#[target_feature(enable = "avx2")]
pub(super) fn multiply_in_turn(blocks: &[[i8; PER_BLOCK]; LANES], parts: &[Piece], first: usize) -> [[i32; LANES]; 2] {
    wide::multiply_in_turn(blocks, parts, first)
}

#[target_feature(enable = "avx2")]
pub(super) fn normalize(sphere: Sphere, entries: &mut [i8]) {
    sphere.normalize(entries);
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_pairs(pairs: &[[i16; 2]; 8]) -> __m256i {
    // SAFETY: 32 bytes can be read there, and the instruction asks for no alignment.
    unsafe { _mm256_loadu_si256(core::ptr::from_ref(pairs).cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(words: &[i32; 8]) -> __m256i {
    // SAFETY: 32 bytes can be read there, and the instruction asks for no alignment.
    unsafe { _mm256_loadu_si256(core::ptr::from_ref(words).cast()) }
}

#[target_feature(enable = "avx2")]
fn multiply(left: &[Pairs], right: &[Pairs], tile: &mut Tile) {
    // Four rows at a time: their eight sums, the two vectors of a cell and a row's pair fit the sixteen registers.
    for first in (0..SIDE).step_by(4) {
        let mut sums = [[_mm256_setzero_si256(); 2]; 4];
        for (left, right) in left.iter().zip(right) {
            let halves = right.0.as_chunks().0;
            let (low, high) = (load_pairs(&halves[0]), load_pairs(&halves[1]));
            for (pair, sums) in left.0[first..first + 4].iter().zip(&mut sums) {
                let pair = _mm256_set1_epi32(i32::from(pair[0]) & 0xffff | i32::from(pair[1]) << 16);
                sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(pair, low));
                sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(pair, high));
            }
        }
        for (row, sums) in tile.0[first..].iter_mut().zip(sums) {
            for (half, sum) in row.as_chunks_mut().0.iter_mut().zip(sums) {
                let total = _mm256_add_epi32(load(half), sum);
                // SAFETY: 32 bytes can be written there, and the instruction asks for no alignment.
                unsafe { _mm256_storeu_si256(core::ptr::from_mut(half).cast(), total) };
            }
        }
    }
}
