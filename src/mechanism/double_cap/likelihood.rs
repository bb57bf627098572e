//! The likelihood of a reported candidate, for estimates from whole reports and not only from their sums.
//!
//! Given the record u, the reported candidate z has the density `1 + a P[the score (z . u)^2 is in the cap]`, times
//! that of any candidate, up to a constant: `a = W / 2^32 - 1`. It is in the cap where it exceeds the L-th largest
//! score of the other J - 1, a random threshold t. Over a population in which `z . u` has the variance s, given z, and
//! the law of a coordinate c of mean square 1,
//!
//! ```text
//! H(s) = 1 + a P[|c| > t / sqrt(s)]
//! ```
//!
//! and a rotation of the population changes the logarithm of the likelihood by `H'(s) / H(s)` times the change of s.
//! For c stands a coordinate of the sphere in as many dimensions as the population has: `1 / sum l^2` of its variances
//! l, whose sum is 1. That is exact where they are equal. Elsewhere it is a model, on which only the efficiency
//! depends.

use super::candidates::{Candidates, OFFSET_VARIANCE};
use super::coordinate::Coordinate;
use super::gain::BinomialTail;
use super::sphere::Sphere;
use super::weight::UNIT_WEIGHT;
use super::{DoubleCap, Estimator as _};
use crate::identity::ReportId;

/// Thresholds, each with the same probability.
const THRESHOLDS: usize = 32;

/// Intervals of the table over the root of s.
const INTERVALS: usize = 1024;

/// Halvings of an interval that find a number to the last digit.
const HALVINGS: usize = 60;

/// The fewest dimensions of c: in fewer, its density has no bound.
const FEWEST: f64 = 4.0;

/// Intervals of the integral over c, and its largest value.
const POINTS: usize = 4096;
const LARGEST: f64 = 12.0;

/// The candidates of a mechanism's reports, and their law.
#[derive(Clone, Debug)]
pub(crate) struct Likelihood {
    rows: usize,
    /// One over the deviation of a coordinate.
    scale: f32,
    /// The variance that the offsets of scores add to s.
    offset: f64,
    /// a.
    excess: f64,
    thresholds: Vec<f64>,
}

/// `H'(s) / H(s)` for one population.
#[derive(Clone, Debug)]
pub(crate) struct Slopes {
    offset: f32,
    /// At even steps of the root of s.
    slopes: Vec<f32>,
    /// Steps for each unit of that root.
    per_unit: f32,
}

impl Likelihood {
    pub(crate) fn new(mechanism: &DoubleCap) -> Self {
        let rows = mechanism.state_dimension();
        Self {
            rows,
            scale: (1.0 / mechanism.law().unit.sqrt()) as f32,
            offset: if Sphere::new(rows).is_short() { 0.0 } else { OFFSET_VARIANCE },
            excess: mechanism.weights.inside as f64 / UNIT_WEIGHT as f64 - 1.0,
            thresholds: thresholds(mechanism.candidates, mechanism.cap, rows),
        }
    }

    /// The coordinates of a candidate, of which any has the mean square 1.
    pub(crate) fn candidate(&self, task_key: &[u8; 16], id: ReportId, index: u16) -> Vec<f32> {
        let candidate = Candidates::new(task_key, id, self.rows).candidate(index.into());
        candidate.into_iter().map(|z| f32::from(z) * self.scale).collect()
    }

    /// The slopes for a population of so many dimensions.
    pub(crate) fn slopes(&self, dimensions: f64) -> Slopes {
        // |z|^2 is m, and s at most that.
        let largest = (self.rows as f64 + self.offset).sqrt() * 1.01;
        let law = Magnitude::new(dimensions.max(FEWEST));
        let slope = |step: usize| self.slope((step as f64 / INTERVALS as f64 * largest).powi(2), &law) as f32;
        Slopes {
            offset: self.offset as f32,
            slopes: (0..=INTERVALS).map(slope).collect(),
            per_unit: (INTERVALS as f64 / largest) as f32,
        }
    }

    /// `H'(s) / H(s)`; 0 at 0, which it approaches.
    fn slope(&self, s: f64, law: &Magnitude) -> f64 {
        if s == 0.0 {
            return 0.0;
        }
        let (mut beyond, mut slope) = (0.0, 0.0);
        for &threshold in &self.thresholds {
            let [exceeded, density] = law.beyond(threshold / s.sqrt());
            beyond += exceeded;
            slope += density * threshold / (2.0 * s * s.sqrt());
        }
        self.excess * slope / (self.thresholds.len() as f64 + self.excess * beyond)
    }
}

impl Slopes {
    /// The slope at s, and its derivative.
    pub(crate) fn at(&self, s: f32) -> [f32; 2] {
        let root = (s.max(0.0) + self.offset).sqrt();
        let place = root * self.per_unit;
        let below = (place as usize).min(INTERVALS - 1);
        let part = (place - below as f32).min(1.0);
        let rise = self.slopes[below + 1] - self.slopes[below];
        [self.slopes[below] + part * rise, rise * self.per_unit / (2.0 * root).max(f32::MIN_POSITIVE)]
    }
}

/// The law of the magnitude |c|: at even steps, the probability of a larger one, and the density.
struct Magnitude {
    step: f64,
    points: Vec<[f64; 2]>,
}

impl Magnitude {
    fn new(dimensions: f64) -> Self {
        let step = dimensions.sqrt().min(LARGEST) / POINTS as f64;
        let density = |point: usize| {
            let share = ((point as f64 * step).powi(2) / dimensions).min(1.0);
            libm::exp(0.5 * (dimensions - 3.0) * libm::log1p(-share))
        };
        let mut points: Vec<[f64; 2]> = (0..=POINTS).map(|point| [0.0, density(point)]).collect();
        for point in (0..POINTS).rev() {
            points[point][0] = points[point + 1][0] + 0.5 * step * (points[point][1] + points[point + 1][1]);
        }
        let total = points[0][0];
        points.iter_mut().flatten().for_each(|value| *value /= total);
        Self { step, points }
    }

    fn beyond(&self, magnitude: f64) -> [f64; 2] {
        let place = magnitude / self.step;
        if place >= POINTS as f64 {
            return [0.0; 2];
        }
        let (below, part) = (place as usize, place.fract());
        core::array::from_fn(|index| {
            let [low, high] = [below, below + 1].map(|point| self.points[point][index]);
            low + part * (high - low)
        })
    }
}

/// Equally likely values of the least magnitude `|z . u|` in the cap.
fn thresholds(candidates: u32, cap: u32, rows: usize) -> Vec<f64> {
    let (in_cap, coordinate) = (BinomialTail::new(candidates - 1, cap - 1), Coordinate::new(Some(rows)));
    let threshold = |step: usize| {
        let level = (step as f64 + 0.5) / THRESHOLDS as f64;
        // The share of larger magnitudes with which fewer than L of the others are larger with that probability.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            *(if in_cap.probability(middle) > level { &mut low } else { &mut high }) = middle;
        }
        coordinate.exceeded_with(low)
    };
    (0..THRESHOLDS).map(threshold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::epsilon;

    fn mechanism(rows: usize, e: f64, candidates: u32, cap: u32) -> DoubleCap {
        DoubleCap::new(rows - 1, epsilon(e), candidates, cap).unwrap()
    }

    /// That the thresholds are those of the cap: the share of candidates beyond them is L / J, to the digits of 32 of
    /// them, and so H(1) is the mean weight.
    #[test]
    fn the_share_of_candidates_beyond_a_threshold_is_that_of_the_cap() {
        for (rows, candidates, cap) in [(12, 128, 16), (40, 64, 14), (400, 256, 12)] {
            let coordinate = Coordinate::new(Some(rows));
            let exceeded = |t: f64| {
                let above = coordinate.nodes().partition_point(|node| node.square.sqrt() < t);
                coordinate.nodes()[above].exceeded
            };
            let thresholds = thresholds(candidates, cap, rows);
            assert!(thresholds.is_sorted());
            let mean = thresholds.iter().map(|&t| exceeded(t)).sum::<f64>() / thresholds.len() as f64;
            let share = f64::from(cap) / f64::from(candidates);
            assert!((mean / share - 1.0).abs() < 0.01, "{rows}: {mean} {share}");
        }
    }

    /// H' / H is the derivative of ln H, here with the normal law that many dimensions approach, to 1 % of its largest
    /// value.
    #[test]
    fn slopes_are_those_of_the_logarithm() {
        for (rows, e, candidates, cap) in [(12, 1.0, 64, 14), (40, 2.0, 128, 16), (116, 4.0, 256, 12)] {
            let likelihood = Likelihood::new(&mechanism(rows, e, candidates, cap));
            let excess = libm::exp(e) - 1.0;
            let slopes = likelihood.slopes(1e6);
            let logarithm = |s: f64| {
                let beyond = likelihood.thresholds.iter().map(|t| libm::erfc(t / (2.0 * s).sqrt())).sum::<f64>();
                (1.0 + excess * beyond / likelihood.thresholds.len() as f64).ln()
            };
            let largest = slopes.slopes.iter().fold(0.0, |most, &slope| slope.max(most));
            assert!(largest > 0.0);
            for step in 1..200 {
                let s = rows as f64 * f64::from(step) / 200.0;
                let (h, shifted) = (1e-4 * s, s + likelihood.offset);
                let expected = (logarithm(shifted + h) - logarithm(shifted - h)) / (2.0 * h);
                let found = f64::from(slopes.at(s as f32)[0]);
                assert!((found - expected).abs() < 0.01 * f64::from(largest), "{rows} {s}: {found} {expected}");
            }
            assert_eq!(slopes.slopes[0], 0.0);
        }
    }

    /// In three dimensions a coordinate is uniform, and so on: against closed forms, and mean square 1.
    #[test]
    fn magnitudes_have_the_law_of_a_coordinate() {
        let uniform = Magnitude::new(3.0);
        for x in [0.0, 0.5, 1.0, 1.7] {
            let [beyond, density] = uniform.beyond(x);
            let root = 3.0f64.sqrt();
            assert!((beyond - (1.0 - x / root)).abs() < 1e-3 && (density - 1.0 / root).abs() < 1e-3, "{x}");
        }
        assert_eq!(uniform.beyond(1.8), [0.0; 2]);
        for dimensions in [4.0, 7.5, 40.0, 1000.0] {
            let law = Magnitude::new(dimensions);
            let square = |point: usize| (point as f64 * law.step).powi(2) * law.points[point][1] * law.step;
            let mean: f64 = (0..=POINTS).map(square).sum();
            assert!((mean - 1.0).abs() < 1e-3, "{dimensions}: {mean}");
        }
    }

    #[test]
    fn candidates_are_those_of_the_mechanism_with_unit_coordinates() {
        let likelihood = Likelihood::new(&mechanism(40, 2.0, 128, 16));
        let id = ReportId::new([7; 16]);
        let candidate = likelihood.candidate(&[1; 16], id, 5);
        let integers = Candidates::new(&[1; 16], id, 40).candidate(5);
        let ratio = candidate[0] / f32::from(integers[0]);
        assert!(candidate.iter().zip(&integers).all(|(&z, &integer)| (z - ratio * f32::from(integer)).abs() < 1e-5));
        let square: f32 = candidate.iter().map(|z| z * z).sum::<f32>() / 40.0;
        assert!((square - 1.0).abs() < 0.02, "{square}");
    }
}
