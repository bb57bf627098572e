//! The cap: which L of J scores are largest, found without a branch or an address that depends on them.

/// For each score whether it is among the `count` largest magnitudes, ties to the lower index: exactly `count` of
/// them are.
///
/// The time depends on the number of scores alone: a binary search for the threshold over all bits of a key, counting
/// every time.
///
/// # Panics
/// If there are more than 65,536 scores (an index must fit 16 bits).
#[must_use]
pub fn largest(scores: &[i32], count: u32) -> Vec<bool> {
    assert!(scores.len() <= 1 << 16, "more scores than 16-bit indices");
    // Magnitude first, then the index from the end: keys are distinct, and a tie goes to the lower index.
    let keys: Vec<u64> = scores
        .iter()
        .zip((0..=u64::from(u16::MAX)).rev())
        .map(|(&score, index)| (u64::from(score.unsigned_abs()) << 16) | index)
        .collect();
    let mut threshold = 0u64;
    for bit in (0..48).rev() {
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
    use proptest::prelude::*;

    #[test]
    fn ties_go_to_the_lower_index() {
        assert_eq!(largest(&[3, -5, 5, 5, 0], 2), [false, true, true, false, false]);
        assert_eq!(largest(&[0, 0, 0], 1), [true, false, false]);
        assert_eq!(largest(&[i32::MIN, i32::MAX, 1], 1), [true, false, false]);
    }

    #[test]
    fn members_are_counted_on_both_sides() {
        let flags = [true, false, true, false, false];
        assert_eq!([nth_member(&flags, true, 0), nth_member(&flags, true, 1)], [0, 2]);
        assert_eq!([nth_member(&flags, false, 0), nth_member(&flags, false, 2)], [1, 4]);
    }

    proptest! {
        /// Scores from a small range make ties the rule.
        #[test]
        fn the_cap_is_what_sorting_gives(scores in prop::collection::vec(-4i32..4, 2..80), part in 0.0f64..1.0) {
            let count = 1 + (part * (scores.len() - 1) as f64) as usize;
            let mut order: Vec<usize> = (0..scores.len()).collect();
            order.sort_by_key(|&index| (std::cmp::Reverse(scores[index].unsigned_abs()), index));
            let mut expected = vec![false; scores.len()];
            order[..count].iter().for_each(|&index| expected[index] = true);
            prop_assert_eq!(largest(&scores, count as u32), expected);
        }
    }
}
