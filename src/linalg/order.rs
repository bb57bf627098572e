//! Sorting by numbers, largest first, in one place: every further comparison would add some kilobytes of sorting code,
//! a tenth of what a page loads.

/// Sorts numbers, largest first.
#[inline(never)]
pub(crate) fn sort_descending(values: &mut [f64]) {
    values.sort_unstable_by(|left, right| right.total_cmp(left));
}

/// The items, those with the largest keys first; equal ones keep their order.
pub(crate) fn sorted_descending<T>(items: Vec<T>, key: impl Fn(&T) -> f64) -> Vec<T> {
    let order = descending_order(&items.iter().map(key).collect::<Vec<_>>());
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order.into_iter().filter_map(|place| items[place].take()).collect()
}

/// The places of the keys, from the largest to the smallest; equal ones keep their order.
#[inline(never)]
fn descending_order(keys: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by(|&left, &right| keys[right].total_cmp(&keys[left]).then(left.cmp(&right)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_ties_keep_their_order() {
        let mut values = [1.0, -0.0, f64::INFINITY, 3.0, 0.0, -2.0, 1.0];
        sort_descending(&mut values);
        assert_eq!(values.map(f64::to_bits), [f64::INFINITY, 3.0, 1.0, 1.0, 0.0, -0.0, -2.0].map(f64::to_bits));
        let items: Vec<(u32, usize)> = (0..500).map(|index| (index % 7, index as usize)).collect();
        let mut expected = items.clone();
        expected.sort_by_key(|item| core::cmp::Reverse(item.0));
        assert_eq!(sorted_descending(items, |item| f64::from(item.0)), expected);
        assert!(sorted_descending(Vec::<f64>::new(), |value| *value).is_empty());
    }
}
