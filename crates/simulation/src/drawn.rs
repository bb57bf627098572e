//! Reports drawn from their exact law, in `O(d)` operations each, instead of from the randomizer.
//!
//! *Double-cap.* The randomizer ranks J candidates by the magnitude of their coordinate `z . u` along the record u and
//! reports one of them: each of the first L with weight W, each of the others with weight 2^32. The rank r of the
//! reported one is drawn by the same integers. Given the rank, that coordinate is the r-th largest magnitude of J of a
//! sphere, so the probability of a larger magnitude has the law Beta(r, J - r + 1) of the r-th of J sorted uniform
//! numbers, and the coordinate s is its quantile. (Its sign changes nothing: -z is reported as z is.) Nothing across
//! the record affects the choice of the report: that part has the direction of a nearly Gaussian vector across u, whose
//! coordinates come from the mechanism's own table, and the length that s leaves. Two things are approximate: real
//! candidates are integers, and the offsets of long vectors' scores count as if scores were normal.
//!
//! *Signed-cap.* The same with the sign. Candidates count as uniform on their sphere, so the bias of signs is left out,
//! and so is the rounding of the vector and its turn. Only the coordinates of the vector are drawn; the squared length
//! of the others counts as its mean.
//!
//! *Gaussian.* The mean of n reports is the mean of `x x^T` with one symmetric matrix of independent normal entries, of
//! 1/n times the variance of one report's. The variance includes that of rounding to sixteenths of a deviation, whose
//! sum over n reports counts as normal too.
//!
//! The sums of an aggregator are drawn; debiasing and recovery are the real ones. Effects that a simulation could not
//! show are left out: records rounded to 2^-20, clamping beyond six deviations, and the rounding of sums to integers.
//! Nothing here is secret, so the generator is a fast one.

use ldp_pca::centring::Centring;
use ldp_pca::internal::mechanism::cap::coordinate::Coordinate;
use ldp_pca::internal::mechanism::cap::{Weights, candidates, kept};
use ldp_pca::internal::mechanism::{Moments, Perturbation};
use ldp_pca::internal::waves::SignedCap;
use ldp_pca::mechanism::{DoubleCap, LocalRandomizer, Mechanism};
use nalgebra::DMatrix;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Beta, Distribution, StandardNormal};

use super::collection::{Collection, Estimate};
use super::moments::{Block, OuterProducts};
use super::population::SpikedModel;

/// Draws `count` records and, block by block, the reports of each mechanism for them; extended ones with centring.
pub(super) fn collect<R: Rng + ?Sized>(
    population: &SpikedModel,
    mechanisms: &[Mechanism],
    centring: Option<Centring>,
    count: u64,
    rng: &mut R,
    mut progress: impl FnMut(u64),
) -> Collection {
    let features = population.subspace().dimension();
    let dimension = features + usize::from(centring.is_some());
    let mut records_rng = Xoshiro256PlusPlus::from_rng(rng);
    let mut sums: Vec<DrawnSums<'_>> =
        mechanisms.iter().map(|mechanism| DrawnSums::new(mechanism, Xoshiro256PlusPlus::from_rng(rng))).collect();
    let mut products = OuterProducts::new(dimension);
    let fill = |record: &mut [f64]| {
        population.fill(&mut record[..features], &mut records_rng);
        if let Some(centring) = centring {
            let share = (1.0 - centring.weight()).sqrt();
            record[..features].iter_mut().for_each(|value| *value *= share);
            record[features] = centring.weight().sqrt();
        }
    };
    Block::each(dimension, count, fill, |records| {
        products.add(records);
        sums.iter_mut().for_each(|sums| sums.add(records));
        progress(records.len());
    });
    let second_moment = products.mean(count);
    let estimates = sums.into_iter().map(|sums| sums.estimate(&second_moment, count)).collect();
    Collection { second_moment, estimates }
}

/// The sums of one mechanism's reports.
struct DrawnSums<'a> {
    mechanism: &'a Mechanism,
    rng: Xoshiro256PlusPlus,
    drawn: Drawn,
}

/// The state that is drawn record by record.
enum Drawn {
    /// Nothing: the noise of all reports, with these deviations on the diagonal and off it, is drawn at the end.
    Additive([f64; 2]),
    Directions(Directions),
}

/// The directions that are reported, and the sum of their outer products.
pub(super) struct Directions {
    reported: Reported,
    drawn: Block,
    products: OuterProducts,
}

impl Directions {
    pub(super) fn new(weights: Weights, coordinates: usize) -> Self {
        let (drawn, products) = (Block::new(coordinates), OuterProducts::new(coordinates));
        Self { reported: Reported::new(weights, coordinates), drawn, products }
    }

    /// Adds one for each of the records.
    pub(super) fn add(&mut self, records: &Block, rng: &mut Xoshiro256PlusPlus) {
        self.drawn.count = records.count;
        for (direction, record) in self.drawn.vectors_mut().zip(records.vectors()) {
            self.reported.draw(record, direction, rng);
        }
        self.products.add(&self.drawn);
    }

    /// The mean of `z z^T` of `count` of them, but for what a lift adds to so many features.
    pub(super) fn mean(&self, features: usize, count: u64) -> DMatrix<f64> {
        self.products.mean(count).view((0, 0), (features, features)).into_owned()
    }
}

impl<'a> DrawnSums<'a> {
    fn new(mechanism: &'a Mechanism, rng: Xoshiro256PlusPlus) -> Self {
        let drawn = match mechanism.perturbation() {
            Perturbation::Additive { diagonal, off_diagonal } => Drawn::Additive([diagonal, off_diagonal]),
            Perturbation::Directions { weights, .. } => {
                Drawn::Directions(Directions::new(weights, mechanism.state_dimension()))
            }
        };
        Self { mechanism, rng, drawn }
    }

    fn add(&mut self, records: &Block) {
        if let Drawn::Directions(directions) = &mut self.drawn {
            directions.add(records, &mut self.rng);
        }
    }

    fn estimate(mut self, second_moment: &DMatrix<f64>, records: u64) -> Estimate {
        let mean = match self.drawn {
            Drawn::Additive(deviations) => {
                second_moment + mean_noise(second_moment.nrows(), deviations, records, &mut self.rng)
            }
            Drawn::Directions(directions) => directions.mean(second_moment.nrows(), records),
        };
        let matrix = self.mechanism.debias(&self.mechanism.sums_of_mean(&mean, records), records);
        Estimate { matrix, noise: self.mechanism.entry_deviation() / (records as f64).sqrt() }
    }
}

/// The mean of `z z^T` over the candidates that `mechanism`, which lifts, reports of `records` in the unit ball, in
/// variances of a coordinate: d × d, without what the lift adds.
pub fn directions_mean<'a, R: Rng + ?Sized>(
    mechanism: &DoubleCap,
    mut records: impl ExactSizeIterator<Item = &'a [f64]>,
    rng: &mut R,
) -> DMatrix<f64> {
    let (dimension, count) = (mechanism.dimension(), records.len() as u64);
    let mut directions = Directions::new(mechanism.into(), dimension + 1);
    let mut rng = Xoshiro256PlusPlus::from_rng(rng);
    let fill = |vector: &mut [f64]| {
        if let Some(record) = records.next() {
            vector.copy_from_slice(record);
        }
    };
    Block::each(dimension, count, fill, |block| directions.add(block, &mut rng));
    directions.mean(dimension, count)
}

/// The candidates that are reported.
pub(super) struct Reported {
    weights: Weights,
    /// Whether they are ranked by their coordinates, not by the magnitudes of these.
    signed: bool,
    /// The law of a candidate's coordinate along the record.
    coordinate: Coordinate,
    /// The share of the gain that the offsets of scores leave.
    kept: f64,
    /// The coordinates of a candidate. The squared length of those that are not drawn is nearly their number.
    dimension: usize,
    /// The record or its lift.
    unit: Vec<f32>,
}

impl Reported {
    fn new(weights: Weights, coordinates: usize) -> Self {
        let kept = kept(weights.candidates(), weights.cap(), coordinates);
        Self {
            weights,
            signed: false,
            coordinate: Coordinate::new(Some(coordinates)),
            kept,
            dimension: coordinates,
            unit: vec![0.0; coordinates],
        }
    }

    /// Those of the signed cap: the first ranks have the largest coordinates. Of a candidate's M coordinates only so
    /// many are drawn.
    pub(super) fn signed(mechanism: &SignedCap, coordinates: usize) -> Self {
        let dimension = mechanism.turned();
        Self {
            signed: true,
            coordinate: Coordinate::new(Some(dimension)),
            kept: 1.0,
            dimension,
            ..Self::new(mechanism.weights(), coordinates)
        }
    }

    /// The one for a unit vector, or for the lift of a shorter record, in deviations of its coordinates.
    pub(super) fn draw<R: Rng + ?Sized>(&mut self, record: &[f32], direction: &mut [f32], rng: &mut R) {
        self.unit[..record.len()].copy_from_slice(record);
        if let Some(lift) = self.unit.get_mut(record.len()) {
            *lift = (1.0 - dot(record, record)).max(0.0).sqrt();
        }
        let length = self.dimension as f64;
        let along = self.along(rng).clamp(-length.sqrt(), length.sqrt());
        candidates::fill(direction, rng);
        let own = dot(direction, &self.unit);
        direction.iter_mut().zip(&self.unit).for_each(|(g, u)| *g -= own * u);
        let others = (self.dimension - direction.len()) as f64;
        let across = (f64::from(dot(direction, direction)) + others).max(f64::MIN_POSITIVE);
        let factor = ((length - along * along).max(0.0) / across).sqrt() as f32;
        direction.iter_mut().zip(&self.unit).for_each(|(g, u)| *g = factor * *g + along as f32 * u);
    }

    /// How far it is along the record: except for the sign, or with it for a signed cap.
    fn along<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let rank = f64::from(self.weights.draw_rank(rng)) + 1.0;
        let candidates = f64::from(self.weights.candidates());
        // The constructor refuses only parameters that are not positive.
        let tail = Beta::new(rank, candidates - rank + 1.0).map_or(1.0, |law| law.sample(rng));
        let along = match self.signed {
            false => self.coordinate.exceeded_with(tail),
            true if tail < 0.5 => self.coordinate.exceeded_with(2.0 * tail),
            true => -self.coordinate.exceeded_with(2.0 - 2.0 * tail),
        };
        if self.kept == 1.0 {
            return along;
        }
        // The score with its offset determines the rank: given their sum in its own deviations, the score is normal.
        let score = self.kept.sqrt() * along + (1.0 - self.kept).sqrt() * rng.sample::<f64, _>(StandardNormal);
        if self.signed { score } else { score.abs() }
    }
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

/// The mean of the noise of `records` reports, with these deviations on the diagonal and off it: a symmetric d × d
/// matrix.
fn mean_noise<R: Rng + ?Sized>(dimension: usize, [on, off]: [f64; 2], records: u64, rng: &mut R) -> DMatrix<f64> {
    let shrink = 1.0 / (records as f64).sqrt();
    let mut noise = DMatrix::zeros(dimension, dimension);
    for column in 0..dimension {
        for row in 0..=column {
            let deviation = if row == column { on } else { off };
            let value = deviation * shrink * rng.sample::<f64, _>(StandardNormal);
            noise[(row, column)] = value;
            noise[(column, row)] = value;
        }
    }
    noise
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RecoveryMethod, Reports, Trial};
    use chacha20::ChaCha8Rng;
    use ldp_pca::internal::mechanism::{Summable, triangle};
    use ldp_pca::mechanism::{MechanismFamily, MechanismSpec};
    use ldp_pca::privacy::{Delta, Epsilon};
    use ldp_pca::record::{BoundedRecord, Bounding, Radius};
    use ldp_pca::recovery::Rank;
    use ldp_pca::report::ReportId;

    const RECORD: [f64; 6] = [0.7, -0.5, 0.1, 0.4, -0.2, 0.22];

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    fn delta(value: f64) -> Delta {
        Delta::new(value).unwrap()
    }

    fn double_cap(e: f64, candidates: u32, cap: u32) -> DoubleCap {
        DoubleCap::new(RECORD.len(), epsilon(e), candidates, cap).unwrap()
    }

    /// The variance of a candidate's coordinates.
    fn variance(mechanism: &DoubleCap) -> f64 {
        let records = 1 << 30;
        mechanism.sums_of_mean(&DMatrix::identity(RECORD.len(), RECORD.len()), records)[0] as f64 / records as f64
    }

    /// The randomizer's reports for the record: candidates in standard deviations, up to their signs.
    fn randomized(mechanism: &DoubleCap, count: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        let record = BoundedRecord::new(RECORD.to_vec(), Bounding::UnitNorm).unwrap();
        let (rows, variance) = (mechanism.state_dimension(), variance(mechanism));
        let place = |row: usize, column: usize| {
            let (first, last) = (row.min(column), row.max(column));
            triangle(rows) - triangle(rows - first) + last - first
        };
        let report = |_| {
            let mut id = [0; 16];
            rng.fill_bytes(&mut id);
            let id = ReportId::new(id);
            let payload = mechanism.randomize_with_rng(&record, &[0; 16], id, rng).unwrap();
            // The products of its coordinates.
            let mut products = vec![0; triangle(rows)];
            mechanism.accumulate(&[0; 16], &[(id, &payload[..])], &mut products);
            let product = |row, column| products[place(row, column)] as f64;
            let longest = (0..rows).max_by_key(|&row| products[place(row, row)]).unwrap();
            let scale = (product(longest, longest) * variance).sqrt();
            (0..rows).map(|row| product(row, longest) / scale).collect()
        };
        (0..count).map(report).collect()
    }

    fn drawn(mechanism: &DoubleCap, count: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        let record: Vec<f32> = unit().iter().map(|value| *value as f32).collect();
        let mut direction = vec![0.0; record.len() + 1];
        let mut reported = Reported::new(mechanism.into(), record.len() + 1);
        let report = |_| {
            reported.draw(&record, &mut direction, rng);
            direction.iter().map(|value| f64::from(*value)).collect()
        };
        (0..count).map(report).collect()
    }

    fn unit() -> Vec<f64> {
        BoundedRecord::new(RECORD.to_vec(), Bounding::UnitNorm).unwrap().coordinates().to_vec()
    }

    fn dot(left: &[f64], right: &[f64]) -> f64 {
        left.iter().zip(right).map(|(left, right)| left * right).sum()
    }

    fn scores(reports: &[Vec<f64>]) -> Vec<f64> {
        reports.iter().map(|z| dot(z, &unit()).abs()).collect()
    }

    /// The two-sample statistic of Kolmogorov and Smirnov, times the root of the effective size: it exceeds 1.95 with
    /// probability 0.001 where the laws are equal.
    fn kolmogorov_smirnov(mut left: Vec<f64>, mut right: Vec<f64>) -> f64 {
        left.sort_by(f64::total_cmp);
        right.sort_by(f64::total_cmp);
        let below = |sample: &[f64], x: f64| sample.partition_point(|value| *value <= x) as f64 / sample.len() as f64;
        let points = left.iter().chain(&right);
        let distance = points.map(|&x| (below(&left, x) - below(&right, x)).abs()).fold(0.0, f64::max);
        let (n, m) = (left.len() as f64, right.len() as f64);
        distance * (n * m / (n + m)).sqrt()
    }

    #[test]
    fn scores_have_the_randomizers_law() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (e, candidates, cap, count) in [(0.5, 64, 17, 30_000), (2.0, 128, 16, 20_000), (6.0, 1024, 8, 5000)] {
            let mechanism = double_cap(e, candidates, cap);
            let real = scores(&randomized(&mechanism, count, &mut rng));
            let distance = |mechanism: &DoubleCap, rng: &mut _| {
                kolmogorov_smirnov(real.clone(), scores(&drawn(mechanism, 20_000, rng)))
            };
            let same = distance(&mechanism, &mut rng);
            assert!(same < 1.95, "epsilon {e}: {same}");
            // It distinguishes a cap from one of twice its size, and an epsilon from a smaller one.
            for other in
                [double_cap(e, candidates, (2 * cap).min(candidates / 2)), double_cap(0.8 * e, candidates, cap)]
            {
                let different = distance(&other, &mut rng);
                assert!(different > 1.95, "epsilon {e}: {different} with {other:?}");
            }
        }
    }

    /// Moments along the record and across it: 4.9 standard errors each (alpha 1e-6), and that of the score's gain
    /// known.
    #[test]
    fn directions_have_the_randomizers_moments() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let along = unit();
        // Two directions across the record, one of them in two coordinates.
        let length = along[0].hypot(along[1]);
        let mut across = vec![0.0; along.len()];
        (across[0], across[1]) = (-along[1] / length, along[0] / length);
        let mut other = across.clone();
        (other[0], other[1]) = (along[0] / length, along[1] / length);
        let own = dot(&other, &along);
        other.iter_mut().zip(&along).for_each(|(value, u)| *value -= own * u);
        let norm = dot(&other, &other).sqrt();
        other.iter_mut().for_each(|value| *value /= norm);
        let statistics = |z: &Vec<f64>| {
            let (s, a, b) = (dot(z, &along), dot(z, &across), dot(z, &other));
            let (s2, a2, b2) = (s * s, a * a, b * b);
            [s2, a2, b2, s * a, a * b, s2 * s2, a2 * a2, b2 * b2, s2 * a2, s2 * b2, a2 * b2, z[0] * z[1], z[0].powi(4)]
        };
        let moments = |reports: &[Vec<f64>]| {
            let values: Vec<_> = reports.iter().map(statistics).collect();
            let n = values.len() as f64;
            core::array::from_fn::<(f64, f64), 13, _>(|index| {
                let mean = values.iter().map(|value| value[index]).sum::<f64>() / n;
                (mean, values.iter().map(|value| (value[index] - mean).powi(2)).sum::<f64>() / n / n)
            })
        };
        for (e, candidates, cap) in [(1.0, 64, 13), (4.0, 256, 9)] {
            let mechanism = double_cap(e, candidates, cap);
            let real = moments(&randomized(&mechanism, 40_000, &mut rng));
            let found = moments(&drawn(&mechanism, 400_000, &mut rng));
            for (index, ((expected, error), (mean, own_error))) in real.iter().zip(found).enumerate() {
                let errors = (mean - expected) / (error + own_error).sqrt();
                assert!(errors.abs() < 4.9, "epsilon {e}, moment {index}: {mean} against {expected}");
            }
            let (mean, error) = found[0];
            let expected = 1.0 + mechanism.gain() * 6.0 / 7.0;
            assert!((mean - expected).abs() < 4.9 * error.sqrt(), "{mean} {expected}");
        }
    }

    fn gaussians(dimension: usize) -> [Mechanism; 2] {
        let printed = MechanismFamily::WangXu { delta: delta(1e-4) };
        let ours = MechanismFamily::Gaussian { delta: delta(1e-6) };
        [ours, printed].map(|family| family.build(epsilon(8.0), dimension, Bounding::UnitNorm).unwrap())
    }

    /// The noise that 4000 collections of 8 records have on and off the diagonal, by either way: the mean squares of
    /// 24,000 and 60,000 numbers, whose relative deviation is sqrt(2 / count), to 4.9 of them (alpha 1e-6).
    #[test]
    fn gaussian_noise_has_the_randomizers_variances() {
        let (dimension, records, draws) = (6, 8, 4000);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let rank = Rank::new(1).unwrap();
        let population = SpikedModel::draw(dimension, rank, 2.0, None, &mut rng).unwrap();
        let mechanisms = gaussians(dimension);
        for reports in [Reports::Randomized, Reports::Drawn] {
            let centring = None;
            let trial = Trial { population: &population, mechanisms: &mechanisms, records, rank, reports, centring };
            let mut squares = [[0.0; 2]; 2];
            for _ in 0..draws {
                let Collection { second_moment, estimates } = trial.collect(&mut rng, |_| {}).unwrap();
                for (squares, estimate) in squares.iter_mut().zip(&estimates) {
                    let noise = &estimate.matrix - &second_moment;
                    assert_eq!(noise, noise.transpose());
                    let diagonal = noise.diagonal().norm_squared();
                    squares[0] += diagonal / f64::from(draws) / dimension as f64;
                    squares[1] +=
                        (noise.norm_squared() - diagonal) / f64::from(draws) / (dimension * (dimension - 1)) as f64;
                }
            }
            for (mechanism, [diagonal, off_diagonal]) in mechanisms.iter().zip(squares) {
                let Perturbation::Additive { diagonal: on, off_diagonal: off } = mechanism.perturbation() else {
                    panic!("it adds noise")
                };
                for (found, expected, count) in [(diagonal, on, 24_000.0), (off_diagonal, off, 60_000.0)] {
                    let ratio = found * records as f64 / expected.powi(2);
                    assert!((ratio - 1.0).abs() < 4.9 * (2.0f64 / count).sqrt(), "{reports:?}: {ratio}");
                }
            }
        }
    }

    /// Errors of whole collections by either way, 150 each: Kolmogorov-Smirnov at alpha 0.001 for each mechanism, and
    /// for the records themselves.
    #[test]
    fn errors_have_the_randomizers_law() {
        let clip = Bounding::Clip { radius: Radius::new(1.0).unwrap() };
        let spec = MechanismSpec::DoubleCap { epsilon: epsilon(3.0), candidates: 64, cap: 6 };
        let [ours, printed] = gaussians(10);
        let mechanisms = [spec.build(10, Bounding::UnitNorm).unwrap(), spec.build(10, clip).unwrap(), ours, printed];
        let rank = Rank::new(2).unwrap();
        let errors = |reports, seed| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut columns = vec![vec![]; 5];
            for _ in 0..150 {
                let population = SpikedModel::draw(10, rank, 20.0, None, &mut rng).unwrap();
                let (records, centring) = (400, None);
                let trial =
                    Trial { population: &population, mechanisms: &mechanisms, records, rank, reports, centring };
                let result = trial.run(&[RecoveryMethod::Pca], &mut rng, |_| {}).unwrap();
                columns[0].push(result.non_private.sin_theta_squared);
                let private = result.by_mechanism.iter().map(|methods| methods[0].sin_theta_squared);
                columns[1..].iter_mut().zip(private).for_each(|(column, error)| column.push(error));
            }
            columns
        };
        let pairs = errors(Reports::Randomized, 4).into_iter().zip(errors(Reports::Drawn, 5));
        for (index, (real, found)) in pairs.enumerate() {
            let distance = kolmogorov_smirnov(real, found);
            assert!(distance < 1.95, "{index}: {distance}");
        }
    }

    #[test]
    fn sums_are_what_debiasing_undoes() {
        let mean = DMatrix::from_fn(6, 6, |row, column| 1.0 / (1 + row + column) as f64);
        for mechanism in gaussians(6) {
            let Mechanism::Gaussian(gaussian) = mechanism else { unreachable!() };
            let sums = gaussian.sums_of_mean(&mean, 10_000);
            assert!((gaussian.debias(&sums, 10_000) - &mean).amax() < 1e-4);
        }
        let mechanism = double_cap(2.0, 64, 6);
        let expected = (&mean - DMatrix::identity(6, 6)) / mechanism.gain() + DMatrix::identity(6, 6) / 7.0;
        let sums = mechanism.sums_of_mean(&mean, 10_000);
        assert!((mechanism.debias(&sums, 10_000) - expected).amax() < 1e-6);
    }
}
