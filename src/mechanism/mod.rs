//! Local randomizers: from a bounded record to a payload that is private on its own, and from sums of payloads back
//! to a covariance.
//!
//! | mechanism | guarantee | payload | when |
//! |---|---|---|---|
//! | [`double_cap`] | epsilon, delta = 0 | 2 bytes beside the report's id | the default: less noise than the Gaussian ones |
//! | [`gaussian`] | (epsilon, delta) | one byte per entry of the upper triangle | comparison with the literature, dense reports |

#[doc(hidden)]
pub mod cap;
pub mod double_cap;
mod error;
mod estimator;
pub mod gaussian;
#[doc(hidden)]
pub mod norm_cap;
mod pull;
mod randomizer;
mod range;
#[doc(hidden)]
pub mod signed_cap;
mod spec;

use core::num::NonZeroUsize;

use nalgebra::DMatrix;
use rand::rand_core::TryCryptoRng;

use crate::identity::ReportId;
use crate::privacy::Guarantee;
use crate::privacy::composition::PrivacyLoss;
use crate::record::BoundedRecord;

pub use double_cap::DoubleCap;
pub use error::{MechanismError, PayloadError, RandomizeError};
#[doc(hidden)]
pub use estimator::{Estimator, Forms, Perturbation, triangle};
pub use gaussian::{Calibration, Gaussian};
#[doc(hidden)]
pub use norm_cap::NormCap;
#[doc(hidden)]
pub use pull::{Check, HostilePull, Pull, PullBounds};
pub use randomizer::LocalRandomizer;
#[doc(hidden)]
pub use range::{RangeCheck, RangeError};
#[doc(hidden)]
pub use signed_cap::SignedCap;
pub use spec::{MechanismFamily, MechanismSpec};
#[doc(hidden)]
pub use spec::{MechanismName, MechanismOptionError, MechanismOptions};

/// One of the crate's mechanisms, ready to use.
///
/// ```
/// use ldp_pca::{Bounding, Epsilon, LocalRandomizer, Mechanism, MechanismSpec};
/// let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?).build(10, Bounding::UnitNorm)?;
/// assert!(matches!(mechanism, Mechanism::DoubleCap(_)));
/// assert_eq!(mechanism.dimension(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Mechanism {
    /// See [`gaussian`].
    Gaussian(Gaussian),
    /// See [`double_cap`].
    DoubleCap(DoubleCap),
    /// See [`signed_cap`].
    #[doc(hidden)]
    SignedCap(SignedCap),
    /// See [`norm_cap`].
    #[doc(hidden)]
    NormCap(NormCap),
}

impl Mechanism {
    /// The gate in front of everything that reads second moments from reports, or predicts them.
    ///
    /// # Errors
    /// [`MechanismError::Refinement`] for the mechanism of a refinement, [`MechanismError::NoMoments`] for that of
    /// lengths.
    #[doc(hidden)]
    pub fn check_covariance(&self) -> Result<(), MechanismError> {
        match self {
            Self::SignedCap(_) => Err(MechanismError::Refinement),
            Self::NormCap(_) => Err(MechanismError::NoMoments),
            Self::DoubleCap(_) | Self::Gaussian(_) => Ok(()),
        }
    }
}

impl From<SignedCap> for Mechanism {
    fn from(mechanism: SignedCap) -> Self {
        Self::SignedCap(mechanism)
    }
}

impl From<NormCap> for Mechanism {
    fn from(mechanism: NormCap) -> Self {
        Self::NormCap(mechanism)
    }
}

impl From<DoubleCap> for Mechanism {
    fn from(mechanism: DoubleCap) -> Self {
        Self::DoubleCap(mechanism)
    }
}

impl From<Gaussian> for Mechanism {
    fn from(mechanism: Gaussian) -> Self {
        Self::Gaussian(mechanism)
    }
}

/// Keeps the traits of mechanisms to this crate.
mod sealed {
    pub trait Sealed {}

    impl Sealed for super::DoubleCap {}
    impl Sealed for super::Gaussian {}
    impl Sealed for super::Mechanism {}
    impl Sealed for super::NormCap {}
    impl Sealed for super::SignedCap {}
}

/// Calls the same method on every mechanism.
macro_rules! delegate {
    ($self:ident, $mechanism:ident => $call:expr) => {
        match $self {
            Mechanism::Gaussian($mechanism) => $call,
            Mechanism::DoubleCap($mechanism) => $call,
            Mechanism::SignedCap($mechanism) => $call,
            Mechanism::NormCap($mechanism) => $call,
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
    ) -> Result<Vec<u8>, RandomizeError> {
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

    fn sums_len(&self) -> usize {
        delegate!(self, mechanism => mechanism.sums_len())
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

    fn sums_of_mean(&self, mean: &DMatrix<f64>, records: u64) -> Vec<i64> {
        delegate!(self, mechanism => mechanism.sums_of_mean(mean, records))
    }

    fn perturbation(&self) -> Perturbation {
        delegate!(self, mechanism => mechanism.perturbation())
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
