//! The kernels for processors with AVX-512 VBMI and VNNI: sixteen keystreams in the lanes of a register, table lookups
//! inside registers, and products of bytes.
#![allow(unsafe_code, reason = "instructions that not every processor has; each block says why it is sound")]

use core::arch::x86_64::*;
use std::sync::LazyLock;

use super::super::candidates::TABLE;
use super::chacha::{CONSTANTS, DOUBLE_ROUND, WORDS};
use super::{Kernel, LANES, Lanes, PER_BLOCK, QUAD, SIDE, Tile};

/// Proof that the processor has the instructions: only [`Avx512::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(&'static Tables);

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let found = std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512vbmi")
            && std::is_x86_feature_detected!("avx512vnni");
        found.then(|| Self(&TABLES))
    }
}

impl Kernel for Avx512 {
    type Cell = Quads;

    const CELLS: usize = 1;

    fn expand(self, key: &[u32; 4], lanes: &Lanes, blocks: &mut [[i8; PER_BLOCK]; LANES]) {
        // SAFETY: `self` exists, so the processor has these instructions.
        unsafe { expand(key, lanes, self.0, blocks) }
    }

    fn pack(rows: [&[i8; SIDE]; QUAD], cells: &mut [Quads]) {
        let [first, second, third, fourth] = rows;
        for (index, out) in cells[0].0.iter_mut().enumerate() {
            *out =
                i32::from_le_bytes([first[index], second[index], third[index], fourth[index]].map(|value| value as u8));
        }
    }

    fn multiply(self, left: &[Quads], right: &[Quads], tile: &mut Tile) {
        // SAFETY: `self` exists, so the processor has these instructions.
        unsafe { multiply(left, right, tile) }
    }
}

/// Coordinates of four reports as bytes, side by side, the first report's lowest.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Quads([i32; SIDE]);

/// The table's upper half, i = 2048 + 16 s + t, in a form that fits registers: below 7/8 of it a segment s of 16 entries
/// holds at most two values.
#[derive(Debug)]
#[repr(C, align(64))]
struct Tables {
    /// The first value of segment s.
    base: [[i8; 64]; 2],
    /// The t from which on it is one more; 16 for never.
    step: [[i8; 64]; 2],
    /// The last 256 entries, one by one.
    tail: [[i8; 64]; 4],
}

/// The segments from this one on are in the tail.
const TAIL: i8 = 112;

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let upper = &TABLE[2048..];
    let mut tables = Tables { base: [[0; 64]; 2], step: [[16; 64]; 2], tail: [[0; 64]; 4] };
    for (segment, values) in upper.chunks_exact(16).enumerate() {
        let more = values.iter().take_while(|&&value| value == values[0]).count();
        tables.base[segment / 64][segment % 64] = values[0];
        tables.step[segment / 64][segment % 64] = more as i8;
    }
    for (index, &value) in upper[16 * TAIL as usize..].iter().enumerate() {
        tables.tail[index / 64][index % 64] = value;
    }
    tables
});

#[inline]
#[target_feature(enable = "avx512f")]
fn load<T: Copy>(words: &[T; 64]) -> __m512i {
    const { assert!(size_of::<T>() == 1) };
    // SAFETY: 64 bytes can be read there, and the instruction asks for no alignment.
    unsafe { _mm512_loadu_si512(core::ptr::from_ref(words).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_words(words: &[u32; 16]) -> __m512i {
    // SAFETY: 64 bytes can be read there, and the instruction asks for no alignment.
    unsafe { _mm512_loadu_si512(core::ptr::from_ref(words).cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn expand(key: &[u32; 4], lanes: &Lanes, tables: &Tables, blocks: &mut [[i8; PER_BLOCK]; LANES]) {
    let keystream = transposed(keystream(key, lanes));
    let base = tables.base.each_ref().map(|part| load(part));
    let step = tables.step.each_ref().map(|part| load(part));
    let tail = tables.tail.each_ref().map(|part| load(part));
    // Of each 64-bit word bits 12 k + 4 … and 12 k …, eight at a time.
    let upper_bits = _mm512_set1_epi64(i64::from_le_bytes([4, 16, 28, 40, 52, 52, 52, 52]));
    let lower_bits = _mm512_set1_epi64(i64::from_le_bytes([0, 12, 24, 36, 48, 48, 48, 48]));
    let together = load(&FIVE_OF_EIGHT);
    let ones = _mm512_set1_epi8(-1);
    for (word, block) in keystream.into_iter().zip(blocks) {
        let segment = _mm512_multishift_epi64_epi8(upper_bits, word);
        let place = _mm512_multishift_epi64_epi8(lower_bits, word);
        // T[4095 - i] = -T[i]: the lower half is looked up in the upper.
        let negative = _knot_mask64(_mm512_movepi8_mask(segment));
        let segment = _mm512_mask_xor(segment, negative, ones);
        let place = _mm512_mask_xor(place, negative, ones);
        let first = _mm512_permutex2var_epi8(base[0], segment, base[1]);
        let step = _mm512_permutex2var_epi8(step[0], segment, step[1]);
        let within = _mm512_and_si512(place, _mm512_set1_epi8(15));
        let more = _mm512_cmpge_epi8_mask(within, step);
        let body = _mm512_mask_sub_epi8(first, more, first, ones);
        let tail = _mm512_mask_blend_epi8(
            _mm512_movepi8_mask(place),
            _mm512_permutex2var_epi8(tail[0], place, tail[1]),
            _mm512_permutex2var_epi8(tail[2], place, tail[3]),
        );
        let in_tail = _mm512_cmpge_epi8_mask(_mm512_and_si512(segment, _mm512_set1_epi8(127)), _mm512_set1_epi8(TAIL));
        let magnitude = _mm512_mask_blend_epi8(in_tail, body, tail);
        let value = _mm512_mask_sub_epi8(magnitude, negative, _mm512_setzero_si512(), magnitude);
        let value = _mm512_permutexvar_epi8(together, value);
        // SAFETY: 32 bytes and 8 after them can be written there, and the instructions ask for no alignment.
        unsafe {
            let out: *mut i8 = block.as_mut_ptr();
            _mm256_storeu_si256(out.cast(), _mm512_castsi512_si256(value));
            _mm_storel_epi64(out.add(32).cast(), _mm512_extracti32x4_epi32::<2>(value));
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn _mm512_mask_xor(a: __m512i, mask: __mmask64, b: __m512i) -> __m512i {
    _mm512_mask_blend_epi8(mask, a, _mm512_xor_si512(a, b))
}

/// Bytes 0 to 4 of every eight.
const FIVE_OF_EIGHT: [i8; 64] = {
    let mut places = [0; 64];
    let mut place = 0;
    while place < 40 {
        places[place] = (place / 5 * 8 + place % 5) as i8;
        place += 1;
    }
    places
};

#[inline]
#[target_feature(enable = "avx512f")]
fn keystream(key: &[u32; 4], lanes: &Lanes) -> [__m512i; WORDS] {
    let mut start = [_mm512_setzero_si512(); WORDS];
    for word in 0..4 {
        start[word] = _mm512_set1_epi32(CONSTANTS[word] as i32);
        start[4 + word] = _mm512_set1_epi32(key[word] as i32);
        start[8 + word] = load_words(&lanes.id[word]);
    }
    start[12] = load_words(&lanes.position[0]);
    start[13] = load_words(&lanes.position[1]);
    let mut state = start;
    for _ in 0..4 {
        for [a, b, c, d] in DOUBLE_ROUND {
            state[a] = _mm512_add_epi32(state[a], state[b]);
            state[d] = _mm512_rol_epi32::<16>(_mm512_xor_si512(state[d], state[a]));
            state[c] = _mm512_add_epi32(state[c], state[d]);
            state[b] = _mm512_rol_epi32::<12>(_mm512_xor_si512(state[b], state[c]));
            state[a] = _mm512_add_epi32(state[a], state[b]);
            state[d] = _mm512_rol_epi32::<8>(_mm512_xor_si512(state[d], state[a]));
            state[c] = _mm512_add_epi32(state[c], state[d]);
            state[b] = _mm512_rol_epi32::<7>(_mm512_xor_si512(state[b], state[c]));
        }
    }
    core::array::from_fn(|word| _mm512_add_epi32(state[word], start[word]))
}

/// From words by lane to lanes by word: 16 × 16 words of 32 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed(words: [__m512i; WORDS]) -> [__m512i; LANES] {
    let mut out = [_mm512_setzero_si512(); LANES];
    let mut fours = out;
    for group in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|word| words[4 * group + word]);
        let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
        // Quarter q of `fours[4 group + i]` holds words 4 group … 4 group + 3 of lane 4 q + i.
        fours[4 * group] = _mm512_unpacklo_epi64(ab, cd);
        fours[4 * group + 1] = _mm512_unpackhi_epi64(ab, cd);
        fours[4 * group + 2] = _mm512_unpacklo_epi64(ab_high, cd_high);
        fours[4 * group + 3] = _mm512_unpackhi_epi64(ab_high, cd_high);
    }
    for i in 0..4 {
        let [a, b, c, d] = [0, 4, 8, 12].map(|group| fours[group + i]);
        let (ab_even, cd_even) = (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0x88>(c, d));
        let (ab_odd, cd_odd) = (_mm512_shuffle_i32x4::<0xdd>(a, b), _mm512_shuffle_i32x4::<0xdd>(c, d));
        out[i] = _mm512_shuffle_i32x4::<0x88>(ab_even, cd_even);
        out[8 + i] = _mm512_shuffle_i32x4::<0xdd>(ab_even, cd_even);
        out[4 + i] = _mm512_shuffle_i32x4::<0x88>(ab_odd, cd_odd);
        out[12 + i] = _mm512_shuffle_i32x4::<0xdd>(ab_odd, cd_odd);
    }
    out
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn multiply(left: &[Quads], right: &[Quads], tile: &mut Tile) {
    // The instruction multiplies unsigned bytes by signed ones: 128 is added on one side, and what it adds to the sums,
    // 128 times the sum of the other, is taken off at the end.
    let offset = _mm512_set1_epi8(-128);
    let one = _mm512_set1_epi8(1);
    let mut sums = [_mm512_setzero_si512(); SIDE];
    let mut left_sums = _mm512_setzero_si512();
    for (left, right) in left.iter().zip(right) {
        let shifted = _mm512_xor_si512(load_cell(&right.0), offset);
        left_sums = _mm512_dpbusd_epi32(left_sums, one, load_cell(&left.0));
        for (sum, &row) in sums.iter_mut().zip(&left.0) {
            *sum = _mm512_dpbusd_epi32(*sum, shifted, _mm512_set1_epi32(row));
        }
    }
    let mut excess = Quads::default();
    store_cell(&mut excess.0, _mm512_slli_epi32::<7>(left_sums));
    for ((row, sum), excess) in tile.0.iter_mut().zip(sums).zip(excess.0) {
        let total = _mm512_add_epi32(load_cell(row), _mm512_sub_epi32(sum, _mm512_set1_epi32(excess)));
        store_cell(row, total);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_cell(words: &[i32; 16]) -> __m512i {
    // SAFETY: 64 bytes can be read there, and the instruction asks for no alignment.
    unsafe { _mm512_loadu_si512(core::ptr::from_ref(words).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_cell(words: &mut [i32; 16], value: __m512i) {
    // SAFETY: 64 bytes can be written there, and the instruction asks for no alignment.
    unsafe { _mm512_storeu_si512(core::ptr::from_mut(words).cast(), value) };
}
