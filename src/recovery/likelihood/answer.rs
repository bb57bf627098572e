//! The answer of a likelihood pass, and whether it is offered.

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::fit::Fit;
use crate::covariance::Covariance;
use crate::linalg::symmetric_eigen;
use crate::noise_law::LinearForm;
use crate::recovery::RecoveryError;
use crate::recovery::held_out::{LEVEL, Measured, Projection};
use crate::subspace::orient_columns_in_place;

/// What a likelihood pass assumes.
const ASSUMPTION: &str = "E[b | a] = 0, with a = V'x and b = x - V a: what a record has beside the components is \
                          symmetric about zero, whatever it has along them";

/// The answer of a likelihood pass, beside the linear one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LikelihoodAnswer {
    /// Whether it is offered: it captures at least as much as the linear answer in reports held out.
    pub offered: bool,
    /// Why it is not offered, where that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<NotOffered>,
    /// What it assumes.
    pub assumption: &'static str,
    /// The number of components that were refined: those that stand out from the noise.
    pub refined: usize,
    /// The number of folds: each was held out once.
    pub folds: usize,
    /// The nominal coverage of each interval.
    pub level: f64,
    /// The captured variance in reports held out; none where nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captured: Option<Measured>,
    /// The captured variance less that of the linear answer, in reports held out; none where nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Measured>,
    /// `||sin Theta||_F^2` from the linear answer.
    pub distance: f64,
    /// Variances along the components in the linear estimate, with the bias of the noise. None where they are withheld.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub eigenvalues: Vec<f64>,
    /// One list of d loadings per component. None where they are withheld.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<Vec<f64>>,
}

/// Why the answer of a likelihood pass is not offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotOffered {
    /// It captures less in reports held out.
    CapturesLess,
    /// No component stands out from the noise, so that nothing was refined.
    Noise,
    /// A fold has no reports, or no component stands out from the noise in the others.
    TooFewReports,
}

/// The reports of a fold.
pub(super) struct Fold {
    /// Their share of all reports.
    pub(super) share: f64,
    pub(super) estimate: Covariance,
}

impl LikelihoodAnswer {
    /// Measures the fit of all reports by those that were found without a fold, each on it; without folds nothing is
    /// measured.
    pub(super) fn new(
        whole: &Fit,
        covariance: &Covariance,
        folds: usize,
        measured_on: &[(Fold, Fit)],
    ) -> Result<Self, RecoveryError> {
        let (mut captured, mut differences) = (vec![], vec![]);
        for (fold, fit) in measured_on {
            let of = |components: DMatrix<f64>| Projection::new(components, fold.estimate.matrix());
            let (linear, likelihood) = (of(fit.linear.clone()), of(fit.components()));
            captured.push(likelihood.form());
            differences.push(likelihood.less(&linear));
        }
        let shares: Vec<f64> = measured_on.iter().map(|(fold, _)| fold.share).collect();
        // Components that are the linear ones, where nothing stands out, are no measure of refined ones.
        let is_measured = !measured_on.is_empty() && measured_on.iter().all(|(_, fit)| fit.refined() > 0);
        let measured =
            |forms: &[LinearForm]| is_measured.then(|| Measured::of(forms, &shares, covariance.moments_law(), 2.0));
        let (captured, difference) = (measured(&captured), measured(&differences));
        let reason = match &difference {
            _ if whole.refined() == 0 => Some(NotOffered::Noise),
            None => Some(NotOffered::TooFewReports),
            Some(difference) if difference.value < 0.0 => Some(NotOffered::CapturesLess),
            Some(_) => None,
        };
        let found = whole.components();
        let overlap = whole.linear.tr_mul(&found).norm_squared();
        let (components, eigenvalues) = along_axes(&found, covariance.matrix())?;
        Ok(Self {
            offered: reason.is_none(),
            reason,
            assumption: ASSUMPTION,
            refined: whole.refined(),
            folds,
            level: LEVEL,
            captured,
            difference,
            distance: (found.ncols() as f64 - overlap).max(0.0),
            eigenvalues: eigenvalues.as_slice().to_vec(),
            components: components.column_iter().map(|column| column.iter().copied().collect()).collect(),
        })
    }

    /// Withholds components that are not offered.
    #[must_use]
    pub fn if_offered(mut self) -> Self {
        if !self.offered {
            (self.eigenvalues, self.components) = (vec![], vec![]);
        }
        self
    }
}

/// The axes of an estimate within a subspace, and the variances along them.
fn along_axes(basis: &DMatrix<f64>, estimate: &DMatrix<f64>) -> Result<(DMatrix<f64>, DVector<f64>), RecoveryError> {
    let within = basis.tr_mul(&(estimate * basis));
    let eigen = symmetric_eigen(&(0.5 * (&within + within.transpose())))?;
    let mut axes = basis * eigen.vectors;
    orient_columns_in_place(&mut axes);
    Ok((axes, eigen.values))
}
