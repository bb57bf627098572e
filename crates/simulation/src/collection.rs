//! The result of a simulated collection, however its reports were generated.

use ldp_pca::centring::Centring;
use ldp_pca::internal::mechanism::Moments;
use ldp_pca::mechanism::Mechanism;
use nalgebra::DMatrix;

/// The estimates that an aggregator would have, and the truth, which is unknown in practice.
#[derive(Clone, Debug, PartialEq)]
pub struct Collection {
    /// The mean of `x x^T` over the records themselves, d × d; with centring, their covariance.
    pub second_moment: DMatrix<f64>,
    /// The estimate of it by each mechanism, in their order.
    pub estimates: Vec<Estimate>,
}

/// A debiased estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate, d × d.
    pub matrix: DMatrix<f64>,
    /// Standard deviation that the mechanism gives to one off-diagonal entry.
    pub noise: f64,
}

impl Collection {
    /// What there is for the records, where these are the second moments of the extended ones.
    pub(super) fn centred(self, centring: Centring, mechanisms: &[Mechanism], records: u64) -> Self {
        let root = (records as f64).sqrt();
        let estimate = |(mechanism, estimate): (&Mechanism, Estimate)| {
            let deviation = centring.mean_factor() * mechanism.deviation_beside(centring.weight()) / root;
            let (matrix, mean) = centring.centre(&estimate.matrix, deviation);
            let square = mean.iter().map(|value| value * value).sum::<f64>().min(1.0);
            Estimate { matrix, noise: centring.entry_deviation(estimate.noise, deviation, square, mean.len()) }
        };
        Self {
            second_moment: centring.centre(&self.second_moment, 0.0).0,
            estimates: mechanisms.iter().zip(self.estimates).map(estimate).collect(),
        }
    }
}
