//! Coordinates from a keystream: its blocks and words, the table that their numbers select from, and the offset of a
//! score. The layout and its reasons are in `candidates`.

use std::sync::LazyLock;

use chacha20::rand_core::SeedableRng;
use chacha20::rand_core::block::Generator;
use chacha20::variants::Legacy;
use chacha20::{ChaChaCore, R8};

use super::quantiles::MAGNITUDE_COUNTS;
use crate::identity::ReportId;

/// The mean square of the table's entries, exactly.
pub(crate) const TABLE_SECOND_MOMENT: f64 = 55_115_722.0 / 65_536.0;

/// The deviation of the normal law that the table follows.
pub(in crate::mechanism) const TABLE_DEVIATION: i32 = 29;

/// The largest magnitude in the table.
pub(in crate::mechanism) const LARGEST_MAGNITUDE: u32 = MAGNITUDE_COUNTS.len() as u32 - 1;

/// Coordinates of a keystream block: eight words of five.
pub(super) const PER_BLOCK: usize = 40;

/// The offset of a score in integers: this times the sum of two uniform bytes, less their largest value.
pub(in crate::mechanism) const OFFSET_STEP: i32 = 384;

/// The table: entry i for the 12-bit number i where the four further bits do not matter, [`END_MARK`] where they do.
pub(super) static TABLE: LazyLock<[i8; 4096]> = LazyLock::new(|| {
    core::array::from_fn(|number| match number {
        4..4092 => of_magnitudes(16 * number as u16),
        _ => END_MARK,
    })
});

/// Marks in the table the four smallest and the four largest numbers. No entry is that small.
pub(super) const END_MARK: i8 = -128;

/// The table's last 64 entries, of the 16-bit numbers from 65,472 on.
pub(super) static END: [i8; 64] = {
    let (mut end, mut place) = ([0; 64], 64);
    let mut magnitude = MAGNITUDE_COUNTS.len();
    let mut left = 0;
    while place > 0 {
        while left == 0 {
            magnitude -= 1;
            left = MAGNITUDE_COUNTS[magnitude];
        }
        place -= 1;
        left -= 1;
        end[place] = magnitude as i8;
    }
    end
};

const END_START: u16 = 65_472;

/// The entry of a 16-bit number by definition: those from 32,768 on ascend, and T(65535 - x) = -T(x).
pub(in crate::mechanism) fn of_magnitudes(number: u16) -> i8 {
    let upper = number.max(!number);
    let mut below = 32_768;
    for (magnitude, &count) in MAGNITUDE_COUNTS.iter().enumerate() {
        below += u32::from(count);
        if u32::from(upper) < below {
            return if number == upper { magnitude as i8 } else { -(magnitude as i8) };
        }
    }
    unreachable!("the counts add up to 32,768")
}

/// The entry of number `position` of a word, which is one of the four smallest or largest.
pub(super) fn at_end(word: u64, position: usize) -> i8 {
    let number = ((word >> (12 * position) & 0xfff) << 4 | word >> 60) as u16;
    let entry = END[(number.max(!number) - END_START) as usize];
    if number < END_START { -entry } else { entry }
}

/// Fills in the entries whose numbers are among the four smallest or largest: one block in thirteen has some.
#[cold]
#[inline(never)]
pub(super) fn place_ends<T: From<i8> + PartialEq>(words: &[u64; 8], out: &mut [T; PER_BLOCK]) {
    let mark = T::from(END_MARK);
    for (place, value) in out.iter_mut().enumerate().filter(|(_, value)| **value == mark) {
        *value = at_end(words[place / 5], place % 5).into();
    }
}

/// The entries of a block's words, [`END_MARK`] included.
#[inline(always)]
pub(super) fn look_up<T: From<i8>>(words: &[u64; 8], out: &mut [T; PER_BLOCK], table: &[i8; 4096]) {
    for (&word, part) in words.iter().zip(out.as_chunks_mut::<5>().0) {
        // Five independent loads, where shifting the word along would make each wait for the one before.
        let entry = |position: u32| table[(word >> (12 * position) & 0xfff) as usize].into();
        *part = [entry(0), entry(1), entry(2), entry(3), entry(4)];
    }
}

/// Whether any number is one of the four smallest or largest. For entries in a vector see [`any_end`].
#[inline(always)]
pub(super) fn any_end_number(words: &[u64; 8]) -> bool {
    // The ten upper bits of such a number are equal. Bit k of `changes` says that bits k and k + 1 differ; where any of
    // nine does, the sum carries into the number's highest bit, and never beyond.
    const NINE: u64 = 0x7fc_7fc7_fc7f_c7fc;
    const HIGHEST: u64 = 0x800_8008_0080_0800;
    let inner = words.iter().fold(HIGHEST, |all, word| {
        let changes = (word ^ word >> 1) & NINE;
        all & (changes + NINE)
    });
    inner != HIGHEST
}

/// Whether any entry is the mark. Without an early end, which compilers would not vectorise.
#[inline(always)]
pub(super) fn any_end(entries: &[i8; PER_BLOCK]) -> bool {
    entries.iter().fold(false, |any, &entry| any | (entry == END_MARK))
}

/// The offset of the score of the candidate that begins with this block: 384 (a + b - 255) for two bytes a, b. Each of
/// their four halves is a sum without carry of the highest bits of two words, four apart. So the offset is independent
/// of all coordinates of any one word, though these bits determine one coordinate in 512.
#[inline(always)]
pub(super) fn offset(words: &[u64; 8]) -> i32 {
    let [a_low, a_high, b_low, b_high] = [
        (words[0] ^ words[4]) >> 60,
        (words[1] ^ words[5]) >> 60,
        (words[2] ^ words[6]) >> 60,
        (words[3] ^ words[7]) >> 60,
    ];
    OFFSET_STEP * ((a_low + b_low + 16 * (a_high + b_high)) as i32 - 255)
}

/// The key of a report's candidates: its task's half, then its id.
pub(super) fn report_key(task_key: &[u8; 16], id: ReportId) -> [u8; 32] {
    core::array::from_fn(|place| if place < 16 { task_key[place] } else { id.as_bytes()[place - 16] })
}

/// Fills with keystream from block `first` on. The generator makes four blocks at a time.
pub(crate) fn keystream(key: &[u8; 32], first: u64, fours: &mut [[u32; 64]]) {
    let mut chacha = ChaChaCore::<R8, Legacy>::from_seed(*key);
    chacha.set_block_pos(first);
    fours.iter_mut().for_each(|four| chacha.generate(four));
}

/// The single blocks.
pub(super) fn blocks(fours: &[[u32; 64]]) -> &[[u32; 16]] {
    fours.as_flattened().as_chunks().0
}

/// The words of a block.
#[inline(always)]
pub(super) fn words(block: &[u32; 16]) -> [u64; 8] {
    core::array::from_fn(|word| u64::from(block[2 * word]) | u64::from(block[2 * word + 1]) << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_symmetric_and_has_the_stated_second_moment() {
        let entries: Vec<i8> = (0..=u16::MAX).map(of_magnitudes).collect();
        let squares = entries.iter().map(|&value| i64::from(value).pow(2)).sum::<i64>();
        assert_eq!(squares as f64 / 65_536.0, TABLE_SECOND_MOMENT);
        assert_eq!(entries.iter().map(|&value| i64::from(value)).sum::<i64>(), 0);
        assert!(entries.is_sorted());
        assert_eq!([entries[0], entries[65_535]], [-127, 127]);
        assert_eq!(entries[usize::from(END_START)..], END);
        // The further bits matter only at the ends.
        assert!((4..4092).all(|number| entries[16 * number..][..16] == [TABLE[number]; 16]));
    }

    /// Against tail integrals by erfc, not by the script that wrote the table: beyond every entry's inner edge the sum
    /// of squares is that of 29 G beyond the same quantile, to a thousandth, or to what one more in the last entry
    /// would add.
    #[test]
    fn the_squares_beyond_every_entry_are_those_of_a_normal_variable() {
        let mut squares = 0.0;
        for first in (2049..4096).rev() {
            let numbers = 16 * first as u16..=(16 * first + 15) as u16;
            squares += numbers.map(|number| f64::from(of_magnitudes(number)).powi(2)).sum::<f64>() / 65_536.0;
            let (mut low, mut high, p) = (0.0f64, 8.0f64, f64::from(4096 - first) / 4096.0);
            for _ in 0..80 {
                let middle = 0.5 * (low + high);
                let above = 0.5 * libm::erfc(middle * core::f64::consts::FRAC_1_SQRT_2);
                if above > p { low = middle } else { high = middle }
            }
            let density = (-0.5 * low * low).exp() / (2.0 * core::f64::consts::PI).sqrt();
            let wanted = 841.0 * (low * density + p);
            let step = f64::from(2 * u32::from(TABLE[first as usize].unsigned_abs()) + 1) / 4096.0;
            assert!((squares - wanted).abs() <= step.max(1e-3 * wanted), "{first}: {squares} {wanted}");
        }
    }
}
