//! What the sums of a second wave's reports say.

use nalgebra::DMatrix;

use crate::aggregate::{Aggregate, AggregateError};
use crate::mechanism::Summable;
use crate::task::{Task, TaskMechanism};

/// What a second wave reported, in the units of bounded records (not multiplied by the square of a radius).
#[derive(Clone, Debug, PartialEq)]
pub struct SecondWave {
    /// V, d × k, as the people had it.
    pub directions: DMatrix<f64>,
    /// The weights, which the clip is for.
    pub weights: Vec<f64>,
    /// The clip.
    pub clip: f64,
    /// The cross block: the unbiased estimate of `E[b a']` of the clipped records, d × k.
    pub block: DMatrix<f64>,
    /// The variance that the mechanism gives to an entry, per column, for records whose vector is across it: hardly
    /// ever less for others at the best L up to epsilon 8.
    pub variances: Vec<f64>,
    /// The number of reports.
    pub records: u64,
}

impl SecondWave {
    /// What the reports of a refinement add to the first wave's sums.
    ///
    /// # Errors
    /// [`AggregateError`] for another task, for one that is not a refinement, and where there are no reports.
    pub fn of(aggregate: &Aggregate, task: &Task) -> Result<Self, AggregateError> {
        aggregate.check_task(task.digest())?;
        let TaskMechanism::SignedCap(mechanism) = task.mechanism() else {
            return Err(AggregateError::NotARefinement);
        };
        let records = aggregate.records();
        if records == 0 {
            return Err(AggregateError::NoReports);
        }
        let (refinement, gain) = (mechanism.refinement(), mechanism.gain());
        let (rows, weights, clip) = (refinement.dimension(), refinement.weights(), refinement.clip());
        // One of u's coordinates is w_j a_j b_i / c.
        let units: Vec<f64> = weights.iter().map(|weight| clip / weight).collect();
        let sum = |place: usize| aggregate.folds().iter().map(|fold| fold.sums()[place]).sum();
        let sums: Vec<i64> = (0..mechanism.sums_len()).map(sum).collect();
        let mean = mechanism.mean(&task.digest().key(), &sums, records);
        let block = DMatrix::from_fn(rows, units.len(), |row, column| mean[column * rows + row] * units[column]);
        let variances = units.iter().map(|unit| (unit / gain).powi(2) / records as f64).collect();
        Ok(Self { directions: refinement.directions(), weights, clip, block, variances, records })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::covariance::{Covariance, CovarianceError};
    use crate::privacy::Epsilon;
    use crate::tests::{self, clip, double_cap, task};
    use crate::waves::Refinement;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    /// Through bytes, and never a covariance.
    #[test]
    fn the_sums_of_a_refinement_give_a_cross_block_and_nothing_else() {
        let first = task(4, clip(2.0), double_cap(2.0, 16, 2), 3);
        let directions = DMatrix::identity(4, 2);
        let refinement = Refinement::from_parts(first.digest(), &directions, &[1.0, 2.0], 0.5).unwrap();
        let second = first.refined_by(refinement, Epsilon::new(4.0).unwrap(), None, None).unwrap();
        let mut aggregate = Aggregate::empty(&second);
        assert_eq!(SecondWave::of(&aggregate, &second), Err(AggregateError::NoReports));
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let reports = tests::reports(&second, 30_000, &mut rng, |_, _| vec![0.3, -0.2, 0.0, 0.9]);
        aggregate.accumulate(&second, &reports).unwrap();
        let aggregate = Aggregate::from_bytes(&aggregate.to_bytes(), &second).unwrap();
        assert_eq!(aggregate.folds()[0].sums().len(), 2048);
        let wave = SecondWave::of(&aggregate, &second).unwrap();
        assert_eq!((wave.records, wave.block.shape()), (30_000, (4, 2)));
        let x = [0.15, -0.1, 0.0, 0.45];
        for (column, a) in [0.15, -0.1].into_iter().enumerate() {
            for (row, b) in [0.0, 0.0, x[2], x[3]].into_iter().enumerate() {
                let (found, deviation) = (wave.block[(row, column)], wave.variances[column].sqrt());
                assert!(deviation < 0.005 && (found - a * b).abs() < 4.9 * deviation, "{row} {column}: {found}");
            }
        }
        let refused = Err(CovarianceError::Aggregate(AggregateError::Refinement));
        assert_eq!(Covariance::estimate(&aggregate, &second).map(drop), refused);
        assert_eq!(SecondWave::of(&Aggregate::empty(&first), &first), Err(AggregateError::NotARefinement));
        assert!(matches!(SecondWave::of(&aggregate, &first), Err(AggregateError::OtherTask { .. })));
    }
}
