//! How far the components may be off: predicted from the known noise, and by drawing that noise again.

use std::ops::ControlFlow;

use chacha20::ChaCha12Rng;
use clap::Args;
use ldp_pca::covariance::Covariance;
use ldp_pca::error::Error;
use ldp_pca::prediction::{Prediction, predict_from_estimate};
use ldp_pca::recovery::{
    Bootstrap, FantopeProblem, FantopeSolver, Penalty, Rank, RecoveryError, SolverSettings, SubspaceEstimate,
    bootstrap, principal_components,
};
use nalgebra::DMatrix;
use rand::SeedableRng;
use serde::Serialize;

use crate::error::{CliError, Result};
use crate::output::bar;

/// The coverage of the intervals.
const LEVEL: f64 = 0.95;

/// Features whose stability is shown.
const SHOWN: usize = 12;

/// Duality gap to which replicates are solved: far below the noise that they differ by.
const TOLERANCE: f64 = 1e-4;

/// Above this dimension no prediction is made, which takes all eigenvalues.
const DECOMPOSED: usize = 2000;

/// Whether the noise is drawn again.
#[derive(Args)]
pub(super) struct ConfidenceArguments {
    /// Draw the known noise again so many times (200 or more) for an interval of the error and the stability of the support
    #[arg(long, value_name = "REPLICATES", num_args = 0..=1, default_missing_value = "200")]
    bootstrap: Option<usize>,
    /// Seed of those draws
    #[arg(long, default_value_t = 1, requires = "bootstrap")]
    bootstrap_seed: u64,
}

/// What to expect of the plain components, from the known noise and the eigenvalues freed of its push.
#[derive(Serialize)]
pub(crate) struct PredictionResult {
    sin_theta_squared: f64,
    per_component: Vec<f64>,
    recoverable: Vec<bool>,
    /// What a random subspace has.
    uninformed: f64,
    /// The true variance above which a component can be recovered at all.
    threshold: f64,
}

/// What drawing the noise again says.
#[derive(Serialize)]
pub(crate) struct ConfidenceResult {
    replicates: usize,
    level: f64,
    /// Interval for `||sin Theta||_F^2` of the components reported.
    lower: f64,
    upper: f64,
    median: f64,
    components: Vec<ComponentResult>,
    /// For every feature the share of replicates that have it in their support.
    support_stability: Vec<f64>,
    /// Root mean squared error of every loading, one list of d per component.
    loading_errors: Vec<Vec<f64>>,
}

#[derive(Serialize)]
struct ComponentResult {
    /// The true variance, estimated: freed of the noise's push.
    eigenvalue: f64,
    /// Whether the component can be told from noise.
    distinguishable: bool,
    lower: f64,
    upper: f64,
}

impl ConfidenceArguments {
    /// Bootstraps the components, sparse when there is a penalty; nothing unless asked for.
    pub(super) fn confidence(
        &self,
        covariance: &Covariance,
        rank: Rank,
        penalty: Option<Penalty>,
    ) -> Result<Option<ConfidenceResult>> {
        let Some(replicates) = self.bootstrap else { return Ok(None) };
        let Some(law) = covariance.noise_law() else {
            return Err(CliError::Usage(
                "--bootstrap knows the noise of second moments, not that of a covariance about an estimated mean: \
                 leave it out for a task with centring"
                    .into(),
            ));
        };
        let solver = FantopeSolver::new(SolverSettings { tolerance: TOLERANCE, ..SolverSettings::default() })?;
        let estimator = |matrix: &DMatrix<f64>| -> std::result::Result<SubspaceEstimate, RecoveryError> {
            match penalty {
                None => Ok(principal_components(matrix, rank)?.into()),
                Some(penalty) => {
                    let problem = FantopeProblem::new(matrix, rank, penalty)?;
                    Ok(solver.solve(&problem, None, &mut |_| ControlFlow::Continue(()))?.into())
                }
            }
        };
        let progress = bar("bootstrapping", replicates as u64);
        let mut rng = ChaCha12Rng::seed_from_u64(self.bootstrap_seed);
        let outcome = bootstrap(covariance.matrix(), &law, replicates, estimator, &mut rng, |state| {
            progress.set_position(state.done as u64);
            ControlFlow::Continue(())
        });
        progress.finish_and_clear();
        ConfidenceResult::of(&outcome.map_err(Error::from)?).map(Some)
    }
}

impl PredictionResult {
    /// The prediction, where the law of the noise is known and the eigenvalues are quickly found.
    pub(super) fn of(covariance: &Covariance, rank: Rank) -> Result<Option<Self>> {
        if covariance.noise_law().is_none() || covariance.matrix().nrows() > DECOMPOSED {
            return Ok(None);
        }
        let Prediction { components, sin_theta_squared, uninformed, threshold } =
            predict_from_estimate(covariance, rank).map_err(Error::from)?;
        Ok(Some(Self {
            sin_theta_squared,
            per_component: components.iter().map(|component| component.sin_squared).collect(),
            recoverable: components.iter().map(|component| component.recoverable).collect(),
            uninformed,
            threshold,
        }))
    }

    pub(super) fn text(&self) -> String {
        format!(
            "predicted   ||sin Theta||_F^2 = {:.4} (0 is exact, {:.2} is a guess)\n",
            self.sin_theta_squared, self.uninformed
        )
    }
}

impl ConfidenceResult {
    fn of(outcome: &Bootstrap) -> Result<Self> {
        let interval = outcome.interval(LEVEL).map_err(Error::from)?;
        let mut components = Vec::new();
        for component in &outcome.components {
            let interval = component.interval(LEVEL).map_err(Error::from)?;
            components.push(ComponentResult {
                eigenvalue: component.eigenvalue,
                distinguishable: component.distinguishable,
                lower: interval.lower,
                upper: interval.upper,
            });
        }
        Ok(Self {
            replicates: outcome.replicates(),
            level: LEVEL,
            lower: interval.lower,
            upper: interval.upper,
            median: outcome.median(),
            components,
            support_stability: outcome.support_stability.clone(),
            loading_errors: outcome
                .loading_errors
                .column_iter()
                .map(|column| column.iter().copied().collect())
                .collect(),
        })
    }

    pub(super) fn text(&self, names: &[String], support: Option<&[String]>) -> String {
        let mut text = format!(
            "interval    ||sin Theta||_F^2 is within {:.4} and {:.4} with {:.0} % confidence ({} replicates)\n",
            self.lower,
            self.upper,
            100.0 * self.level,
            self.replicates
        );
        if let Some(support) = support {
            let stability = |name: &String| {
                let index = names.iter().position(|other| other == name)?;
                Some(format!("{name} {:.0} %", 100.0 * self.support_stability[index]))
            };
            let shown: Vec<String> = support.iter().take(SHOWN).filter_map(stability).collect();
            let more = if support.len() > SHOWN { ", …" } else { "" };
            text += &format!("stability   {}{more}\n", shown.join(", "));
        }
        text
    }
}
