//! DPS-PCA (Ge, Wang, Wang & Liu 2018), all parties in one process, beside the other methods. The steps, the noise and
//! the proof are those of [`ldp_pca_dps`].
//!
//! [`MethodGuarantee::proved`] holds with the enforced bound; it is `None` for [`Bound::None`].

use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::Subspace;
use ldp_pca_dps::{Coordinator, NoiseSource, Provider, Scale, random_start, run, scale};
use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;

use super::{
    Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator, Trust,
};

/// The method's name.
const NAME: &str = "DPS-PCA";

/// The smallest epsilon that is reported.
const LEAST_TOLD: f64 = 1e-3;

/// The noise of the providers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Noise {
    /// By Algorithm 1. Epsilon must be below 1 and delta below 1/2, as Theorem 4.1 requires.
    Printed,
    /// The least noise that gives epsilon and delta.
    #[default]
    Corrected,
    /// This standard deviation, whatever epsilon and delta are claimed. It is for the paper's figures, which are
    /// outside the range of its theorem.
    Given(f64),
    /// No noise, and no guarantee.
    Absent,
}

/// The start of the iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// At a random subspace.
    #[default]
    Dense,
    /// At a random subspace; line 1 of Algorithm 1 zeroes all but its longest rows.
    Thresholded,
}

/// The providers' treatment of the norm of records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A longer record is an error.
    Require(f64),
    /// A longer record is scaled to this norm.
    Clip(f64),
    /// No bound, as in the paper's experiments. Then nothing is proved.
    None,
}

/// The method, run in one process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DpsPca {
    /// Epsilon of all rounds together.
    pub epsilon: Epsilon,
    /// Delta of all rounds together.
    pub delta: Delta,
    /// N: the records are split into N runs of nearly the same length. Default 1, as in the paper's experiments.
    pub providers: usize,
    /// T. Default 10, as in those experiments.
    pub rounds: u32,
    /// s, the number of rows kept, at least k. Default `None`: all rows, for components that are not sparse.
    pub kept_rows: Option<usize>,
    /// Default dense.
    pub start: Start,
    /// Default corrected.
    pub noise: Noise,
    /// Default: records of norm above 1 are refused.
    pub bound: Bound,
}

impl DpsPca {
    /// The method with the defaults of its fields.
    #[must_use]
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        let (noise, bound) = (Noise::Corrected, Bound::Require(1.0));
        Self { epsilon, delta, providers: 1, rounds: 10, kept_rows: None, start: Start::Dense, noise, bound }
    }

    /// The noise of a provider's messages, `None` where there is none.
    ///
    /// # Errors
    /// [`BaselineError`] for parameters outside the theorem.
    pub fn scale(&self, dimension: usize, rank: Rank) -> Result<Option<Scale>, BaselineError> {
        let shape = scale::Messages { dimension, rank, rounds: self.rounds };
        match self.noise {
            Noise::Printed => Ok(Some(Scale::new(scale::printed(self.epsilon, self.delta, self.rounds)?)?)),
            Noise::Corrected => {
                // The corrected accounting needs a bound. Without one it uses 1, as the paper does.
                let norm = self.norm_bound().unwrap_or(1.0);
                Ok(Some(Scale::new(scale::corrected(self.epsilon, self.delta, shape, norm)?)?))
            }
            Noise::Given(sigma) => Ok(Some(Scale::new(sigma)?)),
            Noise::Absent => Ok(None),
        }
    }

    /// Q(1), Q(2), … Q(T+1), each with orthonormal columns: the last is the estimate.
    ///
    /// # Errors
    /// As [`estimate`](SubspaceEstimator::estimate).
    pub fn trajectory(
        &self,
        sample: &Sample,
        rank: Rank,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<DMatrix<f64>>, BaselineError> {
        rank.check(sample.dimension())?;
        let scale = self.scale(sample.dimension(), rank)?;
        let providers = self.providers(sample)?;
        let start = random_start(sample.dimension(), rank, rng);
        let sources: Vec<NoiseSource> = providers.iter().map(|_| NoiseSource::draw(rng)).collect();
        let coordinator = match self.start {
            Start::Dense => Coordinator::dense(&start, self.kept_rows, self.rounds)?,
            Start::Thresholded => Coordinator::new(&start, self.kept_rows, self.rounds)?,
        };
        Ok(run(&providers, &sources, scale, coordinator)?)
    }

    /// The providers with their records.
    fn providers(&self, sample: &Sample) -> Result<Vec<Provider>, BaselineError> {
        let wanted = self.providers;
        if wanted == 0 || wanted as u64 > sample.records() {
            return Err(BaselineError::OutsideTheorem {
                method: NAME,
                parameter: "the number of providers",
                value: wanted as f64,
                theorem: "Ge, Wang, Wang & Liu (2018), Algorithm 1",
                remedy: "there must be at least one, and a record for each",
            });
        }
        if let Some(norm) = self.norm_bound() {
            scale::check_norm(norm)?;
        }
        if let Bound::Require(norm) = self.bound {
            sample.check_norm(NAME, norm)?;
        }
        let short = self.norm_bound().is_none_or(|norm| sample.largest_norm() <= norm);
        let rows = sample.rows(NAME);
        let until = |provider: usize| sample.records() * provider as u64 / wanted as u64;
        let provider = |i| {
            let (first, share) = (until(i), until(i + 1) - until(i));
            Ok(match &rows {
                Ok(rows) => {
                    let mut own = rows.clone().skip(first as usize).take(share as usize);
                    Provider::new(sample.dimension(), &mut own, self.norm_bound())?
                }
                // The server sums the messages, so the split of the records does not affect the result: every provider
                // gets the same moments.
                Err(_) if short => Provider::from_second_moment(sample.second_moment(), share)?,
                Err(refusal) => return Err(refusal.clone()),
            })
        };
        (0..wanted).map(provider).collect()
    }

    fn norm_bound(&self) -> Option<f64> {
        match self.bound {
            Bound::Require(norm) | Bound::Clip(norm) => Some(norm),
            Bound::None => None,
        }
    }
}

impl SubspaceEstimator for DpsPca {
    fn name(&self) -> &'static str {
        NAME
    }

    fn trust(&self) -> Trust {
        if self.noise == Noise::Absent { Trust::Everybody } else { Trust::Providers }
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        let Some(scale) = self.scale(shape.dimension, shape.rank)? else { return Ok(None) };
        let messages = scale::Messages { dimension: shape.dimension, rank: shape.rank, rounds: self.rounds };
        let proved = match (self.noise, self.norm_bound()) {
            (_, None) => None,
            (Noise::Corrected, Some(_)) => Some(EpsilonDelta::approximate(self.epsilon, self.delta)),
            // If delta alone covers the loss, the least epsilon is tiny, and a readable one is reported instead.
            (_, Some(norm)) => scale::epsilon(scale, self.delta, messages, norm)?
                .and_then(|least| if least.value() < LEAST_TOLD { Epsilon::new(LEAST_TOLD).ok() } else { Some(least) })
                .map(|epsilon| EpsilonDelta::approximate(epsilon, self.delta)),
        };
        Ok(Some(MethodGuarantee {
            claimed: EpsilonDelta::approximate(self.epsilon, self.delta),
            proved,
            adjacency: Adjacency::ReplaceOne,
            argument: "every provider's messages are T Gaussian mechanisms of sensitivity sqrt(2) R^2 (R^2 for k = 1) \
                on its records of norm at most R, composed adaptively; the server and all others see nothing else",
        }))
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        let bases = self.trajectory(sample, rank, rng)?;
        // The first basis is the start of the run.
        Ok(Outcome::new(Subspace::new(&bases[bases.len() - 1])?))
    }
}

#[cfg(test)]
mod tests;
