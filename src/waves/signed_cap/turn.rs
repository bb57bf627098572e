//! The public turn of a task: an orthogonal map that spreads every vector over all coordinates.
//!
//! Coordinates of candidates are signs, so a vector with few large coordinates would meet few different scores. Turned,
//! a vector has nearly normal coordinates, unless it was chosen with the task's digest in view. The map is `H D_3 H D_2
//! H D_1` of dimension M (Ailon & Chazelle 2009; Yu et al. 2016): D are signs from the task's digest, and H is the
//! Walsh-Hadamard matrix over sqrt(M).
//!
//! The device turns its vector in integers, the same on every machine. The aggregator turns the sum of all reports back
//! once.

use core::f64::consts::SQRT_2;

use crate::mechanism::cap::table::keystream;
use crate::waves::refinement::{DIRECTION_PLACES, rounded};

/// The fewest coordinates M. The bias of signs is about 1/M of the vector's length at wide caps, up to 9/M at the
/// sharpest.
const LEAST: usize = 2048;

/// The block of the keystream at which the signs D begin, beyond those of all candidates.
const START: u64 = 1 << 63;

/// The turn of one task.
#[derive(Debug)]
pub(crate) struct Turn {
    /// A bit per coordinate and round: whether it changes its sign.
    flips: Vec<u32>,
    dimension: usize,
}

impl Turn {
    /// The turn of vectors of so many coordinates under a task.
    pub(crate) fn new(task_key: &[u8; 16], coordinates: usize) -> Self {
        let dimension = dimension(coordinates);
        let mut key = [0; 32];
        key[..16].copy_from_slice(task_key);
        let mut fours = vec![[0; 64]; 3 * dimension / LEAST];
        keystream(&key, START, &mut fours);
        Self { flips: fours.into_flattened(), dimension }
    }

    /// A vector of length at most 1 in integers, turned: M numbers, in units of about 2^-20. Their length is below
    /// 2^20.6, so that no sum or difference of any of them leaves 32 bits.
    pub(crate) fn apply(&self, u: &[f64]) -> Vec<i32> {
        // Integers in floating point, which has all of them exactly: one transform serves both ways.
        let mut v: Vec<f64> = u.iter().map(|&coordinate| rounded(coordinate) as f64).collect();
        v.resize(self.dimension, 0.0);
        for (round, flips) in self.rounds().enumerate() {
            flip(&mut v, flips);
            transform(&mut v);
            // Over sqrt(M), or over the powers of two next to it in turn.
            let places = (self.dimension.ilog2() as usize + round % 2) / 2;
            let over = 1.0 / (1 << places) as f64;
            v.iter_mut().for_each(|number| *number = (*number * over + 0.5).floor());
        }
        v.into_iter().map(|number| number as i32).collect()
    }

    /// Turns a vector of M numbers back; the first `coordinates` of the result.
    pub(crate) fn back(&self, mut v: Vec<f64>, coordinates: usize) -> Vec<f64> {
        for flips in self.rounds().rev() {
            transform(&mut v);
            flip(&mut v, flips);
        }
        let over = 1.0 / (self.dimension as f64 * (self.dimension as f64).sqrt());
        v.truncate(coordinates);
        v.iter_mut().for_each(|number| *number *= over);
        v
    }

    fn rounds(&self) -> impl DoubleEndedIterator<Item = &[u32]> {
        self.flips.chunks(self.dimension / 32)
    }
}

/// M: the power of two from 2048 on that has room for so many coordinates.
pub(crate) fn dimension(coordinates: usize) -> usize {
    coordinates.next_power_of_two().max(LEAST)
}

/// The length of a unit vector that was turned to so many coordinates.
pub(crate) fn length(dimension: usize) -> f64 {
    let unit = (1u32 << DIRECTION_PLACES) as f64;
    if dimension.ilog2().is_multiple_of(2) { unit } else { unit * SQRT_2 }
}

/// Changes the signs that the bits say. The bits are public.
fn flip(v: &mut [f64], flips: &[u32]) {
    for (place, number) in v.iter_mut().enumerate() {
        if flips[place / 32] >> (place % 32) & 1 == 1 {
            *number = -*number;
        }
    }
}

/// The fast Walsh-Hadamard transform, in natural order.
fn transform(v: &mut [f64]) {
    let mut half = 1;
    while half < v.len() {
        for pair in v.chunks_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (left, right) in left.iter_mut().zip(right) {
                (*left, *right) = (*left + *right, *left - *right);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn norm(v: impl IntoIterator<Item = f64>) -> f64 {
        v.into_iter().map(|number| number * number).sum::<f64>().sqrt()
    }

    /// Turned back, a vector is itself up to the rounding; and lengths stay, up to the factor of odd powers of two.
    #[test]
    fn what_is_turned_back_is_what_it_was() {
        for coordinates in [4, 121, 1201, 2048, 2049, 32_769] {
            let turn = Turn::new(&[7; 16], coordinates);
            let mut u: Vec<f64> = (0..coordinates).map(|place| (place as f64 * 0.7).sin() - 0.2).collect();
            let over = norm(u.iter().copied());
            u.iter_mut().for_each(|number| *number /= over);
            let unit = length(turn.dimension);
            let turned: Vec<f64> = turn.apply(&u).into_iter().map(|number| f64::from(number) / unit).collect();
            assert!((norm(turned.iter().copied()) - 1.0).abs() < 1e-3);
            let back = turn.back(turned, coordinates);
            assert!(norm(back.iter().zip(&u).map(|(back, u)| back - u)) < 3e-4, "{coordinates}");
        }
    }

    /// For an axis, two, all alike and a transform's own row: the fourth moment of normal coordinates.
    #[test]
    fn vectors_are_spread() {
        for coordinates in [121usize, 2048, 5000] {
            let turn = Turn::new(&[1; 16], coordinates);
            let m = coordinates as f64;
            let row = |place: usize| if (place & 73).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 } / m.sqrt();
            let axes = |count: usize| move |place: usize| if place < count { 1.0 / (count as f64).sqrt() } else { 0.0 };
            let vectors: [Vec<f64>; 4] = [
                (0..coordinates).map(axes(1)).collect(),
                (0..coordinates).map(axes(2)).collect(),
                (0..coordinates).map(axes(coordinates)).collect(),
                (0..coordinates).map(row).collect(),
            ];
            for u in vectors {
                let turned = turn.apply(&u);
                let moment = |power: i32| turned.iter().map(|&v| f64::from(v).powi(power)).sum::<f64>();
                let kurtosis = moment(4) * turn.dimension as f64 / moment(2).powi(2);
                // Its deviation is sqrt(96 / M), and 4.9 of them are at most 1.07.
                assert!((kurtosis - 3.0).abs() < 1.1, "{coordinates} {kurtosis}");
            }
        }
    }

    /// The largest sums: a vector whose last transform has all of its length in one place.
    #[test]
    fn no_vector_overflows() {
        let turn = Turn::new(&[2; 16], 32_769);
        let mut v = vec![0.0; turn.dimension];
        v[5] = 1.0;
        let u = turn.back(v, 32_769);
        let over = norm(u.iter().copied());
        let turned = turn.apply(&u.iter().map(|number| number / over).collect::<Vec<_>>());
        let largest = turned.iter().map(|number| number.unsigned_abs()).max().unwrap();
        assert!(f64::from(largest) > 0.6 * f64::from(1 << 20) && largest < 1 << 21, "{largest}");
    }
}
