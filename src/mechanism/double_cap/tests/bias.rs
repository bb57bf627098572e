//! The bias of the estimate, computed from the table and measured on the randomizer.
//!
//! Given the record u, the report's candidate z has the law of any candidate, weighted with a function of its score: of
//! the probability B that at most L - 1 of the J - 1 others score higher. The debiased expectation is off by the matrix
//!
//! ```text
//! D = (E[B z z^T] / scale^2 - (L / J) I) / g + I/m - u u^T
//! ```
//!
//! with g what `E[B s^2] - L / J` is for a point of the sphere, times m / (m - 1), and the part that offsets leave;
//! whatever epsilon is: the weights W and 2^32 multiply numerator and denominator alike. The assertion is about the
//! spectral norm of D: no direction of the estimate is off by more than that, in units of the record's own
//! contribution.
//!
//! A record near an axis is the hard case: the table's steps and the few entries of its tails are not mixed. So it is
//! computed, for two coordinates of a short vector exactly (with public bits as if they were independent), and for one
//! or two of a long one with the sum of the other squares as that of normal coordinates with its variance.

use nalgebra::DMatrix;

use crate::mechanism::cap::gain::{at_most, moments_along};
use crate::mechanism::cap::sphere::Sphere;
use crate::mechanism::cap::table::{OFFSET_STEP, TABLE_DEVIATION, TABLE_SECOND_MOMENT, of_magnitudes};

/// "Unbiased" means: off by less.
const LIMIT: f64 = 1e-3;

/// Values of a coordinate and their probabilities.
type Law = Vec<(f64, f64)>;

/// The table's, from -127 on.
fn table() -> Vec<f64> {
    let mut law = vec![0.0; 255];
    (0..=u16::MAX).for_each(|number| law[(i32::from(of_magnitudes(number)) + 127) as usize] += 1.0 / 65_536.0);
    law
}

fn values(law: &[f64]) -> Law {
    let middle = (law.len() / 2) as f64;
    let values = law.iter().enumerate().map(|(place, &p)| (place as f64 - middle, p));
    values.filter(|(_, p)| *p > 1e-12).collect()
}

/// That of a short vector: `29 a + b`.
fn fine_table() -> Law {
    let (table, step) = (table(), TABLE_DEVIATION as usize);
    let mut law = vec![0.0; 254 * (step + 1) + 1];
    for (first, p) in table.iter().enumerate() {
        for (second, q) in table.iter().enumerate() {
            law[step * first + second] += p * q;
        }
    }
    values(&law)
}

/// Slices of the angle between a candidate and the record.
const SLICES: usize = 1 << 16;

/// By slices of the angle: the probability, and second moments 11, 12 and 22 of two coordinates.
struct Scores {
    direction: [f64; 2],
    slices: Vec<[f64; 4]>,
    rows: usize,
}

impl Scores {
    fn new(angle: f64, rows: usize) -> Self {
        Self { direction: [angle.cos(), angle.sin()], slices: vec![[0.0; 4]; SLICES], rows }
    }

    /// `cosine` is that of the angle to the record.
    fn add(&mut self, cosine: f64, p: f64, moments: [f64; 3]) {
        let place = (cosine.min(1.0).acos() / core::f64::consts::FRAC_PI_2 * SLICES as f64) as usize;
        let slice = &mut self.slices[place.min(SLICES - 1)];
        slice[0] += p;
        slice[1..].iter_mut().zip(moments).for_each(|(sum, moment)| *sum += p * moment);
    }

    /// Both coordinates of a vector of two, rounded up or down at random, or to the nearest.
    fn of_two(law: &Law, angle: f64, at_random: bool) -> Self {
        let mut scores = Self::new(angle, 2);
        // -z has the probability of z.
        for &(first, p) in law.iter().filter(|(value, _)| *value >= 0.0) {
            let p = if first == 0.0 { p } else { 2.0 * p };
            for &(second, q) in law {
                let length = first.hypot(second).max(1.0);
                let [a, b] = [first, second].map(|value| 127.0 * value / length);
                let cosine = (first * scores.direction[0] + second * scores.direction[1]).abs() / length;
                let moments = if at_random {
                    let square = |value: f64| {
                        let part = value - value.floor();
                        value * value + part * (1.0 - part)
                    };
                    [square(a), a * b, square(b)]
                } else {
                    let [a, b] = [a, b].map(f64::round);
                    [a * a, a * b, b * b]
                };
                scores.add(cosine, p * q, moments);
            }
        }
        scores
    }

    /// Two coordinates of a long vector, with offsets of scores or without.
    fn of_long(rows: usize, angle: f64, with_offsets: bool) -> Self {
        let (law, sphere, mut scores) = (values(&table()), Sphere::new(rows), Self::new(angle, rows));
        let others = (if angle == 0.0 { rows - 1 } else { rows - 2 }) as f64;
        let radius = (625.0 * rows as f64).sqrt();
        let of_second = if angle == 0.0 { vec![(0.0, 1.0)] } else { law.clone() };
        // Nodes of the law of the other squares' sum, by its cube root, which is nearly normal, and of the triangular
        // one of offsets, whose ends are 0. The former are a hundredth of a deviation of the score apart, for scores of
        // about 1.
        let fourth = law.iter().map(|(value, p)| p * value.powi(4)).sum::<f64>() / TABLE_SECOND_MOMENT.powi(2);
        let degrees = 2.0 * others / (fourth - 1.0);
        let deviation = (2.0 / (9.0 * degrees)).sqrt();
        let step = (0.014 * (rows as f64).sqrt()).min(0.5);
        let steps = (6.0 / step).ceil() as i32;
        let node = |place| {
            let root = 1.0 + deviation * step * f64::from(place);
            let density = |root: f64| (1.5 * degrees - 1.0) * root.ln() - 0.5 * degrees * root.powi(3);
            (others * TABLE_SECOND_MOMENT * root.powi(3), (density(root) - density(1.0)).exp())
        };
        let sums: Law = (-steps..=steps).map(node).filter(|(sum, _)| *sum > 0.0).collect();
        let total: f64 = sums.iter().map(|(_, weight)| weight).sum();
        let most = f64::from(255 * OFFSET_STEP) / 32_767.0;
        let offset = |step| (most * f64::from(step) / 12.0, (12.0 - f64::from(step).abs()) / 144.0);
        let offsets: Law = if with_offsets { (-11..=11).map(offset).collect() } else { vec![(0.0, 1.0)] };
        for &(first, p) in law.iter().filter(|(value, _)| *value >= 0.0) {
            let p = if first == 0.0 { p } else { 2.0 * p };
            for &(second, q) in &of_second {
                let along = first * scores.direction[0] + second * scores.direction[1];
                for &(rest, weight) in &sums {
                    let squares = first * first + second * second + rest;
                    let factor = f64::from(sphere.factor(squares as u64)) / 65_536.0;
                    let rounded = |z: f64| (z * factor + 0.5).floor().clamp(-127.0, 127.0);
                    let [a, b] = [first, second].map(rounded);
                    let moments = [a * a, a * b, b * b];
                    for &(offset, r) in &offsets {
                        let cosine = (along + offset).abs() * factor / radius;
                        scores.add(cosine, p * q * weight / total * r, moments);
                    }
                }
            }
        }
        scores
    }

    /// `E z_1^2`, or the mean of both coordinates'.
    fn unit(&self) -> f64 {
        let sum = |moment: usize| self.slices.iter().map(|slice| slice[moment]).sum::<f64>();
        if self.direction[1] == 0.0 && self.rows > 2 { sum(1) } else { 0.5 * (sum(1) + sum(3)) }
    }

    /// The spectral norm of D on these coordinates.
    fn bias(&self, candidates: u32, cap: u32) -> f64 {
        let (share, m) = (f64::from(cap) / f64::from(candidates), self.rows as f64);
        // q is 1: the mean over the cap.
        let gain = (moments_along(candidates, cap, 1.0, self.rows)[0] - 1.0) * share * m / (m - 1.0);
        let (mut exceeded, mut means) = (0.0, [0.0; 3]);
        for slice in &self.slices {
            // Within a slice, which may be one direction of many vectors, each is as likely to come first.
            let parts = if slice[0] < 1e-6 { 1 } else { 16 };
            let within = |part: u32| exceeded + slice[0] * (f64::from(part) + 0.5) / f64::from(parts);
            let first = |part| at_most(candidates - 1, cap - 1, within(part).min(1.0));
            let b = (0..parts).map(first).sum::<f64>() / f64::from(parts);
            exceeded += slice[0];
            means.iter_mut().zip(&slice[1..]).for_each(|(mean, moment)| *mean += b * moment);
            // Whoever scores less comes first even less often.
            if b < 1e-18 {
                break;
            }
        }
        let unit = self.unit();
        let off = |row: usize, column: usize, mean: f64| {
            let identity = if row == column { 1.0 } else { 0.0 };
            (mean / unit - share * identity) / gain + identity / m - self.direction[row] * self.direction[column]
        };
        if self.direction[1] == 0.0 && self.rows > 2 {
            return off(0, 0, means[0]).abs();
        }
        let beside = off(0, 1, means[1]);
        let matrix = nalgebra::Matrix2::new(off(0, 0, means[0]), beside, beside, off(1, 1, means[2]));
        matrix.symmetric_eigenvalues().amax()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::DoubleCap;
    use crate::mechanism::cap::candidates::Candidates;
    use crate::mechanism::cap::members::permitted_caps;
    use crate::mechanism::cap::weight::UNIT_WEIGHT;
    use crate::mechanism::cap::{MAX_CANDIDATES, largest};
    use crate::privacy::tests::epsilon;
    use crate::tests::random_id;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    /// Every J that is recommended, the ends of the range and some between, with caps from end to end, each about twice
    /// the one before.
    fn permitted() -> Vec<(u32, u32)> {
        let of = |candidates: u32| {
            let (least, most) = permitted_caps(candidates).into_inner();
            let caps = core::iter::successors(Some(least), move |cap| Some((2 * cap).max(cap + 1)));
            caps.take_while(move |cap| *cap < most).chain([most]).map(move |cap| (candidates, cap))
        };
        [2, 3, 64, 128, 256, 1024, 4096, MAX_CANDIDATES].into_iter().flat_map(of).collect()
    }

    fn worst(scores: &Scores) -> (f64, u32, u32) {
        let biases = permitted().into_iter().map(|(j, l)| (scores.bias(j, l), j, l));
        biases.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
    }

    #[test]
    fn the_estimate_of_two_coordinates_is_unbiased() {
        let law = fine_table();
        for angle in [0.0, 2e-3, 0.02, 0.1, 0.4, core::f64::consts::FRAC_PI_4] {
            let scores = Scores::of_two(&law, angle, true);
            let worst = worst(&scores);
            assert!(worst.0 < LIMIT, "angle {angle}: {worst:?}");
            let unit = Sphere::new(2).second_moment();
            assert!((scores.unit() / unit - 1.0).abs() < 1e-5, "{} {unit}", scores.unit());
        }
    }

    #[test]
    fn the_estimate_of_a_sparse_record_is_unbiased() {
        for rows in [21, 40, 116, 400, 4000, 32_768] {
            for angle in [0.0, 2e-3, 0.01, 0.03, 0.2] {
                let worst = worst(&Scores::of_long(rows, angle, true));
                assert!(worst.0 < LIMIT, "{rows} rows, angle {angle}: {worst:?}");
            }
        }
    }

    /// The computation finds what nearest integers, and scores without offsets, would do.
    #[test]
    fn without_random_rounding_or_offsets_it_was_not() {
        let found = Scores::of_two(&fine_table(), 0.1, false).bias(1024, 1);
        assert!(found > 0.005, "{found}");
        for (rows, least) in [(400, 0.0015), (4000, 0.003), (32_768, 0.0035)] {
            let found = worst(&Scores::of_long(rows, 2e-3, false));
            assert!(found.0 > least, "{rows}: {found:?}");
        }
    }

    /// Whole vectors of the randomizer, whose squared lengths differ by less than one part in a hundred.
    #[test]
    fn candidates_have_the_stated_second_moment() {
        let mut rng = ChaCha8Rng::seed_from_u64(29);
        let counts =
            [(2, 400_000), (20, 400_000), (21, 400_000), (40, 400_000), (116, 100_000), (400, 40_000), (4000, 4000)];
        for (rows, count) in counts {
            let lengths: Vec<f64> = (0..count)
                .map(|_| {
                    let candidate = Candidates::new(b"a task's digest.", random_id(&mut rng), rows).candidate(1);
                    candidate.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>() / rows as f64
                })
                .collect();
            let n = f64::from(count);
            let mean = lengths.iter().sum::<f64>() / n;
            let deviation = (lengths.iter().map(|length| (length - mean).powi(2)).sum::<f64>() / n).sqrt();
            let unit = Sphere::new(rows).second_moment();
            assert!((mean - unit).abs() < 1e-5 * unit + 4.9 * deviation / n.sqrt(), "{rows}: {mean} {unit}");
            assert!(deviation < 0.02 * unit, "{rows}: {deviation}");
        }
    }

    /// The randomizer's own reports, every index of an id with its exact probability: each entry of D within the limit
    /// and 5.5 standard errors of its mean over ids (1400 entries: alpha 6e-5).
    #[test]
    fn reports_are_unbiased_along_and_across_the_record() {
        let decaying: Vec<f64> = (0..12).map(|index| 0.6f64.powi(index)).collect();
        let dense: Vec<f64> = (0..24).map(|index| (1.7 * f64::from(index)).sin()).collect();
        let mut sparse = vec![0.0; 24];
        (sparse[3], sparse[20]) = (1.0, 0.003);
        let nearly_one = vec![1.0, 0.003, 0.0];
        // Enough ids to notice biases of a few thousandths.
        for (e, j, l, many, few) in [(1.0, 64, 14, 100_000, 20_000), (8.0, 4096, 7, 1500, 1000)] {
            for (direction, ids) in [(&nearly_one, many), (&decaying, few), (&dense, few), (&sparse, few)] {
                let length = direction.iter().map(|value| value * value).sum::<f64>().sqrt();
                let u: Vec<f64> = direction.iter().map(|value| value / length).collect();
                let m = u.len() as f64;
                let mechanism = DoubleCap::new(u.len() - 1, epsilon(e), j, l).unwrap();
                let more = (mechanism.weights.inside - UNIT_WEIGHT) as f64 / mechanism.weights.total() as f64;
                let mut rng = ChaCha8Rng::seed_from_u64(23);
                let (mut sums, mut squares) =
                    (DMatrix::<f64>::zeros(u.len(), u.len()), DMatrix::<f64>::zeros(u.len(), u.len()));
                for _ in 0..ids {
                    let id = random_id(&mut rng);
                    let candidates = || Candidates::new(b"a task's digest.", id, u.len());
                    let in_cap = largest(&candidates().scores(&u, j), l);
                    let mut mean = DMatrix::identity(u.len(), u.len()) * -f64::from(l);
                    for (index, _) in (0..).zip(in_cap).filter(|(_, member)| *member) {
                        let z = nalgebra::DVector::from_iterator(
                            u.len(),
                            candidates().candidate(index).into_iter().map(f64::from),
                        );
                        mean.ger(1.0 / mechanism.unit(), &z, &z, 1.0);
                    }
                    mean *= more / mechanism.gain();
                    sums += &mean;
                    squares += mean.component_mul(&mean);
                }
                let n = f64::from(ids);
                for row in 0..u.len() {
                    for column in 0..=row {
                        let mean = sums[(row, column)] / n;
                        let deviation = (squares[(row, column)] / n - mean * mean).sqrt();
                        let level = if row == column { 1.0 / m } else { 0.0 };
                        let (error, allowed) = (mean + level - u[row] * u[column], LIMIT + 5.5 * deviation / n.sqrt());
                        assert!(error.abs() < allowed, "eps {e} entry {row},{column}: {error} > {allowed}");
                    }
                }
            }
        }
    }
}
