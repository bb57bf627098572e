//! One simulated collection, from records to the error of the recovered subspace.

use core::ops::ControlFlow;

use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;

use super::population::{PopulationError, SpikedModel};
use crate::evaluation::SecondMoment;
use crate::mechanism::{LocalRandomizer, Mechanism, RandomizeError, triangle};
use crate::record::{BoundedRecord, Bounding, RecordError};
use crate::recovery::{
    FantopeProblem, FantopeSolver, Penalty, Rank, RecoveryError, SolverSettings, default_penalty, principal_components,
    soft_threshold,
};
use crate::report::ReportId;
use crate::subspace::{Subspace, SubspaceError, sin_theta_squared};

/// A collection of `records` reports from a population.
#[derive(Debug)]
pub struct Trial<'a> {
    /// Who is asked.
    pub population: &'a SpikedModel,
    /// How records are randomized; `None` for none.
    pub mechanism: Option<&'a Mechanism>,
    /// How many are asked, n.
    pub records: u64,
    /// How many components are recovered, k.
    pub rank: Rank,
}

/// How components are recovered from the estimate of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RecoveryMethod {
    /// [`principal_components`].
    Pca,
    /// [`principal_components`] of the estimate after [`soft_threshold`].
    SoftThreshold {
        /// The factor of [`default_penalty`], the amount.
        factor: f64,
    },
    /// [`FantopeSolver`](crate::recovery::FantopeSolver).
    Fantope {
        /// The factor of [`default_penalty`], the penalty.
        factor: f64,
    },
}

/// Squared distances `||sin Theta||_F^2` (0 to k) of recovered subspaces from the population's.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    /// By the first method, from the reports; from the records themselves where there is no mechanism.
    pub sin_theta_squared: f64,
    /// By [`RecoveryMethod::Pca`] from the records themselves.
    pub non_private: f64,
    /// Like `sin_theta_squared`, by every method in the order asked for.
    pub by_method: Vec<f64>,
}

/// Gap at which the sparse solver stops: far below what it takes to move an error's fourth digit.
const TOLERANCE: f64 = 1e-5;

/// Records handled together.
const BATCH: usize = 256;

impl Trial<'_> {
    /// Runs the trial: every record is drawn, randomized, summed; then the principal components are recovered.
    /// `progress` is called with the number of records of every finished batch.
    ///
    /// # Errors
    /// [`SimulationError`] when a stage refuses its input.
    pub fn run<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        progress: impl FnMut(u64),
    ) -> Result<TrialResult, SimulationError> {
        self.run_with_methods(RecoveryMethod::Pca, &[], rng, progress)
    }

    /// Like [`Trial::run`], and recovers the components by several methods from the same reports.
    ///
    /// # Errors
    /// [`SimulationError`] when a stage refuses its input; a factor must be a finite number of at least 0.
    pub fn run_with_methods<R: CryptoRng + ?Sized>(
        &self,
        first: RecoveryMethod,
        others: &[RecoveryMethod],
        rng: &mut R,
        mut progress: impl FnMut(u64),
    ) -> Result<TrialResult, SimulationError> {
        let dimension = self.population.subspace().dimension();
        let task_key = [0; 16];
        let mut second_moment = SecondMoment::new(dimension, 1.0);
        let mut sums = self.mechanism.map(|mechanism| vec![0i64; triangle(mechanism.state_dimension())]);
        let mut left = self.records;
        while left > 0 {
            let count = left.min(BATCH as u64) as usize;
            let records = (0..count)
                .map(|_| BoundedRecord::new(self.population.record(rng), Bounding::UnitNorm))
                .collect::<Result<Vec<_>, _>>()?;
            records.iter().for_each(|record| second_moment.add(record));
            if let (Some(mechanism), Some(sums)) = (self.mechanism, &mut sums) {
                let payloads = randomize(mechanism, &records, &task_key, rng)?;
                let payloads: Vec<(ReportId, &[u8])> = payloads.iter().map(|(id, bytes)| (*id, &bytes[..])).collect();
                mechanism.accumulate(&task_key, &payloads, sums);
            }
            left -= count as u64;
            progress(count as u64);
        }
        let exact = second_moment.matrix();
        let non_private = self.error_by(RecoveryMethod::Pca, &exact, 0.0)?;
        let (estimate, noise) = match (self.mechanism, &sums) {
            (Some(mechanism), Some(sums)) => {
                (mechanism.debias(sums, self.records), mechanism.entry_deviation() / (self.records as f64).sqrt())
            }
            _ => (exact, 0.0),
        };
        let sin_theta_squared = self.error_by(first, &estimate, noise)?;
        let mut by_method = vec![sin_theta_squared];
        for method in others {
            by_method.push(self.error_by(*method, &estimate, noise)?);
        }
        Ok(TrialResult { sin_theta_squared, non_private, by_method })
    }

    fn error_by(&self, method: RecoveryMethod, estimate: &DMatrix<f64>, noise: f64) -> Result<f64, SimulationError> {
        let penalty = |factor| default_penalty(noise, estimate.nrows(), factor);
        let components = match method {
            RecoveryMethod::Pca => principal_components(estimate, self.rank)?.vectors,
            RecoveryMethod::SoftThreshold { factor } => {
                principal_components(&soft_threshold(estimate, penalty(factor)?), self.rank)?.vectors
            }
            RecoveryMethod::Fantope { factor } => sparse_components(estimate, self.rank, penalty(factor)?)?,
        };
        Ok(sin_theta_squared(&Subspace::new(&components)?, self.population.subspace())?)
    }
}

fn sparse_components(estimate: &DMatrix<f64>, rank: Rank, penalty: Penalty) -> Result<DMatrix<f64>, RecoveryError> {
    let settings = SolverSettings { tolerance: TOLERANCE, ..SolverSettings::default() };
    let problem = FantopeProblem::new(estimate, rank, penalty)?;
    Ok(FantopeSolver::new(settings)?.solve(&problem, None, &mut |_| ControlFlow::Continue(()))?.components)
}

fn randomize<R: CryptoRng + ?Sized>(
    mechanism: &Mechanism,
    records: &[BoundedRecord],
    task_key: &[u8; 16],
    rng: &mut R,
) -> Result<Vec<(ReportId, Vec<u8>)>, SimulationError> {
    records
        .iter()
        .map(|record| {
            let mut id = [0; 16];
            rng.fill_bytes(&mut id);
            let id = ReportId::new(id);
            let payload = mechanism.randomize_with_rng(record, task_key, id, rng).map_err(RandomizeError::Entropy)?;
            Ok((id, payload))
        })
        .collect()
}

/// Why a simulation cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The population.
    #[error(transparent)]
    Population(#[from] PopulationError),
    /// A record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Randomizing.
    #[error(transparent)]
    Randomize(#[from] RandomizeError),
    /// Recovering.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// Comparing subspaces.
    #[error(transparent)]
    Subspace(#[from] SubspaceError),
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;
    use crate::mechanism::MechanismSpec;
    use crate::privacy::Epsilon;

    #[test]
    fn methods_see_the_same_reports_and_agree_without_noise() {
        let rank = Rank::new(2).unwrap();
        let spec = MechanismSpec::DoubleCap { epsilon: Epsilon::new(4.0).unwrap(), candidates: 32, cap: 2 };
        let mechanism = spec.build(20, Bounding::UnitNorm).unwrap();
        let factor = 0.5;
        let others = [RecoveryMethod::SoftThreshold { factor }, RecoveryMethod::Fantope { factor }];
        let run = |mechanism, others: &[RecoveryMethod]| {
            let mut rng = ChaCha12Rng::seed_from_u64(5);
            let population = SpikedModel::draw(20, rank, 20.0, Some(4), &mut rng).unwrap();
            let trial = Trial { population: &population, mechanism, records: 2000, rank };
            trial.run_with_methods(RecoveryMethod::Pca, others, &mut rng, |_| {}).unwrap()
        };
        let private = run(Some(&mechanism), &others);
        assert_eq!(private.by_method.len(), 3);
        assert_eq!(private.by_method[0], private.sin_theta_squared);
        assert_eq!(run(Some(&mechanism), &[]).by_method, private.by_method[..1]);
        // Four rows of twenty carry signal: 0.12 of plain components, far less of sparse ones, at this seed.
        assert!(private.by_method[1] < private.by_method[0] && private.by_method[2] < private.by_method[0]);
        let exact = run(None, &others);
        assert!(exact.by_method.iter().all(|error| (error - exact.non_private).abs() < 1e-12), "{exact:?}");
    }
}
