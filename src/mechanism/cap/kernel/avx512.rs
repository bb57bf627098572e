//! The kernels for processors with AVX-512 VBMI and VNNI: sixteen keystreams in the lanes of a register, table lookups
//! inside registers, and products of bytes.
#![allow(unsafe_code, reason = "instructions that not every processor has; each block says why it is sound")]

use core::arch::x86_64::*;
use std::sync::LazyLock;

use super::super::sphere::Sphere;
use super::super::table::{END, OFFSET_STEP, TABLE};
use super::avx2;
use super::chacha::{CONSTANTS, WORDS, double_round};
use super::signs::{self, Counters, Stream};
use super::wide::{Piece, Wide};
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

    fn expand(
        self,
        key: &[u32; 4],
        lanes: &Lanes,
        blocks: &mut [[i8; PER_BLOCK]; LANES],
        offsets: Option<&mut [i32; LANES]>,
    ) {
        // SAFETY: `self` exists, so the processor has these instructions.
        unsafe { expand(key, lanes, self.0, blocks, offsets) }
    }

    fn keystream(self, key: &[u32; 4], lanes: &Lanes, stream: &mut Stream) {
        // SAFETY: `self` exists, so the processor has these instructions.
        unsafe { store_keystream(key, lanes, stream) }
    }

    fn count(self, streams: &[Stream; 2], counters: &mut Counters) {
        // SAFETY: `self` exists, so the processor has these instructions.
        unsafe { count(streams, counters) }
    }

    fn normalize(self, sphere: Sphere, entries: &mut [i8]) {
        // SAFETY: `self` exists, so the processor has these instructions.
        unsafe { avx2::normalize(sphere, entries) }
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

impl Wide for Avx512 {
    fn multiply_in_turn(self, blocks: &[[i8; PER_BLOCK]; LANES], parts: &[Piece], first: usize) -> [[i32; LANES]; 2] {
        // SAFETY: `self` exists, so the processor has these instructions.
        unsafe { avx2::multiply_in_turn(blocks, parts, first) }
    }
}

/// Coordinates of four reports as bytes, side by side, the first report's lowest.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Quads([i32; SIDE]);

/// The table's upper half, i = 2048 + 16 s + t, in a form that fits registers: below 7/8 of it a segment s of 16
/// entries holds at most two values.
#[derive(Debug)]
#[repr(C, align(64))]
struct Tables {
    /// The first value of segment s.
    base: [[i8; 64]; 2],
    /// The t from which on it is one more; 16 for never.
    step: [[i8; 64]; 2],
    /// The last 256 entries, one by one. (What the last four become is in `end`.)
    tail: [[i8; 64]; 4],
    /// The entries of the 64 largest numbers of 16 bits.
    end: [i8; 64],
}

/// The segments from this one on are in the tail.
const TAIL: i8 = 112;

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let upper = &TABLE[2048..];
    let mut tables = Tables { base: [[0; 64]; 2], step: [[16; 64]; 2], tail: [[0; 64]; 4], end: END };
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

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn expand(
    key: &[u32; 4],
    lanes: &Lanes,
    tables: &Tables,
    blocks: &mut [[i8; PER_BLOCK]; LANES],
    out: Option<&mut [i32; LANES]>,
) {
    let keystream = keystream(key, lanes);
    if let Some(out) = out {
        store(out, offsets(&keystream));
    }
    let keystream = transposed(keystream);
    let base = tables.base.each_ref().map(|part| load_bytes(part));
    let step = tables.step.each_ref().map(|part| load_bytes(part));
    let tail = tables.tail.each_ref().map(|part| load_bytes(part));
    let end = load_bytes(&tables.end);
    // Of each 64-bit word the eight bits from 12 k + 4 on, and those from 12 k on, for k = 0 … 4 (and three to spare).
    let upper_bits = _mm512_set1_epi64(i64::from_le_bytes([4, 16, 28, 40, 52, 52, 52, 52]));
    let lower_bits = _mm512_set1_epi64(i64::from_le_bytes([0, 12, 24, 36, 48, 48, 48, 48]));
    let five_of_eight = load_bytes(&FIVE_OF_EIGHT);
    let minus_one = _mm512_set1_epi8(-1);
    for (words, block) in keystream.into_iter().zip(blocks) {
        let segment = _mm512_multishift_epi64_epi8(upper_bits, words);
        let place = _mm512_multishift_epi64_epi8(lower_bits, words);
        // T[4095 - i] = -T[i]: the lower half is looked up in the upper, the bits of its numbers inverted.
        let negative = _knot_mask64(_mm512_movepi8_mask(segment));
        let segment = inverted(segment, negative);
        let place = inverted(place, negative);
        // Lookups use the lower seven bits of a byte.
        let first = _mm512_permutex2var_epi8(base[0], segment, base[1]);
        let threshold = _mm512_permutex2var_epi8(step[0], segment, step[1]);
        let within = _mm512_and_si512(place, _mm512_set1_epi8(15));
        let body = _mm512_mask_sub_epi8(first, _mm512_cmpge_epi8_mask(within, threshold), first, minus_one);
        let in_tail = _mm512_cmpge_epi8_mask(_mm512_and_si512(segment, _mm512_set1_epi8(127)), _mm512_set1_epi8(TAIL));
        let one_by_one = _mm512_mask_blend_epi8(
            _mm512_movepi8_mask(place),
            _mm512_permutex2var_epi8(tail[0], place, tail[1]),
            _mm512_permutex2var_epi8(tail[2], place, tail[3]),
        );
        let mut magnitude = _mm512_mask_blend_epi8(in_tail, body, one_by_one);
        // The ten upper bits of the number are set.
        let both = _mm512_ternarylogic_epi64::<0xe0>(segment, place, _mm512_set1_epi8(3));
        let at_end = _mm512_cmpeq_epi8_mask(both, minus_one);
        if at_end != 0 {
            // The two lower bits of the number, and the four highest of its word.
            let shared = inverted(_mm512_multishift_epi64_epi8(_mm512_set1_epi8(60), words), negative);
            let upper = _mm512_slli_epi16::<4>(place);
            let number = _mm512_ternarylogic_epi64::<0xca>(_mm512_set1_epi8(0x30), upper, shared);
            magnitude = _mm512_mask_permutexvar_epi8(magnitude, at_end, number, end);
        }
        let value = _mm512_mask_sub_epi8(magnitude, negative, _mm512_setzero_si512(), magnitude);
        let value = _mm512_permutexvar_epi8(five_of_eight, value);
        let (start, end) = block.split_at_mut(32);
        // SAFETY: 32 and 8 bytes can be written there, and the instructions ask for no alignment.
        unsafe {
            _mm256_storeu_si256(start.as_mut_ptr().cast(), _mm512_castsi512_si256(value));
            _mm_storel_epi64(end.as_mut_ptr().cast(), _mm512_extracti32x4_epi32::<2>(value));
        }
    }
}

/// The result of `table::offset` for each lane's block.
#[inline]
#[target_feature(enable = "avx512f")]
fn offsets(words: &[__m512i; WORDS]) -> __m512i {
    let half = |word: usize| _mm512_srli_epi32::<28>(_mm512_xor_si512(words[2 * word + 1], words[2 * word + 9]));
    let (low, high) = (_mm512_add_epi32(half(0), half(2)), _mm512_add_epi32(half(1), half(3)));
    let both = _mm512_add_epi32(low, _mm512_slli_epi32::<4>(high));
    _mm512_mullo_epi32(_mm512_sub_epi32(both, _mm512_set1_epi32(255)), _mm512_set1_epi32(OFFSET_STEP))
}

/// The bytes, with those that the mask names inverted.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn inverted(bytes: __m512i, mask: __mmask64) -> __m512i {
    _mm512_mask_sub_epi8(bytes, mask, _mm512_set1_epi8(-1), bytes)
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
fn quarter_round<const A: usize, const B: usize, const C: usize, const D: usize>(state: &mut [__m512i; WORDS]) {
    state[A] = _mm512_add_epi32(state[A], state[B]);
    state[D] = _mm512_rol_epi32::<16>(_mm512_xor_si512(state[D], state[A]));
    state[C] = _mm512_add_epi32(state[C], state[D]);
    state[B] = _mm512_rol_epi32::<12>(_mm512_xor_si512(state[B], state[C]));
    state[A] = _mm512_add_epi32(state[A], state[B]);
    state[D] = _mm512_rol_epi32::<8>(_mm512_xor_si512(state[D], state[A]));
    state[C] = _mm512_add_epi32(state[C], state[D]);
    state[B] = _mm512_rol_epi32::<7>(_mm512_xor_si512(state[B], state[C]));
}

#[inline]
#[target_feature(enable = "avx512f")]
fn keystream(key: &[u32; 4], lanes: &Lanes) -> [__m512i; WORDS] {
    let mut start = [_mm512_setzero_si512(); WORDS];
    for word in 0..4 {
        start[word] = _mm512_set1_epi32(CONSTANTS[word] as i32);
        start[4 + word] = _mm512_set1_epi32(key[word] as i32);
        start[8 + word] = load_unsigned(&lanes.id[word]);
    }
    start[12] = load_unsigned(&lanes.position[0]);
    start[13] = load_unsigned(&lanes.position[1]);
    let mut state = start;
    for _ in 0..4 {
        double_round!(quarter_round, &mut state);
    }
    core::array::from_fn(|word| _mm512_add_epi32(state[word], start[word]))
}

#[target_feature(enable = "avx512f")]
fn store_keystream(key: &[u32; 4], lanes: &Lanes, stream: &mut Stream) {
    for (out, words) in stream.iter_mut().zip(keystream(key, lanes)) {
        // SAFETY: 64 bytes can be written there, and the instruction asks for no alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), words) };
    }
}

#[target_feature(enable = "avx512f")]
fn count(streams: &[Stream; 2], counters: &mut Counters) {
    signs::count(streams, counters);
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
        let shifted = _mm512_xor_si512(load(&right.0), offset);
        left_sums = _mm512_dpbusd_epi32(left_sums, one, load(&left.0));
        for (sum, &row) in sums.iter_mut().zip(&left.0) {
            *sum = _mm512_dpbusd_epi32(*sum, shifted, _mm512_set1_epi32(row));
        }
    }
    let mut excess = Quads::default();
    store(&mut excess.0, _mm512_slli_epi32::<7>(left_sums));
    for ((row, sum), excess) in tile.0.iter_mut().zip(sums).zip(excess.0) {
        let total = _mm512_add_epi32(load(row), _mm512_sub_epi32(sum, _mm512_set1_epi32(excess)));
        store(row, total);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_bytes(bytes: &[i8; 64]) -> __m512i {
    // SAFETY: 64 bytes can be read there, and the instruction asks for no alignment.
    unsafe { _mm512_loadu_si512(core::ptr::from_ref(bytes).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_unsigned(words: &[u32; 16]) -> __m512i {
    // SAFETY: 64 bytes can be read there, and the instruction asks for no alignment.
    unsafe { _mm512_loadu_si512(core::ptr::from_ref(words).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[i32; 16]) -> __m512i {
    // SAFETY: 64 bytes can be read there, and the instruction asks for no alignment.
    unsafe { _mm512_loadu_si512(core::ptr::from_ref(words).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(words: &mut [i32; 16], value: __m512i) {
    // SAFETY: 64 bytes can be written there, and the instruction asks for no alignment.
    unsafe { _mm512_storeu_si512(core::ptr::from_mut(words).cast(), value) };
}
