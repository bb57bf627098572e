//! The covariance itself as an answer of `recover`, denoised.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ldp_pca::covariance::Covariance;
use ldp_pca::recovery::{Loss, denoise, project_psd};
use nalgebra::DMatrix;
use serde::Serialize;

use super::loadings::LoadingsFile;
use crate::error::{CliError, Result};

/// Whether the covariance is wanted, and as what.
#[derive(Args)]
pub(super) struct CovarianceArguments {
    /// Where to write the covariance (d × d), denoised: .csv with feature names, .npy, or .json
    #[arg(long, value_name = "FILE")]
    covariance: Option<PathBuf>,
    /// What becomes of the noise in it
    #[arg(long, value_enum, default_value_t, requires = "covariance")]
    denoise: Denoising,
}

/// What is done with the eigenvalues of the estimate. The eigenvectors stay.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Denoising {
    /// Shrunk by the known noise for the least Frobenius distance to the truth; the rest flattened to one level
    #[default]
    Frobenius,
    /// Shrunk by the known noise to the true variances of the components; the rest flattened to one level
    Operator,
    /// Negative eigenvalues set to zero, nothing else: needs no assumption, keeps most of the noise
    Psd,
    /// Nothing: unbiased, and with negative eigenvalues
    None,
}

/// The covariance that was written.
#[derive(Serialize)]
pub(crate) struct CovarianceResult {
    denoising: Denoising,
    /// What the eigenvalues that stand out of the noise became, descending.
    #[serde(skip_serializing_if = "Option::is_none")]
    eigenvalues: Option<Vec<f64>>,
    /// The level that all other eigenvalues were set to.
    #[serde(skip_serializing_if = "Option::is_none")]
    bulk: Option<f64>,
    pub(super) output: PathBuf,
}

impl CovarianceArguments {
    /// The file to write, its name checked before any work is done.
    pub(super) fn file(&self) -> Result<Option<LoadingsFile>> {
        self.covariance.as_deref().map(LoadingsFile::new).transpose()
    }

    /// Denoises and writes.
    pub(super) fn write(
        self,
        covariance: &Covariance,
        names: &[String],
        file: Option<&LoadingsFile>,
    ) -> Result<Option<CovarianceResult>> {
        let (Some(file), Some(output)) = (file, self.covariance) else { return Ok(None) };
        let mut result = CovarianceResult { denoising: self.denoise, eigenvalues: None, bulk: None, output };
        let mut shrunk = |loss| -> Result<DMatrix<f64>> {
            let law = covariance.noise_law().ok_or_else(|| {
                CliError::Usage(
                    "the noise of a covariance with centring has no law to shrink by: use --denoise psd or none".into(),
                )
            })?;
            let spiked = denoise(covariance.matrix(), &law, loss)?;
            result.eigenvalues = Some(spiked.variances().iter().copied().collect());
            result.bulk = Some(spiked.bulk());
            Ok(spiked.matrix())
        };
        let matrix = match self.denoise {
            Denoising::Frobenius => shrunk(Loss::Frobenius)?,
            Denoising::Operator => shrunk(Loss::Operator)?,
            Denoising::Psd => project_psd(covariance.matrix())?,
            Denoising::None => covariance.matrix().clone(),
        };
        file.write_covariance(&matrix, names)?;
        Ok(Some(result))
    }
}

impl CovarianceResult {
    pub(super) fn text(&self) -> String {
        let (Some(eigenvalues), Some(bulk)) = (&self.eigenvalues, self.bulk) else { return String::new() };
        format!(
            "covariance  {} of its eigenvalues stand out of the noise, the others were set to their mean, {bulk:.2e}\n",
            eigenvalues.len()
        )
    }
}
