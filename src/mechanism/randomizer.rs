//! A mechanism's part on a device, and its guarantee.

use rand::rand_core::TryCryptoRng;

use super::RandomizeError;
use super::sealed::Sealed;
use crate::identity::ReportId;
use crate::privacy::Guarantee;
use crate::privacy::composition::PrivacyLoss;
use crate::record::BoundedRecord;

/// The part of a mechanism that a device runs. Only this part sees a record.
///
/// The trait is sealed. A task names one of the crate's mechanisms, and people who answer it rely on the proof in the
/// mechanism's file. A program's own mechanism has no name in a task, and no proof. To test your own mechanism, give it
/// to the audit of the crate `ldp-pca-simulation`: its `audit::Randomizer` is any closure.
///
/// ```
/// use ldp_pca::LocalRandomizer;
/// # use ldp_pca::{Bounding, Epsilon, Folds, MechanismSpec, Schema, Task};
/// # let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?);
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// let mechanism = task.mechanism();
/// assert_eq!(mechanism.dimension(), 2);
/// assert_eq!(mechanism.guarantee().epsilon, Epsilon::new(2.0)?);
/// // A payload is this long, and takes this much randomness, whatever the record is.
/// println!("{} bytes, {} draws", mechanism.payload_bytes(), mechanism.draws());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LocalRandomizer: Sealed {
    /// The guarantee of one report.
    fn guarantee(&self) -> Guarantee;

    /// The privacy loss of one report, in the form that composes best with other reports.
    fn privacy_loss(&self) -> PrivacyLoss;

    /// The number of coordinates of a record, d.
    fn dimension(&self) -> usize;

    /// The length of a payload in bytes, the same for every record.
    fn payload_bytes(&self) -> usize;

    /// The number of random numbers in one report, including public ones: its cost in time, the same for every record.
    fn draws(&self) -> u64;

    /// Randomizes a record of the right dimension into a payload. It never refuses a record: others see whether there
    /// is a report, and no guarantee covers a refusal that depends on the record. `task_key` (the first 16 bytes of the
    /// task's digest) and `id` are public; all secrecy comes from `rng`.
    ///
    /// The guarantee holds for every record in the unit ball, however it was bounded. The estimate is right only for
    /// records bounded in the way the mechanism was made for: others count with another length or in other units.
    /// [`Task::randomize`](crate::task::Task::randomize) refuses them.
    ///
    /// # Errors
    /// [`RandomizeError`] for a record of another dimension, and when `rng` fails; nothing partial is returned.
    fn randomize_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        record: &BoundedRecord,
        task_key: &[u8; 16],
        id: ReportId,
        rng: &mut R,
    ) -> Result<Vec<u8>, RandomizeError>;
}
