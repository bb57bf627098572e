//! Double-cap, this crate's own mechanism, with plain or sparse recovery of components.
//!
//! # The guarantee
//! A report is an index j among J public directions, drawn with weight `floor(2^32 e^epsilon)` if j is among the L
//! nearest the line of the record (lifted to the sphere) and `2^32` if it is not. L does not depend on the record, so
//! neither does the normaliser, and the probabilities of a report under any two records differ by at most `e^epsilon`:
//! pure epsilon under "any two records" (proof in [`mechanism::double_cap`](ldp_pca::mechanism::double_cap)).
//! Recovery is post-processing.
//!
//! The reported direction is drawn from its law, in which scores are exactly normal; real candidates are sums of
//! entries of a 12-bit table.

use rand::rand_core::CryptoRng;

use super::{Estimate, SparseSolver};
use crate::baselines::{
    Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator, Trust,
};
use ldp_pca::internal::mechanism::Moments;
use ldp_pca::mechanism::DoubleCap;
use ldp_pca::privacy::Epsilon;
use ldp_pca::recovery::{DEFAULT_PENALTY_FACTOR, Rank};
use ldp_pca_simulation::directions_mean;

/// Double-cap reports and their principal components.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoubleCapPca {
    /// Epsilon; delta is 0.
    pub epsilon: Epsilon,
    /// J, the number of candidates: 2 to 16384.
    pub candidates: u32,
    /// L, the number of likelier candidates: J / 1024 to J / 2.
    pub cap: u32,
}

impl DoubleCapPca {
    /// With the recommended number of candidates and the best cap.
    #[must_use]
    pub fn new(epsilon: Epsilon) -> Self {
        let candidates = DoubleCap::recommended_candidates(epsilon);
        Self { epsilon, candidates, cap: DoubleCap::best_cap(candidates, epsilon) }
    }

    /// The mechanism for records of `dimension` features in the unit ball.
    fn mechanism(&self, dimension: usize) -> Result<DoubleCap, BaselineError> {
        Ok(DoubleCap::new(dimension, self.epsilon, self.candidates, self.cap)?)
    }

    /// The sums of the reports of all records, for `method`.
    pub(super) fn sums(
        &self,
        method: &'static str,
        sample: &Sample,
        rng: &mut dyn CryptoRng,
    ) -> Result<Estimate, BaselineError> {
        let mechanism = self.mechanism(sample.dimension())?;
        let records = sample.records();
        let mean = directions_mean(&mechanism, sample.rows(method)?, rng);
        let matrix = mechanism.debias(&mechanism.sums_of_mean(&mean, records), records);
        Ok(Estimate { matrix, noise: mechanism.entry_deviation() / (records as f64).sqrt() })
    }
}

impl SubspaceEstimator for DoubleCapPca {
    fn name(&self) -> &'static str {
        "double-cap + PCA"
    }

    fn trust(&self) -> Trust {
        Trust::Local
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        self.mechanism(shape.dimension)?;
        let argument = "the number of likelier candidates is the same for every record, so the probability of any \
            report changes by at most e^epsilon";
        Ok(Some(MethodGuarantee::proved(EpsilonDelta::pure(self.epsilon), Adjacency::AnyTwoRecords, argument)))
    }

    /// Diagnostics: `noise`, the standard deviation of an off-diagonal entry of the estimate.
    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, self.name())?;
        self.sums(self.name(), sample, rng)?.components(rank)
    }
}

/// Double-cap reports and their sparse components: the Fantope problem, solved with a certificate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoubleCapSparse {
    /// The reports.
    pub reports: DoubleCapPca,
    /// c in the penalty `c noise sqrt(ln d)`.
    pub penalty_factor: f64,
}

impl DoubleCapSparse {
    /// With the recommended number of candidates, the best cap, and [`DEFAULT_PENALTY_FACTOR`].
    #[must_use]
    pub fn new(epsilon: Epsilon) -> Self {
        Self { reports: DoubleCapPca::new(epsilon), penalty_factor: DEFAULT_PENALTY_FACTOR }
    }
}

impl SubspaceEstimator for DoubleCapSparse {
    fn name(&self) -> &'static str {
        "double-cap + Fantope"
    }

    fn trust(&self) -> Trust {
        Trust::Local
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        self.reports.guarantee(shape)
    }

    /// Diagnostics: `noise`, `penalty`, and `gap`, the solver's relative duality gap.
    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, self.name())?;
        let estimate = self.reports.sums(self.name(), sample, rng)?;
        Ok(estimate.sparse(rank, self.penalty_factor, SparseSolver::Certified)?.0)
    }
}
