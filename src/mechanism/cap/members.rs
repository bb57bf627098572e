//! The members of the cap: how many are permitted, and the selection of the L of J scores without a branch or an
//! address that depends on them.

use core::ops::RangeInclusive;

/// The largest J. Beyond it the ranking is sharper than the table's steps: the bias of the estimate would show.
pub const MAX_CANDIDATES: u32 = 16_384;

/// The most candidates per member of the cap: the table has few scores beyond those of one in this many.
const MOST_TO_A_MEMBER: u32 = 1024;

/// The permitted L for a J: those for which the bias of double-cap is below 1e-3 (its tests/bias.rs), and the cap at
/// most half.
pub(in crate::mechanism) fn permitted_caps(candidates: u32) -> RangeInclusive<u32> {
    candidates.div_ceil(MOST_TO_A_MEMBER)..=candidates / 2
}

/// For each score, below 2^48, whether it is among the `count` largest, ties to the lower index: exactly `count` of
/// them are.
///
/// The time depends only on the number of scores: a binary search for the threshold over all bits of a key, which
/// counts every time.
///
/// # Panics
/// If there are more than 65,536 scores (an index must fit 16 bits).
#[must_use]
pub fn largest(scores: &[u64], count: u32) -> Vec<bool> {
    assert!(scores.len() <= 1 << 16, "more scores than 16-bit indices");
    // The score first, then the index from the end: keys are distinct, and a tie goes to the lower index.
    let keys: Vec<u64> =
        scores.iter().zip((0..=u64::from(u16::MAX)).rev()).map(|(&score, index)| score << 16 | index).collect();
    let mut threshold = 0u64;
    for bit in (0..64).rev() {
        let candidate = threshold | (1 << bit);
        let at_least: u32 = keys.iter().map(|&key| u32::from(key >= candidate)).sum();
        // All ones where at least `count` keys reach the candidate threshold.
        threshold |= (1 << bit) & u64::from(at_least >= count).wrapping_neg();
    }
    keys.iter().map(|&key| key >= threshold).collect()
}

/// The index of the `rank`-th (from 0) entry of `flags` that equals `wanted`. Every entry is visited, whatever the
/// answer.
#[must_use]
pub fn nth_member(flags: &[bool], wanted: bool, rank: u64) -> usize {
    let (mut seen, mut found) = (0u64, 0usize);
    for (index, &flag) in flags.iter().enumerate() {
        let member = flag == wanted;
        found |= index & usize::from(member & (seen == rank)).wrapping_neg();
        seen += u64::from(member);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest score.
    const MOST: u64 = (1 << 48) - 1;

    #[test]
    fn every_member_of_either_side_has_one_rank() {
        for length in 1..=10 {
            for bits in 0u32..1 << length {
                let flags: Vec<bool> = (0..length).map(|index| bits >> index & 1 == 1).collect();
                for side in [true, false] {
                    let members: Vec<usize> = (0..length).filter(|&index| flags[index] == side).collect();
                    let found: Vec<usize> =
                        (0..members.len()).map(|rank| nth_member(&flags, side, rank as u64)).collect();
                    assert_eq!(found, members, "{flags:?}");
                }
            }
        }
    }

    /// All scores that five candidates can have from 0 to 4, and caps of every size: the rule by its definition.
    #[test]
    fn the_cap_has_its_size_for_all_small_scores() {
        for number in 0..5u64.pow(5) {
            let scores: [u64; 5] = core::array::from_fn(|index| number / 5u64.pow(index as u32) % 5);
            for count in 0..=5 {
                let in_cap = largest(&scores, count);
                assert_eq!(in_cap.iter().filter(|&&member| member).count(), count as usize, "{scores:?}");
                for (one, member) in in_cap.iter().enumerate() {
                    let before = |other: &usize| {
                        let (own, theirs) = (scores[one], scores[*other]);
                        theirs > own || theirs == own && *other < one
                    };
                    let ahead = (0..5).filter(before).count();
                    assert_eq!(*member, ahead < count as usize, "{count} of {scores:?}");
                }
            }
        }
    }

    #[test]
    fn among_as_many_equal_scores_as_there_can_be_the_first_are_in_the_cap() {
        for (length, count) in [(16_384, 16), (16_384, 8192), (65_536, 1), (65_536, 65_535), (65_536, 65_536)] {
            for score in [0, 1, MOST] {
                let in_cap = largest(&vec![score; length], count);
                assert!(in_cap.iter().enumerate().all(|(index, &member)| member == (index < count as usize)));
            }
        }
        // The scores decide before the indices, in their highest and in their lowest bit.
        for (most, more, others) in [(MOST, MOST - 1, MOST - 2), (1 << 47, 1 << 46, 0), (2, 1, 0)] {
            let mut scores = vec![others; 65_536];
            (scores[65_535], scores[65_534]) = (more, most);
            assert!((0..2).all(|index| !largest(&scores, 2)[index] && largest(&scores, 2)[65_535 - index]));
            assert!(largest(&scores, 1)[65_534]);
        }
    }
}
