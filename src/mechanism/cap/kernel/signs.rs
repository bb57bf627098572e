//! Sums of vectors of signs, from reports: each bit of keystream is a coordinate, 1 where it is 0 and -1 where it is 1.
//!
//! The ones of sixteen reports are counted at a time, in the lanes of vectors, by adders made of logical operations:
//! bit p of the count of a keystream bit is in plane p, at the place of the bit itself. Words of keystream are never
//! taken apart.

use core::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use super::chacha::WORDS;
use super::{Kernel, LANES, Lanes, words};
use crate::identity::ReportId;
use crate::parallel::for_each_with;

/// Coordinates of a keystream block.
const BITS: usize = 32 * WORDS;

/// Planes of the counters.
const PLANES: usize = 8;

/// Reports that a thread takes at a time: pairs of sixteen, as many as the counters hold.
const SHARE: usize = ((1 << PLANES) - 1) / 2 * 2 * LANES;

/// Words of a keystream block, lane by lane.
pub(super) type Stream = [[u32; LANES]; WORDS];

/// How many ones each bit of a keystream block had in the streams that were added, word by word, plane by plane and
/// lane by lane.
pub(super) type Counters = [[[u32; LANES]; PLANES]; WORDS];

/// The names of the first blocks of up to sixteen reports, and a word of ones for each of them.
struct Named {
    lanes: Lanes,
    exists: [u32; LANES],
}

impl Named {
    fn new(reports: &[(ReportId, u32)], blocks: u64) -> Self {
        let mut named = Self { lanes: Lanes::default(), exists: [0; LANES] };
        for (lane, (id, index)) in reports.iter().enumerate() {
            named.lanes.name(lane, &words(id.as_bytes()), u64::from(*index) * blocks);
            named.exists[lane] = u32::MAX;
        }
        named
    }

    /// On to the next block.
    fn advance(&mut self) {
        let [low, high] = &mut self.lanes.position;
        for (low, high) in low.iter_mut().zip(high) {
            *low = low.wrapping_add(1);
            *high = high.wrapping_add(u32::from(*low == 0));
        }
    }
}

/// See [`Path::add_signs`](super::Path::add_signs).
pub(super) fn add<K: Kernel>(
    kernel: K,
    task_key: &[u8; 16],
    reports: &[(ReportId, u32)],
    sums: &mut [i64],
    threads: NonZeroUsize,
) {
    assert!(sums.len().is_multiple_of(BITS), "vectors of signs are whole keystream blocks");
    let key = words(task_key);
    let blocks = sums.len() / BITS;
    let total = Mutex::new(sums);
    for_each_with(
        reports.chunks(SHARE),
        threads,
        || vec![0i64; blocks * BITS],
        |own, share| {
            let mut named: Vec<Named> = share.chunks(LANES).map(|reports| Named::new(reports, blocks as u64)).collect();
            for own in own.as_chunks_mut::<BITS>().0 {
                let mut counters: Counters = [[[0; LANES]; PLANES]; WORDS];
                for pair in named.chunks_mut(2) {
                    let mut streams = [[[0; LANES]; WORDS]; 2];
                    for (named, stream) in pair.iter_mut().zip(&mut streams) {
                        kernel.keystream(&key, &named.lanes, stream);
                        for word in &mut *stream {
                            word.iter_mut().zip(&named.exists).for_each(|(word, exists)| *word &= exists);
                        }
                        named.advance();
                    }
                    kernel.count(&streams, &mut counters);
                }
                for (own, ones) in own.iter_mut().zip(counts(&counters, named.len())) {
                    *own += share.len() as i64 - 2 * i64::from(ones);
                }
            }
        },
        |own| {
            // Nothing in here panics, and integers that were added stay added.
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            total.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        },
    );
}

/// Adds two streams to counters that are at most 253.
#[inline(always)]
pub(super) fn count([first, second]: &[Stream; 2], counters: &mut Counters) {
    for ((first, second), planes) in first.iter().zip(second).zip(counters) {
        let [lowest, higher @ ..] = planes;
        let mut carry = [0; LANES];
        for (((sum, carry), first), second) in lowest.iter_mut().zip(&mut carry).zip(first).zip(second) {
            let one_of_both = first ^ second;
            *carry = first & second | *sum & one_of_both;
            *sum ^= one_of_both;
        }
        for plane in higher {
            for (sum, carry) in plane.iter_mut().zip(&mut carry) {
                let both = *sum & *carry;
                *sum ^= *carry;
                *carry = both;
            }
        }
    }
}

/// The counts of all bits after so many streams, those of all lanes together.
fn counts(counters: &Counters, streams: usize) -> impl Iterator<Item = u32> {
    let used = streams.ilog2() as usize + 1;
    counters.iter().flat_map(move |planes| {
        (0..u32::BITS).map(move |bit| {
            let mut lanes = [0; LANES];
            for (plane, place) in planes[..used].iter().zip(0..) {
                lanes.iter_mut().zip(plane).for_each(|(count, word)| *count += (word >> bit & 1) << place);
            }
            lanes.iter().sum()
        })
    })
}
