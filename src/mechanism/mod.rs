//! Local randomizers: from a bounded record to a payload that is private on its own, and from sums of payloads back
//! to a covariance.
//!
//! | mechanism | guarantee | payload | when |
//! |---|---|---|---|
//! | [`double_cap`] | epsilon, delta = 0 | 2 bytes beside the report's id | the default: least noise at every epsilon |
//! | [`gaussian`] | (epsilon, delta) | one byte per entry of the upper triangle | comparison with the literature, dense reports |

mod document;
pub mod double_cap;
mod error;
mod estimator;
pub mod gaussian;
mod options;
mod pull;
mod randomizer;
mod range;

use core::num::NonZeroUsize;

use nalgebra::DMatrix;
use rand::rand_core::TryCryptoRng;
use serde::Serialize;

use crate::identity::ReportId;
use crate::privacy::composition::PrivacyLoss;
use crate::privacy::{Delta, Epsilon, Guarantee};
use crate::record::{BoundedRecord, Bounding};
use crate::sampling::EntropyError;

pub use double_cap::DoubleCap;
pub use error::{MechanismError, PayloadError, RandomizeError};
#[doc(hidden)]
pub use estimator::{Estimator, triangle};
pub use gaussian::{Calibration, Gaussian};
pub use options::MechanismFamily;
#[doc(hidden)]
pub use options::{MechanismName, MechanismOptionError, MechanismOptions};
pub use pull::{Check, Pull, PullBounds};
#[doc(hidden)]
pub use pull::{HostilePull, UNLUCKY_IDS};
pub use randomizer::LocalRandomizer;
#[doc(hidden)]
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
}

impl Estimator for Mechanism {
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

    fn range_check(&self) -> Option<RangeCheck> {
        delegate!(self, mechanism => mechanism.range_check())
    }

    fn pull(&self) -> Pull {
        delegate!(self, mechanism => mechanism.pull())
    }
}
