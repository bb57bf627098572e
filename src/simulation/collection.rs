//! The result of a simulated collection, however its reports were generated.

use nalgebra::DMatrix;

/// The estimates that an aggregator would have, and the truth, which is unknown in practice.
#[derive(Clone, Debug, PartialEq)]
pub struct Collection {
    /// The mean of `x x^T` over the records themselves, d × d.
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
