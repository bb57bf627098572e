//! The bias of the estimate, computed from the table and measured on the randomizer.
//!
//! Given the record u, the report's candidate z has the law of any candidate, weighted with a function of its score: of
//! the probability B that at most L - 1 of the J - 1 others score higher. The debiased expectation is off by the matrix
//!
//! ```text
//! D = (E[B z z^T] / scale^2 - (L / J) I) / g - u u^T,      g = KEPT × (what E[B G^2] - L / J is for normal scores G)
//! ```
//!
//! whatever epsilon is: the weights W and 2^32 multiply numerator and denominator alike. Coordinates where u is 0 are
//! independent of the score, so D is 0 there and in their rows. The assertion is about the spectral norm of D: no
//! direction of the estimate is off by more than that, in units of the record's own contribution.

use nalgebra::DMatrix;

use crate::mechanism::double_cap::candidates::{KEPT, TABLE_SECOND_MOMENT};
use crate::mechanism::double_cap::gain::{BinomialTail, gain};
use crate::mechanism::double_cap::table::of_magnitudes;

/// "Unbiased" means: off by less.
const LIMIT: f64 = 1e-3;

/// Scores are counted in slices of this part of a step of the table.
const SLICES: usize = 32;

/// An offset is the sum of two uniform numbers, each three steps wide.
const OFFSET: usize = 3 * SLICES;

/// Values of a coordinate and their probabilities.
type Law = Vec<(f64, f64)>;

fn table() -> Law {
    let mut counts = [0u32; 255];
    (0..=u16::MAX).for_each(|number| counts[(i32::from(of_magnitudes(number)) + 127) as usize] += 1);
    let probability = |count: u32| f64::from(count) / 65_536.0;
    let law = counts.iter().zip(-127..).map(|(&count, value)| (f64::from(value), probability(count)));
    law.filter(|(_, probability)| *probability > 0.0).collect()
}

/// The quantiles at the middles of 4096 cells, at scale 30: the table before.
fn quantiles() -> Law {
    let quantile = |cell: u32| {
        let (p, mut low, mut high) = ((f64::from(cell) + 0.5) / 4096.0, -8.0f64, 8.0f64);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let below = 0.5 * libm::erfc(-middle * core::f64::consts::FRAC_1_SQRT_2);
            if below < p { low = middle } else { high = middle }
        }
        (30.0 * low).round()
    };
    let mut law = Law::new();
    for value in (0..4096).map(quantile) {
        match law.last_mut() {
            Some((last, probability)) if *last == value => *probability += 1.0 / 4096.0,
            _ => law.push((value, 1.0 / 4096.0)),
        }
    }
    law
}

fn second_moment(law: &Law) -> f64 {
    law.iter().map(|(value, probability)| value * value * probability).sum()
}

/// A direction's law, by slices of the magnitude of the score: its probability, and second moments of coordinates.
struct Scores {
    probability: Vec<f64>,
    /// Of coordinates i <= j, the upper triangle row by row.
    moments: Vec<Vec<f64>>,
    direction: Vec<f64>,
    scale_squared: f64,
}

/// Adds to the two slices that `score` is between.
fn add(slices: &mut Vec<f64>, score: f64, amount: f64) {
    let place = score.abs() * SLICES as f64;
    let (first, part) = (place as usize, place.fract());
    if slices.len() < first + 2 {
        slices.resize(first + 2, 0.0);
    }
    slices[first] += (1.0 - part) * amount;
    slices[first + 1] += part * amount;
}

impl Scores {
    /// The scores of up to three coordinates, by enumeration of all their values.
    fn exact(law: &Law, direction: &[f64]) -> Self {
        let length = direction.iter().map(|value| value * value).sum::<f64>().sqrt();
        let direction: Vec<f64> = direction.iter().map(|value| value / length).collect();
        let nothing = vec![(0.0, 1.0)];
        let of = |coordinate: usize| if coordinate < direction.len() { law } else { &nothing };
        let factor = |coordinate: usize| direction.get(coordinate).copied().unwrap_or(0.0);
        let mut scores = Self {
            probability: vec![],
            moments: vec![vec![]; direction.len() * (direction.len() + 1) / 2],
            scale_squared: second_moment(law),
            direction: direction.clone(),
        };
        // -z has the probability of z.
        for &(first, p) in of(0).iter().filter(|(value, _)| *value >= 0.0) {
            let p = if first == 0.0 { p } else { 2.0 * p };
            for &(second, q) in of(1) {
                for &(third, r) in of(2) {
                    let (z, p) = ([first, second, third], p * q * r);
                    let score = z[0] * factor(0) + z[1] * factor(1) + z[2] * factor(2);
                    add(&mut scores.probability, score, p);
                    let pairs = (0..direction.len()).flat_map(|i| (i..direction.len()).map(move |j| (i, j)));
                    for (moments, (i, j)) in scores.moments.iter_mut().zip(pairs) {
                        add(moments, score, p * z[i] * z[j]);
                    }
                }
            }
        }
        scores
    }

    /// The spectral norm of D. The offsets are sums of two uniform numbers of `width` slices.
    fn bias(&self, candidates: u32, cap: u32, width: usize) -> f64 {
        let weights = weights(&self.probability, candidates, cap, width);
        let share = f64::from(cap) / f64::from(candidates);
        let gain = known_gain(candidates, cap, self.scale_squared, width);
        let d = self.direction.len();
        let mut moments = self.moments.iter();
        let mut deviation = DMatrix::zeros(d, d);
        for i in 0..d {
            for j in i..d {
                let moment: f64 = moments.next().unwrap().iter().zip(&weights).map(|(a, b)| a * b).sum();
                let identity = if i == j { share } else { 0.0 };
                let value = (moment / self.scale_squared - identity) / gain - self.direction[i] * self.direction[j];
                (deviation[(i, j)], deviation[(j, i)]) = (value, value);
            }
        }
        deviation.symmetric_eigenvalues().amax()
    }
}

/// g: [`gain`] is q E[B G^2] J / L + (1 - q) (…) - 1, and q = 1 leaves J / L times what is wanted.
fn known_gain(candidates: u32, cap: u32, scale_squared: f64, width: usize) -> f64 {
    let kept = if width == OFFSET && scale_squared == TABLE_SECOND_MOMENT { KEPT } else { 1.0 };
    kept * gain(candidates, cap, 1.0) * f64::from(cap) / f64::from(candidates)
}

/// B for every slice of the score, averaged over the offset.
fn weights(probability: &[f64], candidates: u32, cap: u32, width: usize) -> Vec<f64> {
    let reach = probability.len() + width + 1;
    let middle = reach;
    let mut density = vec![0.0; 2 * reach + 1];
    for (slice, p) in probability.iter().enumerate() {
        density[middle + slice] += 0.5 * p;
        density[middle - slice] += 0.5 * p;
    }
    let density = smoothed(&smoothed(&density, width), width);
    let tail = BinomialTail::new(candidates - 1, cap - 1);
    let mut exceeded = 0.0;
    let mut outwards = vec![0.0; reach + 1];
    for slice in (0..=reach).rev() {
        let p = density[middle + slice] * if slice == 0 { 1.0 } else { 2.0 };
        outwards[slice] = tail.probability((exceeded + 0.5 * p).min(1.0));
        exceeded += p;
    }
    let both: Vec<f64> = (0..=2 * reach).map(|place| outwards[place.abs_diff(middle)]).collect();
    smoothed(&smoothed(&both, width), width)[middle..].to_vec()
}

/// Means over `width` slices around each, the two at the ends counted half.
fn smoothed(values: &[f64], width: usize) -> Vec<f64> {
    if width == 0 {
        return values.to_vec();
    }
    let mut sums = vec![0.0];
    sums.extend(values.iter().scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum)
    }));
    let last = values.len() - 1;
    let at = |place: isize| values[place.clamp(0, last as isize) as usize];
    // Beyond its ends a sequence goes on with its last values.
    let up_to = |place: isize| {
        let inside = sums[place.clamp(0, values.len() as isize) as usize];
        inside + (place - place.clamp(0, values.len() as isize)) as f64 * at(place)
    };
    let half = (width / 2) as isize;
    (0..values.len() as isize)
        .map(|place| {
            let whole = up_to(place + half + 1) - up_to(place - half);
            (whole - 0.5 * (at(place - half) + at(place + half))) / width as f64
        })
        .collect()
}

/// The spectral norm of D for `count` equal coordinates: its eigenvalue along them and the one across.
fn bias_of_equal(law: &Law, count: usize, candidates: u32, cap: u32) -> f64 {
    let scale_squared = second_moment(law);
    let dense = |law: &Law| {
        let mut dense = vec![0.0; 255];
        law.iter().for_each(|(value, p)| dense[(value + 127.0) as usize] += p);
        dense
    };
    let convolved = |left: &[f64], right: &[f64]| {
        let mut sum = vec![0.0; left.len() + right.len() - 1];
        for (i, a) in left.iter().enumerate() {
            sum[i..].iter_mut().zip(right).for_each(|(sum, b)| *sum += a * b);
        }
        sum
    };
    let own = dense(law);
    let squares: Vec<f64> = own.iter().zip(-127..).map(|(p, value)| p * f64::from(value * value)).collect();
    let others = (1..count).fold(vec![1.0], |sum, _| convolved(&sum, &own));
    let sums = convolved(&others, &own);
    let with_square = convolved(&others, &squares);
    let root = (count as f64).sqrt();
    let (mut probability, mut along, mut first) = (vec![], vec![], vec![]);
    for (place, (p, square)) in sums.iter().zip(with_square).enumerate() {
        let score = (place as f64 - 127.0 * count as f64) / root;
        add(&mut probability, score, *p);
        add(&mut along, score, p * score * score);
        add(&mut first, score, square);
    }
    let weights = weights(&probability, candidates, cap, OFFSET);
    let mean = |moments: &[f64]| moments.iter().zip(&weights).map(|(a, b)| a * b).sum::<f64>() / scale_squared;
    let share = f64::from(cap) / f64::from(candidates);
    let gain = known_gain(candidates, cap, scale_squared, OFFSET);
    let (along, first, count) = (mean(&along), mean(&first), count as f64);
    // M has `first` on the diagonal, and `along` = first + (count - 1) × what it has beside it.
    let beside = (along - first) / (count - 1.0);
    ((along - share) / gain - 1.0).abs().max(((first - beside - share) / gain).abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::ReportId;
    use crate::mechanism::double_cap::candidates::Candidates;
    use crate::mechanism::double_cap::cap::{self, permitted_caps};
    use crate::mechanism::double_cap::weight::UNIT_WEIGHT;
    use crate::mechanism::double_cap::{DoubleCap, MAX_CANDIDATES};
    use crate::privacy::tests::epsilon;
    use crate::record::Bounding;
    use chacha20::ChaCha8Rng;
    use rand::{Rng, SeedableRng};

    /// Every J that is recommended, the ends of the range and some between, with caps from end to end, a third apart.
    fn permitted() -> Vec<(u32, u32)> {
        let of = |candidates: u32| {
            let (least, most) = permitted_caps(candidates).into_inner();
            let caps = core::iter::successors(Some(least), move |cap| Some((cap + cap / 3).max(cap + 1)));
            caps.take_while(move |cap| *cap < most).chain([most]).map(move |cap| (candidates, cap))
        };
        [2, 3, 64, 128, 256, 1024, 4096, MAX_CANDIDATES].into_iter().flat_map(of).collect()
    }

    /// A record near an axis is the hard case: the table's steps and the few entries of its tails are not mixed.
    #[test]
    fn the_estimate_of_a_sparse_record_is_unbiased() {
        let law = table();
        assert_eq!(second_moment(&law), TABLE_SECOND_MOMENT);
        let angles = [0.0, 1e-4, 2e-3, 5e-3, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4, 0.6];
        let worst = angles.into_iter().chain([core::f64::consts::FRAC_PI_4]).map(|angle: f64| {
            let scores = Scores::exact(&law, &[angle.cos(), angle.sin()]);
            let biases = permitted().into_iter().map(|(j, l)| (scores.bias(j, l, OFFSET), j, l));
            let worst = biases.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            assert!(worst.0 < LIMIT, "angle {angle}: {worst:?}");
            worst.0
        });
        let worst = worst.fold(0.0, f64::max);
        // The limit is not a loose one.
        assert!(worst > 0.3 * LIMIT, "{worst}");
    }

    #[test]
    fn the_estimate_of_three_coordinates_is_unbiased() {
        let law = table();
        for direction in [[1.0, 0.03, 0.03], [1.0, 1.0, 0.02], [1.0, 0.5, 0.25], [1.0, 0.2, -0.01]] {
            let scores = Scores::exact(&law, &direction);
            for (j, l) in [(64, 14), (128, 16), (1024, 1), (1024, 9), (4096, 7), (16_384, 27), (16_384, 90)] {
                let bias = scores.bias(j, l, OFFSET);
                assert!(bias < LIMIT, "{direction:?} J {j} L {l}: {bias}");
            }
        }
    }

    #[test]
    fn the_estimate_of_equal_coordinates_is_unbiased() {
        let law = table();
        for count in [2, 4, 32] {
            for (j, l) in permitted() {
                let bias = bias_of_equal(&law, count, j, l);
                assert!(bias < LIMIT, "{count} coordinates J {j} L {l}: {bias}");
            }
        }
    }

    /// A hard case: a second coordinate that is next to nothing.
    #[test]
    fn without_tails_or_offsets_it_was_not() {
        let (before, now) = (quantiles(), table());
        let bias = |law: &Law, direction: [f64; 2], j, l, width| Scores::exact(law, &direction).bias(j, l, width);
        for (j, l, least) in [(256, 10, 0.0018), (1024, 9, 0.0045), (4096, 7, 0.019), (16_384, 27, 0.019)] {
            let found = bias(&before, [1.0, 0.0], j, l, 0);
            assert!(found > least, "J {j} L {l}: {found}");
        }
        // Where scores are nearly equal, 0.003 in the second coordinate decides.
        for law in [&before, &now] {
            let found = bias(law, [1.0, 0.003], 64, 14, 0);
            assert!((0.005..0.008).contains(&found), "{found}");
        }
        // Steeper caps and larger numbers of candidates than are permitted.
        assert!(bias(&now, [1.0, 0.0], 65_536, 4, OFFSET) > LIMIT);
        assert!(bias(&now, [1.0, 0.05], 64, 63, OFFSET) > LIMIT);
    }

    /// The randomizer's own reports, every index of an id with its exact probability: each entry of D within the limit
    /// and 5.5 standard errors of its mean over ids (440 entries: alpha 2e-5).
    #[test]
    fn reports_are_unbiased_along_and_across_the_record() {
        let decaying: Vec<f64> = (0..12).map(|index| 0.6f64.powi(index)).collect();
        let dense: Vec<f64> = (0..16).map(|index| (1.7 * f64::from(index)).sin()).collect();
        let nearly_one = vec![1.0, 0.003, 0.0];
        // Enough ids to notice the biases of the test above.
        for (e, j, l, many, few) in [(1.0, 64, 14, 100_000, 20_000), (8.0, 4096, 7, 1500, 1000)] {
            for (direction, ids) in [(&nearly_one, many), (&decaying, few), (&dense, few)] {
                let length = direction.iter().map(|value| value * value).sum::<f64>().sqrt();
                let u: Vec<f64> = direction.iter().map(|value| value / length).collect();
                let mechanism = DoubleCap::new(u.len(), Bounding::UnitNorm, epsilon(e), j, l).unwrap();
                let more = (mechanism.weights.inside - UNIT_WEIGHT) as f64 / mechanism.weights.total as f64;
                let mut rng = ChaCha8Rng::seed_from_u64(23);
                let (mut sums, mut squares) =
                    (DMatrix::<f64>::zeros(u.len(), u.len()), DMatrix::<f64>::zeros(u.len(), u.len()));
                for _ in 0..ids {
                    let mut id = [0; 16];
                    rng.fill_bytes(&mut id);
                    let candidates = || Candidates::new(b"a task's digest.", ReportId::new(id), u.len());
                    let in_cap = cap::largest(&candidates().scores(&u, j), l);
                    let mut mean = DMatrix::identity(u.len(), u.len()) * -f64::from(l);
                    for (index, _) in (0..).zip(in_cap).filter(|(_, member)| *member) {
                        let z = nalgebra::DVector::from_iterator(
                            u.len(),
                            candidates().candidate(index).into_iter().map(f64::from),
                        );
                        mean.ger(1.0 / TABLE_SECOND_MOMENT, &z, &z, 1.0);
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
                        let (error, allowed) = (mean - u[row] * u[column], LIMIT + 5.5 * deviation / n.sqrt());
                        assert!(error.abs() < allowed, "eps {e} entry {row},{column}: {error} > {allowed}");
                    }
                }
            }
        }
    }
}
