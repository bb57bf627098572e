//! The law of the largest eigenvalue that noise alone has in directions of one common variance, which is not known.
//!
//! The eigenvalues of p directions are compared with their own mean, the level: the distance of the largest from it, in
//! deviations of an off-diagonal entry at that level, has a law without unknown parameters.
//!
//! ```text
//! double-cap   W of n normal vectors in p dimensions:   largest(W) / (tr W / p)   is the ratio of 1 + gain eigenvalue
//! Gaussian     G symmetric, variances 2 and 1:          largest(G) - tr G / p
//! ```
//!
//! With the mean the law is narrower than Tracy & Widom's, of the largest eigenvalue by itself (Nadler 2011): a
//! fluctuation of all eigenvalues together says nothing. It is drawn, which is exact in any number of dimensions: W and
//! G have the eigenvalues of tridiagonal matrices of independent entries (Dumitriu & Edelman 2002), and whether one of
//! these reaches a number takes p divisions (Sylvester's law of inertia).
//!
//! Householder's steps towards the tridiagonal form leave the first direction as it is. Where one direction has more
//! noise than the others, that along an estimated mean, it is the first: its variance, and its covariance with the
//! second, are multiplied.
//!
//! That is the noise to first order. The estimate has also the square of the mean's noise m, less its expectation:
//! `s^2 I - m m^T`. It raises the largest eigenvalue by at most s^2, and the level by `s^2 - |m|^2 / p`. So the
//! distance of the two grows by at most `|m|^2 / p`, which is added to what is drawn. It also makes a poor level of the
//! one observed, which |m|^2 may have lowered below 0. In its place deviations are those at the level, which is at
//! least 0, and s^2 more; the level of the draw has the same. A p-value is too large rather than too small.

use chacha20::ChaCha12Rng;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::StandardNormal;

use super::centred::Along;
use super::chain::Tridiagonal;
use super::{AboutMean, NoiseLaw, Perturbation, chi_squared};

/// A component stands out from the noise where its p-value is below this.
pub(crate) const LEVEL: f64 = 0.05;

/// Draws of the noise per component: a p-value of 5 % is known to 0.5 percentage points (a standard deviation).
pub(crate) const DRAWS: usize = 1_999;

/// The seed of the draws for the first component.
const SEED: u64 = 1;

/// The draws for a component: the same in every test.
pub(crate) fn draws_of(index: usize) -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(SEED + index as u64)
}

/// Where none of so many draws exceeds what is observed, its p-value is below 5 %: otherwise that has a probability of
/// 4e-5.
const CLEAR: usize = 200;

impl NoiseLaw {
    /// The p-value of the largest of the observed eigenvalues of so many directions, with their mean, the `level`,
    /// where all have one variance: an estimate from `draws` of the probability that noise makes the largest as large.
    /// 1 for fewer than two, which have no other to be compared with.
    ///
    /// The count includes the observation itself, `(1 + exceeding) / (1 + draws)`. It is at most a with probability a
    /// at most (Dwass 1957).
    pub(crate) fn p_value<R: Rng + ?Sized>(
        &self,
        largest: f64,
        level: f64,
        dimension: usize,
        draws: usize,
        rng: &mut R,
    ) -> f64 {
        let draw = self.noise_reaching(largest, level, dimension);
        let exceeding = draw.map_or(draws, |mut reaches| (0..draws).filter(|_| reaches(rng)).count());
        (1 + exceeding) as f64 / (1 + draws) as f64
    }

    /// How many of the leading eigenvalues (descending) of an estimate with this trace stand out from the noise, one
    /// after the other: more than the population has in 5 % of collections at most.
    pub(crate) fn standing_out(&self, leading: &[f64], trace: f64) -> usize {
        let most = leading.len().min(self.dimension - 1);
        let mut trace = trace;
        let noise = leading[..most].iter().enumerate().position(|(index, &largest)| {
            let left = self.dimension - index;
            let level = trace / left as f64;
            trace -= largest;
            !self.is_above(largest, level, left, &mut draws_of(index))
        });
        noise.unwrap_or(most)
    }

    /// Whether the p-value is below [`LEVEL`]. It is decided as soon as so many draws exceed the observation that it
    /// cannot be, or none of the first [`CLEAR`] does.
    fn is_above<R: Rng + ?Sized>(&self, largest: f64, level: f64, dimension: usize, rng: &mut R) -> bool {
        let Some(mut reaches) = self.noise_reaching(largest, level, dimension) else { return false };
        let most = LEVEL * (1 + DRAWS) as f64;
        let mut exceeding = 1;
        for draw in 1..=DRAWS {
            exceeding += u32::from(reaches(rng));
            if f64::from(exceeding) >= most {
                return false;
            }
            if draw == CLEAR && exceeding == 1 {
                break;
            }
        }
        true
    }

    /// Draws whether noise makes the largest eigenvalue as large; none where there is nothing to compare it with.
    fn noise_reaching<R: Rng + ?Sized>(
        &self,
        largest: f64,
        level: f64,
        dimension: usize,
    ) -> Option<impl FnMut(&mut R) -> bool> {
        let of_mean = self.variance_of_mean();
        // Where the mean is known, or there is none, the level by itself.
        let known = if self.about.is_some() { level.max(0.0) + of_mean } else { level };
        // That of the reports themselves.
        let law = self.at_level_of_few(known);
        let variance = law.cross_variance(known, known);
        let distance = (largest - level) / variance.sqrt();
        if dimension < 2 || distance.is_nan() {
            return None;
        }
        let own = Along { eigenvalue: known, excess: self.most_excess(dimension) };
        let relative = |with: Along| (law.variance_between(own, with) / variance).sqrt();
        let (diagonal, coupling) = (relative(own), relative(known.into()));
        let of_mean = of_mean / variance.sqrt();
        let mut noise = Tridiagonal::default();
        let (perturbation, records) = (self.perturbation, self.records);
        Some(move |rng: &mut R| {
            let mean = match perturbation {
                Perturbation::Additive { .. } => noise.draw_symmetric(dimension, rng),
                Perturbation::Directions { .. } => noise.draw_wishart(dimension, records, rng),
            };
            let square = if of_mean == 0.0 { 0.0 } else { of_mean * chi_squared(dimension as u64, rng) };
            let lower = square / dimension as f64;
            let deviation = match perturbation {
                Perturbation::Additive { .. } => 1.0,
                // In proportion to the level, which is that of the draw.
                Perturbation::Directions { .. } => 1.0 + (mean + 2.0 * of_mean - lower) / (records as f64).sqrt(),
            };
            noise.magnify_first(diagonal, coupling);
            noise.reaches(mean + distance * deviation - lower)
        })
    }

    /// The most that the excess of the noise along the mean may be, 0 without centring: that of a mean whose square is
    /// two deviations of its estimate above it. Where the estimated mean is too short, what it leaves of the second
    /// moments looks like a component along it, and its own excess is too small for just that.
    fn most_excess(&self, dimension: usize) -> f64 {
        self.about.map_or(0.0, |AboutMean { centring, excess }| {
            let weight = centring.weight();
            let (square, noise) = (excess * weight / (1.0 - weight), self.variance_of_mean() / self.scale);
            let variance = 4.0 * square * noise + 2.0 * dimension as f64 * noise * noise;
            centring.excess((square + 2.0 * variance.sqrt()).min(1.0))
        })
    }
}

impl Tridiagonal {
    /// Draws the form of a symmetric matrix of independent normal entries, of variance 1 beside the diagonal and 2 on
    /// it. The mean of its eigenvalues is returned.
    fn draw_symmetric<R: Rng + ?Sized>(&mut self, dimension: usize, rng: &mut R) -> f64 {
        self.diagonal.clear();
        self.coupling.clear();
        let entries = (0..dimension).map(|_| core::f64::consts::SQRT_2 * rng.sample::<f64, _>(StandardNormal));
        self.diagonal.extend(entries);
        self.coupling.extend((1..dimension).rev().map(|degrees| chi_squared(degrees as u64, rng)));
        self.diagonal.iter().sum::<f64>() / dimension as f64
    }

    /// Draws the form of `(W - n I) / sqrt(n)`, the sum W of the outer products of n standard normal vectors, without
    /// the eigenvalues `-sqrt(n)` beyond the first that it has where n is below the dimension. The mean of all its
    /// eigenvalues is returned.
    fn draw_wishart<R: Rng + ?Sized>(&mut self, dimension: usize, records: u64, rng: &mut R) -> f64 {
        self.diagonal.clear();
        self.coupling.clear();
        let (n, root) = (records as f64, (records as f64).sqrt());
        let rows = (records.saturating_add(1)).min(dimension as u64);
        let mut before = 0.0;
        for row in 0..rows {
            // B B^T, B lower bidiagonal.
            let entry = chi_squared(records - row, rng);
            self.diagonal.push((entry + before - n) / root);
            if row + 1 < rows {
                before = chi_squared(dimension as u64 - row - 1, rng);
                self.coupling.push(entry * before / n);
            }
        }
        (self.diagonal.iter().sum::<f64>() - (dimension as u64 - rows) as f64 * root) / dimension as f64
    }

    /// Multiplies the variance of the first direction, and its covariance with the second.
    fn magnify_first(&mut self, diagonal: f64, coupling: f64) {
        self.diagonal[0] *= diagonal;
        if let Some(first) = self.coupling.first_mut() {
            *first *= coupling * coupling;
        }
    }

    /// Whether an eigenvalue is at least this number: a pivot of the matrix less it is not negative.
    fn reaches(&self, number: f64) -> bool {
        let mut pivot = f64::NEG_INFINITY;
        self.diagonal.iter().enumerate().any(|(row, value)| {
            let coupling = if row == 0 { 0.0 } else { self.coupling[row - 1] };
            pivot = value - number - coupling / pivot;
            pivot >= 0.0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::{double_cap_law, gaussian_law, unit_trace};
    use crate::law::{SpikedCovariance, standard_wishart_factor};
    use crate::linalg::symmetric_eigenvalues;
    use nalgebra::{DMatrix, DVector};

    fn p_value<R: Rng>(law: &NoiseLaw, observed: &[f64], draws: usize, rng: &mut R) -> f64 {
        let level = observed.iter().sum::<f64>() / observed.len() as f64;
        law.p_value(observed.first().copied().unwrap_or(f64::NAN), level, observed.len(), draws, rng)
    }

    fn dense(matrix: &Tridiagonal) -> DMatrix<f64> {
        DMatrix::from_fn(matrix.diagonal.len(), matrix.diagonal.len(), |row, column| match row.abs_diff(column) {
            0 => matrix.diagonal[row],
            1 => matrix.coupling[row.min(column)].sqrt(),
            _ => 0.0,
        })
    }

    #[test]
    fn a_tridiagonal_matrix_reaches_its_largest_eigenvalue_and_no_more() {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let mut matrix = Tridiagonal::default();
        for dimension in [1, 2, 3, 7, 40] {
            for records in [0, 3, 1_000] {
                let mean = match records {
                    0 => matrix.draw_symmetric(dimension, &mut rng),
                    _ => matrix.draw_wishart(dimension, records, &mut rng),
                };
                matrix.magnify_first(1.5, 1.2);
                let values = symmetric_eigenvalues(&dense(&matrix)).unwrap();
                assert!(matrix.reaches(values[0] - 1e-9) && !matrix.reaches(values[0] + 1e-9), "{values}");
                assert!(mean.is_finite());
            }
        }
    }

    /// Means and variances of the largest eigenvalue and its mean square over 4,000 draws, beside those of dense
    /// matrices: within five standard errors of the differences (alpha 1e-6 each).
    #[test]
    fn the_tridiagonal_forms_have_the_laws_of_the_dense_matrices() {
        let (mut rng, draws) = (ChaCha12Rng::seed_from_u64(2), 4_000);
        for (dimension, records) in [(5, 0), (5, 40), (5, 3), (1, 7)] {
            let mut matrix = Tridiagonal::default();
            let mut moments = [[0.0f64; 2]; 4];
            for _ in 0..draws {
                let root = (records as f64).sqrt();
                let drawn = match records {
                    0 => matrix.draw_symmetric(dimension, &mut rng),
                    _ => matrix.draw_wishart(dimension, records, &mut rng),
                };
                let full = match records {
                    0 => {
                        let square = DMatrix::from_fn(dimension, dimension, |_, _| rng.sample(StandardNormal));
                        (&square + square.transpose()) / core::f64::consts::SQRT_2
                    }
                    _ => {
                        let factor = standard_wishart_factor(dimension, records, &mut rng);
                        (&factor * factor.transpose() - DMatrix::identity(dimension, dimension) * records as f64) / root
                    }
                };
                let of_dense = full.trace() / dimension as f64;
                let largest = |matrix: &DMatrix<f64>| symmetric_eigenvalues(matrix).unwrap()[0];
                let values = [largest(&dense(&matrix)), drawn, largest(&full), of_dense];
                for (moment, value) in moments.iter_mut().zip(values) {
                    *moment = [moment[0] + value / f64::from(draws), moment[1] + value * value / f64::from(draws)];
                }
            }
            for pair in [[moments[0], moments[2]], [moments[1], moments[3]]] {
                let [left, right] = pair.map(|[mean, square]| (mean, square - mean * mean));
                let error = ((left.1 + right.1) / f64::from(draws)).sqrt();
                assert!((left.0 - right.0).abs() < 5.0 * error, "{dimension} {records}: {left:?} {right:?}");
                assert!((left.1 / right.1 - 1.0).abs() < 5.0 * 2.0 / f64::from(draws).sqrt(), "{left:?} {right:?}");
            }
        }
    }

    /// 400 draws of pure noise each, in few and in more dimensions, at levels of which the test knows nothing: 20
    /// p-values below 0.05 are expected, and 5 to 38 allow for 3.5 standard errors and more (alpha 5e-4 a law).
    #[test]
    fn p_values_below_5_percent_occur_in_5_percent_of_draws() {
        for (dimension, level) in [(2, 0.5), (4, 0.0), (10, 0.1), (40, 0.025)] {
            for law in [double_cap_law(dimension, 4.0, 2_000), gaussian_law(dimension, 4.0, 2_000)] {
                let components = DMatrix::zeros(dimension, 0);
                let truth = SpikedCovariance::new(components, DVector::zeros(0), level).unwrap();
                let mut rng = ChaCha12Rng::seed_from_u64(3);
                let below = (0..400)
                    .filter(|_| {
                        let drawn = law.draw_with_rng(&truth, &mut rng).unwrap();
                        p_value(&law, symmetric_eigenvalues(&drawn).unwrap().as_slice(), 999, &mut rng) < 0.05
                    })
                    .count();
                assert!((5..=38).contains(&below), "{law:?}: {below}");
            }
        }
    }

    #[test]
    fn what_has_no_rest_has_a_p_value_of_1_and_what_is_far_above_it_the_least() {
        let mut rng = ChaCha12Rng::seed_from_u64(4);
        for law in [double_cap_law(5, 2.0, 1_000), gaussian_law(5, 2.0, 1_000), double_cap_law(5, 2.0, 3)] {
            for none in [&[][..], &[0.3], &[f64::NAN, 0.1]] {
                assert_eq!(p_value(&law, none, 99, &mut rng), 1.0);
            }
            assert_eq!(p_value(&law, &[0.1, 0.1], 99, &mut rng), 1.0);
            assert_eq!(p_value(&law, &[1e3, 0.0, 0.0, 0.0, 0.0], 99, &mut rng), 0.01);
        }
        let strong = unit_trace(10, &[0.8], 1);
        let law = double_cap_law(10, 2.0, 100_000);
        let drawn = symmetric_eigenvalues(&law.draw_with_rng(&strong, &mut rng).unwrap()).unwrap();
        assert_eq!(p_value(&law, drawn.as_slice(), 999, &mut rng), 1e-3);
    }
}
