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
mod range;
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

/// Keeps the traits of mechanisms to this crate.
pub(crate) mod sealed {
    pub trait Sealed {}

    impl Sealed for super::DoubleCap {}
    impl Sealed for super::Gaussian {}
    impl Sealed for super::Mechanism {}
}

/// A kind of mechanism from each of its own.
macro_rules! from_mechanisms {
    ($kind:ident { $($variant:ident($mechanism:ty))+ }) => {$(
        impl From<$mechanism> for $kind {
            fn from(mechanism: $mechanism) -> Self {
                Self::$variant(mechanism.into())
            }
        }
    )+};
}
pub(crate) use from_mechanisms;

from_mechanisms!(Mechanism { Gaussian(Gaussian) DoubleCap(DoubleCap) });

/// A trait for a kind of mechanism: each method is that of the mechanism.
macro_rules! delegate {
    ($self:ident: $kind:ident { $($variant:ident)+ } $method:ident $arguments:tt) => {
        match $self {
            $($kind::$variant(mechanism) => mechanism.$method $arguments,)+
        }
    };
    ($trait:ident for $kind:ident $variants:tt {
        $(fn $method:ident $(<$rng:ident: TryCryptoRng + ?Sized>)? (&self $(, $argument:ident: $type:ty)*)
            $(-> $result:ty)?;)+
    }) => {
        impl $trait for $kind {
            $(fn $method $(<$rng: TryCryptoRng + ?Sized>)? (&self $(, $argument: $type)*) $(-> $result)? {
                delegate!(self: $kind $variants $method($($argument),*))
            })+
        }
    };
}
pub(crate) use delegate;

/// What all mechanisms of a kind have.
macro_rules! randomize_and_sum {
    ($kind:ident $variants:tt) => {
        delegate!(LocalRandomizer for $kind $variants {
            fn guarantee(&self) -> Guarantee;
            fn privacy_loss(&self) -> PrivacyLoss;
            fn dimension(&self) -> usize;
            fn payload_bytes(&self) -> usize;
            fn draws(&self) -> u64;
            fn randomize_with_rng<R: TryCryptoRng + ?Sized>(
                &self, record: &BoundedRecord, task_key: &[u8; 16], id: ReportId, rng: &mut R
            ) -> Result<Vec<u8>, RandomizeError>;
        });
        delegate!(Summable for $kind $variants {
            fn check(&self, payload: &[u8]) -> Result<(), PayloadError>;
            fn sums_len(&self) -> usize;
            fn largest_entry(&self) -> u32;
            fn accumulate_with_threads(
                &self, task_key: &[u8; 16], payloads: &[(ReportId, &[u8])], sums: &mut [i64], threads: NonZeroUsize
            );
            fn check_range(&self, payload: &[u8]) -> Result<(), PayloadError>;
        });
    };
}
pub(crate) use randomize_and_sum;

randomize_and_sum!(Mechanism { Gaussian DoubleCap });

delegate!(Moments for Mechanism { Gaussian DoubleCap } {
    fn state_dimension(&self) -> usize;
    fn debias(&self, sums: &[i64], records: u64) -> DMatrix<f64>;
    fn sums_of_mean(&self, mean: &DMatrix<f64>, records: u64) -> Vec<i64>;
    fn perturbation(&self) -> Perturbation;
    fn deviation_beside(&self, energy: f64) -> f64;
    fn noise_edge(&self, records: u64) -> f64;
    fn pull(&self) -> Pull;
});
