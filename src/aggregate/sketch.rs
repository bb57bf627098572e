//! A sample of the report ids in a sum, by which reports are noticed that are in two sums.
//!
//! Every id has a [`Tag`], which puts it in an order. A sketch holds the first K = 1,024 tags of the ids in a sum (a
//! bottom-k sketch: Cohen & Kaplan, PODC 2007). The first K of a union are among the first K of its parts, so the
//! sketch of a whole follows from those of its parts, in any order.
//!
//! # What is noticed
//!
//! Let two sums have a and b reports, s of which are in both, so that u = a + b - s are different, and let the ids be
//! random. A common id among the first K of the u is in both sketches, and these first K are any K of the u with the
//! same probability. So [`Sketch::check_disjoint`] fails to notice the s reports with probability at most
//!
//! ```text
//! C(u - s, K) / C(u, K) <= (1 - s / u)^K
//! ```
//!
//! which is 0 for two sums of the same reports (s = u), and for u <= K. It is also 0 if neither sum has more than K
//! reports, since both sketches are complete then. Reports that are added to a sum are compared with all of its sketch:
//! for s of its a reports the probability is at most (1 - s / a)^K.
//!
//! # Ids that are not random
//!
//! A client that chooses its id can make it one of the first. m such reports leave K - m places for the others in the
//! bounds above; nothing else changes, and two sums of the same reports are noticed as before, since those m are in
//! both. Two ids with one tag would make the sum of their reports impossible. 128 bits of a tag are a hash, so a client
//! that looks for two such ids computes about 2^64 hashes. An aggregator that issues the ids rules out both.

use core::fmt;
use core::mem;
use std::collections::BinaryHeap;

use super::{AggregateError, MOST_TAGS, TAG_BYTES};
use crate::report::ReportId;
use crate::task::TaskDigest;
use sha2::{Digest, Sha256};

/// The place of an id in the order (4 bytes, big-endian), and 16 bytes of SHA-256. Tags are ordered as bytes.
///
/// The place alone shows of nearly every report that its tag is not among the first, in about a nanosecond, so few ids
/// are hashed. The hash makes tags different, and keeps the ids themselves out of the state: they would help to find
/// single reports in the sum of a few.
pub(super) type Tag = [u8; TAG_BYTES];

/// The first tags of the ids in a sum.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Sketch {
    /// Ascending, without repeats: as many as there are reports, at most [`MOST_TAGS`].
    tags: Vec<Tag>,
}

/// What is done with a report that is in the sum already.
#[derive(Clone, Copy, Debug)]
pub(super) enum Repeats {
    Refused,
    Counted,
}

impl Sketch {
    /// A sketch of that many reports with these tags; `None` if reports cannot have them.
    pub(super) fn new(records: u64, tags: &[Tag]) -> Option<Self> {
        let fits = tags.len() as u64 == records.min(MOST_TAGS as u64) && tags.is_sorted_by(|tag, next| tag < next);
        fits.then(|| Self { tags: tags.to_vec() })
    }

    pub(super) fn tags(&self) -> &[Tag] {
        &self.tags
    }

    /// Looks for the tags that ids add, as [`Sieve::finish`] gives them.
    pub(super) fn sieve(&self) -> Sieve<'_> {
        let limit = self.tags.get(MOST_TAGS - 1).map_or(u32::MAX, place_in);
        Sieve { sketch: self, limit, candidates: Vec::new(), room: 4 * MOST_TAGS }
    }

    /// Adds tags that are not in it, each once.
    pub(super) fn add(&mut self, new: &[Tag]) {
        match *new {
            [] => return,
            [tag] => self.tags.insert(self.tags.partition_point(|ours| *ours < tag), tag),
            _ => {
                self.tags.extend(new);
                self.tags = sorted(mem::take(&mut self.tags));
            }
        }
        self.tags.truncate(MOST_TAGS);
    }

    /// Fails if the sketches have tags in common, of the different ones up to the end of the one that ends first.
    pub(super) fn check_disjoint(&self, other: &Self) -> Result<(), AggregateError> {
        let (mut ours, mut theirs) = (&self.tags[..], &other.tags[..]);
        let (mut shared, mut compared) = (0, 0);
        while let ([our, our_rest @ ..], [their, their_rest @ ..]) = (ours, theirs) {
            compared += 1;
            shared += usize::from(our == their);
            if our <= their {
                ours = our_rest;
            }
            if their <= our {
                theirs = their_rest;
            }
        }
        if shared == 0 { Ok(()) } else { Err(AggregateError::Overlap { shared, compared }) }
    }
}

impl fmt::Debug for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sketch {{ tags: {} }}", self.tags.len())
    }
}

/// Ids of which some may be in a sketch, or enter it.
pub(super) struct Sieve<'a> {
    sketch: &'a Sketch,
    /// The last place that matters.
    limit: u32,
    candidates: Vec<(u32, ReportId)>,
    /// The number of candidates at which those are left out that have become too many.
    room: usize,
}

impl Sieve<'_> {
    pub(super) fn add(&mut self, ids: impl Iterator<Item = ReportId>) {
        for id in ids {
            let place = place_of(id);
            if place <= self.limit {
                self.candidates.push((place, id));
                if self.candidates.len() >= self.room {
                    self.narrow();
                }
            }
        }
    }

    /// Adds those that another one found with the same sketch.
    pub(super) fn join(&mut self, mut other: Self) {
        self.candidates.append(&mut other.candidates);
        self.narrow();
    }

    /// Leaves out ids that are not among the first and whose tags are not in the sketch.
    fn narrow(&mut self) {
        if self.candidates.len() > MOST_TAGS {
            let (_, &mut (last, _), _) = self.candidates.select_nth_unstable_by_key(MOST_TAGS - 1, |(place, _)| *place);
            let is_in_sketch = |place| self.sketch.tags.binary_search_by_key(&place, place_in).is_ok();
            self.candidates.retain(|(place, _)| *place <= last || is_in_sketch(*place));
            self.limit = self.limit.min(last.max(self.sketch.tags.last().map_or(0, place_in)));
        }
        // Twice as many as now, for a client can choose ids with one place.
        self.room = (2 * self.candidates.len()).max(4 * MOST_TAGS);
    }

    /// The tags that the ids add, ascending; where repeats are refused, no id may be in the sketch, or occur again.
    pub(super) fn finish(mut self, task: TaskDigest, repeats: Repeats) -> Result<Vec<Tag>, AggregateError> {
        self.narrow();
        let tag_of = |&(place, id): &(u32, ReportId)| tag(task, place, id);
        let mut tags = sorted(self.candidates.iter().map(tag_of).collect());
        let mut repeated = None;
        tags.dedup_by(|tag, before| {
            let occurs_again = tag == before;
            repeated = repeated.or(occurs_again.then_some(*tag));
            occurs_again
        });
        tags.retain(|tag| {
            let is_in_sketch = self.sketch.tags.binary_search(tag).is_ok();
            repeated = repeated.or(is_in_sketch.then_some(*tag));
            !is_in_sketch
        });
        let id_of = |repeated: Tag| self.candidates.iter().find(|candidate| tag_of(candidate) == repeated);
        match (repeats, repeated.and_then(id_of)) {
            (Repeats::Refused, Some(&(_, id))) => Err(AggregateError::Repeated(id)),
            _ => Ok(tags),
        }
    }
}

/// The place of an id in the order: its two words, multiplied and mixed.
fn place_of(id: ReportId) -> u32 {
    let id = u128::from_le_bytes(*id.as_bytes());
    let (first, second) = (id as u64, (id >> 64) as u64);
    let sum = first.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(second.wrapping_mul(0xbf58_476d_1ce4_e5b9));
    ((sum ^ (sum >> 32)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) as u32
}

fn place_in(&[a, b, c, d, ..]: &Tag) -> u32 {
    u32::from_be_bytes([a, b, c, d])
}

fn tag(task: TaskDigest, place: u32, id: ReportId) -> Tag {
    // With 7 bytes before the digest it is one block of SHA-256.
    let hash = Sha256::new().chain_update(b"LDPA id").chain_update(task).chain_update(id).finalize();
    let mut tag = [0; TAG_BYTES];
    tag[..4].copy_from_slice(&place.to_be_bytes());
    tag[4..].copy_from_slice(&hash[..16]);
    tag
}

/// In ascending order. A heap's sort is as fast here as any, and much less code in browsers.
fn sorted(tags: Vec<Tag>) -> Vec<Tag> {
    BinaryHeap::from(tags).into_sorted_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random_id;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    impl Sketch {
        /// A sketch that so many reports can have, whichever they are.
        pub(in super::super) fn of_any(records: u64) -> Self {
            let tag = |place: u32| {
                let mut tag = [0; TAG_BYTES];
                tag[..4].copy_from_slice(&place.to_be_bytes());
                tag
            };
            Self { tags: (0..records.min(MOST_TAGS as u64) as u32).map(tag).collect() }
        }
    }

    fn task() -> TaskDigest {
        TaskDigest::new([7; 32])
    }

    fn ids(rng: &mut ChaCha8Rng, count: usize) -> Vec<ReportId> {
        (0..count).map(|_| random_id(rng)).collect()
    }

    /// Ids with place 0: the sum of their words is 0.
    fn first_ids(count: u64) -> Vec<ReportId> {
        let inverse = 0xf1de_83e1_9937_733du64;
        let id = |second: u64| {
            let first = second.wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_neg().wrapping_mul(inverse);
            ReportId::new(((u128::from(second) << 64) | u128::from(first)).to_le_bytes())
        };
        (1..=count).map(id).collect()
    }

    fn new_tags(sketch: &Sketch, ids: &[ReportId], repeats: Repeats) -> Result<Vec<Tag>, AggregateError> {
        let mut sieve = sketch.sieve();
        sieve.add(ids.iter().copied());
        sieve.finish(task(), repeats)
    }

    fn sketch(ids: &[ReportId]) -> Sketch {
        let mut sketch = Sketch::default();
        let new = new_tags(&sketch, ids, Repeats::Counted).unwrap();
        sketch.add(&new);
        sketch
    }

    /// From its definition.
    fn all_tags_sorted(ids: &[ReportId]) -> Vec<Tag> {
        let mut tags: Vec<Tag> = ids.iter().map(|&id| tag(task(), place_of(id), id)).collect();
        tags.sort();
        tags
    }

    fn is_repeated(sketch: &Sketch, ids: &[ReportId]) -> bool {
        new_tags(sketch, ids, Repeats::Refused).is_err()
    }

    #[test]
    fn a_sketch_has_the_first_tags_however_its_ids_came() {
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        for count in [0, 1, 2, MOST_TAGS - 1, MOST_TAGS, MOST_TAGS + 1, 4 * MOST_TAGS, 20_000] {
            let mut ids = ids(rng, count);
            // As many of one place as there is room for narrowing.
            ids.extend(first_ids(count as u64 / 2));
            let mut expected = all_tags_sorted(&ids);
            expected.truncate(MOST_TAGS);
            let whole = sketch(&ids);
            assert_eq!(whole.tags, expected, "{count}");
            for size in [1, 300, 5000] {
                let (mut in_parts, mut merged, mut joined) = (Sketch::default(), Sketch::default(), Sketch::default());
                let mut sieve = joined.sieve();
                for part in ids.chunks(size).rev() {
                    let new = new_tags(&in_parts, part, Repeats::Refused).unwrap();
                    in_parts.add(&new);
                    let mut other = joined.sieve();
                    other.add(part.iter().copied());
                    sieve.join(other);
                    let part = sketch(part);
                    assert_eq!(merged.check_disjoint(&part), Ok(()));
                    merged.add(part.tags());
                }
                let new = sieve.finish(task(), Repeats::Refused).unwrap();
                joined.add(&new);
                assert_eq!((&in_parts, &merged, &joined), (&whole, &whole, &whole), "{count} {size}");
            }
        }
    }

    #[test]
    fn the_same_ids_are_always_noticed() {
        let rng = &mut ChaCha8Rng::seed_from_u64(2);
        for count in [1, 2, 700, MOST_TAGS, MOST_TAGS + 1, 30_000] {
            let ids = ids(rng, count);
            let sketch = sketch(&ids);
            let shared = count.min(MOST_TAGS);
            let overlap = AggregateError::Overlap { shared, compared: shared };
            assert_eq!(sketch.check_disjoint(&sketch), Err(overlap));
            assert!(is_repeated(&sketch, &ids));
            assert!(is_repeated(&Sketch::default(), &[&ids[..], &ids].concat()));
        }
    }

    #[test]
    fn a_single_common_id_is_always_noticed_while_both_sketches_are_complete() {
        let rng = &mut ChaCha8Rng::seed_from_u64(3);
        for _ in 0..40 {
            let ids = ids(rng, 2 * 1000 - 1);
            let (ours, theirs) = (&ids[..1000], &ids[999..]);
            let outcome = sketch(ours).check_disjoint(&sketch(theirs));
            assert!(matches!(outcome, Err(AggregateError::Overlap { shared: 1, compared: 1..2000 })), "{outcome:?}");
            assert!(is_repeated(&sketch(ours), theirs));
            // However many are added to a complete one.
            let more = [&theirs[1..], &self::ids(rng, 9000), &theirs[..1]].concat();
            assert!(is_repeated(&sketch(ours), &more));
        }
    }

    #[test]
    fn different_ids_are_never_taken_for_common_ones() {
        let rng = &mut ChaCha8Rng::seed_from_u64(4);
        for (ours, theirs) in [(1, 1), (1000, 1000), (1, 20_000), (3000, 5000), (20_000, 20_000)] {
            for _ in 0..10 {
                let ids = ids(rng, ours + theirs);
                assert_eq!(sketch(&ids[..ours]).check_disjoint(&sketch(&ids[ours..])), Ok(()));
                assert!(!is_repeated(&sketch(&ids[..ours]), &ids[ours..]));
            }
        }
    }

    /// The probability that none of `chosen` out of `all` is among `marked` of them.
    fn none_of(marked: usize, chosen: usize, all: usize) -> f64 {
        (0..marked).map(|index| (all - chosen - index) as f64 / (all - index) as f64).product()
    }

    /// 4.5 standard deviations: each assertion fails with probability 7e-6 if the claims hold.
    #[test]
    fn common_ids_are_overlooked_no_more_often_than_claimed() {
        const TRIALS: usize = 400;
        let rng = &mut ChaCha8Rng::seed_from_u64(5);
        for (ours, theirs, common) in [(3000, 3000, 3), (2000, 6000, 2), (6000, 1500, 4), (20_000, 10, 10)] {
            let (mut merged, mut added) = (0, 0);
            for _ in 0..TRIALS {
                let ids = ids(rng, ours + theirs - common);
                let (ours, theirs) = (sketch(&ids[..ours]), &ids[ours - common..]);
                merged += usize::from(ours.check_disjoint(&sketch(theirs)).is_ok());
                added += usize::from(!is_repeated(&ours, theirs));
            }
            let [merged, added] = [merged, added].map(|count| count as f64 / TRIALS as f64);
            let margin = |share: f64| 4.5 * (share * (1.0 - share) / TRIALS as f64).sqrt();
            let all = ours + theirs - common;
            let most = none_of(common, MOST_TAGS.min(all), all);
            let rounded = (1.0 - common as f64 / all as f64).powi(MOST_TAGS as i32);
            assert!(most <= rounded && merged <= most + margin(most), "{ours} {theirs}: {merged} {most} {rounded}");
            // All ids of a sketch are compared, so this is exact.
            let exact = none_of(common, MOST_TAGS, ours);
            assert!((added - exact).abs() <= margin(exact), "{ours} {theirs}: {added} {exact}");
        }
    }

    /// Counters, whatever their place in the id, are in no order.
    #[test]
    fn ids_that_are_counted_up_have_places_like_random_ones() {
        for shift in [0, 40, 64, 96] {
            for flip in [false, true] {
                let id =
                    |count: u128| if flip { (count << shift).to_be_bytes() } else { (count << shift).to_le_bytes() };
                let places: Vec<u32> = (0..100_000).map(|count| place_of(ReportId::new(id(count)))).collect();
                for share in [0.01, 0.1, 0.5] {
                    let count = places.iter().filter(|&&place| f64::from(place) < share * 4_294_967_296.0).count();
                    let found = count as f64 / 100_000.0;
                    assert!((found - share).abs() < 0.15 * share, "{shift} {flip} {share} {found}");
                }
            }
        }
    }

    /// Of a client that chooses its ids.
    #[test]
    fn ids_of_one_place_only_take_the_places_of_others() {
        let rng = &mut ChaCha8Rng::seed_from_u64(6);
        let (honest, hostile) = (ids(rng, 1000), first_ids(100_000));
        let all = [&honest[..], &hostile].concat();
        let sum = sketch(&all);
        assert!(sum.tags.iter().all(|tag| place_in(tag) == 0));
        assert!(matches!(sum.check_disjoint(&sum), Err(AggregateError::Overlap { shared: MOST_TAGS, .. })));
        assert_eq!(sum.check_disjoint(&sketch(&honest)), Ok(()), "the price");
        // A few leave nearly all places.
        let sum = sketch(&[&honest[..], &hostile[..20]].concat());
        assert!(matches!(sum.check_disjoint(&sketch(&honest)), Err(AggregateError::Overlap { shared: 1000, .. })));
    }

    #[test]
    fn tags_that_reports_cannot_have_are_none() {
        let tags = all_tags_sorted(&ids(&mut ChaCha8Rng::seed_from_u64(7), MOST_TAGS + 1));
        let fits = |records, tags: &[Tag]| Sketch::new(records, tags).is_some();
        for (records, length) in [(0, 0), (3, 3), (MOST_TAGS as u64, MOST_TAGS), (5000, MOST_TAGS)] {
            assert!(fits(records, &tags[..length]) && !fits(records, &tags[..=length]), "{records}");
            assert!(length == 0 || !fits(records, &tags[1..length]), "{records}");
        }
        assert!(!fits(2, &[tags[1], tags[0]]), "not ascending");
        assert!(!fits(2, &[tags[0], tags[0]]), "repeated");
    }
}
