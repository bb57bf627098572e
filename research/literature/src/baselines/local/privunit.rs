//! `PrivUnit` (Bhowmick et al. 2018) on `x x^T`: pure epsilon, and less noise than double-cap at small epsilon.
//!
//! ```text
//! u = (x, sqrt(1 - |x|^2)), a unit vector of m = d + 1 coordinates
//! v = (u u^T - I/m) / sqrt(1 - 1/m), a unit vector among the symmetric matrices of trace 0, which have
//!     N = m (m + 1)/2 - 1 dimensions
//! report Z, a unit vector of these: with probability p uniform where <Z, v> >= t, otherwise uniform where it is less
//! Y = sqrt(1 - 1/m) Z / g + I/m,   g = E <Z, v>;   the estimate is the mean of the d × d blocks of Y
//! ```
//! The paper's mechanism is for any unit vector, and leaves p and t open. Here they are those with the largest g for
//! this epsilon, as in Asi, Feldman & Talwar (2022). The trace, which is known, is taken off: with it, the noise at
//! d = 40 would be 2.6 % more.
//!
//! # The guarantee
//! Let P be the share of the sphere where `<Z, v> >= t`. There the density of Z is `p / P` times the uniform one, and
//! elsewhere `(1 - p) / (1 - P)` times. P is the same for every record, and p such that the first is e^epsilon times
//! the second. So the densities of a report under any two records differ by a factor of at most e^epsilon.
//!
//! # The noise
//! Let `a = e^epsilon - 1`, and let s be a coordinate of the uniform law on the sphere. Its density f is proportional
//! to `(1 - s^2)^((N - 3)/2)`, P is the probability of `s >= t`, and `S = E[s; s >= t]`. Then
//!
//! ```text
//! g = a S / (1 + a P)                       largest where t = g, since dS/dt = -t f(t) and dP/dt = -f(t)
//! E <Z, v>^2 = (1 + (N - 1) t g) / N        by parts
//! ```
//!
//! So at the best t the variance of Z is `(1 - g^2) / N` along v, and as much in each direction across it. One report's
//! Y has the variance `(1 - 1/m) (1 / g^2 - 1) / N` in every direction of Frobenius' geometry, for every record, and an
//! off-diagonal entry has half of it.
//!
//! The sum of all reports is drawn from the normal law with its mean and covariance. The noise here has a trace, too:
//! it adds a multiple of the identity, which changes no component.

use core::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2};

use rand::rand_core::CryptoRng;

use super::gaussian::noisy;
use crate::baselines::{
    Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator, Trust,
};
use ldp_pca::privacy::Epsilon;
use ldp_pca::recovery::Rank;

/// `PrivUnit` reports of `x x^T` and their principal components.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrivUnitPca {
    /// Epsilon; delta is 0.
    pub epsilon: Epsilon,
}

impl PrivUnitPca {
    /// With the best p and t.
    #[must_use]
    pub fn new(epsilon: Epsilon) -> Self {
        Self { epsilon }
    }

    /// The standard deviation of one report's Y in every direction, for records of `dimension` features.
    fn deviation(&self, dimension: usize) -> f64 {
        let m = (dimension + 1) as f64;
        let coordinates = m * (m + 1.0) / 2.0 - 1.0;
        let gain = gain(coordinates, self.epsilon.value());
        ((1.0 - 1.0 / m) * (1.0 / gain.powi(2) - 1.0) / coordinates).sqrt()
    }
}

impl SubspaceEstimator for PrivUnitPca {
    fn name(&self) -> &'static str {
        "PrivUnit + PCA"
    }

    fn trust(&self) -> Trust {
        Trust::Local
    }

    fn guarantee(&self, _: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        let argument = "the likelier cap has the same share of the sphere for every record, so the density of \
            any report changes by at most e^epsilon";
        Ok(Some(MethodGuarantee::proved(EpsilonDelta::pure(self.epsilon), Adjacency::AnyTwoRecords, argument)))
    }

    /// Diagnostics: `noise`, the standard deviation of an off-diagonal entry of the estimate.
    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, self.name())?;
        let deviation = self.deviation(sample.dimension());
        noisy(sample, deviation, deviation * FRAC_1_SQRT_2, rng).components(rank)
    }
}

/// Steps of the angle whose sine is s: g is exact to 1e-6.
const STEPS: u32 = 4000;

/// g in this number of dimensions, at least 2, at the best t.
fn gain(coordinates: f64, epsilon: f64) -> f64 {
    // The best t is below sqrt(2 epsilon / N), and next to nothing of what exceeds it is beyond the end.
    let end = (((2.0 * epsilon).sqrt() + 8.0) / coordinates.sqrt()).min(FRAC_PI_2);
    let step = end / f64::from(STEPS);
    let at = |index: u32| {
        let (sine, cosine) = libm::sincos(step * (f64::from(index) + 0.5));
        (sine, libm::exp((coordinates - 2.0) * libm::log(cosine)))
    };
    // The steps cover the half where s > 0.
    let total = 2.0 * (0..STEPS).map(|index| at(index).1).sum::<f64>();
    let (mut share, mut mean, mut best) = (0.0, 0.0, 0.0f64);
    for index in (0..STEPS).rev() {
        let (sine, density) = at(index);
        share += density / total;
        mean += density / total * sine;
        best = best.max(mean / (share + 1.0 / libm::expm1(epsilon)));
    }
    best
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use nalgebra::{DMatrix, DVector};
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;

    use super::*;

    /// On the sphere of three dimensions s is uniform, and t = g a quadratic equation.
    #[test]
    fn in_three_dimensions_the_gain_is_a_hyperbolic_tangent() {
        for epsilon in [1e-3f64, 0.25, 1.0, 4.0, 16.0] {
            let (found, exact) = (gain(3.0, epsilon), (epsilon / 4.0).tanh());
            assert!((found / exact - 1.0).abs() < 1e-6, "{epsilon}: {found} {exact}");
        }
    }

    /// Reports of one record by rejection, as the paper draws them: 20,000, within 5 standard errors.
    #[test]
    fn reports_are_unbiased_and_as_noisy_in_every_direction_as_the_draw_says() {
        let rng = &mut ChaCha12Rng::seed_from_u64(1);
        let (epsilon, draws) = (1.0f64, 20_000);
        let u = DVector::from_vec(vec![0.6, -0.5, 0.3, 0.3f64.sqrt()]);
        let (square, centre) = (&u * u.transpose(), DMatrix::<f64>::identity(4, 4) / 4.0);
        let length = 0.75f64.sqrt();
        let v = (&square - &centre) / length;
        let gain = gain(9.0, epsilon);
        let mut mean = DMatrix::<f64>::zeros(4, 4);
        let (mut all, mut along, mut entry) = (0.0, 0.0, 0.0);
        for _ in 0..draws {
            let report = loop {
                let normal = DMatrix::<f64>::from_fn(4, 4, |_, _| rng.sample(StandardNormal));
                let symmetric = &normal + normal.transpose();
                let candidate = (&symmetric - &centre * symmetric.trace()).normalize();
                if candidate.dot(&v) >= gain || rng.random::<f64>() < (-epsilon).exp() {
                    break candidate;
                }
            };
            let error = report * (length / gain) + &centre - &square;
            all += error.norm_squared() / 9.0 / f64::from(draws);
            along += error.dot(&v).powi(2) / f64::from(draws);
            entry += 2.0 * error[(0, 1)].powi(2) / f64::from(draws);
            mean += error / f64::from(draws);
        }
        let variance = PrivUnitPca::new(Epsilon::new(epsilon).unwrap()).deviation(3).powi(2);
        for (found, what) in [(all, "all"), (along, "along the record"), (entry, "an entry")] {
            assert!((found / variance - 1.0).abs() < 0.05, "{what}: {found} {variance}");
        }
        assert!(mean.amax() < 5.0 * (variance / f64::from(draws)).sqrt(), "{mean}");
    }

    /// Another program's figures, by the distribution functions of Beta laws, for records of norm 1 without a lift.
    #[test]
    fn second_moments_are_those_of_the_table() {
        let manual = include_str!("../../../../docs/least-noise.md");
        let table = manual.split("## PrivUnit on the matrix").nth(1).unwrap();
        let mut rows = 0;
        for line in table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| d ")) {
            let cells: Vec<f64> = line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
            let coordinates = cells[0] * (cells[0] + 1.0) / 2.0 - 1.0;
            for (epsilon, expected) in [0.25, 0.5, 1.0, 2.0, 4.0].into_iter().zip(&cells[1..]) {
                let found = (1.0 - 1.0 / cells[0]) / coordinates / gain(coordinates, epsilon).powi(2);
                assert!((found / expected - 1.0).abs() < 1e-3, "{line}: {found}");
            }
            rows += 1;
        }
        assert_eq!(rows, 4);
    }
}
