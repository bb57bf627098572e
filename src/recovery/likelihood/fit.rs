//! Components that are being refined, of all reports or of those outside a fold.

use nalgebra::DMatrix;

use crate::covariance::Covariance;
use crate::linalg::symmetric_eigen;
use crate::mechanism::double_cap::{Likelihood, Slopes};
use crate::recovery::denoise::split_spectrum;
use crate::recovery::{Rank, RecoveryError};
use crate::task::Task;

/// The most directions beyond the components that have a variance of their own.
const FURTHER: usize = 8;

/// The tangent of the largest angle that a step turns a component by. Where the scores ask for more, the linear answer
/// was not near enough.
const LARGEST_STEP: f64 = 1.0;

/// Components, and the model of the population beside them.
pub(super) struct Fit {
    /// The fold that they are found without.
    pub(super) fold: Option<usize>,
    /// Those of the linear estimate, d × k.
    pub(super) linear: DMatrix<f64>,
    /// Orthonormal: the k components, and further directions of the linear estimate that stand out.
    pub(super) directions: DMatrix<f64>,
    /// The variances of the directions that stand out from the noise, in the units of bounded records.
    variances: Vec<f64>,
    /// That of every other direction.
    pub(super) bulk: f64,
    /// That of the lift.
    pub(super) lift: f64,
    pub(super) slopes: Slopes,
}

impl Fit {
    pub(super) fn new(
        estimate: &Covariance,
        task: &Task,
        rank: Rank,
        fold: Option<usize>,
        law: &Likelihood,
    ) -> Result<Self, RecoveryError> {
        let (dimension, rank) = (task.dimension(), rank.value());
        let scale = task.bounding().covariance_scale();
        let eigen = symmetric_eigen(estimate.matrix())?;
        let above = split_spectrum(&eigen.values, &estimate.noise_law()).eigenvalues;
        let variances: Vec<f64> = above.iter().take(rank + FURTHER).map(|variance| variance / scale).collect();
        let trace = estimate.matrix().trace() / scale;
        let rest = (dimension - variances.len()) as f64;
        let bulk = ((trace - variances.iter().sum::<f64>()) / rest).max(0.0);
        let lift = (1.0 - trace).max(0.0);
        let squares = variances.iter().map(|variance| variance * variance).sum::<f64>();
        Ok(Self {
            fold,
            linear: eigen.vectors.columns(0, rank).into_owned(),
            directions: eigen.vectors.columns(0, rank.max(variances.len())).into_owned(),
            slopes: law.slopes(1.0 / (squares + rest * bulk * bulk + lift * lift)),
            variances,
            bulk,
            lift,
        })
    }

    pub(super) fn rank(&self) -> usize {
        self.linear.ncols()
    }

    pub(super) fn components(&self) -> DMatrix<f64> {
        self.directions.columns(0, self.rank()).into_owned()
    }

    /// The number of components that are refined: those that stand out.
    pub(super) fn refined(&self) -> usize {
        self.rank().min(self.variances.len())
    }

    /// The variance of a direction over the bulk; 0 for one that does not stand out.
    pub(super) fn excess(&self, direction: usize) -> f64 {
        self.variances.get(direction).map_or(0.0, |variance| (variance - self.bulk).max(0.0))
    }

    /// Turns the components by these steps, d × k, of which only what lies across all components turns them.
    pub(super) fn turn(&mut self, mut steps: DMatrix<f64>) {
        let components = self.components();
        steps -= &components * components.tr_mul(&steps);
        for (component, step) in steps.column_iter().enumerate().take(self.refined()) {
            let length = step.norm();
            if length > 0.0 {
                self.directions.column_mut(component).axpy((LARGEST_STEP / length).min(1.0), &step, 1.0);
            }
        }
        // The further directions are kept across the components.
        let turned = core::mem::take(&mut self.directions);
        self.directions = turned.qr().q();
    }
}
