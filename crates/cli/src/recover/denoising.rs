//! The denoised covariance as a result of `recover`.

use clap::Args;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::recovery::{Denoised, Denoising};
use ldp_pca::recovery::RecoveryError;
use serde::Serialize;

use super::loadings;
use crate::choice::{Choice, one_of};
use crate::error::{CliError, Result};
use crate::writing::Target;

/// The arguments of the covariance.
#[derive(Args)]
pub(super) struct CovarianceArguments {
    /// Where to write the covariance (d × d), denoised: .csv with feature names, .npy, or .json
    #[arg(long, value_name = "FILE", value_parser = loadings::target(), help_heading = "Covariance")]
    covariance: Option<Target>,
    /// How its noise is treated
    #[arg(long, value_parser = one_of(&DENOISINGS), default_value = "frobenius", help_heading = "Covariance")]
    #[arg(requires = "covariance")]
    denoise: Denoising,
}

/// The treatment of the eigenvalues of the estimate. The eigenvectors stay.
const DENOISINGS: [Choice<Denoising>; 4] = [
    (
        "frobenius",
        "Shrunk by the known noise for the least Frobenius distance to the truth; the rest flattened to one level",
        Denoising::Frobenius,
    ),
    (
        "operator",
        "Shrunk by the known noise to the true variances of the components; the rest flattened to one level",
        Denoising::Operator,
    ),
    (
        "psd",
        "Negative eigenvalues set to zero, nothing else: needs no assumption, keeps most of the noise",
        Denoising::Psd,
    ),
    ("none", "Nothing: unbiased, and with negative eigenvalues", Denoising::None),
];

/// The covariance that was written.
#[derive(Serialize)]
pub(crate) struct CovarianceResult {
    #[serde(flatten)]
    denoised: Denoised,
    pub(super) output: Target,
}

impl CovarianceArguments {
    /// Denoises and writes.
    pub(super) fn write(&self, covariance: &Covariance, names: &[String]) -> Result<Option<CovarianceResult>> {
        let Some(output) = self.covariance.clone() else { return Ok(None) };
        let denoised = self.denoise.apply(covariance).map_err(|error| match error {
            RecoveryError::NoLaw => CliError::Usage(
                "eigenvalues about an estimated mean are not shrunk: use --denoise psd or none with centring".into(),
            ),
            other => other.into(),
        })?;
        loadings::write(&output, &denoised.matrix, names, "covariance", names)?;
        Ok(Some(CovarianceResult { denoised, output }))
    }
}
