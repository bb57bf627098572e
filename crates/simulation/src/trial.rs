//! One simulated collection, from records to the error of the recovered subspace.

use std::ops::ControlFlow;

use chacha20::ChaCha12Rng;
use ldp_pca::centring::Centring;
use ldp_pca::internal::law::NoiseError;
use ldp_pca::internal::mechanism::{Moments, Summable, triangle};
use ldp_pca::internal::waves::RefineError;
use ldp_pca::mechanism::{LocalRandomizer, Mechanism, RandomizeError};
use ldp_pca::record::{BoundedRecord, Bounding, RecordError};
use ldp_pca::recovery::{
    FantopeError, FantopeProblem, FantopeSolution, FantopeSolver, Penalty, Rank, RecoveryError, default_penalty,
    principal_components, soft_threshold,
};
use ldp_pca::report::ReportId;
use ldp_pca::subspace::{Subspace, SubspaceError, share_found, sin_theta_squared};
use nalgebra::DMatrix;
use rand::SeedableRng;
use rand::rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use super::collection::{Collection, Estimate};
use super::drawn;
use super::population::{PopulationError, SpikedModel};
use super::second_moment::SecondMoment;

/// A collection of `records` reports from a population, once for each mechanism.
///
/// ```
/// use chacha20::ChaCha12Rng;
/// use ldp_pca::{Bounding, Epsilon, MechanismSpec, Rank};
/// use ldp_pca_simulation::{RecoveryMethod, Reports, SpikedModel, Trial};
/// use rand::SeedableRng;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let rank = Rank::new(2)?;
/// let population = SpikedModel::draw(20, rank, 20.0, None, &mut rng)?;
/// let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(4.0)?, candidates: 256, cap: 9 };
/// let mechanisms = [mechanism.build(20, Bounding::UnitNorm)?];
/// let reports = Reports::Drawn;
/// let (records, centring) = (10_000, None);
/// let trial = Trial { population: &population, mechanisms: &mechanisms, records, rank, reports, centring };
/// let result = trial.run(&[RecoveryMethod::Pca], &mut rng, |_| {})?;
/// let private = result.by_mechanism[0][0];
/// assert!(result.non_private.sin_theta_squared < private.sin_theta_squared);
/// assert!(private.share_found.is_some_and(|share| share > 0.9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Trial<'a> {
    /// The population.
    pub population: &'a SpikedModel,
    /// The mechanisms, each of which randomizes the same records independently.
    pub mechanisms: &'a [Mechanism],
    /// The number of records n, at least 1.
    pub records: u64,
    /// The number of components to recover, k.
    pub rank: Rank,
    /// How reports are generated.
    pub reports: Reports,
    /// Whether, and with which weight, records are extended so that the components are those about the mean: the
    /// mechanisms are then of one dimension more.
    pub centring: Option<Centring>,
}

/// How the reports of a trial are generated.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Reports {
    /// Every record is randomized, as on a user's device.
    #[default]
    Randomized,
    /// Sums of reports are drawn from their law: that of the randomizer, in `O(d^2)` operations per record.
    Drawn,
}

/// A method that recovers components from an estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RecoveryMethod {
    /// [`principal_components`].
    Pca,
    /// [`principal_components`] of the estimate after [`soft_threshold`].
    SoftThreshold {
        /// The factor of [`default_penalty`], the amount.
        factor: f64,
    },
    /// [`FantopeSolver`].
    Fantope {
        /// The factor of [`default_penalty`], the penalty.
        factor: f64,
    },
}

/// A recovered subspace beside the population's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recovered {
    /// The [share](share_found) that it finds of the population's structure; none where that has none.
    pub share_found: Option<f64>,
    /// The squared distance `||sin Theta||_F^2`, 0 to k.
    pub sin_theta_squared: f64,
}

/// Recovered subspaces beside the population's.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    /// By [`RecoveryMethod::Pca`] from the records themselves. Without noise there is no penalty either, so it is the
    /// same for every method.
    pub non_private: Recovered,
    /// For each mechanism, by each method, in the orders asked for.
    pub by_mechanism: Vec<Vec<Recovered>>,
}

/// The random stream of the trial with this number: each has its own, so that no result depends on what runs beside it.
#[must_use]
pub fn stream(seed: u64, number: u64) -> ChaCha12Rng {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

/// Records handled together.
const BATCH: usize = 256;

impl Trial<'_> {
    /// Collects the reports and recovers the components by several methods from each mechanism's. `progress` is called
    /// with the number of records of every finished batch.
    ///
    /// # Errors
    /// [`SimulationError`] when a stage refuses its input; a factor must be a finite number of at least 0.
    pub fn run<R: CryptoRng + ?Sized>(
        &self,
        methods: &[RecoveryMethod],
        rng: &mut R,
        progress: impl FnMut(u64),
    ) -> Result<TrialResult, SimulationError> {
        let truth = (self.population.subspace(), &self.population.covariance());
        TrialResult::new(self.collect(rng, progress)?, methods, self.rank, truth)
    }

    /// Draws the records and collects the reports of each mechanism. With [`Reports::Drawn`] a generator in the same
    /// state gives the same records for all mechanisms, and a larger number starts with the same records.
    ///
    /// # Errors
    /// [`SimulationError`] when there are no records, or a mechanism is for another dimension or fails.
    pub fn collect<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        progress: impl FnMut(u64),
    ) -> Result<Collection, SimulationError> {
        let expected = self.coordinates();
        if let Some(other) = self.mechanisms.iter().find(|mechanism| mechanism.dimension() != expected) {
            return Err(SimulationError::Dimension { expected, found: other.dimension() });
        }
        if self.records == 0 {
            return Err(SimulationError::NoRecords);
        }
        let collection = match self.reports {
            Reports::Randomized => self.randomize_all(rng, progress)?,
            Reports::Drawn => {
                drawn::collect(self.population, self.mechanisms, self.centring, self.records, rng, progress)
            }
        };
        Ok(match self.centring {
            Some(centring) => collection.centred(centring, self.mechanisms, self.records),
            None => collection,
        })
    }

    /// The number of coordinates that are randomized.
    fn coordinates(&self) -> usize {
        self.population.subspace().dimension() + usize::from(self.centring.is_some())
    }

    fn randomize_all<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        mut progress: impl FnMut(u64),
    ) -> Result<Collection, SimulationError> {
        // The first mechanism has the records' generator, each of the others one of its own.
        let mut sums: Vec<(&Mechanism, Vec<i64>, Option<ChaCha12Rng>)> = (self.mechanisms.iter().enumerate())
            .map(|(place, mechanism)| {
                let own = (place > 0).then(|| ChaCha12Rng::from_rng(rng));
                (mechanism, vec![0; triangle(mechanism.state_dimension())], own)
            })
            .collect();
        let mut second_moment = SecondMoment::new(self.coordinates(), 1.0);
        let mut left = self.records;
        while left > 0 {
            let count = left.min(BATCH as u64) as usize;
            let records = (0..count)
                .map(|_| {
                    let record = BoundedRecord::new(self.population.record(rng), Bounding::UnitNorm)?;
                    Ok(self.centring.map_or(record.clone(), |centring| centring.augment(&record)))
                })
                .collect::<Result<Vec<_>, RecordError>>()?;
            records.iter().for_each(|record| second_moment.add(record));
            for (mechanism, sums, own) in &mut sums {
                match own {
                    Some(own) => collect_reports(mechanism, &records, sums, own)?,
                    None => collect_reports(mechanism, &records, sums, rng)?,
                }
            }
            left -= count as u64;
            progress(count as u64);
        }
        let estimates = sums.into_iter().map(|(mechanism, sums, _)| Estimate {
            matrix: mechanism.debias(&sums, self.records),
            noise: mechanism.entry_deviation() / (self.records as f64).sqrt(),
        });
        Ok(Collection { second_moment: second_moment.matrix(), estimates: estimates.collect() })
    }
}

impl Recovered {
    /// Of equal components above an isotropic rest by `signal`, where the error, `random` for a random subspace, says
    /// the share.
    #[must_use]
    pub fn of_equal(signal: f64, sin_theta_squared: f64, random: f64) -> Self {
        let share = 1.0 - sin_theta_squared / random;
        Self { share_found: (signal > 0.0 && random > 0.0).then_some(share), sin_theta_squared }
    }

    pub(super) fn new(
        subspace: &Subspace,
        (truth, covariance): (&Subspace, &DMatrix<f64>),
    ) -> Result<Self, SubspaceError> {
        Ok(Self {
            share_found: share_found(subspace, truth, covariance)?,
            sin_theta_squared: sin_theta_squared(subspace, truth)?,
        })
    }
}

impl TrialResult {
    /// The subspaces of rank `rank` that are recovered from the records' own second moments, and from each estimate by
    /// each method, beside the population's subspace and covariance.
    pub(super) fn new(
        collection: Collection,
        methods: &[RecoveryMethod],
        rank: Rank,
        truth: (&Subspace, &DMatrix<f64>),
    ) -> Result<Self, SimulationError> {
        let recovered = |method: RecoveryMethod, estimate: &Estimate| -> Result<Recovered, SimulationError> {
            Ok(Recovered::new(&method.recover(estimate, rank)?, truth)?)
        };
        let exact = Estimate { matrix: collection.second_moment, noise: 0.0 };
        let by_methods = |estimate| methods.iter().map(|method| recovered(*method, estimate)).collect();
        Ok(Self {
            non_private: recovered(RecoveryMethod::Pca, &exact)?,
            by_mechanism: collection.estimates.iter().map(by_methods).collect::<Result<_, _>>()?,
        })
    }
}

impl RecoveryMethod {
    fn recover(self, estimate: &Estimate, rank: Rank) -> Result<Subspace, SimulationError> {
        let penalty = |factor| default_penalty(estimate.noise, estimate.matrix.nrows(), factor);
        let components = match self {
            Self::Pca => principal_components(&estimate.matrix, rank)?.vectors,
            Self::SoftThreshold { factor } => {
                principal_components(&soft_threshold(&estimate.matrix, penalty(factor)?), rank)?.vectors
            }
            Self::Fantope { factor } => sparse_components(estimate, rank, penalty(factor)?)?.components,
        };
        Ok(Subspace::new(&components)?)
    }
}

pub(super) fn sparse_components(
    estimate: &Estimate,
    rank: Rank,
    penalty: Penalty,
) -> Result<FantopeSolution, FantopeError> {
    let problem = FantopeProblem::new(&estimate.matrix, rank, penalty)?;
    FantopeSolver::default().solve_within_noise(&problem, estimate.noise, &mut |_| ControlFlow::Continue(()))
}

/// Randomizes every record and adds the reports to the sums.
fn collect_reports<R: CryptoRng + ?Sized>(
    mechanism: &Mechanism,
    records: &[BoundedRecord],
    sums: &mut [i64],
    rng: &mut R,
) -> Result<(), SimulationError> {
    let task_key = [0; 16];
    let mut payloads = Vec::with_capacity(records.len());
    for record in records {
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let id = ReportId::new(id);
        payloads.push((id, mechanism.randomize_with_rng(record, &task_key, id, rng)?));
    }
    let payloads: Vec<(ReportId, &[u8])> = payloads.iter().map(|(id, bytes)| (*id, &bytes[..])).collect();
    mechanism.accumulate(&task_key, &payloads, sums);
    Ok(())
}

/// Reasons why a simulation cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// Nobody is asked.
    #[error("a collection of 0 records has no estimate: ask for at least 1")]
    NoRecords,
    /// A mechanism is for other records.
    #[error("the mechanism is for {found} features and the population has {expected}: build it for that many")]
    Dimension {
        /// The population's dimension.
        expected: usize,
        /// The mechanism's.
        found: usize,
    },
    /// The population.
    #[error(transparent)]
    Population(#[from] PopulationError),
    /// A record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Randomizing.
    #[error(transparent)]
    Randomize(#[from] RandomizeError),
    /// Drawing an estimate from its law.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Recovering.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// Comparing subspaces.
    #[error(transparent)]
    Subspace(#[from] SubspaceError),
    /// Putting two waves together.
    #[error(transparent)]
    Refine(#[from] RefineError),
}

impl From<FantopeError> for SimulationError {
    fn from(error: FantopeError) -> Self {
        Self::Recovery(error.into())
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use ldp_pca::mechanism::MechanismSpec;
    use ldp_pca::privacy::Epsilon;
    use rand::SeedableRng;

    use super::*;

    fn mechanism(dimension: usize) -> Mechanism {
        let spec = MechanismSpec::DoubleCap { epsilon: Epsilon::new(4.0).unwrap(), candidates: 32, cap: 2 };
        spec.build(dimension, Bounding::UnitNorm).unwrap()
    }

    fn run(mechanisms: &[Mechanism], methods: &[RecoveryMethod], reports: Reports) -> TrialResult {
        let rank = Rank::new(2).unwrap();
        let mut rng = ChaCha12Rng::seed_from_u64(5);
        let population = SpikedModel::draw(20, rank, 20.0, Some(4), &mut rng).unwrap();
        let trial = Trial { population: &population, mechanisms, records: 2000, rank, reports, centring: None };
        trial.run(methods, &mut rng, |_| {}).unwrap()
    }

    #[test]
    fn methods_see_the_same_reports_and_mechanisms_the_same_records() {
        let factor = 0.5;
        let methods =
            [RecoveryMethod::Pca, RecoveryMethod::SoftThreshold { factor }, RecoveryMethod::Fantope { factor }];
        for reports in [Reports::Randomized, Reports::Drawn] {
            let one = run(&[mechanism(20)], &methods, reports);
            // Four rows of twenty carry signal: 0.12 of plain components, far less of sparse ones, at this seed.
            let found = &one.by_mechanism[0];
            let [plain, others @ ..] = &found[..] else { panic!("three methods") };
            let is_nearer = |other: &Recovered| other.sin_theta_squared < plain.sin_theta_squared;
            assert!(others.iter().all(is_nearer), "{found:?}");
            // Two equal components of twenty features: a random subspace has the error 1.8.
            for Recovered { share_found, sin_theta_squared } in found {
                assert!((share_found.unwrap() - (1.0 - sin_theta_squared / 1.8)).abs() < 1e-9, "{found:?}");
            }
            assert_eq!(run(&[mechanism(20)], &methods[..1], reports).by_mechanism[0], found[..1]);
            let two = run(&[mechanism(20), mechanism(20)], &methods, reports);
            assert_ne!(two.by_mechanism[0], two.by_mechanism[1]);
            if reports == Reports::Drawn {
                assert_eq!((two.non_private, &two.by_mechanism[0]), (one.non_private, found));
                assert_eq!(
                    run(&[], &methods, reports),
                    TrialResult { non_private: one.non_private, by_mechanism: vec![] }
                );
            }
        }
    }

    #[test]
    fn collections_that_make_no_sense_are_refused() {
        let rank = Rank::new(2).unwrap();
        let mut rng = ChaCha12Rng::seed_from_u64(5);
        let population = SpikedModel::draw(20, rank, 20.0, None, &mut rng).unwrap();
        let mechanisms = [mechanism(20), mechanism(21)];
        for reports in [Reports::Randomized, Reports::Drawn] {
            let (records, centring) = (10, None);
            let trial = Trial { population: &population, mechanisms: &mechanisms, records, rank, reports, centring };
            let wrong = SimulationError::Dimension { expected: 20, found: 21 };
            assert_eq!(trial.collect(&mut rng, |_| {}), Err(wrong));
            let trial = Trial { mechanisms: &[], records: 0, ..trial };
            assert_eq!(trial.collect(&mut rng, |_| {}), Err(SimulationError::NoRecords));
        }
    }
}
