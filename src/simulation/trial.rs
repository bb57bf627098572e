//! One simulated collection, from records to the error of the recovered subspace.

use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;

use super::population::{PopulationError, SpikedModel};
use crate::evaluation::SecondMoment;
use crate::mechanism::{LocalRandomizer, Mechanism, RandomizeError, triangle};
use crate::record::{BoundedRecord, Bounding, RecordError};
use crate::recovery::{Rank, RecoveryError, principal_components};
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

/// Squared distances `||sin Theta||_F^2` (0 to k) of recovered subspaces from the population's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialResult {
    /// From the reports (equal to `non_private` without a mechanism).
    pub sin_theta_squared: f64,
    /// From the records themselves.
    pub non_private: f64,
}

/// Records handled together.
const BATCH: usize = 256;

impl Trial<'_> {
    /// Runs the trial: every record is drawn, randomized, summed; then the components are recovered. `progress` is
    /// called with the number of records of every finished batch.
    ///
    /// # Errors
    /// [`SimulationError`] when a stage refuses its input.
    pub fn run<R: CryptoRng + ?Sized>(
        &self,
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
        let non_private = self.error_of(&second_moment.matrix())?;
        let sin_theta_squared = match (self.mechanism, &sums) {
            (Some(mechanism), Some(sums)) => self.error_of(&mechanism.debias(sums, self.records))?,
            _ => non_private,
        };
        Ok(TrialResult { sin_theta_squared, non_private })
    }

    fn error_of(&self, covariance: &DMatrix<f64>) -> Result<f64, SimulationError> {
        let components = principal_components(covariance, self.rank)?;
        Ok(sin_theta_squared(&Subspace::new(&components.vectors)?, self.population.subspace())?)
    }
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
