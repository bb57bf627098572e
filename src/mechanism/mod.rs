//! Local randomizers: from a bounded record to a payload that is private on its own, and from sums of payloads back
//! to a covariance.
//!
//! | mechanism | guarantee | payload | when |
//! |---|---|---|---|
//! | [`double_cap`] | epsilon, delta = 0 | 2 bytes beside the report's id | the default: least noise at every epsilon |
//! | [`gaussian`] | (epsilon, delta) | one byte per entry of the upper triangle | comparison with the literature, dense reports |

mod document;
pub mod double_cap;
pub mod gaussian;
mod options;
mod pull;
mod range;

use core::num::NonZeroUsize;

use nalgebra::DMatrix;
use rand::rand_core::TryCryptoRng;
use serde::Serialize;

use crate::decimal::{Decimal, Scientific};
use crate::identity::ReportId;
use crate::privacy::composition::PrivacyLoss;
use crate::privacy::{Delta, Epsilon, Guarantee, PrivacyError};
use crate::record::{BoundedRecord, Bounding, RecordError};
use crate::sampling::EntropyError;

pub use double_cap::DoubleCap;
pub use gaussian::{Calibration, Gaussian};
pub use options::{MechanismFamily, MechanismName, MechanismOptionError, MechanismOptions};
pub use pull::{Check, HostilePull, Pull, PullBounds, UNLUCKY_IDS};
pub use range::{RangeCheck, RangeError};

/// A mechanism and its parameters, as a task states them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum MechanismSpec {
    /// Gaussian noise on the covariance contribution.
    Gaussian {
        /// Privacy parameter epsilon.
        epsilon: Epsilon,
        /// Privacy parameter delta.
        delta: Delta,
        /// How the noise scale follows from them.
        calibration: Calibration,
    },
    /// One of `candidates` public directions, `cap` of which are likelier.
    DoubleCap {
        /// Privacy parameter epsilon; delta is 0.
        epsilon: Epsilon,
        /// Number of candidate directions, J.
        candidates: u32,
        /// Number of likelier ones, L.
        cap: u32,
    },
}

impl MechanismSpec {
    /// The mechanism for records of `dimension` features under `bounding`.
    ///
    /// # Errors
    /// [`MechanismError`] when the parameters do not fit together.
    pub fn build(&self, dimension: usize, bounding: Bounding) -> Result<Mechanism, MechanismError> {
        Ok(match *self {
            Self::Gaussian { epsilon, delta, calibration } => {
                Mechanism::Gaussian(Gaussian::new(dimension, epsilon, delta, calibration)?)
            }
            Self::DoubleCap { epsilon, candidates, cap } => {
                Mechanism::DoubleCap(DoubleCap::new(dimension, bounding, epsilon, candidates, cap)?)
            }
        })
    }
}

/// What every mechanism does. The randomizing half sees records; the aggregating half never does.
pub trait LocalRandomizer {
    /// What one report promises.
    fn guarantee(&self) -> Guarantee;

    /// What one report loses, in the form that composes best with other reports.
    fn privacy_loss(&self) -> PrivacyLoss;

    /// The number of coordinates of a record, d.
    fn dimension(&self) -> usize;

    /// The length of a payload in bytes, the same for every record.
    fn payload_bytes(&self) -> usize;

    /// How many random numbers one report takes, public ones included: what it costs in time, the same for every record.
    fn draws(&self) -> u64;

    /// Randomizes a record of the right dimension into a payload: every record, since whether there is a report is part of
    /// what others see, and no guarantee covers a refusal that depends on the record. `task_key` (the first 16 bytes of the task's
    /// digest) and `id` are public; all secrecy comes from `rng`.
    ///
    /// # Errors
    /// [`EntropyError`] when `rng` fails; nothing partial is returned.
    fn randomize_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        record: &BoundedRecord,
        task_key: &[u8; 16],
        id: ReportId,
        rng: &mut R,
    ) -> Result<Vec<u8>, EntropyError>;

    /// Whether `payload` (of the right length) is one this mechanism can produce; if not, why.
    ///
    /// # Errors
    /// [`PayloadError`] otherwise.
    fn check(&self, payload: &[u8]) -> Result<(), PayloadError>;

    /// Rows of the summed matrix: d, or d + 1 where the mechanism lifts the record.
    fn state_dimension(&self) -> usize;

    /// The largest magnitude that one payload can add to an entry of the sums.
    fn largest_entry(&self) -> u32;

    /// Adds checked payloads to `sums`, the upper triangle (row by row, with the diagonal) of the summed matrix.
    fn accumulate(&self, task_key: &[u8; 16], payloads: &[(ReportId, &[u8])], sums: &mut [i64]) {
        self.accumulate_with_threads(task_key, payloads, sums, NonZeroUsize::MIN);
    }

    /// [`accumulate`](Self::accumulate) on up to `threads` threads, each at parts of `sums` of its own: the integers
    /// are the same and the state is held once. WebAssembly has one thread, whatever is asked for.
    fn accumulate_with_threads(
        &self,
        task_key: &[u8; 16],
        payloads: &[(ReportId, &[u8])],
        sums: &mut [i64],
        threads: NonZeroUsize,
    );

    /// The unbiased estimate (d × d) of the second-moment matrix of bounded records from the sums of `records` reports. (With
    /// [`double_cap`] it is so to 1e-3, in spectral norm, of records of length one.)
    fn debias(&self, sums: &[i64], records: u64) -> DMatrix<f64>;

    /// Standard deviation that the mechanism gives to one off-diagonal entry of one debiased report: to every one with
    /// Gaussian noise, and to those across the record (both coordinates 0 in it) with double-cap.
    fn entry_deviation(&self) -> f64;

    /// Standard deviation that the mechanism gives to an off-diagonal entry ij of one debiased report whose record has
    /// `x_i^2 = energy` (0 to 1) and `x_j = 0`: [`entry_deviation`](Self::entry_deviation) is that at energy 0.
    fn deviation_beside(&self, energy: f64) -> f64;

    /// The largest eigenvalue that the debiased estimate of `records` reports would have if there were nothing but
    /// noise, in the limit of many features. What does not rise above it cannot be told from noise.
    fn noise_edge(&self, records: u64) -> f64;

    /// How far one hostile report can move an eigenvalue of the debiased estimate from where the mean of an honest one
    /// would put it, times the number of reports. [`Pull`] has the statement.
    fn pull(&self) -> Pull;
}

/// One of the crate's mechanisms, ready to use.
#[derive(Clone, Debug)]
pub enum Mechanism {
    /// See [`gaussian`].
    Gaussian(Gaussian),
    /// See [`double_cap`].
    DoubleCap(DoubleCap),
}

/// Calls the same method of whichever mechanism it is.
macro_rules! delegate {
    ($self:ident, $mechanism:ident => $call:expr) => {
        match $self {
            Mechanism::Gaussian($mechanism) => $call,
            Mechanism::DoubleCap($mechanism) => $call,
        }
    };
}

impl LocalRandomizer for Mechanism {
    fn guarantee(&self) -> Guarantee {
        delegate!(self, mechanism => mechanism.guarantee())
    }

    fn privacy_loss(&self) -> PrivacyLoss {
        delegate!(self, mechanism => mechanism.privacy_loss())
    }

    fn dimension(&self) -> usize {
        delegate!(self, mechanism => mechanism.dimension())
    }

    fn payload_bytes(&self) -> usize {
        delegate!(self, mechanism => mechanism.payload_bytes())
    }

    fn draws(&self) -> u64 {
        delegate!(self, mechanism => mechanism.draws())
    }

    fn randomize_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        record: &BoundedRecord,
        task_key: &[u8; 16],
        id: ReportId,
        rng: &mut R,
    ) -> Result<Vec<u8>, EntropyError> {
        delegate!(self, mechanism => mechanism.randomize_with_rng(record, task_key, id, rng))
    }

    fn check(&self, payload: &[u8]) -> Result<(), PayloadError> {
        delegate!(self, mechanism => mechanism.check(payload))
    }

    fn state_dimension(&self) -> usize {
        delegate!(self, mechanism => mechanism.state_dimension())
    }

    fn largest_entry(&self) -> u32 {
        delegate!(self, mechanism => mechanism.largest_entry())
    }

    fn accumulate_with_threads(
        &self,
        task_key: &[u8; 16],
        payloads: &[(ReportId, &[u8])],
        sums: &mut [i64],
        threads: NonZeroUsize,
    ) {
        delegate!(self, mechanism => mechanism.accumulate_with_threads(task_key, payloads, sums, threads));
    }

    fn debias(&self, sums: &[i64], records: u64) -> DMatrix<f64> {
        delegate!(self, mechanism => mechanism.debias(sums, records))
    }

    fn entry_deviation(&self) -> f64 {
        delegate!(self, mechanism => mechanism.entry_deviation())
    }

    fn deviation_beside(&self, energy: f64) -> f64 {
        delegate!(self, mechanism => mechanism.deviation_beside(energy))
    }

    fn noise_edge(&self, records: u64) -> f64 {
        delegate!(self, mechanism => mechanism.noise_edge(records))
    }

    fn pull(&self) -> Pull {
        delegate!(self, mechanism => mechanism.pull())
    }
}

/// The number of entries of the upper triangle, diagonal included, of a `rows` × `rows` matrix.
#[must_use]
pub const fn triangle(rows: usize) -> usize {
    rows * (rows + 1) / 2
}

/// Why a mechanism cannot be built from its parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MechanismError {
    /// A privacy parameter is out of range or unreachable.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// The scale of the paper above the range of the theorem it rests on.
    #[error(
        "calibration 'paper' is for epsilon <= 1: with epsilon {} its scale really gives delta {} where {} is claimed; \
         use calibration 'analytic', which holds for every epsilon",
        Decimal(*epsilon), Scientific(*real_delta, 1), Decimal(*delta)
    )]
    PaperCalibration {
        /// The epsilon asked for.
        epsilon: f64,
        /// The delta claimed.
        delta: f64,
        /// The delta it would really give.
        real_delta: f64,
    },
    /// The noise does not fit the integer grid.
    #[error(
        "a noise deviation of {} does not fit the report's integer grid (1e-3 to 1e6): {remedy}", Scientific(*sigma, 3)
    )]
    Grid {
        /// The standard deviation.
        sigma: f64,
        /// What to change.
        remedy: &'static str,
    },
    /// Delta is too small for the error of the sampler, summed over all entries.
    #[error(
        "delta {} is below the sampler's own error {} at this dimension: raise delta to at least {}",
        Decimal(*delta), Scientific(*error, 1), Decimal(2.0 * error)
    )]
    DeltaBelowSampler {
        /// The delta asked for.
        delta: f64,
        /// The sampler's total variation, weighted as it enters delta.
        error: f64,
    },
    /// The numbers of candidates and of likelier ones do not fit.
    #[error(
        "double-cap with {candidates} candidates and a cap of {cap}: it needs 2 to {most} candidates, and a cap of at most a half \
         and at least a 1024th of them, or the estimate would be biased",
        most = double_cap::MAX_CANDIDATES
    )]
    Cap {
        /// J.
        candidates: u32,
        /// L.
        cap: u32,
    },
    /// The integer weights do not fit 64 bits.
    #[error("epsilon {} with a cap of {cap} overflows the 64-bit weights: use epsilon at most 16", Decimal(*epsilon))]
    Weights {
        /// Epsilon.
        epsilon: f64,
        /// L.
        cap: u32,
    },
    /// The integer weights cannot tell so small an epsilon from none.
    #[error(
        "epsilon {} is too small for double-cap, whose weights are multiples of 2^-32: use epsilon at least 1e-6",
        Decimal(*epsilon)
    )]
    EpsilonTooSmall {
        /// Epsilon.
        epsilon: f64,
    },
    /// `2^32 e^epsilon` is so near an integer that the arithmetic cannot tell on which side.
    #[error(
        "epsilon {} has a weight that is too near an integer to be computed exactly: change its last digit", Decimal(*epsilon)
    )]
    UnknownWeight {
        /// Epsilon.
        epsilon: f64,
    },
    /// No dimension to work in.
    #[error("the dimension is {0}: it must be between 1 and {max}", max = crate::schema::MAX_DIMENSION)]
    Dimension(usize),
}

/// Why a record was not randomized.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RandomizeError {
    /// The record does not fit the task.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// No randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// A payload that no randomizer of the task can have produced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// A candidate index that does not exist.
    #[error("the report names candidate {index}, but the task has {candidates}")]
    CandidateOutOfRange {
        /// The index.
        index: u32,
        /// J.
        candidates: u32,
    },
}
