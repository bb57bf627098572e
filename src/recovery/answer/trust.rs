//! The third part of an answer: how far what was found can be trusted.

use nalgebra::DMatrix;
use serde::Serialize;

use super::super::bootstrap::Bootstrap;
use super::super::{Change, HeldOut, Interval, RankTest};
use crate::mechanism::HostilePull;
use crate::prediction::Prediction;

/// The coverage of the intervals.
const LEVEL: f64 = 0.95;

/// How far the components can be trusted: the noise in the estimate, tests, errors, and comparisons.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trust {
    /// Standard deviation of the noise in one off-diagonal covariance entry; 0 for the directions of public records.
    pub noise_deviation: f64,
    /// The variance that noise alone would give to the first component.
    pub noise_edge: f64,
    /// The standard errors of the variances, of a population with normal records; none for noise, and for ties, whose
    /// variances the noise has ordered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variance_errors: Option<Vec<Option<f64>>>,
    /// A bound on the standard error of the total variance; none about an estimated mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_variance_error: Option<f64>,
    /// A bound on the standard error of the share of records without values, whatever the population is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_share_error: Option<f64>,
    /// How far hostile reports can have moved the eigenvalues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostile: Option<HostilePull>,
    /// The test of how many components stand out: of plain ones, in whose place others stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_test: Option<RankTest>,
    /// The variance that methods capture in reports that they have not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
    /// The error to expect of plain components, with no share found where no component stands out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Prediction>,
    /// The bootstrap's result on the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The comparison with a reference: records that somebody has seen, bounded as the task says.
    #[serde(flatten)]
    pub compared: Option<ReferenceComparison>,
    /// The comparison with ordinary PCA of these records, not bounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordinary_pca: Option<ReferenceComparison>,
    /// The comparison with another collection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<OtherCollection>,
}

/// The distance of the components from those of a reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReferenceComparison {
    /// `||sin Theta||_F^2` between the two.
    pub sin_theta_squared: f64,
    /// The reference, and how much of it is captured.
    pub reference: ReferenceAnswer,
}

/// A reference, and how much of it is captured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReferenceAnswer {
    /// The number of its records.
    pub records: u64,
    /// The variances along its own components.
    pub eigenvalues: Vec<f64>,
    /// The share of the reference's total variance that the recovered components capture; NaN without variance.
    pub captured_variance: f64,
    /// The share that its own components capture.
    pub largest_captured_variance: f64,
    /// The share of its structure that the recovered components find.
    pub share_found: Option<f64>,
}

/// Another collection, compared with the one that components were asked of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherCollection {
    /// What the asker calls the sums of its reports.
    pub aggregate: String,
    /// The periods of the first collection and of this one, where their tasks have different ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub periods: Option<[String; 2]>,
    /// The comparison.
    #[serde(flatten)]
    pub change: Change,
}

/// The result of the bootstrap.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Confidence {
    /// The number of draws.
    pub replicates: usize,
    /// The nominal coverage of each interval; docs/guides/recover.md states the assumptions.
    pub level: f64,
    /// For `||sin Theta||_F^2` of the components reported.
    #[serde(flatten)]
    pub interval: Interval,
    /// The median of the replicates.
    pub median: f64,
    /// For the share of the structure that the components find.
    pub share_found: Option<Interval>,
    /// One by one.
    pub components: Vec<ComponentInterval>,
    /// For every feature, the share of replicates that have it in their support.
    pub support_stability: Vec<f64>,
    /// Root mean squared error of every loading, one list of d per component.
    pub loading_errors: Vec<Vec<f64>>,
}

/// The result of the bootstrap for one component.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ComponentInterval {
    /// The true variance, estimated: corrected for the noise.
    pub eigenvalue: f64,
    /// Whether its direction can be distinguished from one of noise. If not, the interval ends at 1.
    pub distinguishable: bool,
    /// For the share of the true component that is missed.
    #[serde(flatten)]
    pub interval: Interval,
}

impl Confidence {
    /// Of the replicates of one model or of two: an interval holds those of both.
    pub(super) fn of(outcome: &Bootstrap, second: Option<&Bootstrap>) -> Self {
        let joined = |(own, other): (Interval, Interval)| Interval {
            lower: own.lower.min(other.lower),
            upper: own.upper.max(other.upper),
        };
        let other = second.unwrap_or(outcome);
        let of_both = |of: &dyn Fn(&Bootstrap) -> Interval| joined((of(outcome), of(other)));
        let shares = outcome.share_found(LEVEL).zip(other.share_found(LEVEL));
        let components = outcome.components.iter().enumerate().map(|(index, component)| ComponentInterval {
            eigenvalue: component.eigenvalue,
            distinguishable: component.distinguishable,
            interval: of_both(&|outcome| outcome.components[index].interval(LEVEL)),
        });
        Self {
            replicates: outcome.replicates(),
            level: LEVEL,
            interval: of_both(&|outcome| outcome.interval(LEVEL)),
            median: outcome.median(),
            share_found: shares.map(joined),
            components: components.collect(),
            support_stability: outcome.support_stability.clone(),
            loading_errors: columns_of(&outcome.loading_errors),
        }
    }
}

/// One list of d numbers per column.
pub(super) fn columns_of(matrix: &DMatrix<f64>) -> Vec<Vec<f64>> {
    matrix.column_iter().map(|column| column.iter().copied().collect()).collect()
}
