//! The mechanism of a task, where all mechanisms meet: those of second moments, of second waves and of lengths.

use core::num::NonZeroUsize;

use rand::rand_core::TryCryptoRng;

use crate::identity::ReportId;
use crate::lengths::NormCap;
use crate::mechanism::sealed::Sealed;
use crate::mechanism::{
    DoubleCap, Gaussian, LocalRandomizer, Mechanism, MechanismError, MechanismSpec, PayloadError, RandomizeError,
    Summable, delegate, from_mechanisms, randomize_and_sum,
};
use crate::privacy::Guarantee;
use crate::privacy::composition::PrivacyLoss;
use crate::record::{BoundedRecord, Bounding};
use crate::waves::SignedCap;

/// The mechanism of a task: what its reports are about.
#[derive(Clone, Debug)]
pub enum TaskMechanism {
    /// Second moments.
    Moments(Mechanism),
    /// What a first wave left open (docs/guides/two-waves.md).
    SignedCap(SignedCap),
    /// The lengths of records (docs/guides/lengths.md).
    NormCap(NormCap),
}

impl TaskMechanism {
    /// The mechanism, where the reports are about second moments.
    ///
    /// # Errors
    /// [`MechanismError::Refinement`] for the mechanism of a refinement, [`MechanismError::NoMoments`] for others.
    pub(crate) fn moments(&self) -> Result<&Mechanism, MechanismError> {
        match self {
            Self::Moments(mechanism) => Ok(mechanism),
            Self::SignedCap(_) => Err(MechanismError::Refinement),
            Self::NormCap(_) => Err(MechanismSpec::ABOUT_LENGTHS),
        }
    }
}

impl MechanismSpec {
    /// The mechanism of a task about records of `dimension` coordinates under `bounding`, one of which may be that of
    /// centring. (That of a refinement needs its directions too: a task has both.)
    ///
    /// # Errors
    /// [`MechanismError`] when the parameters do not fit together, and for centring without second moments.
    pub(crate) fn for_task(
        &self,
        dimension: usize,
        bounding: Bounding,
        centred: bool,
    ) -> Result<TaskMechanism, MechanismError> {
        let mechanism: TaskMechanism = match *self {
            Self::NormCap { epsilon, candidates, cap } => {
                NormCap::new(dimension, bounding, epsilon, candidates, cap)?.into()
            }
            _ => self.build(dimension, bounding)?.into(),
        };
        if centred && mechanism.moments().is_err() {
            return Err(MechanismError::Centring(self.name()));
        }
        Ok(mechanism)
    }
}

from_mechanisms!(TaskMechanism {
    Moments(Mechanism) Moments(DoubleCap) Moments(Gaussian) SignedCap(SignedCap) NormCap(NormCap)
});

impl Sealed for TaskMechanism {}

randomize_and_sum!(TaskMechanism { Moments SignedCap NormCap });
