//! Mechanisms: from a bounded record to a payload that is private on its own, and from payloads to sums.
//!
//! | mechanism | guarantee | payload | its sums are |
//! |---|---|---|---|
//! | [`double_cap`], the default | epsilon | an index, 2 bytes | second moments |
//! | [`gaussian`], to compare with | (epsilon, delta) | 1 or 2 bytes per entry of the upper triangle | second moments |
//! | `SignedCap` | epsilon | an index, 2 bytes | a vector, for second waves |
//! | `NormCap` | epsilon | an index, 2 bytes | counts, for the lengths of records |
//!
//! Three traits: [`LocalRandomizer`] on the device, [`Summable`] at the aggregator, and [`Moments`], of the first two
//! mechanisms alone, which makes a covariance of sums. [`Mechanism`] is one of these two, and
//! [`TaskMechanism`](crate::task::TaskMechanism) any of the four.

pub(crate) mod cap;
pub mod double_cap;
mod error;
pub mod gaussian;
pub(crate) mod moments;
pub(crate) mod pull;
mod randomizer;
pub(crate) mod range;
mod spec;
pub(crate) mod summable;

use core::num::NonZeroUsize;

use nalgebra::DMatrix;
use rand::rand_core::TryCryptoRng;

use crate::identity::ReportId;
use crate::privacy::Guarantee;
use crate::privacy::composition::PrivacyLoss;
use crate::record::BoundedRecord;

pub use double_cap::DoubleCap;
pub use error::{MechanismError, PayloadError, RandomizeError};
pub use gaussian::{Calibration, Gaussian};
pub(crate) use moments::{Forms, Moments, Perturbation, triangle};
pub(crate) use pull::{HostilePull, Pull};
pub use randomizer::LocalRandomizer;
pub(crate) use range::RangeCheck;
pub use spec::{MechanismFamily, MechanismSpec};
pub(crate) use summable::Summable;

/// A mechanism whose reports are about second moments, ready to use.
///
/// ```
/// use ldp_pca::{Bounding, Epsilon, LocalRandomizer, Mechanism, MechanismSpec};
/// let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?).build(10, Bounding::UnitNorm)?;
/// assert!(matches!(mechanism, Mechanism::DoubleCap(_)));
/// assert_eq!(mechanism.dimension(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum Mechanism {
    /// See [`gaussian`].
    Gaussian(Gaussian),
    /// See [`double_cap`].
    DoubleCap(DoubleCap),
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
pub(crate) mod sealed {
    pub trait Sealed {}

    impl Sealed for super::DoubleCap {}
    impl Sealed for super::Gaussian {}
    impl Sealed for super::Mechanism {}
}

/// Calls the same method on every mechanism of a kind.
macro_rules! delegate {
    ($self:ident: $kind:ident { $($variant:ident)+ }, $mechanism:ident => $call:expr) => {
        match $self {
            $($kind::$variant($mechanism) => $call,)+
        }
    };
}
pub(crate) use delegate;

/// What all mechanisms of a kind have.
macro_rules! randomize_and_sum {
    ($kind:ident { $($variant:ident)+ }) => {
        impl LocalRandomizer for $kind {
            fn guarantee(&self) -> Guarantee {
                delegate!(self: $kind { $($variant)+ }, mechanism => mechanism.guarantee())
            }

            fn privacy_loss(&self) -> PrivacyLoss {
                delegate!(self: $kind { $($variant)+ }, mechanism => mechanism.privacy_loss())
            }

            fn dimension(&self) -> usize {
                delegate!(self: $kind { $($variant)+ }, mechanism => mechanism.dimension())
            }

            fn payload_bytes(&self) -> usize {
                delegate!(self: $kind { $($variant)+ }, mechanism => mechanism.payload_bytes())
            }

            fn draws(&self) -> u64 {
                delegate!(self: $kind { $($variant)+ }, mechanism => mechanism.draws())
            }

            fn randomize_with_rng<R: TryCryptoRng + ?Sized>(
                &self,
                record: &BoundedRecord,
                task_key: &[u8; 16],
                id: ReportId,
                rng: &mut R,
            ) -> Result<Vec<u8>, RandomizeError> {
                delegate!(
                    self: $kind { $($variant)+ },
                    mechanism => mechanism.randomize_with_rng(record, task_key, id, rng)
                )
            }
        }

        impl Summable for $kind {
            fn check(&self, payload: &[u8]) -> Result<(), PayloadError> {
                delegate!(self: $kind { $($variant)+ }, mechanism => mechanism.check(payload))
            }

            fn sums_len(&self) -> usize {
                delegate!(self: $kind { $($variant)+ }, mechanism => mechanism.sums_len())
            }

            fn largest_entry(&self) -> u32 {
                delegate!(self: $kind { $($variant)+ }, mechanism => mechanism.largest_entry())
            }

            fn accumulate_with_threads(
                &self,
                task_key: &[u8; 16],
                payloads: &[(ReportId, &[u8])],
                sums: &mut [i64],
                threads: NonZeroUsize,
            ) {
                delegate!(
                    self: $kind { $($variant)+ },
                    mechanism => mechanism.accumulate_with_threads(task_key, payloads, sums, threads)
                );
            }

            fn range_check(&self) -> Option<RangeCheck> {
                delegate!(self: $kind { $($variant)+ }, mechanism => mechanism.range_check())
            }
        }
    };
}
pub(crate) use randomize_and_sum;

randomize_and_sum!(Mechanism { Gaussian DoubleCap });

impl Moments for Mechanism {
    fn state_dimension(&self) -> usize {
        delegate!(self: Mechanism { Gaussian DoubleCap }, mechanism => mechanism.state_dimension())
    }

    fn debias(&self, sums: &[i64], records: u64) -> DMatrix<f64> {
        delegate!(self: Mechanism { Gaussian DoubleCap }, mechanism => mechanism.debias(sums, records))
    }

    fn sums_of_mean(&self, mean: &DMatrix<f64>, records: u64) -> Vec<i64> {
        delegate!(self: Mechanism { Gaussian DoubleCap }, mechanism => mechanism.sums_of_mean(mean, records))
    }

    fn perturbation(&self) -> Perturbation {
        delegate!(self: Mechanism { Gaussian DoubleCap }, mechanism => mechanism.perturbation())
    }

    fn entry_deviation(&self) -> f64 {
        delegate!(self: Mechanism { Gaussian DoubleCap }, mechanism => mechanism.entry_deviation())
    }

    fn deviation_beside(&self, energy: f64) -> f64 {
        delegate!(self: Mechanism { Gaussian DoubleCap }, mechanism => mechanism.deviation_beside(energy))
    }

    fn noise_edge(&self, records: u64) -> f64 {
        delegate!(self: Mechanism { Gaussian DoubleCap }, mechanism => mechanism.noise_edge(records))
    }

    fn pull(&self) -> Pull {
        delegate!(self: Mechanism { Gaussian DoubleCap }, mechanism => mechanism.pull())
    }
}
