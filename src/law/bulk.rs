//! The fate of a component among noise: the spiked model of random-matrix theory.

use super::{NoiseLaw, Perturbation};

/// The 95 % quantile of the Tracy-Widom law of order 1 (Johnstone 2001, table of section 2; Bejan 2005).
const TRACY_WIDOM_95: f64 = 0.9793;

/// Noise on an isotropic bulk of `dimension` directions, and its effect on components above the bulk.
///
/// Eigenvalues are in the units of the encoded features; *true* ones belong to the second-moment matrix, *observed*
/// ones to the estimate. All formulas are limits of many directions and many records; with b the bulk's variance:
///
/// ```text
/// double-cap (Wishart; Baik & Silverstein 2006, Paul 2007):
///   l = (1 + gain true) / (1 + gain b),   gamma = dimension / n
///   (1 + gain observed) / (1 + gain b) = l (1 + gamma / (l - 1))                       for l > 1 + sqrt(gamma)
///   cos^2 = (1 - gamma / (l - 1)^2) / (1 + gamma / (l - 1))
/// Gaussian (symmetric noise; Benaych-Georges & Nadakuditi 2011):
///   theta = true - b,   s^2 = dimension × variance of an off-diagonal entry
///   observed = b + theta + s^2 / theta + b dimension / n                                 for theta > s
///   cos^2 = 1 - s^2 / theta^2
/// ```
///
/// Below these thresholds the leading observed eigenvalue is the edge of the noise, whatever the true one, and the
/// observed direction carries no information about the true one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseBulk {
    pub(super) law: NoiseLaw,
    pub(super) level: f64,
    dimension: usize,
    /// The excess of the noise in one of its directions, that of a mean.
    pub(super) excess: f64,
}

impl NoiseLaw {
    /// The bulk of `dimension` directions (d less the components above it) that have the true variance `level` each,
    /// at least 0.
    #[must_use]
    pub fn bulk(&self, level: f64, dimension: usize) -> NoiseBulk {
        let excess = self.about.map_or(0.0, |about| about.excess);
        let level = level.max(0.0);
        NoiseBulk { law: self.at_level(level), level, dimension, excess }
    }

    /// The law whose noise between two directions that have this variance is that of the reports themselves. (About an
    /// estimated mean, where all directions but one have little, the law is as it is.)
    pub(super) fn at_level(self, level: f64) -> Self {
        let (Perturbation::Directions { forms, weights, .. }, None) = (self.perturbation, self.about) else {
            return self;
        };
        // Of the form with 1/2 at two places off the diagonal.
        let (level, constant) = (level / self.scale, forms.norm / 2.0);
        let variance = constant + forms.energy / 2.0 * level + forms.square * level * level;
        let inverse = (variance.max(0.0).sqrt() - level).clamp(0.5 * constant.sqrt(), constant.sqrt());
        Self { perturbation: Perturbation::Directions { gain: 1.0 / inverse, forms, weights }, ..self }
    }

    /// The law whose noise between two directions of this variance is that of the reports themselves. Where there are
    /// fewer than twice as many reports as features, it has no less noise than makes the eigenvalues of candidates of
    /// one length possible for normal ones.
    pub(super) fn at_level_of_few(self, level: f64) -> Self {
        let law = self.at_level(level);
        let (Perturbation::Directions { gain, forms, weights }, None) = (law.perturbation, law.about) else {
            return law;
        };
        if self.records >= 2 * self.dimension as u64 {
            return law;
        }
        let gain = gain.min(1.0 / forms.length.max(f64::MIN_POSITIVE));
        Self { perturbation: Perturbation::Directions { gain, forms, weights }, ..law }
    }
}

impl NoiseBulk {
    /// The true variance in every direction of the bulk.
    #[must_use]
    pub fn level(&self) -> f64 {
        self.level
    }

    /// The true eigenvalue above which a component leaves a trace; below it nothing can be recovered by an
    /// eigendecomposition.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        match self.law.perturbation {
            Perturbation::Additive { .. } => self.level + self.magnification() * self.deviation(),
            Perturbation::Directions { gain, .. } => {
                // Of no directions it is the level itself, but for rounding.
                self.eigenvalue_of_ratio(gain, 1.0 + self.magnification() * self.aspect().sqrt()).max(self.level)
            }
        }
    }

    /// The number of reports, not rounded, at which `eigenvalue` is the threshold: with more it leaves a trace. The
    /// inverse of [`NoiseBulk::threshold`], independent of the law's own number of reports; infinite for an eigenvalue
    /// that is not above the bulk.
    ///
    /// ```text
    /// double-cap   dimension / (l - 1)^2
    /// Gaussian     dimension × (variance of an off-diagonal entry of one report) / theta^2
    /// ```
    #[must_use]
    pub fn records_at_threshold(&self, eigenvalue: f64) -> f64 {
        let dimension = self.dimension as f64 * self.magnification().powi(2);
        if eigenvalue <= self.level {
            return f64::INFINITY;
        }
        match self.law.perturbation {
            Perturbation::Additive { .. } => {
                let of_one = self.law.cross_variance(self.level, self.level) * self.law.records as f64;
                dimension * of_one / (eigenvalue - self.level).powi(2)
            }
            Perturbation::Directions { gain, .. } => dimension / (self.ratio(gain, eigenvalue) - 1.0).powi(2),
        }
    }

    /// The largest eigenvalue that the bulk itself has in the estimate.
    #[must_use]
    pub fn edge(&self) -> f64 {
        self.observed(self.threshold())
    }

    /// The value that the largest observed eigenvalue of the bulk exceeds in 5 % of all collections (Johnstone 2001,
    /// theorem 1.1). An observed eigenvalue above it is a component's.
    #[must_use]
    pub fn edge_95(&self) -> f64 {
        let dimension = self.dimension.max(1) as f64;
        match self.law.perturbation {
            Perturbation::Additive { .. } => {
                self.edge() + TRACY_WIDOM_95 * self.deviation() * dimension.powf(-2.0 / 3.0)
            }
            Perturbation::Directions { gain, .. } => {
                let records = self.law.records as f64;
                let root = (records - 1.0).max(1.0).sqrt();
                let centre = (root + dimension.sqrt()).powi(2);
                let spread = (root + dimension.sqrt()) * (1.0 / root + 1.0 / dimension.sqrt()).cbrt();
                let without = self.beside(0.0).edge();
                self.eigenvalue_of_ratio(gain, (centre + TRACY_WIDOM_95 * spread) / records) + self.edge() - without
            }
        }
    }

    /// The observed eigenvalue of a component with this true one: [`NoiseBulk::edge`] up to the threshold.
    #[must_use]
    pub fn observed(&self, eigenvalue: f64) -> f64 {
        let aspect = self.aspect();
        match self.law.perturbation {
            Perturbation::Additive { .. } => {
                let excess = (eigenvalue - self.level).max(self.deviation());
                let repulsion = if excess > 0.0 { self.deviation().powi(2) / excess } else { 0.0 };
                self.level * (1.0 + aspect) + excess + repulsion
            }
            Perturbation::Directions { gain, .. } => {
                let excess = (self.ratio(gain, eigenvalue) - 1.0).max(aspect.sqrt());
                let repulsion = if excess > 0.0 { aspect / excess } else { 0.0 };
                self.eigenvalue_of_ratio(gain, (1.0 + excess) * (1.0 + repulsion))
            }
        }
    }

    /// The true eigenvalue of a component with this observed one; `None` unless it is above [`NoiseBulk::edge`].
    #[must_use]
    pub fn eigenvalue(&self, observed: f64) -> Option<f64> {
        self.eigenvalue_along(observed, 0.0)
    }

    /// The true eigenvalue of a component with this observed one, whose noise has this excess; `None` unless the
    /// observed one is above [`NoiseBulk::edge`]. The bulk repels a component with an excess more.
    pub(crate) fn eigenvalue_along(&self, observed: f64, excess: f64) -> Option<f64> {
        let aspect = self.aspect();
        (observed > self.edge()).then(|| match self.law.perturbation {
            Perturbation::Additive { .. } => {
                let half = 0.5 * (observed - self.level * (1.0 + aspect));
                let repulsion = self.deviation().powi(2) * (1.0 + excess);
                self.level + half + (half * half - repulsion).max(0.0).sqrt()
            }
            Perturbation::Directions { gain, .. } => {
                let ratio = self.ratio(gain, observed);
                let half = 0.5 * (ratio + 1.0 - aspect);
                let repulsion = ratio + aspect * self.relative(gain, excess);
                self.eigenvalue_of_ratio(gain, half + (half * half - repulsion).max(0.0).sqrt())
            }
        })
    }

    /// Squared cosine of the angle between a component with this true eigenvalue and the observed one; 0 up to the
    /// threshold.
    #[must_use]
    pub fn cos_squared(&self, eigenvalue: f64) -> f64 {
        match self.law.perturbation {
            _ if eigenvalue <= self.threshold() => 0.0,
            Perturbation::Additive { .. } => {
                let cross = self.dimension as f64 * self.law.cross_variance(eigenvalue, self.level);
                (1.0 - cross / (eigenvalue - self.level).powi(2)).max(0.0)
            }
            Perturbation::Directions { gain, .. } => {
                let (excess, aspect) = (self.ratio(gain, eigenvalue) - 1.0, self.aspect());
                (1.0 - aspect / (excess * excess)) / (1.0 + aspect / excess)
            }
        }
    }

    /// Directions per record, gamma.
    fn aspect(&self) -> f64 {
        self.dimension as f64 / self.law.records as f64
    }

    /// The radius s of additive noise: half the width of the semicircle.
    fn deviation(&self) -> f64 {
        (self.dimension as f64 * self.law.cross_variance(self.level, self.level)).sqrt()
    }

    /// An eigenvalue of the reports' second moment in units of the bulk's.
    pub(super) fn ratio(&self, gain: f64, eigenvalue: f64) -> f64 {
        (1.0 + gain * eigenvalue / self.law.scale) / (1.0 + gain * self.level / self.law.scale)
    }

    /// The inverse of [`NoiseBulk::ratio`].
    fn eigenvalue_of_ratio(&self, gain: f64, ratio: f64) -> f64 {
        (ratio * (1.0 + gain * self.level / self.law.scale) - 1.0) / gain * self.law.scale
    }
}

#[cfg(test)]
mod tests {
    use crate::law::tests::{double_cap_law, gaussian_law, unit_trace};
    use crate::linalg::{symmetric_eigen, symmetric_eigenvalues};
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    #[test]
    fn observed_eigenvalues_lead_back_to_the_true_ones() {
        for law in [double_cap_law(50, 2.0, 20_000), double_cap_law(50, 2.0, 30), gaussian_law(50, 2.0, 20_000)] {
            for level in [0.0, 0.01] {
                let bulk = law.bulk(level, 48);
                assert!(bulk.edge() > bulk.threshold() && bulk.edge_95() > bulk.edge());
                for factor in [1.001, 1.5, 20.0] {
                    let eigenvalue = factor * bulk.threshold();
                    let back = bulk.eigenvalue(bulk.observed(eigenvalue)).unwrap();
                    assert!((back / eigenvalue - 1.0).abs() < 1e-6, "{law:?} {factor}: {back} {eigenvalue}");
                }
                assert!((bulk.observed(0.5 * bulk.threshold()) / bulk.edge() - 1.0).abs() < 1e-12);
                assert_eq!(bulk.eigenvalue(bulk.edge()), None);
                assert_eq!(bulk.eigenvalue(f64::NAN), None);
                assert_eq!(bulk.cos_squared(bulk.threshold()), 0.0);
                let records = bulk.records_at_threshold(bulk.threshold());
                assert!((records / law.records() as f64 - 1.0).abs() < 1e-9, "{records}");
                assert_eq!(bulk.records_at_threshold(level), f64::INFINITY);
                assert!(bulk.cos_squared(1.01 * bulk.threshold()) < 0.05 && bulk.cos_squared(1e3) > 0.99);
            }
        }
        let none = double_cap_law(3, 2.0, 100).bulk(0.2, 0);
        assert_eq!(none.edge(), none.threshold());
        for step in 1..1000 {
            let level = 1e-3 * f64::from(step);
            assert!(double_cap_law(3, 2.0, 100).bulk(level, 0).threshold() >= level, "{level}");
        }
    }

    /// Means of 20 draws at d = 150. An eigenvalue strays by sqrt(2) deviations of an entry, a cosine by a few per
    /// mille.
    #[test]
    fn drawn_estimates_have_the_stated_eigenvalue_and_cosine() {
        for law in [double_cap_law(150, 2.0, 15_000), gaussian_law(150, 4.0, 60_000)] {
            let truth = unit_trace(150, &[0.35], 7);
            let bulk = law.bulk(truth.bulk(), 149);
            let mut rng = ChaCha12Rng::seed_from_u64(8);
            let draws = 20.0;
            let (mut value, mut cosine) = (0.0, 0.0);
            for _ in 0..20 {
                let eigen = symmetric_eigen(&law.draw_with_rng(&truth, &mut rng).unwrap()).unwrap();
                value += eigen.values[0] / draws;
                cosine += eigen.vectors.column(0).dot(&truth.components().column(0)).powi(2) / draws;
            }
            let deviation = (2.0 / draws * law.cross_variance(0.35, 0.35)).sqrt();
            assert!((value - bulk.observed(0.35)).abs() < 5.0 * deviation, "{value} {}", bulk.observed(0.35));
            let stated = bulk.cos_squared(0.35);
            assert!((0.5..0.98).contains(&stated) && (cosine - stated).abs() < 0.03, "{cosine} {stated}");
        }
    }

    /// 400 draws of pure noise: 20 expected above, and 4 to 36 allow for 3.7 standard errors (alpha 2e-4).
    #[test]
    fn noise_exceeds_its_95_percent_edge_in_5_percent_of_draws() {
        for law in [double_cap_law(40, 2.0, 5000), gaussian_law(40, 2.0, 5000)] {
            let truth = unit_trace(40, &[], 1);
            let edge = law.bulk(truth.bulk(), 40).edge_95();
            let mut rng = ChaCha12Rng::seed_from_u64(9);
            let largest = |_| symmetric_eigenvalues(&law.draw_with_rng(&truth, &mut rng).unwrap()).unwrap()[0];
            let above = (0..400).map(largest).filter(|&value| value > edge).count();
            assert!((4..=36).contains(&above), "{law:?}: {above}");
        }
    }
}
