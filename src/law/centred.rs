//! The law of a covariance about an estimated mean.
//!
//! The estimate is `c M - mean mean^T` and a multiple of the identity, with M the first d rows and columns of the
//! second moments of the extended records `y = (sqrt(1 - w) x, sqrt(w))`, `c = 1 / (1 - w)`, and the mean from their
//! last column ([`centring`](crate::centring)). Where E is the noise of all these moments, that of the estimate is to
//! first order, in a direction v,
//!
//! ```text
//! v^T N u = q^T E r - (v . mu) (u . mu) / w × E_cc        q = (v / sqrt(1 - w), -(v . mu) / sqrt(w)),  r from u
//! ```
//!
//! with `E_cc` the corner of E, which the estimate does not use since it knows w. `q . y = v . (x - mu)`: what
//! double-cap adds along the record cancels but for the spread. So, with `g = gain (1 - w)` and the *excess* of a
//! direction v,
//!
//! ```text
//! rho_v = (v . mu)^2 (1 - w) / w         t_v = 1 + rho_v + g lambda_v
//!
//! variance of v^T N u, v and u eigenvectors of the covariance with eigenvalues lambda, times n:
//!   double-cap   (t_v t_u + (4 gain w - 1) rho_v rho_u) / g^2
//!   Gaussian     (tau / (1 - w))^2 (1 + rho_v + rho_u) + lambda_v lambda_u
//! ```
//!
//! Where the mean is zero that is the law of second moments of another mechanism, with the gain g or the deviation
//! `tau / (1 - w)`: all of [`NoiseLaw`] and [`NoiseBulk`] holds for it. A mean magnifies the noise along it, that is in
//! one direction: in components that are not orthogonal to it, and in one of the bulk. The latter leaves the bulk's
//! noise where its excess is above 1, and only components above `sqrt(excess)` times the threshold stand before it
//! ([`NoiseBulk::beside`]).
//!
//! (The term with `4 gain w` is the corner: `Var E_cc - 4 = 4 gain w - 2` in units of 1 / gain^2, up to
//! `(E s^4 - 3 - 6 gain - gain^2) w^2`, which is left out, since `z_c = s sqrt(w) + ...`, s the score, for a record
//! with the known last coordinate.)
//!
//! *What is drawn* is not the first order: the second moments of y are drawn from their own law, and centred as the
//! estimate is. They count as normal there, so the corner's variance includes a sampling of the constant that no
//! collection has, `3 (gain w)^2` more: on the safe side, and in the direction of the mean alone.

use nalgebra::{DMatrix, DVector};
use rand::Rng;

use super::{AboutMean, NoiseBulk, NoiseError, NoiseLaw, SpikedCovariance};
use crate::centring::Centring;
use crate::linalg::symmetric_eigen;
use crate::mechanism::Perturbation;

/// A mean whose part off the components is no longer than this share of it has none there: it is rounding.
const ROUNDING: f64 = 1e-7;

/// A direction of the truth: an eigenvector of it, with its eigenvalue and the excess of the noise along it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Along {
    pub(crate) eigenvalue: f64,
    pub(crate) excess: f64,
}

/// Orthogonal to the mean, or where there is no centring.
impl From<f64> for Along {
    fn from(eigenvalue: f64) -> Self {
        Self { eigenvalue, excess: 0.0 }
    }
}

impl NoiseLaw {
    /// The law of the covariance about the estimated mean, where this one is that of the second moments of the extended
    /// records. The mean of the bounded records has the squared length `mean_norm_squared`.
    #[must_use]
    pub fn about_mean(self, centring: Centring, mean_norm_squared: f64) -> Self {
        Self {
            dimension: self.dimension - 1,
            perturbation: magnified(self.perturbation, centring.covariance_factor()),
            about: Some(AboutMean { centring, excess: centring.excess(mean_norm_squared) }),
            ..self
        }
    }

    /// The excess of the noise in a direction in which the square of the mean, in the units of the features, is this; 0
    /// without centring.
    pub(crate) fn excess(&self, mean_square: f64) -> f64 {
        self.about.map_or(0.0, |about| about.centring.excess(mean_square / self.scale))
    }

    /// Variance of `u^T S v` for two orthogonal unit eigenvectors of the truth.
    pub(crate) fn variance_between(&self, first: Along, second: Along) -> f64 {
        let (left, right) = (first.eigenvalue / self.scale, second.eigenvalue / self.scale);
        let both = first.excess * second.excess;
        let of_one = match self.perturbation {
            Perturbation::Additive { off_diagonal, .. } => {
                off_diagonal * off_diagonal * (1.0 + first.excess + second.excess) + left * right
            }
            Perturbation::Directions { gain, .. } => {
                let corner = self.about.map_or(0.0, |about| {
                    let weight = about.centring.weight();
                    4.0 * gain * weight / (1.0 - weight) - 1.0
                });
                let [left, right] =
                    [(first, left), (second, right)].map(|(along, value)| 1.0 + along.excess + gain * value);
                (left * right + corner * both) / (gain * gain)
            }
        };
        self.scale * self.scale * of_one / self.records as f64
    }

    /// The excess that the square of the mean's noise, which is of second order, has in the variance between any two
    /// directions; 0 without centring.
    pub(crate) fn second_order(&self) -> f64 {
        self.about.map_or(0.0, |AboutMean { centring, .. }| {
            self.beside_constant(centring).powi(2) / (centring.weight().powi(2) * self.records as f64)
        })
    }

    /// The variance of an entry of the mean, in the units of the covariance; 0 without centring.
    pub(crate) fn variance_of_mean(&self) -> f64 {
        self.about.map_or(0.0, |AboutMean { centring, .. }| self.deviation_of_mean(centring).powi(2) * self.scale)
    }

    /// The deviation of an entry of the mean of the bounded records.
    fn deviation_of_mean(&self, centring: Centring) -> f64 {
        centring.mean_factor() * self.beside_constant(centring) / (self.records as f64).sqrt()
    }

    /// The deviation of an entry of the second moments of one extended record beside its constant.
    fn beside_constant(&self, centring: Centring) -> f64 {
        match magnified(self.perturbation, 1.0 - centring.weight()) {
            Perturbation::Additive { off_diagonal, .. } => off_diagonal,
            Perturbation::Directions { gain, .. } => (1.0 + gain * centring.weight()).sqrt() / gain,
        }
    }

    /// Draws the second moments of the extended records, and centres them.
    pub(super) fn draw_centred<R: Rng + ?Sized>(
        &self,
        centring: Centring,
        truth: &SpikedCovariance,
        mean: &[f64],
        rng: &mut R,
    ) -> Result<DMatrix<f64>, NoiseError> {
        let moments = Self {
            dimension: self.dimension + 1,
            scale: 1.0,
            perturbation: magnified(self.perturbation, 1.0 - centring.weight()),
            about: None,
            ..*self
        };
        let drawn = moments.draw_moments(&extended(truth, mean, self.scale, centring)?, rng);
        Ok(centring.centre(&drawn, self.deviation_of_mean(centring)).0 * self.scale)
    }
}

impl NoiseBulk {
    /// This bulk where the noise of only one direction has an excess, and this one. By default the excess is that of a
    /// mean that lies in the bulk.
    pub(crate) fn beside(self, excess: f64) -> Self {
        let mut beside = self;
        beside.excess = excess;
        beside
    }

    /// The threshold's distance from the level, as a multiple of that without an excess: the magnified noise of one
    /// direction has an eigenvalue of its own, above the others of the bulk, where this is above 1.
    pub(super) fn magnification(&self) -> f64 {
        self.own_excess().sqrt().max(1.0)
    }

    /// The eigenvalue that a component would have whose observed one the bulk pushes to where it pushes the direction
    /// with the excess, as seen from a component with this `eigenvalue`.
    ///
    /// With symmetric noise of radius s, a component theta above the level, `l = theta + s^2 / theta` observed, mixes
    /// with that direction as the inverse of `l - r^2 s^2 G(l)`, where `G(l) = 1 / theta` and `r^2 = 1 + rho`: that is
    /// `theta - rho s^2 / theta`, as if the direction were a component `rho s^2 / theta` above the level. Its own
    /// eigenvalue is that of a component `sqrt(rho) s` above.
    pub(crate) fn mean_level(&self, eigenvalue: f64) -> f64 {
        let (excess, radius) = (self.own_excess(), self.beside(0.0).threshold() - self.level);
        let theta = (eigenvalue - self.level).max(radius);
        self.level + radius * (excess * radius / theta).min(excess.sqrt())
    }

    /// The excess in units of the bulk's noise.
    fn own_excess(&self) -> f64 {
        let level = self.level / self.law.scale;
        match self.law.perturbation {
            Perturbation::Additive { off_diagonal, .. } if off_diagonal > 0.0 => {
                let square = off_diagonal * off_diagonal;
                self.excess * square / (square + level * level)
            }
            Perturbation::Additive { .. } => 0.0,
            Perturbation::Directions { gain, .. } => self.relative(gain, self.excess),
        }
    }

    /// An excess in units of the bulk's own noise.
    pub(super) fn relative(&self, gain: f64, excess: f64) -> f64 {
        excess / (1.0 + gain * self.level / self.law.scale)
    }
}

/// Second moments whose estimate is multiplied by the factor.
fn magnified(perturbation: Perturbation, factor: f64) -> Perturbation {
    match perturbation {
        Perturbation::Additive { diagonal, off_diagonal } => {
            Perturbation::Additive { diagonal: factor * diagonal, off_diagonal: factor * off_diagonal }
        }
        Perturbation::Directions { gain, forms, weights } => {
            Perturbation::Directions { gain: gain / factor, forms: forms.magnified(factor), weights }
        }
    }
}

/// The second moments of the extended records, in the units of bounded ones, from the covariance and the mean of x in
/// those of the features: the covariance times 1 - w, and the square of their mean `(sqrt(1 - w) mu, sqrt(w))`.
fn extended(
    truth: &SpikedCovariance,
    mean: &[f64],
    scale: f64,
    centring: Centring,
) -> Result<SpikedCovariance, NoiseError> {
    let (dimension, count) = truth.components().shape();
    let share = 1.0 - centring.weight();
    let mean = DVector::from_fn(dimension, |row, _| mean.get(row).map_or(0.0, |value| value * (share / scale).sqrt()));
    let along = truth.components().tr_mul(&mean);
    let rest = &mean - truth.components() * &along;
    let length = rest.norm();
    let off = usize::from(count < dimension && length > ROUNDING * mean.norm());

    // The span of the components, of what the mean has beside them, and of the constant.
    let size = count + off + 1;
    let mut basis = DMatrix::zeros(dimension + 1, size);
    basis.view_mut((0, 0), (dimension, count)).copy_from(truth.components());
    basis[(dimension, size - 1)] = 1.0;
    let mut centre = DVector::zeros(size);
    centre.rows_mut(0, count).copy_from(&along);
    centre[size - 1] = centring.weight().sqrt();
    if off == 1 {
        basis.view_mut((0, count), (dimension, 1)).copy_from(&(rest / length));
        centre[count] = length;
    }
    let mut block = &centre * centre.transpose();
    for (index, &variance) in truth.variances().iter().chain((off == 1).then_some(&truth.bulk())).enumerate() {
        block[(index, index)] += share * variance / scale;
    }
    let eigen = symmetric_eigen(&block)?;
    Ok(SpikedCovariance::from_parts(
        basis * eigen.vectors,
        eigen.values.map(|value| value.max(0.0)),
        share * truth.bulk() / scale,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::covariance::tests::of_report;
    use crate::law::tests::{double_cap_law, gaussian_law};
    use crate::tests::{clip, double_cap, gaussian, task};
    use chacha20::ChaCha12Rng;
    use ldp_pca_simulation::SpikedModel;
    use rand::SeedableRng;

    const DIMENSION: usize = 6;
    const WEIGHT: f64 = 0.25;

    fn centring() -> Centring {
        Centring::new(WEIGHT).unwrap()
    }

    /// A covariance with two components along the first axes, and a mean beside and along them.
    fn truth() -> (SpikedCovariance, Vec<f64>) {
        let components = DMatrix::identity(DIMENSION, 2);
        let variances = DVector::from_vec(vec![0.3, 0.1]);
        (SpikedCovariance::new(components, variances, 0.02).unwrap(), vec![0.4, 0.0, 0.0, 0.5, 0.0, 0.0])
    }

    /// The axes as directions of the law.
    fn axes(law: &NoiseLaw) -> Vec<Along> {
        let (truth, mean) = truth();
        let value = |axis: usize| truth.matrix()[(axis, axis)];
        (0..DIMENSION).map(|axis| Along { eigenvalue: value(axis), excess: law.excess(mean[axis].powi(2)) }).collect()
    }

    #[test]
    fn without_a_mean_it_is_the_law_of_another_mechanism() {
        let about = |law: NoiseLaw| law.about_mean(centring(), 0.0);
        let moments = gaussian_law(DIMENSION + 1, 2.0, 1000);
        let law = about(moments);
        let ratio = law.cross_variance(0.0, 0.0) / moments.cross_variance(0.0, 0.0);
        assert!((ratio * (1.0 - WEIGHT).powi(2) - 1.0).abs() < 1e-12, "{ratio}");
        // The scatter of the records is about their mean, and is not magnified.
        let of_records = |law: NoiseLaw| law.cross_variance(0.3, 0.2) - law.cross_variance(0.0, 0.0);
        assert!((of_records(law) - of_records(moments)).abs() < 1e-15);
        let moments = double_cap_law(DIMENSION + 1, 2.0, 1000);
        let Perturbation::Directions { gain, .. } = moments.perturbation else { panic!("not double-cap") };
        let [law, gain] = [about(moments).cross_variance(0.3, 0.2), gain * (1.0 - WEIGHT)];
        assert!(
            (law / ((1.0 + gain * 0.3) * (1.0 + gain * 0.2) / (gain * gain * 1000.0)) - 1.0).abs() < 1e-12,
            "{law}"
        );
        assert_eq!(about(moments).dimension(), DIMENSION);
    }

    #[test]
    fn the_extended_records_have_the_moments_of_the_definition() {
        let (truth, mean) = truth();
        for scale in [1.0, 9.0] {
            let found = extended(&truth, &mean, scale, centring()).unwrap().matrix();
            let mean = DVector::from_column_slice(&mean);
            let second = (truth.matrix() + &mean * mean.transpose()) * ((1.0 - WEIGHT) / scale);
            let last = &mean * (WEIGHT * (1.0 - WEIGHT) / scale).sqrt();
            assert!((found.view((0, 0), (DIMENSION, DIMENSION)) - second).norm() < 1e-14);
            assert!((found.view((0, DIMENSION), (DIMENSION, 1)) - last).norm() < 1e-14);
            assert!((found[(DIMENSION, DIMENSION)] - WEIGHT).abs() < 1e-14);
        }
        // Whatever there is beside the components, and without a mean.
        let whole = SpikedCovariance::from_matrix(&truth.matrix()).unwrap();
        let difference = extended(&whole, &mean, 1.0, centring()).unwrap().matrix()
            - extended(&truth, &mean, 1.0, centring()).unwrap().matrix();
        assert!(difference.norm() < 1e-14);
        let none = extended(&truth, &[], 1.0, centring()).unwrap().matrix();
        assert!((none.view((0, 0), (DIMENSION, DIMENSION)) - truth.matrix() * (1.0 - WEIGHT)).norm() < 1e-14);
    }

    /// Variances of 4,000 draws are known to 2.2 %: five of these, and 4 % for the corner at this epsilon and for what
    /// is of second order. Means are known to 1/63 of a deviation.
    #[test]
    fn draws_have_the_variances_of_the_law_and_no_bias() {
        let (truth, mean) = truth();
        for moments in [double_cap_law(DIMENSION + 1, 1.0, 40_000), gaussian_law(DIMENSION + 1, 4.0, 40_000)] {
            let law = moments.about_mean(centring(), 0.41);
            let axes = axes(&law);
            let mut rng = ChaCha12Rng::seed_from_u64(2);
            let draws: Vec<_> = (0..4000).map(|_| law.draw_about_with_rng(&truth, &mean, &mut rng).unwrap()).collect();
            let expected = truth.matrix();
            for (i, j) in [(0, 1), (0, 3), (0, 4), (1, 3), (3, 4), (4, 5)] {
                let average = draws.iter().map(|draw| draw[(i, j)]).sum::<f64>() / 4000.0;
                let variance = draws.iter().map(|draw| (draw[(i, j)] - average).powi(2)).sum::<f64>() / 4000.0;
                let stated = law.variance_between(axes[i], axes[j]);
                assert!((average - expected[(i, j)]).abs() < 5.0 / 63.0 * stated.sqrt(), "{law:?} {i} {j}: {average}");
                assert!((variance / stated - 1.0).abs() < 0.15, "{law:?} {i} {j}: {variance} {stated}");
            }
            assert!(draws.iter().all(|draw| *draw == draw.transpose()));
        }
    }

    /// Variances of single reports, to first order (the mean is not estimated, so that they add up): of 60,000 the
    /// relative error is at most 1.5 %. Between components and the bulk, and inside the bulk, they are the law's within
    /// 8 %; where both directions have a part of the mean, what the law leaves out of the corner comes on top.
    #[test]
    fn single_reports_have_the_variances_of_the_law() {
        let reports = 60_000;
        for spec in [double_cap(2.0, 64, 8), double_cap(4.0, 64, 8), gaussian(4.0)] {
            let mut rng = ChaCha12Rng::seed_from_u64(7);
            let population = SpikedModel::draw(DIMENSION, 1usize.try_into().unwrap(), 10.0, None, &mut rng).unwrap();
            let task = task(DIMENSION, clip(1.0), spec, 1).with_centring(centring()).unwrap();
            let mut frame = DMatrix::from_fn(DIMENSION, DIMENSION, |i, j| f64::from(u8::from(i == j)) + 0.1 * i as f64);
            frame.set_column(0, &population.subspace().basis().column(0));
            let frame = frame.qr().q();
            // Half of the energy is the mean's, which the component has a part of, and one direction beside it.
            let mean = (frame.column(0) * 0.6 + frame.column(1) * 0.8) * 0.5;
            let (mut first, mut second) = (DMatrix::zeros(DIMENSION, DIMENSION), DMatrix::zeros(DIMENSION, DIMENSION));
            for _ in 0..reports {
                let values = population.record(&mut rng).iter().zip(&mean).map(|(x, mean)| 0.5 * x + mean).collect();
                let report = task.randomize_with_rng(&task.bound(values).unwrap(), None, &mut rng).unwrap();
                let alone = of_report(&report, &task).unwrap();
                let own = DVector::from_column_slice(alone.mean().unwrap().values());
                let linear = alone.second_moment() - &mean * own.transpose() - own * mean.transpose();
                let turned = frame.tr_mul(&(linear * &frame));
                second += turned.component_mul(&turned);
                first += turned;
            }
            let average = first / f64::from(reports);
            let variance = second / f64::from(reports) - average.component_mul(&average);
            let moments = NoiseLaw::new(task.moments().unwrap(), clip(1.0), 1).unwrap();
            let law = moments.about_mean(centring(), 0.25);
            let value = 0.25 * population.spectrum().signal;
            let along = Along { eigenvalue: value, excess: law.excess(0.09) };
            let beside = Along { eigenvalue: 0.25 * population.spectrum().bulk, excess: law.excess(0.16) };
            let other = Along { excess: 0.0, ..beside };
            let mean_of = |row: usize| (2..DIMENSION).map(|column| variance[(row, column)]).sum::<f64>() / 4.0;
            let inside = (variance[(2, 3)] + variance[(3, 4)] + variance[(4, 5)]) / 3.0;
            for (found, stated, band) in [
                (mean_of(0), law.variance_between(along, other), 0.08),
                (mean_of(1), law.variance_between(beside, other), 0.08),
                (inside, law.variance_between(other, other), 0.08),
                (variance[(0, 1)], law.variance_between(along, beside), 0.12),
            ] {
                assert!((found / stated - 1.0).abs() < band, "{spec:?}: {found} {stated}");
            }
        }
    }

    /// A direction whose noise is magnified leaves the bulk where its excess is above 1, and what is taken for a
    /// component has to be above it.
    #[test]
    fn a_long_mean_raises_the_threshold() {
        for moments in [double_cap_law(101, 2.0, 1_000_000), gaussian_law(101, 2.0, 1_000_000)] {
            let bulk = |square| moments.about_mean(centring(), square).bulk(0.001, 99);
            let none = bulk(0.0);
            assert_eq!(bulk(0.3).threshold(), none.threshold());
            for square in [0.5, 0.9] {
                let long = bulk(square);
                let root = centring().excess(square).sqrt();
                let [ratio, edge] =
                    [(long.threshold() - 0.001) / (none.threshold() - 0.001), long.edge() / none.edge()];
                assert!((ratio / root - 1.0).abs() < 0.01, "{ratio}");
                let expected = centring().edge_factor(square) * (1.0 - WEIGHT);
                assert!((edge / expected - 1.0).abs() < 0.02, "{edge} {expected}");
                assert!(long.edge_95() > long.edge());
                let records = long.records_at_threshold(long.threshold());
                assert!((records / 1e6 - 1.0).abs() < 1e-9, "{records}");
                assert_eq!(long.beside(0.0).threshold(), none.threshold());
            }
        }
    }

    /// The bulk repels a component along the mean more: what is observed of it leads back to the true eigenvalue.
    #[test]
    fn a_component_along_the_mean_is_corrected_by_more() {
        let bulk = gaussian_law(101, 2.0, 1_000_000).about_mean(centring(), 0.0).bulk(0.0, 100);
        let (deviation, excess) = (bulk.threshold(), 2.0);
        let eigenvalue = 4.0 * deviation;
        let observed = eigenvalue + deviation * deviation * (1.0 + excess) / eigenvalue;
        let found = bulk.eigenvalue_along(observed, excess).unwrap();
        assert!((found / eigenvalue - 1.0).abs() < 0.01, "{found} {eigenvalue}");
        assert!(bulk.eigenvalue(observed).unwrap() > found);
    }
}
