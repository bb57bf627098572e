//! Sorting, in one place and by a heap: every comparison that a slice is sorted by adds some five kilobytes of sorting
//! code to what a page loads, and a heap adds a tenth of that. What is sorted here has an entry for each feature, or
//! for each replicate, and takes far longer to compute than to sort.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sorts numbers, largest first.
pub fn sort_descending(values: &mut [f64]) {
    let sorted: Vec<f64> = descending_order(values).into_iter().map(|place| values[place]).collect();
    values.copy_from_slice(&sorted);
}

/// Sorts numbers, smallest first.
pub fn sort_ascending(values: &mut [f64]) {
    sort_descending(values);
    values.reverse();
}

/// Sorts rows of a matrix by their places.
#[inline(never)]
pub fn sort_rows(rows: &mut Vec<usize>) {
    *rows = BinaryHeap::from(std::mem::take(rows)).into_sorted_vec();
}

/// The items, those with the largest keys first; equal ones keep their order.
pub fn sorted_descending<T>(items: Vec<T>, key: impl Fn(&T) -> f64) -> Vec<T> {
    let order = descending_order(&items.iter().map(key).collect::<Vec<_>>());
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order.into_iter().filter_map(|place| items[place].take()).collect()
}

/// The places of the keys, from the largest to the smallest; equal ones keep their order.
#[inline(never)]
fn descending_order(keys: &[f64]) -> Vec<usize> {
    let places = keys.iter().enumerate().map(|(place, &key)| (Reverse(in_total_order(key)), place));
    places.collect::<BinaryHeap<_>>().into_sorted_vec().into_iter().map(|(_, place)| place).collect()
}

/// A whole number that is ordered as [`f64::total_cmp`] orders.
fn in_total_order(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    bits ^ (((bits >> 63).cast_unsigned()) >> 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_ties_keep_their_order() {
        let mut values = [1.0, -0.0, f64::INFINITY, 3.0, 0.0, -2.0, 1.0];
        sort_descending(&mut values);
        assert_eq!(values.map(f64::to_bits), [f64::INFINITY, 3.0, 1.0, 1.0, 0.0, -0.0, -2.0].map(f64::to_bits));
        let mut ascending = [f64::NAN, 2.0, -f64::NAN, -3.0, f64::MIN_POSITIVE / 4.0, 0.0, -0.0];
        let mut sorted = ascending;
        sort_ascending(&mut ascending);
        sorted.sort_by(f64::total_cmp);
        assert_eq!(ascending.map(f64::to_bits), sorted.map(f64::to_bits));
        let mut rows = vec![5, 0, 7, 5, 2];
        sort_rows(&mut rows);
        assert_eq!(rows, [0, 2, 5, 5, 7]);
        let items: Vec<(u32, usize)> = (0..500).map(|index| (index % 7, index as usize)).collect();
        let mut expected = items.clone();
        expected.sort_by_key(|item| Reverse(item.0));
        assert_eq!(sorted_descending(items, |item| f64::from(item.0)), expected);
        assert!(sorted_descending(Vec::<f64>::new(), |value| *value).is_empty());
    }
}
